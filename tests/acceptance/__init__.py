"""Kosmos driven from outside, as a user would: over HTTP and by its commands."""
