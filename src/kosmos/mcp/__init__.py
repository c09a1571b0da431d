"""MCP servers."""
