"""Events as codes: keys like those of the types, and codes that the plan's logic decides right."""

import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from amaranth.hdl import Fragment
from event_tables import arrow_events
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from plan_answers import PlanAnswers, code_of, queries_of, unpacked
from strategies import NAN, TYPES, Case, cases, pools, values_of

from penstock import QuerySet, Schema
from penstock.gen.arrow import to_values
from penstock.gen.lower.front import front_of
from penstock.gen.manifest import manifest_of
from penstock.gen.passes import plan_of
from penstock.gen.plan import CHUNK_BITS
from penstock.gen.schema import arrow_type
from penstock.gen.types import DATE, TIMESTAMP, Type, parse_type
from penstock.gen.wire import sources_for
from penstock.host.encode import Encoder
from penstock.host.events import Batch
from penstock.host.keys import keys_of
from penstock.rtl_lib.front import Front
from penstock.rtl_lib.shape import ChainShape
from penstock.rtl_lib.sources import Passed
from penstock.sim import oracle

AS_FOUND = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def column_of(values: list, of: Type) -> pa.Array:
    stored = {DATE: pa.int32(), TIMESTAMP: pa.int64()}.get(of, arrow_type(of))
    return pa.array(values, stored).cast(arrow_type(of))


def encoder_of(queries: QuerySet) -> tuple[Encoder, tuple]:
    plan = plan_of(queries)
    manifest = manifest_of(plan, queries, "")
    return Encoder(manifest, sum(field.width for field in plan.fields) + 1), plan.fields


@st.composite
def columns(draw) -> tuple[Type, pa.Array]:
    """A column of any type, some values absent, often a slice of a longer one."""
    of = draw(st.sampled_from([*TYPES, parse_type("DECIMAL(18,4)"), parse_type("DECIMAL(19,4)")]))
    values = list(values_of(of, draw(pools())))
    drawn = draw(st.lists(st.none() | st.sampled_from(values), max_size=12))
    column = column_of(drawn, of)
    start = draw(st.integers(0, len(column)))
    return of, column.slice(start, draw(st.integers(0, len(column) - start)))


@pytest.mark.fuzz
@given(drawn=columns())
def test_keys_of_a_column_are_the_keys_of_its_values(drawn: tuple[Type, pa.Array]) -> None:
    of, column = drawn
    keys = keys_of(column, of)
    assert len(keys) == len(column)
    is_narrow = of.key_bits is not None and of.key_bits <= 64
    assert keys.dtype == (np.int64 if is_narrow else object)
    for key, value in zip(keys.tolist(), to_values(column), strict=True):
        assert value is None or key == of.key(value), (of, value)


@pytest.mark.parametrize("of", TYPES, ids=str)
@pytest.mark.parametrize("length", [0, 3])
def test_columns_without_a_value_have_keys(of: Type, length: int) -> None:
    for column in (pa.nulls(length, arrow_type(of)), column_of([None] * (length + 1), of)[1:]):
        assert len(keys_of(column, of)) == length


@pytest.mark.parametrize("name", ["FLOAT", "DOUBLE"])
def test_nan_is_one_key_whatever_its_bits_and_zero_one_whatever_its_sign(name: str) -> None:
    of = parse_type(name)
    integer, floating = (np.uint32, np.float32) if name == "FLOAT" else (np.uint64, np.float64)
    quiet = np.array([NAN, -NAN], floating).view(integer)
    signalling = np.array([math.inf, -math.inf], floating).view(integer) + integer(1)
    column = pa.array(np.concatenate([quiet, signalling]).view(floating), from_pandas=False)
    assert keys_of(column, of).tolist() == [of.highest] * 4
    assert keys_of(pa.array([0.0, -0.0], arrow_type(of)), of).tolist() == [0, 0]


@pytest.mark.fuzz
@AS_FOUND
@given(case=cases(), data=st.data())
def test_encoder_plan_and_lowering_agree_with_the_oracle(case: Case, data: st.DataObject) -> None:
    queries = queries_of(case)
    plan = plan_of(queries)
    answers = PlanAnswers(plan)
    encoder = Encoder(manifest_of(plan, queries, ""), sum(f.width for f in plan.fields) + 1)
    start = data.draw(st.integers(0, len(case.events)), "first event")
    table = arrow_events(case).slice(start)
    kept = [n for n in table.column_names if table[n].null_count < len(table)]
    if kept and data.draw(st.booleans(), "absent columns are left out"):
        table = table.select(kept)
    words = encoder.encode(Batch.of(table, case.schema).wide())
    assert words.shape == (len(table), encoder.words)
    for codes, row in zip(unpacked(words, plan.fields), case.events[start:], strict=True):
        assert codes == [code_of(field, row) for field in plan.fields], row
        assert answers.exact(codes, row, case.schema) == set(oracle.matches(queries, row)), row


@pytest.mark.fuzz
@AS_FOUND
@given(case=cases(), data=st.data())
def test_front_makes_of_values_the_codes_that_the_host_would(
    case: Case, data: st.DataObject
) -> None:
    queries = queries_of(case)
    plan = plan_of(queries)
    fields = tuple(
        replace(f, source=data.draw(st.sampled_from(sources_for(f)[::-1]), f.name))
        for f in plan.fields
    )
    if not fields:
        return
    shape = ChainShape(tuple(f.width for f in fields), CHUNK_BITS, 1, 1, 1)
    front = front_of(fields, shape)
    Fragment.get(front, None)  # Amaranth warns of a component that is never elaborated
    event_bits = len(front.i.payload.as_value())
    encoder = Encoder(manifest_of(replace(plan, fields=fields), queries, ""), event_bits)
    table = arrow_events(case)
    for row, event in zip(
        encoder.encode(Batch.of(table, case.schema).wide()), case.events, strict=True
    ):
        number = int.from_bytes(row.tobytes(), "little")
        assert number >> event_bits - 1 == 0, "an event that looks like a configuration word"
        passed, values = raw_parts(number, front)
        pairs = zip(values, front.value_bits, strict=True)
        assert all(value == 0 or value >> bits == 1 for value, bits in pairs), "absence is not 0"
        assert front.compute(passed, values) == tuple(code_of(f, event) for f in fields), event


def raw_parts(number: int, front: Front) -> tuple[list[int], list[int]]:
    """The ready-made codes and the values of an event on the wire; nothing lies in between."""
    passed = []
    for source in front.sources:
        if isinstance(source, Passed):
            passed.append(number % 2**source.code_bits)
            number >>= source.code_bits
    value_widths = [bits + 1 for bits in front.value_bits]
    gap = len(front.i.payload.as_value()) - 1 - sum(value_widths)
    gap -= sum(s.code_bits for s in front.sources if isinstance(s, Passed))
    assert number % 2**gap == 0
    number >>= gap
    values = []
    for width in value_widths:
        values.append(number % 2**width)
        number >>= width
    return passed, values


def test_codes_lie_side_by_side_also_across_words() -> None:
    schema = Schema.of({f"a{n}": "INT" for n in range(12)})
    queries = QuerySet(schema)
    for attribute in schema:
        for value in range(100):  # seven bits each, so that codes straddle the words
            queries.add(f"{attribute} {value}", f"{attribute} >= {value}")
    encoder, fields = encoder_of(queries)
    assert {field.width for field in fields} == {7} and encoder.words == 3
    rows = [[n * step % 130 - 10 for n in range(12)] for step in range(200)]
    events = pa.record_batch(
        [pa.array(c, pa.int32()) for c in zip(*rows, strict=True)], list(map(str, schema))
    )
    wanted = [[min(max(value + 1, 0), 100) for value in row] for row in rows]
    assert unpacked(encoder.encode(events), fields) == wanted


def test_batch_without_events_has_no_words() -> None:
    queries = QuerySet(Schema.of([(f"a{n}", of) for n, of in enumerate(TYPES)]))
    for attribute in queries.schema:
        queries.add(attribute.name, f"{attribute} IS NOT NULL")
    queries.add("pair", "a1 < a2 AND a3 = a10")
    encoder, _ = encoder_of(queries)
    nothing = pa.RecordBatch.from_pylist([], queries.schema.to_arrow())
    assert encoder.encode(nothing).shape == (0, encoder.words)


def test_value_underneath_a_null_does_not_show() -> None:
    queries = QuerySet(Schema.of({"n": "INT", "d": "DECIMAL(4,2)"}))
    queries.add("n", "n = 7 OR n IS NULL")
    queries.add("d", "d = 0.07")
    encoder, fields = encoder_of(queries)
    null = pa.py_buffer(b"\0")
    n = pa.Array.from_buffers(pa.int32(), 1, [null, pa.py_buffer(np.int32(7).tobytes())])
    d = pa.Array.from_buffers(
        pa.decimal128(4, 2), 1, [null, pa.py_buffer(np.array([7, 0]).tobytes())]
    )
    assert unpacked(encoder.encode(pa.record_batch([n, d], ["n", "d"])), fields) == [[0, 0]]
    present = pa.record_batch(
        [pa.array([7], pa.int32()), pa.array([Decimal("0.07")], d.type)], ["n", "d"]
    )
    assert 0 not in unpacked(encoder.encode(present), fields)[0][1:]
