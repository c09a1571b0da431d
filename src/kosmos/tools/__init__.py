"""Tools that agents may call: typed functions, a registry that checks every call, the web search."""
