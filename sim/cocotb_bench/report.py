"""Print what all runs together have seen, and fail if there is a situation that none has."""

from __future__ import annotations

import sys
from pathlib import Path

from penstock.sim.cocotb_bench.coverage import Coverage
from penstock.sim.cocotb_bench.cycle_coverage import CYCLE_BINS
from penstock.sim.cocotb_bench.event_coverage import EVENT_BINS
from penstock.sim.cocotb_bench.workloads import NAMES

EXPERIMENTS = (*NAMES, "table", "subscribers")
MERGED_FILE = "coverage.json"


def merged(folder: Path) -> Coverage:
    """The coverage of all experiments, from the files that `run` leaves."""
    coverage = Coverage((*EVENT_BINS, *CYCLE_BINS))
    for name in EXPERIMENTS:
        coverage.add(Coverage.read(folder / f"{name}.json"))
    return coverage


def main(folder: Path) -> int:
    missing = [name for name in EXPERIMENTS if not (folder / f"{name}.json").exists()]
    if missing:
        print(f"no coverage: {', '.join(missing)} failed or did not run", file=sys.stderr)
        return 1
    coverage = merged(folder)
    coverage.write(folder / MERGED_FILE)
    print(coverage.table())
    missed = coverage.missed()
    print(f"\n{len(coverage.hits) - len(missed)} of {len(coverage.hits)} situations seen")
    for bin in missed:
        print(f"never seen: {', '.join(bin)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
