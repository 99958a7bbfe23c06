"""A plan as stable text: what is shared, how attributes are encoded, what runs where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from penstock.gen.passes.rank import why_not_ranked
from penstock.gen.plan import CHUNK_BITS, CodeField, Entry, Field, Gate, Plan, Source
from penstock.gen.render import normal_text
from penstock.gen.wire import search_steps

SHARED_SHOWN = 10
ENTRIES_SHOWN = 40


def plan_text(plan: Plan) -> str:
    """The whole plan; long lists are cut short, and say so."""
    parts = [_summary(plan), _fields(plan), _shared(plan), _tiles(plan), _table(plan)]
    parts += [_finished(plan), _alone(plan), _never(plan), _ranking(plan), _ranked_by_host(plan)]
    return "\n\n".join(part for part in parts if part)


def _summary(plan: Plan) -> str:
    users = _users(plan)
    predicates = [n for n, node in enumerate(plan.nodes) if not isinstance(node, Gate)]
    uses = sum(users[n] for n in predicates)
    bits = sum(field.width for field in plan.fields)
    placed = sum(len(tile.entries) for tile in plan.tiles)
    return (
        f"stream {plan.schema.stream}: {len(plan.entries):,} subscriptions, "
        f"{placed:,} on the device\n"
        f"{uses:,} uses of {len(predicates):,} predicates, "
        f"{len(plan.nodes) - len(predicates):,} gates\n"
        f"{bits} bits per event in {len(plan.fields)} codes; "
        f"{len(plan.tiles)} tiles, {plan.chunk_count} chunks of {CHUNK_BITS} match bits"
    )


def _users(plan: Plan) -> Counter[int]:
    """How many gates and subscriptions use each node."""
    users = Counter(i for node in plan.nodes if isinstance(node, Gate) for i in node.inputs)
    users.update(entry.root for entry in plan.entries if entry.root is not None)
    return users


def _fields(plan: Plan) -> str:
    rows = [_field_row(field) for field in plan.fields]
    if any(field.source is not Source.HOST for field in plan.fields):
        rows = [(*row, _maker(field)) for row, field in zip(rows, plan.fields, strict=True)]
    return _section("codes", _aligned(rows))


def _field_row(field: Field) -> tuple[str, ...]:
    if isinstance(field, CodeField):
        return (
            field.name,
            str(field.attribute.type),
            f"{len(field.cuts):,} cuts",
            f"{field.highest + 1:,} codes",
            f"{field.width} bits",
        )
    relation = f"compared in {field.common}"
    return field.name, relation, "", f"{field.highest + 1} codes", f"{field.width} bits"


def _maker(field: Field) -> str:
    """Where and how the code is made."""
    if field.source is Source.RANK and isinstance(field, CodeField):
        steps = search_steps(field)
        return f"device: rank search of {steps} step{'s' if steps > 1 else ''}"
    return "host" if field.source is Source.HOST else f"device: {field.source}"


def _shared(plan: Plan) -> str:
    users = _users(plan)
    often = sorted((n for n in users if users[n] > 1), key=lambda n: (-users[n], n))
    rows = [(f"{users[n]:,} uses", _node_text(plan, n)) for n in often[:SHARED_SHOWN]]
    return _section("shared", _aligned(rows) + _rest(len(often) - SHARED_SHOWN))


def _tiles(plan: Plan) -> str:
    lines: list[str] = []
    shown = 0
    for number, tile in enumerate(plan.tiles):
        first, count = tile.first_chunk, len(tile.entries)
        last = first + -(-count // CHUNK_BITS) - 1
        lines.append(f"tile {number}: {count:,} subscriptions, chunks {first} to {last}")
        for index in tile.entries[: max(0, ENTRIES_SHOWN - shown)]:
            entry = plan.entries[index]
            mark = " (narrowed down)" if entry.residual is not None else ""
            lines.append(f"  {entry.id}: {_node_text(plan, plan.root(index))}{mark}")
        shown += len(tile.entries)
    return _section("tiles", lines + _rest(shown - ENTRIES_SHOWN, "  "))


def _table(plan: Plan) -> str:
    table = plan.table
    if table is None:
        return ""
    first, last = table.first_chunk, table.first_chunk + table.chunk_count - 1
    columns = zip(table.attributes, table.code_bits, strict=True)
    rows = [
        (a.name, str(a.type), f"{2**bits - 1} stretches", f"{bits} bits") for a, bits in columns
    ]
    room = f"room for {table.capacity:,} subscriptions, chunks {first} to {last}"
    bits = f"{sum(table.code_bits)} more bits per event in {len(rows)} codes"
    lines = _aligned(rows[:ENTRIES_SHOWN]) + _rest(len(rows) - ENTRIES_SHOWN)
    return _section("table", [room, bits, *(f"  {line}" for line in lines)])


def _finished(plan: Plan) -> str:
    rest = [e for e in plan.entries if e.residual is not None and e.root is not None]
    return _section("finished on the host", _reasons(rest))


def _alone(plan: Plan) -> str:
    return _section("on the host alone", _reasons([e for e in plan.entries if e.root is None]))


def _reasons(entries: Sequence[Entry]) -> list[str]:
    lines = [f"{entry.id}: {entry.reason}" for entry in entries[:ENTRIES_SHOWN]]
    return lines + _rest(len(entries) - ENTRIES_SHOWN)


def _never(plan: Plan) -> str:
    placed = {index for tile in plan.tiles for index in tile.entries}
    never = [
        entry.id
        for index, entry in enumerate(plan.entries)
        if index not in placed and entry.root is not None
    ]
    lines = never[:ENTRIES_SHOWN] + _rest(len(never) - ENTRIES_SHOWN)
    return _section("can never match, so nowhere", lines)


def _ranking(plan: Plan) -> str:
    ranking = plan.ranking
    if ranking is None or not ranking.entries:
        return ""
    names = [attribute.name for attribute in ranking.attributes]
    weighted = f"by weights of {', '.join(names[:ENTRIES_SHOWN])}" if names else "by base weights"
    line = f"the {ranking.k} best of {len(ranking.entries):,} subscriptions, {weighted}"
    return _section("ranking", [line, *_rest(len(names) - ENTRIES_SHOWN)])


def _ranked_by_host(plan: Plan) -> str:
    """Who can match and is not ranked by the circuit, though it ranks, and why."""
    if plan.ranking is None:
        return ""
    placed = {index for tile in plan.tiles for index in tile.entries}
    left = [
        replace(entry, reason=why_not_ranked(entry))
        for index, entry in enumerate(plan.entries)
        if (index in placed or entry.root is None) and why_not_ranked(entry)
    ]
    return _section("ranked by the host", _reasons(left))


def _node_text(plan: Plan, index: int) -> str:
    node = plan.nodes[index]
    if not isinstance(node, Gate):
        return normal_text(node)
    if not node.inputs:
        return "never" if node.is_or else "always"
    return (" or " if node.is_or else " and ").join(_input_text(plan, i) for i in node.inputs)


def _input_text(plan: Plan, index: int) -> str:
    text = _node_text(plan, index)
    return f"({text})" if isinstance(plan.nodes[index], Gate) or " or " in text else text


def _section(title: str, lines: list[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)]) if lines else ""


def _rest(count: int, indent: str = "") -> list[str]:
    return [f"{indent}... and {count:,} more"] if count > 0 else []


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
