"""Conversions in real processes."""
