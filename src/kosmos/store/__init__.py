"""Vector stores: where index rows live and are searched route by route."""
