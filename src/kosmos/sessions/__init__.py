"""Sessions: what history each stage gets, how a long talk is compressed, runs that can be followed."""
