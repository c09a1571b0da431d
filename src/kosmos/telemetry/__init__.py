"""What can be seen of a process from outside: numbers and traces."""
