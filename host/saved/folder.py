"""A folder that keeps a query set: a snapshot, the log of the changes since, and a lock.

Files of other generations than that of `snapshot.json` are left from a save that was interrupted;
nothing reads them, and whoever opens the folder next removes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from io import BufferedRandom
from pathlib import Path

from penstock.gen.errors import DataError
from penstock.gen.queryset import QuerySet
from penstock.host.saved import changes
from penstock.host.saved.log import Log
from penstock.host.saved.snapshot import INDEX, Snapshot, read, sync_folder, write, write_durably

LOCK = "lock"
_NUMBERED = re.compile(r"(?:texts-(\d+)\.arrow|predicates-(\d+)-\d+\.arrow|changes-(\d+)\.log)")


class SavedSet:
    """A saved set that this process alone may change, until it is closed."""

    def __init__(self, path: Path, lock: BufferedRandom, log: Log) -> None:
        self.path = path
        self._lock = lock
        self._log = log

    @classmethod
    def open(cls, path: Path) -> tuple[SavedSet, QuerySet]:
        """Take up what was saved, changes since included; DataError if it is damaged."""
        if not (path / INDEX).exists():
            raise DataError(f"{path} is no saved set: matcher.save makes one, load reads files")
        with ExitStack() as held:
            lock = held.enter_context(_locked(path))
            snapshot = read(path)
            log_path = path / _log_name(snapshot.generation)
            log = Log(log_path)
            held.callback(log.close)
            for number, record in enumerate(log.records):
                source = f"{log_path}, record {number} at byte {record.start}"
                changes.apply(record.payload, snapshot.queries, source)
            held.pop_all()
        _clear(path, snapshot.generation)
        return cls(path, lock, log), snapshot.queries

    @classmethod
    def make(cls, path: Path, queries: QuerySet, at: datetime) -> SavedSet:
        """Save a set where none is, or in place of one that nobody has open."""
        with _telling(path):
            path.mkdir(parents=True, exist_ok=True)
        with ExitStack() as held:
            lock = held.enter_context(_locked(path))
            foreign = _foreign(path)
            if foreign:
                raise DataError(
                    f"{path} holds {foreign!r}, which is of no saved set; choose another folder"
                )
            log = _replaced(path, queries, at)
            held.pop_all()
        return cls(path, lock, log)

    def replace(self, queries: QuerySet, at: datetime) -> None:
        """Save a set in place of this one; from now on its changes are logged."""
        log = _replaced(self.path, queries, at)
        self._log.close()
        self._log = log

    def add(self, queries: QuerySet, at: datetime) -> None:
        """Log that subscriptions come; they are on disk when this returns."""
        self._log.append(changes.added(queries, at))

    def remove(self, ids: Sequence[str], at: datetime) -> None:
        """Log that subscriptions go; it is on disk when this returns."""
        self._log.append(changes.removed(ids, at))

    def withdraw(self) -> None:
        """Take back the change that was logged last, as it did not come about."""
        self._log.withdraw()

    def close(self) -> None:
        self._log.close()
        self._lock.close()


def _replaced(path: Path, queries: QuerySet, at: datetime) -> Log:
    """Write a new generation, make it the one that counts, and open its log."""
    generation = 1 + max((_generation(file.name) for file in path.iterdir()), default=0)
    log_path = path / _log_name(generation)
    with _telling(path):
        write_durably(log_path, b"")
        write(path, Snapshot(queries, at, generation))
    _clear(path, generation)
    return Log(log_path)


def _locked(path: Path) -> BufferedRandom:
    """The lock file of a folder, which nobody else has while it is open."""
    import fcntl  # not on Windows, where all but saving works

    with _telling(path):
        lock = (path / LOCK).open("a+b")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise DataError(f"{path} is open in another matcher; close that first") from None
    return lock


def _log_name(generation: int) -> str:
    return f"changes-{generation}.log"


def _generation(name: str) -> int:
    """The generation of a file by its name, 0 where it has none."""
    found = _NUMBERED.fullmatch(name)
    return int(next(filter(None, found.groups()))) if found else 0


def _foreign(path: Path) -> str | None:
    """A file in the folder that is of no saved set."""
    ours = (LOCK, INDEX, f"{INDEX}.part")
    names = sorted(file.name for file in path.iterdir())
    return next((n for n in names if n not in ours and not _NUMBERED.fullmatch(n)), None)


def _clear(path: Path, generation: int) -> None:
    """Remove what is left of other generations; what cannot be removed does no harm."""
    with suppress(OSError):
        for file in path.iterdir():
            if _generation(file.name) not in (0, generation) or file.name == f"{INDEX}.part":
                file.unlink()
        sync_folder(path)


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    """Make an error of the system one that names the folder."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}") from None
