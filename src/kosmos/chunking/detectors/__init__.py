"""Detectors of what should not be shown: identifiers of people, secrets, ballast. No model, linear time."""
