"""A progress bar on a terminal."""

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)


def bar_on_terminal() -> "ProgressBar | None":
    """A bar if there is a terminal to draw it on; otherwise None."""
    console = Console(stderr=True)
    return ProgressBar(console) if console.is_terminal else None


class ProgressBar:
    """A bar that is redrawn in place."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=18),
            MofNCompleteColumn(),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[note]}", style="dim"),
            console=console,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> "ProgressBar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, label: str, total: int | None) -> None:
        """Show an empty bar."""
        self._task = self._progress.add_task(label, total=total, note="compiling")

    def resume(self, count: int, note: str) -> None:
        """Start from the moves that were done before."""
        if self._task is not None:
            # A reset, because an update would count towards the speed of this run.
            self._progress.reset(self._task, completed=count, note=note)

    def advance(self, count: int, note: str) -> None:
        """Fill it further."""
        if self._task is not None:
            self._progress.update(self._task, advance=count, note=note)

    def finish(self, note: str) -> None:
        """Fill it up."""
        if self._task is not None:
            completed = max(1, self._progress.tasks[self._task].completed)
            self._progress.update(
                self._task, total=completed, completed=completed, note=note
            )
