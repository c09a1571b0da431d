"""Encoders: texts become vectors of unit length, in this process or at an endpoint."""
