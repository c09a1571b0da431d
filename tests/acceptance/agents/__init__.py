"""Agents as their users meet them: over HTTP, through clients of others, across restarts."""
