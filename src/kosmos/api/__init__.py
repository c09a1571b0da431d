"""HTTP: routes over the tasks and accounts, errors as problem+json."""
