"""Choose the codes in which attributes come to the device."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from penstock.gen.normal import Pair, Test
from penstock.gen.plan import CodeField, Field, PairField, Plan
from penstock.gen.schema import Attribute
from penstock.gen.types import Key


def encode(plan: Plan) -> Plan:
    """Number the stretches of each attribute that some predicate tells apart.

    price >= 5, price < 9        price: below 5 -> 1, from 5 -> 2, from 9 -> 3, absent -> 0
    side = 'B', side = 'S'       side: 'B' -> 1, 'S' -> 2, anything else -> 0
    """
    tests: dict[Attribute, list[Test]] = {}
    pairs: dict[PairField, None] = {}
    for node in plan.nodes:
        if isinstance(node, Test):
            tests.setdefault(node.attribute, []).append(node)
        elif isinstance(node, Pair):
            pairs[PairField(node.left, node.right, node.common)] = None
    fields: list[Field] = [
        _code_field(attribute, tests[attribute])
        for attribute in sorted(tests, key=lambda attribute: attribute.index)
    ]
    ordered = sorted(pairs, key=lambda p: (p.left.index, p.right.index, str(p.common)))
    return replace(plan, fields=(*fields, *ordered))


def _code_field(attribute: Attribute, tests: Sequence[Test]) -> CodeField:
    flips: dict[Key, int] = {}
    absent = 0
    for number, test in enumerate(tests):
        mark = _mark(number)
        absent ^= mark if test.values.null else 0
        for cut in test.values.cuts:
            flips[cut] = flips.get(cut, 0) ^ mark
    cuts = tuple(sorted(flips))
    signatures = [0]
    for cut in cuts:
        signatures.append(signatures[-1] ^ flips[cut])
    return CodeField(attribute, cuts, _numbered(signatures, absent))


def _mark(number: int) -> int:
    """A number for each test, such that sets of tests have different sums (by XOR)."""
    digest = hashlib.blake2b(number.to_bytes(8, "big"), digest_size=16).digest()
    return int.from_bytes(digest, "big")


def _numbered(signatures: Iterable[int], absent: int) -> tuple[int, ...]:
    """Codes in order of first appearance; what looks like absence has its code, 0."""
    known = {absent: 0}
    return tuple(known.setdefault(signature, len(known)) for signature in signatures)
