"""Kosmos turns documents into knowledge that agents can rely on."""

__version__ = "0.1.0"
