"""`python -m kosmos` is the same as `kosmos`."""

from kosmos.cli.main import run

run()
