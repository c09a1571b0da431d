"""A progress bar on standard error, where somebody is looking."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kosmos.cli.output import printable

Step = Callable[[int, int, str], None]


@contextmanager
def progress_bar(title: str, *, quiet: bool = False) -> Iterator[Step]:
    """A function that is told (done, total, current); it draws nothing when no terminal is there."""
    if quiet or not sys.stderr.isatty():
        yield lambda _done, _total, _name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    name_column = TextColumn("{task.description}", markup=False)
    with Progress(*columns, name_column, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def step(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total or None, description=printable(name)[-40:])

        yield step
