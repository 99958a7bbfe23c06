"""Merge what stands together: flatten, and keep one test per attribute."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.gen.normal import FALSE, TRUE, AllOf, AnyOf, Normal, Test, is_weighted
from penstock.gen.values import intersection, union


def merge(node: Normal) -> Normal:
    """Merge the tests on one attribute, and drop what is always or never true.

    a >= 5 AND (a < 9 AND TRUE)    ->   a BETWEEN 5 AND 8
    a = 1 OR b = 2 OR a = 3        ->   a IN (1, 3) OR b = 2

    Weights stay right: of an AND they add up, of an OR the best one that holds counts, so
    under OR only tests of equal weight merge.
    """
    match node:
        case AllOf(children):
            return all_of(merge(child) for child in children)
        case AnyOf(children):
            return any_of(merge(child) for child in children)
        case Test(attribute, values, weight):
            if values.is_empty:
                return FALSE
            return TRUE if values.is_full(attribute.type) and not weight else node
    return node


def all_of(children: Iterable[Normal]) -> Normal:
    """The conjunction of nodes that are themselves merged."""
    tests: dict[int, list[Test]] = {}
    seen: set[Normal] = set()
    rest: list[Normal] = []
    for child in _flattened(children, AllOf):
        if child == FALSE:
            return FALSE
        if isinstance(child, Test):
            tests.setdefault(child.attribute.index, []).append(child)
        elif child not in seen or is_weighted(child):
            seen.add(child)
            rest.append(child)
    merged = [merge(_both(tests[index])) for index in sorted(tests)]
    if FALSE in merged:
        return FALSE
    kept = (*(test for test in merged if test != TRUE), *rest)
    return kept[0] if len(kept) == 1 else AllOf(kept)


def any_of(children: Iterable[Normal]) -> Normal:
    """The disjunction of nodes that are themselves merged."""
    tests: dict[tuple[int, int], list[Test]] = {}
    rest: dict[Normal, None] = {}
    for child in _flattened(children, AnyOf):
        if isinstance(child, Test):
            tests.setdefault((child.attribute.index, child.weight), []).append(child)
        else:
            rest[child] = None
    merged = [merge(_either(tests[key])) for key in sorted(tests)]
    kept = tuple(dict.fromkeys((*(test for test in merged if test != FALSE), *rest)))
    if TRUE in kept and not any(is_weighted(child) for child in kept):
        return TRUE
    return kept[0] if len(kept) == 1 else AnyOf(kept)


def _flattened(children: Iterable[Normal], kind: type[AllOf] | type[AnyOf]) -> list[Normal]:
    flat: list[Normal] = []
    for child in children:
        if isinstance(child, kind):
            flat.extend(child.children)
        else:
            flat.append(child)
    return flat


def _both(tests: list[Test]) -> Test:
    """All of the tests at once: one by one, a long chain would take the square of its length."""
    if len(tests) == 1:
        return tests[0]
    values = intersection(test.values for test in tests)
    return Test(tests[0].attribute, values, sum(test.weight for test in tests))


def _either(tests: list[Test]) -> Test:
    if len(tests) == 1:
        return tests[0]
    return Test(tests[0].attribute, union(test.values for test in tests), tests[0].weight)
