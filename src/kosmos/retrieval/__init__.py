"""Finding chunks: terms, weights, search. Plain functions over a store and values."""
