"""Query sets on their way to the workers: small ones in the task, large ones in a file.

A file comes to each executor once, under Spark Connect as well, which cannot broadcast.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from penstock.gen.errors import DataError
from penstock.gen.queryset import QuerySet
from penstock.host.saved.parcel import digest_of, packed, unpacked

MOST_INLINE = 1 << 18
"""Bytes that every task may carry."""


class Shipment(NamedTuple):
    """A query set by its digest: the bytes themselves, or none if they come as a file."""

    digest: str
    parcel: bytes | None

    @property
    def file(self) -> str:
        return f"penstock-{self.digest}.parcel"


class Sender:
    """Packs a query set once, and brings it to the workers of each session that asks."""

    def __init__(self, queries: QuerySet) -> None:
        self._parcel = packed(queries)
        self._digest = digest_of(self._parcel)

    @property
    def nbytes(self) -> int:
        return len(self._parcel)

    @property
    def rules(self) -> QuerySet:
        """The set as it was when it was packed."""
        return unpacked(self._parcel)

    def is_inline(self, others: int = 0) -> bool:
        """Whether the set goes in the task, where so many other sets come in the same task."""
        return self.nbytes * (1 + others) <= MOST_INLINE

    def to(self, spark: Any, *, others: int = 0) -> Shipment:
        """What brings the set to the workers, where so many other sets come in the same task."""
        if self.is_inline(others):
            return Shipment(self._digest, self._parcel)
        shipment = Shipment(self._digest, None)
        with _LOCK:
            known = _SENT.setdefault(session_key(spark), set())
            if shipment.file not in known:
                _add_file(spark, _written(shipment.file, self._parcel))
                known.add(shipment.file)
        return shipment


def arrived(shipment: Shipment) -> QuerySet:
    """The query set, on a worker."""
    parcel = shipment.parcel
    if parcel is None:
        from pyspark import SparkFiles

        try:
            parcel = Path(SparkFiles.get(shipment.file)).read_bytes()
        except OSError as error:
            raise DataError(f"the rules did not reach this worker: {error}") from None
    if digest_of(parcel) != shipment.digest:
        raise DataError("other rules reached this worker than those that were sent")
    return unpacked(parcel, "what reached this worker")


MISSING = (
    "a Spark worker cannot import penstock: {}. Install penstock with its dependencies where the "
    "workers run, or send it: spark-submit --py-files penstock.zip, or sparkContext.addPyFile"
)


def on_workers(function: str, *values: Any) -> Callable[..., Any]:
    """What workers run: a function of this package, by module and name, on batches and values.

    It is sent as code with plain values, so that a worker without this package can say so.
    """
    missing = MISSING

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from importlib import import_module

        module, name = function.split(".")
        try:
            from penstock.spark_bridge.worker import short_errors

            work = getattr(import_module(f"penstock.spark_bridge.{module}"), name)
        except ImportError as error:
            raise RuntimeError(missing.format(error)) from None
        with short_errors():
            yield from work(batches, *values)

    return run


_LOCK = Lock()
_SENT: dict[str, set[str]] = {}
"""By session or application, what its workers have."""
_FOLDERS: list[str] = []


def session_key(spark: Any) -> str:
    return str(spark.session_id if is_remote(spark) else spark.sparkContext.applicationId)


def is_remote(spark: Any) -> bool:
    """Whether a session is one of Spark Connect."""
    return "connect" in type(spark).__module__


def _add_file(spark: Any, path: Path) -> None:
    if is_remote(spark):
        spark.addArtifacts(str(path), file=True)
    else:
        spark.sparkContext.addFile(str(path))


def _written(name: str, parcel: bytes) -> Path:
    """The parcel as a file, which is there as long as this process: executors may come later."""
    if not _FOLDERS:
        _FOLDERS.append(tempfile.mkdtemp(prefix="penstock-"))
        atexit.register(shutil.rmtree, _FOLDERS[0], ignore_errors=True)
    path = Path(_FOLDERS[0], name)
    path.write_bytes(parcel)
    return path
