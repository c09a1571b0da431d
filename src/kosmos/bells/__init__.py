"""Waking whoever waits, in this process and in others. It shortens waits and nothing depends on it."""

from kosmos.bells.bell import Bell, Ear
from kosmos.bells.opening import open_bell

__all__ = ["Bell", "Ear", "open_bell"]
