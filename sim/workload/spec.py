"""What a workload is: its parameters, the presets, and the schema of its events."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from penstock.gen.schema import Schema
from penstock.gen.types import INT
from penstock.sim.workload.draw import Distribution

OPERATORS = ("<", "<=", "=", "<>", ">=", ">", "IN", "NOT IN", "BETWEEN")
MAX_CARDINALITY = 2**31 - 1
MAX_EXPONENT = 4.0
TOLERANCE = 0.25
"""How far, relatively, the measured match rate may lie from the wanted one."""


@dataclass(frozen=True)
class WorkloadSpec:
    """Every parameter of a workload. The same spec gives the same data.

    Counts named with a spread are uniform over ``mean - spread .. mean + spread``.
    Distributions are ``uniform``, ``zipf`` or ``zipf:EXPONENT``; under zipf the first
    attribute and the value 0 are the most frequent.
    """

    expressions: int = 1000
    attributes: int = 400
    cardinality: int = 48
    """Values per attribute: 0 to cardinality - 1."""
    predicates: int = 7
    predicate_spread: int = 3
    pairs: int = 15
    pair_spread: int = 3
    operators: Mapping[str, float] | tuple[tuple[str, float], ...] = tuple(
        (operator, 1.0) for operator in OPERATORS
    )
    """Relative weights, kept as pairs in the order of `OPERATORS`; what is left out is 0."""
    attribute_distribution: str = "uniform"
    value_distribution: str = "uniform"
    in_length: int = 4
    """Values per IN and NOT IN list, or as many as the cardinality allows."""
    match_rate: float | None = None
    """Fraction of the expressions that an average event matches; None takes what comes."""
    max_weight: int = 0
    """Predicate weights are 1 to this; 0 leaves them out."""
    events: int = 1000
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("expressions", "attributes", "cardinality", "predicates", "pairs"):
            _at_least(1, name, getattr(self, name))
        for name in ("in_length", "events"):
            _at_least(1, name, getattr(self, name))
        for name in ("predicate_spread", "pair_spread", "max_weight", "seed"):
            _at_least(0, name, getattr(self, name))
        for name in ("cardinality", "max_weight"):
            if getattr(self, name) > MAX_CARDINALITY:
                raise ValueError(
                    f"{name} must be at most {MAX_CARDINALITY}, not {getattr(self, name)}"
                )
        self._check_counts("predicates", self.predicates, self.predicate_spread)
        self._check_counts("pairs", self.pairs, self.pair_spread)
        if self.match_rate is not None and not 0 < self.match_rate <= 1:
            raise ValueError(
                f"match_rate must be above 0 and at most 1, or None, not {self.match_rate!r}"
            )
        object.__setattr__(self, "operators", _operator_weights(self.operators))
        for name in ("attribute_distribution", "value_distribution"):
            object.__setattr__(self, name, _spelled(name, getattr(self, name)))

    def _check_counts(self, what: str, mean: int, spread: int) -> None:
        if mean - spread < 1 or mean + spread > self.attributes:
            raise ValueError(
                f"{what} must stay within 1 to {self.attributes} (the attributes), "
                f"not {mean} +- {spread}"
            )

    @property
    def predicate_range(self) -> tuple[int, int]:
        """Fewest and most predicates of an expression."""
        return self.predicates - self.predicate_spread, self.predicates + self.predicate_spread

    @property
    def pair_range(self) -> tuple[int, int]:
        """Fewest and most pairs of an event."""
        return self.pairs - self.pair_spread, self.pairs + self.pair_spread

    @property
    def operator_weights(self) -> tuple[float, ...]:
        """One weight per operator, in the order of `OPERATORS`."""
        return tuple(dict(self.operators).values())

    @property
    def attribute_draw(self) -> Distribution:
        return Distribution(self.attributes, _exponent(self.attribute_distribution))

    @property
    def value_draw(self) -> Distribution:
        return Distribution(self.cardinality, _exponent(self.value_distribution))

    @property
    def attribute_names(self) -> list[str]:
        """``a000`` and on, wide enough that string order is schema order."""
        width = max(3, len(str(self.attributes - 1)))
        return [f"a{index:0{width}}" for index in range(self.attributes)]

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON can hold them; ``WorkloadSpec(**fields)`` reads them back."""
        return {**asdict(self), "operators": dict(self.operators)}


def schema_for(spec: WorkloadSpec) -> Schema:
    """The schema of the spec's events: INT attributes ``a000``, ``a001``, ..."""
    return Schema.of([(name, INT) for name in spec.attribute_names])


PRESETS: dict[str, dict[str, Any]] = {
    "uni": {"match_rate": 0.0009},
    "zipf": {
        "match_rate": 0.0009,
        "attribute_distribution": "zipf:1",
        "value_distribution": "zipf:1",
    },
    "dense": {
        "attributes": 20,
        "predicates": 5,
        "predicate_spread": 2,
        "pairs": 20,
        "pair_spread": 0,
        "match_rate": 0.017,
    },
}
"""Fields that differ from the defaults: ``WorkloadSpec(**PRESETS["zipf"], events=10)``."""


def _at_least(least: int, name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name} must be an integer, not {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, not {value}")


def _operator_weights(
    given: Mapping[str, float] | tuple[tuple[str, float], ...],
) -> tuple[tuple[str, float], ...]:
    weights = dict.fromkeys(OPERATORS, 0.0)
    for spelled, weight in given.items() if isinstance(given, Mapping) else given:
        operator = " ".join(spelled.upper().split()).replace("!=", "<>")
        if operator not in weights:
            raise ValueError(f"unknown operator {spelled!r}; known: {', '.join(OPERATORS)}")
        if not 0 <= weight < math.inf:
            raise ValueError(f"the weight of {operator} must be 0 or more, not {weight!r}")
        weights[operator] = float(weight)
    if not any(weights.values()):
        raise ValueError("operators need at least one weight above 0, such as {'=': 1}")
    return tuple(weights.items())


def _spelled(name: str, text: str) -> str:
    """``zipf`` -> ``zipf:1.0``: one spelling for one distribution."""
    kind, _, exponent = text.partition(":")
    if kind == "uniform" and not exponent:
        return kind
    try:
        parsed = float(exponent or 1)
    except ValueError:
        parsed = math.nan
    if kind == "zipf" and 0 < parsed <= MAX_EXPONENT:
        return f"zipf:{parsed}"
    raise ValueError(
        f"{name} must be 'uniform', 'zipf' or 'zipf:EXPONENT' with an exponent above 0 "
        f"and at most {MAX_EXPONENT:g}, not {text!r}"
    )


def _exponent(spelled: str) -> float:
    return float(spelled.partition(":")[2] or 0)
