"""From a source to canonical text and its blocks: plain functions over values."""
