"""The command line. Heavy modules are imported inside commands, so that `kosmos --help` stays fast."""
