"""Which events a stream is to have, how fast, and how they are shown: from its options."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.gen.arrow import convert
from penstock.gen.errors import DataError, listed, nearest
from penstock.gen.queryset import QuerySet
from penstock.gen.types import TIMESTAMP
from penstock.sim.workload.calibrate import calibrate
from penstock.sim.workload.numbered import Numbered, RuleEvents, WorkloadEvents
from penstock.sim.workload.spec import PRESETS, WorkloadSpec
from penstock.spark_bridge.sources.options import Options, refuse
from penstock.spark_bridge.sources.places import SUMMARY, rules_at

SECONDS_AT_ONCE = 10
"""Of what the rate brings, how much a micro-batch has at most, unless ``max_rows`` says."""
MOST_RATE = 10**9
MOST_SUMMARY_BYTES = 1 << 20
TEXTS = ("attribute_distribution", "value_distribution", "operators")
OF_SPECS = tuple(field.name for field in fields(WorkloadSpec) if field.name != "events")
OF_RULES = ("stream", "policy", "absent")
ORIGINS = ("workload", "preset", "rules", "schema")
PACE = ("rate", "max_rows", "rows", "partitions")
SHOWN = ("form", "number", "time", "start_time")
KNOWN = (*ORIGINS, *PACE, *SHOWN, *OF_RULES, *OF_SPECS)


@dataclass(frozen=True)
class Wanted:
    """A stream of events as its options say."""

    events: Numbered
    rate: int
    max_rows: int
    rows: int | None
    """How many events there are in all; None if they do not end."""
    partitions: int
    number: str
    time: str
    start: int | None
    """When event 0 happens, in microseconds since 1970; None for no times."""

    @property
    def digest(self) -> str:
        """What checkpoints bear, so that offsets are not taken for those of other events."""
        return self.events.digest + ("" if self.start is None else f" {self.start} {self.rate}")


def wanted(given: Mapping[str, str], source: str) -> Wanted:
    """The stream; DataError for an option that is unknown, wrong, or means nothing here."""
    options = Options(given, KNOWN, source)
    if "rate" not in options:
        raise DataError("how fast events come is not said\nhint: option rate, in rows per second")
    rate = options.whole("rate", 0, least=1, most=MOST_RATE)
    start = options.text("start_time")
    return Wanted(
        events=_events(options),
        rate=rate,
        max_rows=options.whole("max_rows", SECONDS_AT_ONCE * rate, least=1),
        rows=options.whole("rows", 0, least=1) if "rows" in options else None,
        partitions=options.whole("partitions", 1, least=1, most=1 << 16),
        number=options.text("number") or "event",
        time=options.text("time") or "event_time",
        start=None if start is None else _micros(start),
    )


def _events(options: Options) -> Numbered:
    origins = [name for name in ORIGINS if name in options]
    if origins == ["rules", "schema"]:
        origins = ["rules"]  # the stream of a table of rules
    if len(origins) > 1:
        raise DataError(f"options {listed(origins)} each say what events there are; give one")
    origin = origins[0] if origins else "fields"
    if origin in ("rules", "schema"):
        return _of_rules(options)
    refuse(options, OF_RULES, "goes with option 'rules' or 'schema'")
    if origin == "workload":
        refuse(options, OF_SPECS, "is part of the workload's own spec")
        path = options.path("workload")
        assert path is not None
        spec = _spec_of(path)
    elif origins or any(name in options for name in OF_SPECS):
        spec = _spec_from(options)
    else:
        raise DataError(
            "what events there are is not said\nhint: give one of the options "
            f"{listed(ORIGINS)}, such as preset 'uni'"
        )
    usual = "wide" if spec.pair_range[0] == spec.attributes else "sparse"
    return WorkloadEvents(spec, options.choice("form", ("sparse", "wide"), usual) == "wide")


def _of_rules(options: Options) -> RuleEvents:
    refuse(options, [n for n in OF_SPECS if n != "seed"], "is for workloads")
    options.choice("form", ("wide",), "wide")
    seed = options.whole("seed", 1, least=0)
    absent = _number("absent", options.text("absent") or "0.05")
    if not 0 <= absent <= 1:
        raise DataError(f"option 'absent' is from 0 to 1, not {absent}")
    if "rules" in options:
        return RuleEvents.of(rules_at(options), seed=seed, absent=absent)
    refuse(options, ("stream", "policy"), "goes with option 'rules'")
    schema = options.schema()
    assert schema is not None
    return RuleEvents.of(QuerySet(schema), seed=seed, absent=absent)


def _spec_from(options: Options) -> WorkloadSpec:
    """A preset, if any, and what other options change of it."""
    chosen: dict[str, Any] = {}
    if "preset" in options:
        chosen |= PRESETS[options.choice("preset", PRESETS, "")]
    for name in OF_SPECS:
        text = options.text(name)
        if text is None:
            continue
        if name == "match_rate":
            chosen[name] = None if text.lower() == "none" else _number(name, text)
        elif name == "operators":
            chosen[name] = _weights(text)
        else:
            chosen[name] = text if name in TEXTS else options.whole(name, 0, least=0)
    return _checked(chosen, "the options")


def _spec_of(folder: Path) -> WorkloadSpec:
    """The spec that a workload was generated from, so that its events meet its expressions."""
    path = folder / SUMMARY if folder.is_dir() else folder
    try:
        if path.stat().st_size > MOST_SUMMARY_BYTES:
            raise DataError(f"{path} is no summary of a workload: it is too large")
        spec = json.loads(path.read_bytes())["spec"]
        unknown = [name for name in spec if name not in (*OF_SPECS, "events")]
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is no summary of a workload: {error}") from None
    if unknown:
        hint = nearest(str(unknown[0]), OF_SPECS)
        raise DataError(f"{path}: a workload has no field {unknown[0]!r}\nhint: {hint}")
    return _checked(spec, str(path))


def _checked(chosen: dict[str, Any], source: str) -> WorkloadSpec:
    try:
        spec = WorkloadSpec(**chosen)
        calibrate(spec)  # a rate may be out of reach
    except (ValueError, TypeError, AttributeError) as error:
        raise DataError(f"{source} are of no workload: {error}") from None
    return spec


def _weights(text: str) -> dict[str, float]:
    """``'=:2, NOT IN:1'`` as weights by operator; a bare operator weighs 1."""
    parts = (part.partition(":") for part in text.split(","))
    return {operator.strip(): _number("operators", w or "1") for operator, _, w in parts}


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"option {name!r} has {text!r}, which is no number")
    return number


def _micros(text: str) -> int:
    column = convert(pa.array([text]), TIMESTAMP, "option 'start_time'")
    return int(column.cast(pa.int64())[0].as_py())
