"""Events of a file with what matches them, on the executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.gen.arrow import may_become
from penstock.gen.errors import DataError, nearest
from penstock.gen.queryset import QuerySet
from penstock.host.saved.parcel import digest_of, packed
from penstock.spark_bridge.shipping import Shipment
from penstock.spark_bridge.sources.places import MOST_RULE_BYTES
from penstock.spark_bridge.sources.tables import Piece, TableFile, is_sparse
from penstock.spark_bridge.worker import Job, matched

OUTPUTS = ("ids", "numbers", "pairs")


@dataclass(frozen=True)
class Matching:
    """What tasks do with batches of events: the rules are in the job, as they were when the query
    was planned. Engines stay open in workers, by the digest of the rules."""

    job: Job
    read: list[str]
    """The columns that the engine looks at."""

    @classmethod
    def of(
        cls, rules: QuerySet, file: TableFile, engine: str, output: str, k: int, into: str | None
    ) -> Matching:
        if k and output == "numbers":
            raise DataError(
                "option 'k' ranks ids; output 'numbers' has no scores\nhint: ids, pairs"
            )
        columns = file.columns()
        events, used = None, _used(rules, columns)
        if is_sparse(columns):
            events, used = columns.names[0], []
        name = into or ("match" if output == "pairs" else "matches")
        parcel = packed(rules)
        if len(parcel) > MOST_RULE_BYTES:
            raise DataError(
                f"the rules take {len(parcel):,} bytes, more than the {MOST_RULE_BYTES:,} that a "
                "table's rules may\nhint: penstock.spark_bridge.match sends rules of any size"
            )
        shipment = Shipment(digest_of(parcel), parcel)
        job = Job(
            shipment=(shipment.digest, shipment.parcel), folder=None, engine=engine, columns=used,
            events=events, output=output, k=k, weights={}, into=name,
        )  # fmt: skip
        made = cls(job, [events] if events else [column for column, _ in used])
        taken = {column.lower() for column in columns.names}
        for field in made.added():
            if field.name.lower() in taken:
                raise DataError(
                    f"the events have a column {field.name!r} already\n"
                    "hint: give the column of matches another name with option into"
                )
        return made

    def added(self) -> list[pa.Field]:
        job = self.job
        score = pa.field("score", pa.int64())
        if job.output == "pairs":
            return [pa.field(job.into, pa.string()), *([score] if job.k else [])]
        if job.k:
            best = pa.struct([pa.field("id", pa.string()), score])
            return [pa.field(job.into, pa.list_(best))]
        of = pa.int32() if job.output == "numbers" else pa.string()
        return [pa.field(job.into, pa.list_(of))]

    def extended(self, columns: pa.Schema) -> pa.Schema:
        return pa.schema([*columns, *self.added()])

    def matched(
        self, file: TableFile, piece: Piece, names: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Those columns that were asked for; columns that nobody needs are not read."""
        added = {field.name for field in self.added()}
        wanted = dict.fromkeys([*self.read, *(name for name in names if name not in added)])
        read = [*wanted] or file.columns().names[:1]  # something has to count the events
        yield from matched(file.batches(piece, read), self.job)


def _used(rules: QuerySet, columns: pa.Schema) -> list[tuple[str, str]]:
    """The columns of attributes that rules look at; those that the events lack are absent."""
    if is_sparse(columns):
        return []
    names = [name for name in columns.names if rules.schema.find(name) is not None]
    if not names:
        known = (attribute.name for attribute in rules.schema)
        first = columns.names[0] if columns.names else ""
        raise DataError(
            f"no column of the events ({', '.join(columns.names[:8])}) is an attribute of stream "
            f"{rules.schema.stream!r}\nhint: {nearest(first, known)}"
        )
    tested = {attribute.index for attribute in rules.tested}
    used: dict[str, str] = {}
    for name in names:
        attribute = rules.schema[name]
        if attribute.index not in tested:
            continue
        if attribute.name in used.values():
            raise DataError(f"the events have two columns for attribute {attribute.name!r}")
        if not may_become(columns.field(name).type, attribute.type):
            raise DataError(
                f"column {name!r} is {columns.field(name).type}, which cannot be compared as "
                f"{attribute.type}, the type of attribute {attribute.name!r}"
            )
        used[name] = attribute.name
    return list(used.items())
