"""A progress line for work that takes over a second, on a terminal only."""

from __future__ import annotations

from threading import Timer
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

PATIENCE_SECONDS = 1.0
BAR_WIDTH = 20  # leaves room for the longest stage and for millions on 80 columns


class ProgressLine:
    """Call it with a stage, what is done and of how much; it shows itself when it is worth it.

    It does so even where a stage lasts long and reports nothing in between.
    """

    def __init__(self) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(BAR_WIDTH),
            TextColumn("{task.fields[count]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._stage: str | None = None
        self._task = TaskID(0)
        self._timer = Timer(PATIENCE_SECONDS, self._bar.start)
        self._timer.daemon = True

    def __call__(self, stage: str, done: int, total: int) -> None:
        count = f"{done:,}/{total:,}" if total else ""
        if stage != self._stage:
            if self._stage is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(stage, total=total or None, count=count)
            self._stage = stage
        self._bar.update(self._task, completed=done, count=count)

    def __enter__(self) -> ProgressLine:
        if self._bar.console.is_interactive:
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        if self._timer.ident is not None:
            self._timer.join()
        if self._bar.live.is_started:
            self._bar.stop()
