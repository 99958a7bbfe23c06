"""Workloads to order: expressions and events with a chosen shape and match rate.

The parameters are those of BEGen, the generator of the BE-Tree papers.
"""

from penstock.sim.workload.calibrate import Calibration, calibrate
from penstock.sim.workload.events import generate_events, to_wide
from penstock.sim.workload.expressions import generate_expressions
from penstock.sim.workload.files import Progress, write
from penstock.sim.workload.measure import measure_match_rate
from penstock.sim.workload.spec import (
    OPERATORS,
    PRESETS,
    TOLERANCE,
    WorkloadSpec,
    schema_for,
)

__all__ = [
    "OPERATORS",
    "PRESETS",
    "TOLERANCE",
    "Calibration",
    "Progress",
    "WorkloadSpec",
    "calibrate",
    "generate_events",
    "generate_expressions",
    "measure_match_rate",
    "schema_for",
    "to_wide",
    "write",
]
