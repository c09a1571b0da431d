"""Keeping and moving what is stored: backups, spaces as files, and changes of engine."""
