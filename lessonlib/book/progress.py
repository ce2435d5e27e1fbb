"""What a build shows while pages run: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from rich.console import Console
from rich.live import Live
from rich.table import Table


class Progress:
    """Pages with the cell that each is in, the seconds that it has taken, and what is left.

    Parameters
    ----------
    expected : mapping of str to float or None
        The pages to run, with the seconds that each took last time, where known.
    say : callable
        Prints a line, where there is no terminal.
    """

    def __init__(self, expected: Mapping[str, float | None], say: Callable[[str], None]) -> None:
        self.expected, self.say = dict(expected), say
        self.started: dict[str, float] = {}
        self.cells: dict[str, str] = {}
        self.finished: dict[str, str] = {}
        console = Console()
        self.live = Live(get_renderable=self.table, console=console, refresh_per_second=4) if console.is_terminal else None

    def __enter__(self) -> Progress:
        if self.live:
            self.live.start()
        else:
            self.say(f"executing {len(self.expected)} pages: {', '.join(self.expected)}")
        return self

    def __exit__(self, *exception: object) -> None:
        if self.live:
            self.live.stop()

    def cell(self, page: str, number: int, total: int, name: str) -> None:
        """A page has come to a cell."""
        self.started.setdefault(page, time.monotonic())
        self.cells[page] = f"{number}/{total} {name}" if total else name

    def done(self, page: str, seconds: float, failure: str | None) -> None:
        """A page has ended."""
        self.finished[page] = f"[red]failed[/] after {seconds:.0f} s" if failure else f"done in {seconds:.0f} s"
        if not self.live:
            self.say(f"  {page}: {'FAILED' if failure else 'executed'} in {seconds:.1f} s, "
                     f"{len(self.expected) - len(self.finished)} to go")

    def table(self) -> Table:
        """The state of all pages, with the seconds that are left where the last run tells."""
        table = Table("page", "cell", "elapsed", "left", box=None)
        for page, usual in self.expected.items():
            elapsed = time.monotonic() - self.started.get(page, time.monotonic())
            if page in self.finished:
                table.add_row(page, self.finished[page], "", "")
            elif page in self.started:
                left = f"about {max(usual - elapsed, 0):.0f} s" if usual else "unknown"
                table.add_row(page, self.cells[page], f"{elapsed:.0f} s", left)
            else:
                table.add_row(page, "[dim]waiting[/]", "", f"about {usual:.0f} s" if usual else "")
        return table
