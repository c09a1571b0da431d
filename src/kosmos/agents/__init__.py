"""Agents: they receive a question and what was found, and answer. They know no storage."""
