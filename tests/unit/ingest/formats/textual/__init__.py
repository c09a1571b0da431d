"""Formats that are text at heart."""
