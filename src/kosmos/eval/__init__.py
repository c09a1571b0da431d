"""Measuring what the product does, with numbers that can be compared with others."""
