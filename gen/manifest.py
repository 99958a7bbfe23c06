"""What the host must know about a circuit: how to encode events and what match bits mean.

A manifest is data: JSON that is checked when it is read. Its digest is that of the circuit and
of everything in it, so that a circuit and a manifest that do not belong together are noticed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from penstock.gen.errors import DataError, QueryError
from penstock.gen.language.script import parse_schema
from penstock.gen.plan import CHUNK_BITS, CodeField, Field, PairField, Plan, PlanTile, Source
from penstock.gen.queryset import QuerySet
from penstock.gen.render import sql
from penstock.gen.schema import Schema
from penstock.gen.types import parse_type
from penstock.gen.wire import sources_for

FORMAT = 2


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
    """For the subscriptions that the circuit only narrows down: the condition, as SQL."""


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
        residuals = found["residuals"]
        if len(set(ids)) < len(ids) or not set(residuals) <= set(ids):
            raise ValueError("an id is there twice, or a condition has none")
        return Manifest(
            digest=_strings([found["digest"]])[0],
            schema=schema,
            fields=tuple(_field_from_json(field, schema) for field in found["fields"]),
            ids=ids,
            chunk_count=found["chunk_count"],
            tiles=_tiles_from_json(found["tiles"], len(ids), found["chunk_count"]),
            residuals=dict(zip(residuals, _strings(list(residuals.values())), strict=True)),
        )
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


def _tiles_from_json(tiles: Any, id_count: int, chunk_count: int) -> tuple[PlanTile, ...]:
    """The tiles, if they hold no subscription twice and fill the chunks as `cluster` does."""
    made, following = [], 0
    for tile in tiles:
        first, entries = tile["first_chunk"], tuple(tile["entries"])
        chunks = -(-len(entries) // CHUNK_BITS)
        if type(first) is not int or not following <= first < following + 2 * chunks:
            raise ValueError(f"a tile at chunk {first!r} of {chunk_count!r}")
        made.append(PlanTile(entries, first))
        following = first + chunks
    placed = [entry for tile in made for entry in tile.entries]
    if not all(type(entry) is int and 0 <= entry < id_count for entry in placed):
        raise ValueError(f"a tile holds a subscription that is none of {id_count}")
    if len(set(placed)) < len(placed) or type(chunk_count) is not int or following != chunk_count:
        raise ValueError("a subscription has two places, or a chunk has no tile")
    return tuple(made)


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
