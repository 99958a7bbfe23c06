"""Workloads as experiments: their circuits, streams of items for them, and their coverage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from penstock.gen.build import Build
from penstock.gen.estimate import estimate_of
from penstock.gen.lower.circuit import circuit_of
from penstock.gen.lower.verilog import verilog_of
from penstock.gen.manifest import manifest_of
from penstock.gen.normal import Event, make_event
from penstock.gen.passes import plan_of
from penstock.gen.passes.cluster import cluster
from penstock.gen.plan import CHUNK_BITS, Plan
from penstock.gen.queryset import QuerySet
from penstock.host.encode import WORD_BITS, Encoder, Words
from penstock.host.events import rows_of
from penstock.rtl_lib.chain import Chain
from penstock.rtl_lib.collector import COUNTER_BITS
from penstock.rtl_lib.results import index_width
from penstock.sim.cocotb_bench.coverage import Coverage
from penstock.sim.cocotb_bench.device_model import DeviceModel
from penstock.sim.cocotb_bench.event_coverage import (
    EVENT_BINS,
    OperatorCoverage,
    Row,
    cover_attributes,
    cover_chunks,
    cover_fields,
    field_bins,
)
from penstock.sim.cocotb_bench.run import Experiment
from penstock.sim.cocotb_bench.stimulus import Item, Layout, Stimulus, Stream
from penstock.sim.cocotb_bench.workloads import Workload


@dataclass(frozen=True, slots=True)
class CodedEvent:
    """An event as the models see it, and as the circuit does."""

    row: Row
    event: Event
    codes: int


def experiment_of(workload: Workload, patterns: Sequence[str]) -> Experiment:
    """The circuit of a workload and three streams: events alone, with words, and few matches."""
    built, chain = built_with_tiles(workload)
    events = coded_events(workload, built)
    model = DeviceModel(workload.queries, built)
    few = [event for event in events if len(model.answer(event.event)) <= 1]
    streams = (
        plain_stream("events", events, model),
        *([plain_stream("sparse", few, model)] if few else ()),
        # Last: it leaves the model with the subscriptions that the words have left on.
        switching_stream(events, model, chain, Random(workload.seed)),
    )
    stimulus = Stimulus(layout_of(chain), streams, tuple(patterns), workload.seed)
    coverage = event_coverage(workload, built, events, streams[0])
    return Experiment(workload.name, built.circuit, stimulus, coverage)


def built_with_tiles(workload: Workload) -> tuple[Build, Chain]:
    """What `build` makes, but for the size of the tiles."""
    return built_from(cluster(plan_of(workload.queries), workload.tile_size), workload.queries)


def built_from(plan: Plan, queries: QuerySet) -> tuple[Build, Chain]:
    """What `build` makes of a plan, and the chain, which knows its latency."""
    chain = circuit_of(plan)
    assert isinstance(chain, Chain), "these plans leave the codes to the host"
    text = verilog_of(chain)
    bits = len(chain.i.payload.as_value())
    manifest = manifest_of(plan, queries, text)
    return Build(plan, text, manifest, bits, estimate_of(plan)), chain


def layout_of(chain: Chain) -> Layout:
    shape = chain.shape
    return Layout(
        chunk_bits=shape.chunk_bits,
        index_bits=index_width(shape.chunk_count),
        sequence_bits=COUNTER_BITS,
        latency_cycles=6 + shape.stages + len(chain.tiles),  # as `Chain` promises
    )


def coded_events(workload: Workload, built: Build) -> list[CodedEvent]:
    schema = workload.queries.schema
    words = Encoder(built.manifest, built.event_bits).encode(workload.events)
    rows = rows_of(workload.events, schema)
    return [
        CodedEvent(row, make_event(row, schema.attributes), payload)
        for row, payload in zip(rows, payloads(words), strict=True)
    ]


def payloads(words: Words) -> list[int]:
    """Rows of words, as encoders make them, as what goes in."""
    return [
        sum(word << WORD_BITS * place for place, word in enumerate(row)) for row in words.tolist()
    ]


def plain_stream(name: str, events: Sequence[CodedEvent], model: DeviceModel) -> Stream:
    """Events and nothing else."""
    items = tuple(Item(event.codes) for event in events)
    return Stream(name, items, tuple(model.answer(event.event) for event in events))


def switching_stream(
    events: Sequence[CodedEvent], model: DeviceModel, chain: Chain, rng: Random
) -> Stream:
    """Events, and between some of them one or several words that replace valid bits."""
    addresses = 2**chain.shape.address_bits
    bits_of: tuple[Callable[[], int], ...] = (
        lambda: 0,
        lambda: 2**CHUNK_BITS - 1,
        lambda: rng.getrandbits(CHUNK_BITS),
    )
    items, answers = [], []
    for event in events:
        while rng.random() < 0.3:
            chunk, bits = rng.randrange(addresses), rng.choice(bits_of)()
            items.append(Item(word(chain, chunk, bits), model.switch(chunk, bits)))
        items.append(Item(event.codes))
        answers.append(model.answer(event.event))
    return Stream("switching", tuple(items), tuple(answers))


def word(chain: Chain, address: int, bits: int) -> int:
    """A configuration word as it goes in."""
    found = chain.shape.event_layout.const(
        {"word": {"config": {"bits": bits, "address": address}}, "is_config": 1}
    )
    return int(found.as_value().value)


def event_coverage(
    workload: Workload, built: Build, events: Sequence[CodedEvent], stream: Stream
) -> Coverage:
    """What the events of a stream without words have brought about, once it has run."""
    fields = built.plan.fields
    coverage = Coverage((*EVENT_BINS, *field_bins(workload.name, fields)))
    decided = [entry.id for entry in built.plan.entries if entry.residual is None]
    operators = OperatorCoverage(coverage, [workload.queries[id].condition for id in decided])
    chunk_numbers = sum(-(-len(tile.entries) // CHUNK_BITS) for tile in built.plan.tiles)
    for event, answer in zip(events, stream.answers, strict=True):
        operators.event(event.row)
        cover_attributes(coverage, event.row, len(workload.queries.schema))
        cover_fields(coverage, workload.name, fields, event.row, event.codes)
        cover_chunks(coverage, answer, chunk_numbers)
    return coverage
