"""The one frozen Settings object and how it is read."""

from kosmos.config.loading import load_settings
from kosmos.config.settings import Settings

__all__ = ["Settings", "load_settings"]
