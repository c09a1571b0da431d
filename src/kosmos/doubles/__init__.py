"""Doubles that ship with the product: stand-ins for time and for model providers, free of cost and chance."""
