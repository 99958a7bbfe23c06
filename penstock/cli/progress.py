"""A progress line for work that takes over a second, on a terminal only."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

PATIENCE_SECONDS = 1.0


class ProgressLine:
    """Call it with a stage, what is done and of how much; it shows itself when it is worth it."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._started = time.monotonic()
        self._bar: Progress | None = None
        self._tasks: dict[str, int] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        if not self._console.is_terminal:
            return
        if self._bar is None:
            if time.monotonic() - self._started < PATIENCE_SECONDS:
                return
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
            )
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._bar.start()
        if stage not in self._tasks:
            self._tasks[stage] = self._bar.add_task(stage, total=total or None)
        self._bar.update(self._tasks[stage], completed=done, total=total or None)  # type: ignore[arg-type]

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
