"""Who may do what: users, tokens, spaces, members, credentials. `access` decides, alone."""
