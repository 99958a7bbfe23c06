"""Specs that are refused, wide events, and workloads as folders."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.gen.errors import DataError
from penstock.gen.schema import Schema
from penstock.sim.workload import (
    PRESETS,
    WorkloadSpec,
    generate_events,
    generate_expressions,
    schema_for,
    to_wide,
    write,
)

SMALL = WorkloadSpec(expressions=50, attributes=40, events=20, seed=3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"expressions": 0}, "expressions must be at least 1, not 0"),
        ({"events": 1.5}, "events must be an integer, not 1.5"),
        ({"seed": -1}, "seed must be at least 0, not -1"),
        ({"cardinality": 2**31}, "cardinality must be at most 2147483647, not 2147483648"),
        ({"predicates": 3}, r"predicates must stay within 1 to 400 .* not 3 \+- 3"),
        ({"attributes": 17}, r"pairs must stay within 1 to 17 .* not 15 \+- 3"),
        ({"match_rate": 0.0}, "match_rate must be above 0 and at most 1, or None, not 0.0"),
        ({"operators": {"LIKE": 1}}, "unknown operator 'LIKE'; known: <, <=, ="),
        ({"operators": {"=": -1}}, "the weight of = must be 0 or more, not -1"),
        ({"operators": {"=": 0}}, "at least one weight above 0"),
        ({"value_distribution": "normal"}, "value_distribution must be 'uniform', 'zipf'"),
        ({"attribute_distribution": "zipf:-1"}, "exponent above 0 and at most 4, not 'zipf:-1'"),
        ({"attribute_distribution": "zipf:x"}, "not 'zipf:x'"),
    ],
)
def test_bad_field_is_refused_with_what_would_work(fields, message):
    with pytest.raises(ValueError, match=message):
        WorkloadSpec(**fields)


@pytest.mark.parametrize("name", PRESETS)
def test_spec_survives_json(name):
    spec = WorkloadSpec(**PRESETS[name], operators={"!=": 2, "IN": 1})
    assert WorkloadSpec(**json.loads(json.dumps(spec.to_dict()))) == spec


def test_wide_events_hold_the_same_pairs():
    events, schema = generate_events(SMALL), schema_for(SMALL)
    wide = to_wide(events, schema)
    assert wide.schema == schema.to_arrow()
    for row, event in zip(wide.to_pylist(), events["attributes"].to_pylist(), strict=True):
        assert {name: value for name, value in row.items() if value is not None} == dict(event)


def test_wide_events_of_a_slice_are_the_slice_of_the_wide_events():
    events, schema = generate_events(SMALL), schema_for(SMALL)
    assert to_wide(events.slice(5, 7), schema).equals(to_wide(events, schema).slice(5, 7))
    assert to_wide(events.slice(0, 0), schema).num_rows == 0


def test_attribute_that_the_schema_lacks_is_named():
    with pytest.raises(DataError, match=r"events have attribute 'a0\d\d', which the schema lacks"):
        to_wide(generate_events(SMALL), Schema.of({"price": "INT"}))


def test_folder_holds_the_workload_and_what_it_was_made_from(tmp_path):
    spec = replace(SMALL, match_rate=0.01)
    seen = []
    summary = write(spec, tmp_path / "w", progress=lambda *step: seen.append(step))
    assert sorted(path.name for path in (tmp_path / "w").iterdir()) == [
        "events.parquet",
        "expressions.parquet",
        "schema.sql",
        "workload.json",
    ]
    expressions = pq.read_table(tmp_path / "w" / "expressions.parquet")
    assert expressions.equals(generate_expressions(spec).cast(expressions.schema))
    assert pq.read_table(tmp_path / "w" / "events.parquet").equals(generate_events(spec))
    assert (tmp_path / "w" / "schema.sql").read_text() == f"{schema_for(spec)};\n"
    assert json.loads((tmp_path / "w" / "workload.json").read_text()) == summary
    assert WorkloadSpec(**summary["spec"]) == spec
    assert summary["predicates"] == len(expressions) and summary["events"] == 20
    assert [stage for stage, done, total in seen if done == total] == [
        "calibrate",
        "expressions",
        "events",
        "measure",
    ]


def test_earlier_workload_is_replaced(tmp_path):
    write(SMALL, tmp_path)
    summary = write(replace(SMALL, events=7), tmp_path)
    assert summary["events"] == 7
    assert len(pq.read_table(tmp_path / "events.parquet")) == 7


def test_folder_with_other_files_is_refused_untouched(tmp_path):
    (tmp_path / "thesis.tex").write_text("draft")
    with pytest.raises(DataError, match=r"holds other files \(thesis.tex\)"):
        write(SMALL, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(DataError, match="is a file"):
        write(SMALL, tmp_path / "thesis.tex")


def test_failure_leaves_the_earlier_workload_whole(tmp_path):
    write(SMALL, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fail(stage, done, total):
        if stage == "measure":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(replace(SMALL, seed=9), tmp_path, progress=fail)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_dictionaries_survive_parquet(tmp_path):
    write(SMALL, tmp_path)
    schema = pq.read_schema(tmp_path / "expressions.parquet")
    assert pa.types.is_dictionary(schema.field("operator").type)
