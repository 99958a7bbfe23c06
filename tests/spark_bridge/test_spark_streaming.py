"""Rules on streams: what ``where`` keeps, and rules that change meanwhile."""

import threading
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from spark_answers import ROW, where_answers
from stream_program import EACH, EVENT, SCHEMA, VERSIONS, Stream, put, rules

import penstock
from penstock import QuerySet, Schema
from penstock.gen.errors import DataError
from penstock.host.saved import parcel
from penstock.spark_bridge import match, published, register, top_k, worker
from penstock.spark_bridge.published import publish, publish_table
from penstock.spark_bridge.worker import MOST_OPEN

pytestmark = pytest.mark.xdist_group("spark")


def kept(spark, folder: Path, texts: dict[str, str]) -> dict[int, list[str]]:
    """By event, the rules whose ``where`` keeps it."""
    events = spark.read.schema(EVENT).json(str(folder)).selectExpr("*", f"n AS `{ROW}`")
    found: dict[int, list[str]] = {row[ROW]: [] for row in events.select(ROW).collect()}
    for id, rows in sorted(zip(texts, where_answers(events, list(texts.values())), strict=True)):
        for row in rows:
            found[row].append(id)
    return found


def matches(rows) -> dict[int, list[str]]:
    assert len({row.n for row in rows}) == len(rows)
    return {row.n: row.matches for row in rows}


SPARSE = "map('n', CAST(n AS STRING), 'symbol', symbol, 'price', CAST(price AS STRING))"
FORMS = {
    "ids": lambda queries: match(queries),
    "numbers": lambda queries: match(queries, output="numbers", into="found"),
    "pairs": lambda queries: match(queries, output="pairs"),
    "best": lambda queries: top_k(queries, 1),
    "sparse": lambda queries: (
        lambda rows: rows.selectExpr("n", f"{SPARSE} AS m").transform(match(queries, events="m"))
    ),
    "sql": lambda _: lambda rows: rows.selectExpr("*", "match_trade(n, symbol, price) AS matches"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_output_on_a_stream(spark, tmp_path, form):
    """The calls are those for a DataFrame that does not stream."""
    texts, queries = VERSIONS[1], rules(VERSIONS[1])
    register(spark, queries, "match_trade")
    with Stream(spark, tmp_path, FORMS[form](queries)) as stream:
        rows = stream.next(0) + stream.next(1)
    wanted = kept(spark, tmp_path / "events", texts)
    if form == "pairs":
        pairs = Counter((n, id) for n, ids in wanted.items() for id in ids)
        assert len(pairs) > EACH and Counter((row.n, row.match) for row in rows) == pairs
    elif form == "numbers":
        places = {row.n: [sorted(texts)[number] for number in row.found] for row in rows}
        assert places == wanted
    elif form == "best":  # the weight of a rule is its place
        best = {n: [max(ids, key=list(texts).index)] if ids else [] for n, ids in wanted.items()}
        assert {row.n: [m.id for m in row.matches] for row in rows} == best
    else:
        assert matches(rows) == wanted


@pytest.mark.parametrize("adaptive", [True, False])
def test_a_micro_batch_uses_the_version_that_is_last_when_it_begins(spark, tmp_path, adaptive):
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    folder = tmp_path / "rules"
    assert publish(rules(VERSIONS[1]), folder) == 1
    try:
        with Stream(spark, tmp_path, match(folder)) as stream:
            found = {1: stream.next(0) + stream.next(1)}
            assert stream.next(2, events=0) == []
            assert publish(rules(VERSIONS[2]), folder) == 2
            found[2] = stream.next(3)
        assert publish(rules(VERSIONS[1]), folder) == 3
        with Stream(spark, tmp_path, match(folder)) as stream:  # from where it was
            found[3] = stream.next(4)
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
    events = tmp_path / "events"
    wanted = {version: kept(spark, events, VERSIONS[2 - version % 2]) for version in found}
    for version, rows in found.items():
        assert {row.rules_version for row in rows} == {version}
        assert matches(rows) == {row.n: wanted[version][row.n] for row in rows}
    assert sorted(row.n for rows in found.values() for row in rows) == sorted(wanted[1])


def test_what_is_published_in_a_micro_batch_is_for_the_next(spark, tmp_path):
    """Each of three tasks publishes twice, and matches its rows only then."""
    folder, sets = tmp_path / "rules", [rules(texts) for texts in VERSIONS.values()]
    publish(sets[0], folder)

    def publishing(batches):
        for batch in batches:
            for queries in sets:
                publish(queries, folder)
            yield batch

    def transform(frame):
        return frame.mapInArrow(publishing, frame.schema).transform(match(folder))

    with Stream(spark, tmp_path, transform) as stream:
        for number in range(3):
            before = published.last_version(folder)
            rows = stream.next(number)
            assert {row.rules_version for row in rows} == {before}
            ids = published.rules_of(folder, before).ids
            (texts,) = (texts for texts in VERSIONS.values() if texts.keys() == ids)
            wanted = kept(spark, tmp_path / "events", texts)
            assert matches(rows) == {row.n: wanted[row.n] for row in rows}
            assert published.last_version(folder) == before + 6


def test_a_worker_keeps_few_versions_open(tmp_path):
    worker.close_all()
    job = worker.Job(None, str(tmp_path), "software", [("n", "n")], None, "ids", 0, {}, "matches")
    for limit in range(MOST_OPEN + 3):
        version = publish(rules({"below": f"n < {limit}"}), tmp_path)
        columns = {"n": range(10), published.COLUMN: [version] * 10}
        batch = pa.RecordBatch.from_pydict({k: pa.array(v, pa.int32()) for k, v in columns.items()})
        (answers,) = worker.matched(iter([batch]), job)
        assert answers["matches"].to_pylist() == [["below"] if n < limit else [] for n in range(10)]
        assert len(worker._OPEN) == min(limit + 1, MOST_OPEN)
    worker.close_all()


def test_a_folder_that_is_emptied_and_filled_again(spark, tmp_path):
    """The numbers begin again; the workers are the same."""
    frame = spark.range(20).selectExpr("CAST(id AS INT) AS n", "'A' AS symbol", "1.5BD AS price")
    for limit in (5, 9):
        assert publish(rules({"r": f"n < {limit}"}), tmp_path) == 1
        rows = frame.transform(match(tmp_path)).collect()
        assert sum(len(row.matches) for row in rows) == limit
        published.file_of(tmp_path, 1).unlink()


def test_a_version_that_is_gone_or_damaged_is_one_clear_error(spark, tmp_path):
    folder = tmp_path / "rules"
    with pytest.raises(DataError, match=r"rules cannot be read: No such file"):
        match(folder)
    folder.mkdir()
    with pytest.raises(DataError, match=r"there are no rules in .*rules\nhint: publish some first"):
        match(folder)
    publish(rules(VERSIONS[1]), folder)
    transform, last = match(folder), published.file_of(folder, 2)
    for spoil, message in [
        (lambda: last.write_bytes(b"PSPARCEL" + bytes(90)), "00000002.parcel is damaged"),
        (lambda: last.write_bytes(b""), "00000002.parcel is no parcel of a query set"),
        (lambda: (last.unlink(), last.symlink_to("gone")), "00000002.parcel cannot be read: No"),
        (lambda: [path.unlink() for path in folder.iterdir()], "there are no rules in"),
    ]:
        spoil()
        with Stream(spark, tmp_path, transform) as stream:
            with pytest.raises(Exception, match=message) as caught:
                stream.next(0)
            assert "hint: " in str(caught.value)
        assert not stream.batches


def test_a_damaged_version_does_not_stop_the_next(tmp_path):
    publish(rules(VERSIONS[1]), tmp_path)
    published.file_of(tmp_path, publish(rules(VERSIONS[2]), tmp_path)).write_bytes(b"half")
    with pytest.raises(DataError, match="hint: publish the rules again, as the next version"):
        match(tmp_path)
    other = QuerySet(Schema.of({"a": "INT"}))
    with pytest.raises(DataError, match="are on another stream"):
        publish(other, tmp_path)
    assert publish(rules(VERSIONS[2]), tmp_path) == 3
    assert published.rules_of(tmp_path, 3).ids == set(VERSIONS[2])
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"rules cannot be published in .*file: File exists"):
        publish(other, tmp_path / "file")
    assert len(list(tmp_path.iterdir())) == 4  # and no part of any


def test_two_who_publish_at_once_get_two_numbers(tmp_path, monkeypatch):
    """Both have seen what the folder held before either writes; another stream comes too late."""
    both = threading.Barrier(2)

    def packed(queries):
        both.wait(timeout=20)
        return parcel.packed(queries)

    monkeypatch.setattr(published, "packed", packed)

    def at_once(folder, *sets):
        found = []

        def run(queries):
            try:
                found.append((publish(queries, folder), queries.ids))
            except DataError as error:
                found.append((0, str(error)))

        threads = [threading.Thread(target=run, args=[queries]) for queries in sets]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sorted(found)

    for round in range(5):
        sets = [rules({f"r{round} {who}": "n = 1"}) for who in "ab"]
        found = at_once(tmp_path / "one", *sets)
        assert [version for version, _ in found] == [2 * round + 1, 2 * round + 2]
        assert [published.rules_of(tmp_path / "one", version).ids for version, _ in found] == [
            ids for _, ids in found
        ]
        (none, why), (first, _) = at_once(
            tmp_path / f"two {round}", sets[0], QuerySet(Schema.of({"a": "INT"}))
        )
        assert (none, first) == (0, 1) and "are on another stream" in why


def table_of(spark, versions):
    rows = [(v, id, text) for v, texts in versions.items() for id, text in texts.items()]
    return spark.createDataFrame(rows, "version INT, id STRING, text STRING")


def test_rules_in_a_table_that_each_micro_batch_looks_at(spark, tmp_path):
    """Whoever writes the table need not know the folder."""
    folder, table, found = tmp_path / "rules", tmp_path / "table", {}

    def write(version):
        table_of(spark, {version: VERSIONS[version]}).write.mode("append").parquet(str(table))

    write(1)
    publish_table(spark.read.parquet(str(table)), folder, SCHEMA)
    matching = match(folder)

    def each(batch, number):
        publish_table(batch.sparkSession.read.parquet(str(table)), folder, SCHEMA)
        found[number] = batch.transform(matching).collect()
        if number == 1:
            write(2)

    put(tmp_path / "events", 0)
    source = spark.readStream.schema(EVENT).option("maxFilesPerTrigger", 1)
    query = source.json(str(tmp_path / "events")).writeStream.foreachBatch(each).start()
    for number in range(1, 4):
        query.processAllAvailable()
        put(tmp_path / "events", number)
    query.processAllAvailable()
    query.stop()
    assert [{row.rules_version for row in found[number]} for number in range(4)] == [
        {1},
        {1},
        {2},
        {2},
    ]
    for version, numbers in {1: (0, 1), 2: (2, 3)}.items():
        wanted = kept(spark, tmp_path / "events", VERSIONS[version])
        rows = [row for number in numbers for row in found[number]]
        assert matches(rows) == {row.n: wanted[row.n] for row in rows}
        assert len(rows) == 2 * EACH


def test_a_table_is_published_once_and_under_its_own_number(spark, tmp_path):
    three, seven = ({v: VERSIONS[1], 7: VERSIONS[2]} for v in (3, 8))
    assert publish_table(table_of(spark, three), tmp_path, SCHEMA) == 7
    assert published.rules_of(tmp_path, 7).ids == VERSIONS[2].keys()
    before = published.file_of(tmp_path, 7).stat()
    assert publish_table(table_of(spark, three), tmp_path, SCHEMA) == 7
    assert published.file_of(tmp_path, 7).stat() == before
    assert publish_table(table_of(spark, seven), tmp_path, SCHEMA) == 8
    assert publish_table(table_of(spark, three), tmp_path, SCHEMA) == 8  # seen late
    assert published.rules_of(tmp_path, 8).ids == VERSIONS[1].keys()
    for table, message in [
        (table_of(spark, {5: VERSIONS[1]}), r"last version is 5, which .* lacks; .* has 8 already"),
        (table_of(spark, {0: VERSIONS[1]}), "last version in the table of rules is 0"),
        (table_of(spark, three).where("FALSE"), "last version in the table of rules is None"),
        (table_of(spark, three).drop("version"), "no column 'version', but id, text"),
    ]:
        with pytest.raises(DataError, match=message):
            publish_table(table, tmp_path, SCHEMA)
    with pytest.raises(penstock.QueryError, match="unknown attribute 'pirce'"):
        publish_table(table_of(spark, {9: {"typo": "pirce < 1"}}), tmp_path, SCHEMA)
    assert published.last_version(tmp_path) == 8
