"""One suite for every set of engines that is supported: it knows an instance and its settings, no engine."""
