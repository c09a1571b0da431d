"""The operations agent: understands, plans, looks up, acts through tools, judges its result, answers."""
