"""Tables of format ``penstock``, read and written here as Spark's tasks would."""

import hashlib
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import CaseInsensitiveDict

import penstock
from penstock import QuerySet
from penstock.spark_bridge.sources.tables import spark_arrow, spark_schema
from penstock.spark_bridge.sources.workload import WorkloadSource

ROOT = Path(__file__).parents[2]
RULES, EVENTS = ROOT / "examples/trades/rules.sql", ROOT / "examples/trades/events.csv"
STREAM = "CREATE STREAM s (x INT, y STRING)"


def source(path: object, **options: object) -> WorkloadSource:
    given = {"path": str(path), **{name: str(value) for name, value in options.items()}}
    return WorkloadSource(CaseInsensitiveDict(given))


def read(path: object, **options: object) -> pa.Table:
    """What a table would hold, read here, task after task."""
    of = source(path, **options)
    reader = of.reader(of.schema())
    batches = [batch for piece in reader.partitions() for batch in reader.read(piece)]
    return pa.Table.from_batches(batches, spark_arrow(of.schema()))


def save(table: pa.Table, folder: Path, *, overwrite: bool = False, tasks: int = 2, **options):
    """Write a table as Spark would, here; the parts of its tasks come in order."""
    writer = source(folder, **options).writer(spark_schema(table.schema), overwrite)
    length = -(-table.num_rows // tasks)
    parts = [table.slice(n * length, length).to_batches() for n in range(tasks)]
    try:
        writer.commit([writer.write(iter(part)) for part in parts])
    except BaseException:
        writer.abort([])
        raise


def wanted(rules: QuerySet, events: pa.Table) -> list[list[str]]:
    with penstock.open(rules, engine="oracle") as matcher:
        return matcher.match(events)["matches"].to_pylist()


def state(folder: Path) -> dict[str, str]:
    """All that is in a folder and beside it, by content."""
    return {
        str(path.relative_to(folder.parent)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.parent.rglob("*"))
        if path.is_file() and ".crc" not in path.name
    }


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def texts(**conditions: str) -> pa.Table:
    return pa.table({"id": [*conditions], "text": [*conditions.values()]})
