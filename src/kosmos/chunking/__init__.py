"""From canonical text to chunks: plain functions over values."""
