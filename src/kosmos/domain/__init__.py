"""Frozen values and the words of the domain. Knows nothing of storage, network or models."""
