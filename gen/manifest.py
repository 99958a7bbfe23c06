"""What the host must know about a circuit: how to encode events and what match bits mean.

A manifest is data: JSON that is checked when it is read. Its digest is that of the circuit and
of everything in it, so that a circuit and a manifest that do not belong together are noticed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from penstock.gen.errors import DataError, QueryError
from penstock.gen.language.script import parse_schema
from penstock.gen.manifest_scores import (
    ranking_from_json,
    ranking_to_json,
    scores_from_json,
    scores_to_json,
)
from penstock.gen.plan import (
    CHUNK_BITS,
    CodeField,
    Field,
    PairField,
    Plan,
    PlanTile,
    Ranking,
    Source,
    TableRegion,
)
from penstock.gen.queryset import QuerySet
from penstock.gen.render import sql
from penstock.gen.schema import Schema
from penstock.gen.scores import NOTHING, Score
from penstock.gen.types import parse_type
from penstock.gen.wire import sources_for

FORMAT = 3
WIDEST_CODE_BITS = 16
MOST_PLACES = 1 << 24
"""Beyond these a table is no table but a damaged number."""


@dataclass(frozen=True)
class Manifest:
    """A circuit as the host sees it."""

    digest: str
    schema: Schema
    fields: tuple[Field, ...]
    ids: tuple[str, ...]
    """The subscriptions, by the numbers that ``tiles`` hold."""
    chunk_count: int
    tiles: tuple[PlanTile, ...]
    residuals: dict[str, str]
    """For the subscriptions that the circuit does not decide: the condition, as SQL.

    The host tests it on what the circuit lets through, and on every event if no tile holds the
    subscription.
    """
    scores: dict[str, Score] = field(default_factory=dict)
    """What the matches of subscriptions are worth; of those that are not here, nothing."""
    varying: dict[str, str] = field(default_factory=dict)
    """For the subscriptions whose scores depend on which side of an OR holds: the condition."""
    table: TableRegion | None = None
    ranking: Ranking | None = None
    """What the circuit ranks; ``None`` if it cannot."""


def manifest_of(plan: Plan, queries: QuerySet, circuit: str) -> Manifest:
    """The manifest of a plan whose circuit is given as text."""
    found = Manifest(
        digest="",
        schema=plan.schema,
        fields=plan.fields,
        ids=tuple(entry.id for entry in plan.entries),
        chunk_count=plan.chunk_count,
        tiles=plan.tiles,
        residuals={e.id: sql(queries[e.id].condition) for e in plan.entries if e.residual},
        scores={e.id: e.score for e in plan.entries if e.score != NOTHING},
        varying={
            e.id: sql(queries[e.id].condition) for e in plan.entries if e.score.weights is None
        },
        table=plan.table,
        ranking=plan.ranking if plan.ranking and plan.ranking.entries else None,
    )
    digest = hashlib.sha256(to_json(found).encode())
    digest.update(circuit.encode())
    return replace(found, digest=digest.hexdigest())


def to_json(manifest: Manifest) -> str:
    """The manifest as text, the same for the same manifest."""
    return json.dumps(
        {
            "format": FORMAT,
            "digest": manifest.digest,
            "schema": str(manifest.schema),
            "chunk_bits": CHUNK_BITS,
            "chunk_count": manifest.chunk_count,
            "fields": [_field_to_json(field) for field in manifest.fields],
            "tiles": [
                {"first_chunk": tile.first_chunk, "entries": list(tile.entries)}
                for tile in manifest.tiles
            ],
            "ids": list(manifest.ids),
            "residuals": manifest.residuals,
            "scores": scores_to_json(manifest.scores),
            "varying": manifest.varying,
            **({"table": _table_to_json(manifest.table)} if manifest.table else {}),
            **({"ranking": ranking_to_json(manifest.ranking)} if manifest.ranking else {}),
        }
    )


def from_json(text: str, source: str) -> Manifest:
    """The manifest in a text; DataError, naming ``source``, if it is none."""
    try:
        found = json.loads(text)
        if found["format"] != FORMAT:
            raise DataError(
                f"{source} is of format {found['format']}, this is format {FORMAT}; build it again"
            )
        if found["chunk_bits"] != CHUNK_BITS:
            raise ValueError(f"chunks of {found['chunk_bits']} bits")
        schema = parse_schema(found["schema"], source)
        ids = _strings(found["ids"])
        residuals, varying = _texts(found["residuals"]), _texts(found["varying"])
        scores = scores_from_json(found["scores"], varying, schema)
        if len(set(ids)) < len(ids) or not {*residuals, *scores} <= set(ids):
            raise ValueError("an id is there twice, or a condition or a score has none")
        tiles = _tiles_from_json(found["tiles"], len(ids))
        end = _end(tiles)
        table = _table_from_json(found["table"], schema, end) if "table" in found else None
        if table:
            end = table.first_chunk + table.chunk_count
        if type(found["chunk_count"]) is not int or found["chunk_count"] != end:
            raise ValueError("a chunk has no tile, or a tile no chunk")
        made = Manifest(
            digest=_strings([found["digest"]])[0],
            schema=schema,
            fields=tuple(_field_from_json(field, schema) for field in found["fields"]),
            ids=ids,
            chunk_count=end,
            tiles=tiles,
            residuals=residuals,
            scores=scores,
            varying=varying,
            table=table,
        )
        if "ranking" not in found:
            return made
        return replace(made, ranking=_ranking_from_json(found["ranking"], made))
    except RecursionError:
        raise DataError(f"{source} is not a manifest: it is nested too deeply") from None
    except (ValueError, KeyError, TypeError, AttributeError, QueryError) as error:
        raise DataError(f"{source} is not a manifest: {error!r}") from None


def read_manifest(path: Path) -> Manifest:
    """The manifest in a file."""
    try:
        return from_json(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None


def _field_to_json(field: Field) -> dict[str, Any]:
    if isinstance(field, PairField):
        return {
            "left": field.left.name,
            "right": field.right.name,
            "common": str(field.common),
            "source": field.source.value,
        }
    return {
        "attribute": field.attribute.name,
        "cuts": list(field.cuts),
        "codes": list(field.codes),
        "source": field.source.value,
    }


def _tiles_from_json(tiles: Any, id_count: int) -> tuple[PlanTile, ...]:
    """The tiles, if they hold no subscription twice and fill the chunks as `cluster` does."""
    made: list[PlanTile] = []
    for tile in tiles:
        first, entries = tile["first_chunk"], tuple(tile["entries"])
        chunks, following = -(-len(entries) // CHUNK_BITS), _end(made)
        if type(first) is not int or not following <= first < following + 2 * chunks:
            raise ValueError(f"a tile at chunk {first!r} after {following}")
        made.append(PlanTile(entries, first))
    placed = [entry for tile in made for entry in tile.entries]
    if not all(type(entry) is int and 0 <= entry < id_count for entry in placed):
        raise ValueError(f"a tile holds a subscription that is none of {id_count}")
    if len(set(placed)) < len(placed):
        raise ValueError("a subscription has two places")
    return tuple(made)


def _end(tiles: Sequence[PlanTile]) -> int:
    """How many chunks there are up to the end of the last tile."""
    return tiles[-1].first_chunk + -(-len(tiles[-1].entries) // CHUNK_BITS) if tiles else 0


def _table_to_json(table: TableRegion) -> dict[str, Any]:
    return {
        "attributes": [attribute.name for attribute in table.attributes],
        "code_bits": list(table.code_bits),
        "capacity": table.capacity,
        "first_chunk": table.first_chunk,
        "base": table.base,
    }


def _table_from_json(table: Any, schema: Schema, chunk_count: int) -> TableRegion:
    """The table, if it lies where a table after so many chunks lies."""
    attributes = tuple(schema[name] for name in _strings(table["attributes"]))
    code_bits, capacity = tuple(table["code_bits"]), table["capacity"]
    if len(set(attributes)) < len(attributes) or len(code_bits) != len(attributes):
        raise ValueError("an attribute of the table is there twice, or has no width")
    if not all(type(n) is int and n > 0 for n in (*code_bits, capacity, len(attributes))):
        raise ValueError("the table has no room")
    if max(code_bits) > WIDEST_CODE_BITS or capacity > MOST_PLACES:
        raise ValueError(f"the table has {capacity} places and codes of {max(code_bits)} bits")
    made = TableRegion.after(chunk_count, attributes, code_bits, capacity)
    place = table["first_chunk"], table["base"]
    if list(map(type, place)) != [int, int] or place != (made.first_chunk, made.base):
        raise ValueError(f"the table is at chunk and address {place}")
    return made


def _ranking_from_json(ranking: Any, of: Manifest) -> Ranking:
    """The ranking, if a circuit of such tiles and such a table can have it."""
    placed = {entry for tile in of.tiles for entry in tile.entries}
    by_host = {*of.residuals, *of.varying}
    by_circuit = [
        None if id in by_host or entry not in placed else id for entry, id in enumerate(of.ids)
    ]
    base = of.table.base + of.table.address_count if of.table else of.chunk_count
    return ranking_from_json(ranking, by_circuit, of.scores, base)


def _texts(values: dict[str, Any]) -> dict[str, str]:
    return dict(zip(values, _strings(list(values.values())), strict=True))


def _strings(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(type(value) is str for value in values):
        raise ValueError("something is no list of strings")
    "".join(values).encode()  # halves of characters are no text
    return tuple(values)


def _field_from_json(field: dict[str, Any], schema: Schema) -> Field:
    found, source = _host_field_from_json(field, schema), Source(field["source"])
    if source not in sources_for(found):
        raise ValueError(f"the code of {found.name} cannot be made by {source}")
    return replace(found, source=source)


def _host_field_from_json(field: dict[str, Any], schema: Schema) -> Field:
    if "left" in field:
        common = parse_type(field["common"])
        return PairField(schema[field["left"]], schema[field["right"]], common)
    attribute = schema[field["attribute"]]
    kind = str if attribute.type.name == "STRING" else int
    cuts, codes = tuple(field["cuts"]), tuple(field["codes"])
    if len(codes) != len(cuts) + 1 or not all(type(cut) is kind for cut in cuts):
        raise ValueError(f"the cuts of {attribute} do not fit its codes or its type")
    if any(not first < second for first, second in pairwise(cuts)):
        raise ValueError(f"the cuts of {attribute} are out of order")
    highest = attribute.type.highest
    if highest is not None and cuts and (cuts[0] < attribute.type.lowest or cuts[-1] > highest):
        raise ValueError(f"a cut of {attribute} is beyond {attribute.type}")
    if not all(type(code) is int and 0 <= code <= len(codes) for code in codes):
        raise ValueError(f"a code of {attribute} is out of range")
    return CodeField(attribute, cuts, codes)
