"""How long does it take to generate 1M expressions over 400 attributes?

The time is that of `write`: calibration, generation, Parquet and the measured match rate,
held to one core where the system allows it.
"""

import tempfile
from pathlib import Path

from timing import Figure, one_core, report, seconds

from penstock.sim.workload import PRESETS, WorkloadSpec, calibrate, write

TARGET_SECONDS = 20.0


def generate(spec: WorkloadSpec) -> None:
    calibrate.cache_clear()  # a second run must not find the first one's answer
    with tempfile.TemporaryDirectory() as folder:
        write(spec, Path(folder, "workload"))


def measure(expressions: int, preset: str, *, repeats: int, target: float | None) -> Figure:
    spec = WorkloadSpec(**PRESETS[preset], expressions=expressions)
    return Figure(
        f"{preset}, {expressions:,} expressions",
        seconds(lambda: generate(spec), repeats=repeats),
        target=target,
        parameters=spec.to_dict(),
    )


def main() -> None:
    one_core()
    figures = [
        measure(10_000, "uni", repeats=5, target=None),
        measure(100_000, "uni", repeats=5, target=None),
        measure(1_000_000, "uni", repeats=3, target=TARGET_SECONDS),
        measure(1_000_000, "zipf", repeats=3, target=TARGET_SECONDS),
    ]
    question = "How long does it take to generate 1M expressions over 400 attributes?"
    report("generate", question, figures)


if __name__ == "__main__":
    main()
