"""The table region: whatever comes and goes, its words make of it what the oracle says."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import pyarrow as pa
import pytest
from amaranth.hdl import Fragment
from event_tables import arrow_events
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from strategies import Case, bound, cases
from table_model import TableModel, by_event
from table_texts import COLUMNS, OPERATORS, VALUES

from penstock import DeviceError, QuerySet, Schema
from penstock.gen.expr import Expression, Subscription
from penstock.gen.lower.circuit import circuit_of
from penstock.gen.normal import holds, make_event
from penstock.gen.passes import plan_of
from penstock.gen.passes.reserve import reserve
from penstock.gen.plan import TableRegion
from penstock.gen.schema import Attribute
from penstock.gen.types import parse_type
from penstock.host.config_words import ConfigWord, pack_config
from penstock.host.events import Batch, rows_of, to_table
from penstock.host.table import MAX_PLACES, Table
from penstock.rtl_lib.table_tile import TableTile
from penstock.sim import oracle

AS_FOUND = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
Answers = list[set[str]]


class Bench:
    """A table, a model that takes its words, and the conditions that are in it."""

    def __init__(
        self,
        schema: Schema,
        events: pa.RecordBatch,
        *,
        capacity: int = 40,
        code_bits: int = 6,
        chunks_before: int = 5,
    ) -> None:
        attributes = schema.attributes
        widths = tuple(min(code_bits, 2 + n) for n in range(len(attributes), 0, -1))
        self.region = TableRegion.after(chunks_before, attributes, widths, capacity)
        self.table, self.model = Table(self.region), TableModel(self.region)
        self.conditions: dict[str, Expression] = {}
        self.schema, self.events = schema, events
        self.rows = rows_of(events, schema)

    def codes(self) -> list[list[int]]:
        return by_event(self.table.codes(self.events), len(self.rows))

    def wanted(self) -> Answers:
        subscriptions = [Subscription(id, condition) for id, condition in self.conditions.items()]
        return [set(oracle.matches(subscriptions, row)) for row in self.rows]

    def answers(self, codes: Sequence[Sequence[int]]) -> Answers:
        """What the model and the host make of the events in these codes."""
        found = []
        for row, event_codes in zip(self.rows, codes, strict=True):
            event = make_event(row, self.schema.attributes)
            ids = {self.table.ids[bit] for bit in self.model.bits(event_codes)}
            assert None not in ids, "a place that nobody has is set"
            named = {id for id in ids if id is not None}
            rest = self.table.residuals
            kept = {id for id in named if id not in rest or holds(rest[id], event)}
            found.append(kept | {i for i, c in self.table.alone.items() if holds(c, event)})
        return found

    def add(self, id: str, condition: Expression) -> None:
        """Send the words, with all events between any two of them."""
        was, codes = self.wanted(), self.codes()
        update = self.table.add(id, condition)
        self.conditions[id] = condition
        by_host = set(self.table.alone)
        for word in update.before:
            self.model.write(word)
            found = self.answers(codes)
            assert [ids - by_host for ids in found] == [ids - by_host for ids in was]
        self.send(update.after, self.codes(), was, self.wanted())
        assert self.answers(self.codes()) == self.wanted()

    def remove(self, id: str) -> None:
        """Send the words, with all events between any two of them."""
        was, codes, ids = self.wanted(), self.codes(), list(self.table.ids)
        conditions = {**self.table.residuals}, {**self.table.alone}
        update = self.table.remove(id)
        del self.conditions[id]
        assert update.after == ()
        now = vars(self.table).copy()
        self.table.ids, (self.table.residuals, self.table.alone) = ids, conditions
        self.send(update.before, codes, was, self.wanted())
        vars(self.table).update(now)
        assert self.answers(self.codes()) == self.wanted()

    def send(
        self, words: Sequence[ConfigWord], codes: list[list[int]], was: Answers, will: Answers
    ) -> None:
        """Each event sees what was or what will be, and what stays it always sees."""
        for word in words:
            self.model.write(word)
            for found, old, new in zip(self.answers(codes), was, will, strict=True):
                assert old & new <= found <= old | new

    def add_text(self, id: str, text: str) -> None:
        condition = bound(text, self.schema)
        assert condition is not None, text
        self.add(id, condition)


def bench_of(columns: dict[str, str], events: Sequence[dict[str, Any]], **size: int) -> Bench:
    schema = Schema.of(columns)
    return Bench(schema, Batch.of(to_table(list(events), schema), schema).wide(), **size)


@pytest.mark.fuzz
@AS_FOUND
@given(case=cases(texts=10, events=12), data=st.data())
def test_table_answers_as_the_oracle_whatever_comes_and_goes(
    case: Case, data: st.DataObject
) -> None:
    bench = Bench(
        case.schema,
        Batch.of(arrow_events(case), case.schema).wide(),
        capacity=data.draw(st.sampled_from([1, 5, 33, 70]), "capacity"),
        code_bits=data.draw(st.integers(2, 6), "code bits"),
        chunks_before=data.draw(st.sampled_from([0, 1, 37]), "chunks before"),
    )
    conditions = [c for text in case.texts if (c := bound(text, case.schema)) is not None]
    if not conditions:
        return
    for number in data.draw(st.lists(st.integers(0, len(conditions) - 1), max_size=20), "turns"):
        id = f"q{number}"
        if id in bench.table:
            bench.remove(id)
            continue
        before, codes = deepcopy(vars(bench.table)), bench.codes()
        try:
            bench.add(id, conditions[number])
        except DeviceError:
            assert bench.codes() == codes
            assert bench.table.ids == before["ids"]
            assert bench.table.residuals == before["residuals"]
            assert bench.answers(codes) == bench.wanted()


def test_every_operator_comes_and_goes() -> None:
    bench = bench_of(COLUMNS, VALUES)
    for text in OPERATORS:
        bench.add_text(text, text)
    matched = {id for ids in bench.wanted() for id in ids}
    assert matched == {*OPERATORS} - {"n < 1 AND n > 2", "n NOT IN (1, 3, NULL)"}
    assert set(bench.table.alone) == {"n <=> m", "s <=> t"}
    for text in OPERATORS[::2] + OPERATORS[1::2]:
        bench.remove(text)
    assert bench.table.ids == [None] * 40
    assert not bench.table.residuals and not bench.table.alone


def test_more_subscriptions_than_places_are_refused_until_one_goes() -> None:
    bench = bench_of({"n": "INT"}, [{"n": n} for n in range(5)], capacity=3)
    for number in range(3):
        bench.add_text(f"q{number}", f"n = {number}")
    with pytest.raises(DeviceError, match=r"'q3' takes 1 of its 3 places and 0 are free"):
        bench.add_text("q3", "n = 3")
    bench.remove("q1")
    bench.add_text("q3", "n = 3")
    assert bench.answers(bench.codes()) == [{"q0"}, set(), {"q2"}, {"q3"}, set()]


def test_condition_takes_a_place_for_each_of_its_conjunctions() -> None:
    bench = bench_of({"n": "INT", "m": "INT"}, [{}, {"n": 1}, {"n": 1, "m": 1}], capacity=3)
    bench.add_text("two", "n = 1 OR m = 1")
    assert bench.table.ids == ["two", "two", None]
    with pytest.raises(DeviceError, match="'more' takes 2 of its 3 places and 1 are free"):
        bench.add_text("more", "n = 2 OR m = 1")
    bench.remove("two")
    bench.add_text("more", "n = 2 OR m = 1")


def test_more_constants_than_codes_are_refused_until_one_goes() -> None:
    bench = bench_of({"n": "INT"}, [{"n": n} for n in range(9)], code_bits=3)
    assert bench.region.code_bits == (3,)  # absence, anything else, and six constants
    for number in range(6):
        bench.add_text(f"q{number}", f"n = {number}")
    with pytest.raises(DeviceError, match="7 codes for the values of n, and with 'more' there"):
        bench.add_text("more", "n = 7")
    bench.add_text("again", "n = 5 OR n = 2")  # nothing new to tell apart
    bench.remove("q5")
    with pytest.raises(DeviceError, match="7 codes"):
        bench.add_text("more", "n = 7")
    bench.remove("again")
    bench.add_text("more", "n = 7")


def test_codes_and_places_are_used_again_for_ever() -> None:
    bench = bench_of({"n": "INT"}, [{"n": n} for n in range(0, 300, 3)], capacity=2, code_bits=2)
    for number in range(100):
        bench.add_text(f"q{number}", f"n = {number * 3}")
        if number:
            bench.remove(f"q{number - 1}")


def test_condition_that_spreads_too_far_is_refused() -> None:
    columns = {f"a{n}": "INT" for n in range(MAX_PLACES + 1)}
    bench = bench_of(columns, [{}, {"a0": 1}], code_bits=3)
    texts = [f"{name} = 1" for name in columns]
    with pytest.raises(
        DeviceError, match=f"'wide' does not fit into a table: .* than {MAX_PLACES}"
    ):
        bench.add_text("wide", " OR ".join(texts))
    bench.add_text("wide", " OR ".join(texts[:-1]))
    assert bench.table.ids.count("wide") == MAX_PLACES


def test_id_is_there_once() -> None:
    bench = bench_of({"n": "INT"}, [{}])
    bench.add_text("x", "n = 1")
    with pytest.raises(ValueError, match="'x' is in the table already"):
        bench.add_text("x", "n = 2")
    bench.remove("x")
    with pytest.raises(KeyError, match="no subscription 'x' in the table"):
        bench.remove("x")


def test_only_what_changes_is_written() -> None:
    bench = bench_of({"n": "INT", "m": "INT"}, [{"n": 1}], capacity=64)
    region = bench.region
    first = bench.table.add("x", bound("n = 1", bench.schema))  # type: ignore[arg-type]
    # n: the code of 1; m, which does not matter: absence and the code of all values.
    assert first.before == (
        ConfigWord(region.row_address(0, 2, 0), 1),
        ConfigWord(region.row_address(1, 0, 0), 1),
        ConfigWord(region.row_address(1, 1, 0), 1),
    )
    assert first.after == (ConfigWord(region.valid_address(0), 1),)
    assert first.words == first.before + first.after


def test_addresses_are_those_of_the_tile() -> None:
    queries = QuerySet(Schema.of(COLUMNS))
    for number in range(40):
        queries.add(f"q{number}", f"n = {number}")
    plan = plan_of(queries, spare=70)
    table = plan.table
    assert table is not None
    chain = circuit_of(plan)
    Fragment.get(chain, None)  # Amaranth minds circuits that nobody elaborates
    tile = chain.tiles[-1]
    assert isinstance(tile, TableTile)
    assert (tile.place.first_chunk, tile.place.base) == (table.first_chunk, table.base) == (4, 2048)
    assert tile.address_count == table.address_count
    first_field = len(plan.fields)
    for chunk in range(3):
        assert tile.valid_address(chunk) == table.valid_address(chunk)
        for number, bits in enumerate(table.code_bits):
            for code in (0, 1, 2**bits - 1):
                wanted = tile.row_address(first_field + number, code, chunk)
                assert table.row_address(number, code, chunk) == wanted


@pytest.mark.parametrize(
    ("type_name", "bits"), [("BOOLEAN", 2), ("TINYINT", 6), ("STRING", 6), ("DECIMAL(1,0)", 5)]
)
def test_code_is_no_wider_than_its_type_needs(type_name: str, bits: int) -> None:
    plan = reserve(plan_of(QuerySet(Schema.of({"a": type_name}))), 10)
    assert plan.table is not None
    assert plan.table.attributes == (Attribute(0, "a", parse_type(type_name)),)
    assert plan.table.code_bits == (bits,)


@pytest.mark.parametrize("event_bits", [47, 64, 65, 100])
def test_configuration_word_lies_as_the_circuit_reads_it(event_bits: int) -> None:
    words = [ConfigWord(0, 1), ConfigWord(2**14 - 1, 2**32 - 1)]
    packed = pack_config(words, event_bits)
    assert packed.shape == (2, -(-event_bits // 32))
    for row, word in zip(packed.tolist(), words, strict=True):
        number = sum(part << 32 * place for place, part in enumerate(row))
        assert number >> event_bits - 1 == 1
        assert number % 2 ** (event_bits - 1) == word.bits | word.address << 32
    assert pack_config([], 0).shape == (0, 0)
