"""The runtime bridge: what happens in a cluster right now, as short-lived documents of a space."""
