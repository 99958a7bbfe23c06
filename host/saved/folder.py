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
from penstock.host.expiries import Expiries
from penstock.host.saved import changes
from penstock.host.saved.log import Log
from penstock.host.saved.snapshot import (
    INDEX,
    PARTIAL,
    Snapshot,
    put_in_place,
    read,
    sync_folder,
    write,
    write_durably,
)

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
            expiries = Expiries(snapshot.queries)
            for number, record in enumerate(log.records):
                source = f"{log_path}, record {number} at byte {record.start}"
                changes.apply(record.payload, snapshot.queries, expiries, source)
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
            generation, log = _written(path, queries, at)
            held.callback(log.close)
            with _telling(path):
                put_in_place(path)
                sync_folder(path.absolute().parent)
                _settle(path, generation)
            held.pop_all()
        return cls(path, lock, log)

    def replace(self, queries: QuerySet, at: datetime) -> None:
        """Save a set in place of this one; from now on its changes are logged."""
        generation, log = _written(self.path, queries, at)
        with _telling(self.path):
            try:
                put_in_place(self.path)
            except BaseException:
                log.close()
                raise
            # From here on the new log is the one that counts, whatever else goes wrong.
            self._log.close()
            self._log = log
            _settle(self.path, generation)

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


def _written(path: Path, queries: QuerySet, at: datetime) -> tuple[int, Log]:
    """Write a new generation, which does not count yet; its number and its log."""
    generation = 1 + max((_generation(file.name) for file in path.iterdir()), default=0)
    log_path = path / _log_name(generation)
    with _telling(path):
        write_durably(log_path, b"")
        write(path, Snapshot(queries, at, generation))
    return generation, Log(log_path)


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
    ours = (LOCK, INDEX, PARTIAL)
    names = sorted(file.name for file in path.iterdir())
    return next((n for n in names if n not in ours and not _NUMBERED.fullmatch(n)), None)


def _settle(path: Path, generation: int) -> None:
    """Have the generation that counts on disk, then remove what is left of others."""
    sync_folder(path)
    _clear(path, generation)


def _clear(path: Path, generation: int) -> None:
    """Remove what is left of other generations; what cannot be removed does no harm."""
    with suppress(OSError):
        for file in path.iterdir():
            if _generation(file.name) not in (0, generation) or file.name == PARTIAL:
                file.unlink()


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    """Make an error of the system one that names the folder."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}") from None
