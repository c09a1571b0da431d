"""One module a format: `extract(data, name) -> Extract`, run in a process of its own."""
