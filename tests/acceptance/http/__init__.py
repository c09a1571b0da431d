"""The HTTP interface over real connections, on both database engines."""
