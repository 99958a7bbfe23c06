"""Send many trades through the circuit of the example rules, and check it against the reference.

    python examples/trades/simulate.py [EVENTS]

The trades are drawn, with a fixed seed, column by column from those in events.csv.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.csv

import penstock

HERE = Path(__file__).resolve().parent
EVENTS = 100_000
CHECKED = 20_000
"""So many of them are matched by the reference too, which takes longer."""


def trades(count: int, schema: penstock.Schema) -> pa.Table:
    """Events with the values of the example's, mixed."""
    names = [attribute.name for attribute in schema]
    options = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""]
    )
    few = pa.csv.read_csv(HERE / "events.csv", convert_options=options)
    rng = Random(1)
    picked = {
        name: few[name].take(pa.array(rng.choices(range(len(few)), k=count)))
        for name in few.column_names
    }
    return pa.table(picked)


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    queries = penstock.load(HERE / "rules.sql")
    events = trades(count, queries.schema)
    with penstock.open(queries, engine="simulated") as matcher:
        started = time.perf_counter()
        answers = matcher.match(events)
        seconds = time.perf_counter() - started
        counted = matcher.counters
    print(f"simulated:  {count:,} events in {seconds:.2f} s, {count / seconds:,.0f} events/s")
    print(
        f"            {counted['cycles']:,} clock cycles, "
        f"{count / counted['cycles']:.2f} events per cycle, {counted['chunks']:,} chunks of matches"
    )
    few = events.slice(0, CHECKED)
    with penstock.open(queries, engine="reference") as matcher:
        started = time.perf_counter()
        wanted = matcher.match(few)
        seconds = time.perf_counter() - started
    print(f"reference:  {len(few):,} events in {seconds:.2f} s, {len(few) / seconds:,.0f} events/s")
    if answers.slice(0, len(few)).to_pylist() != wanted.to_pylist():
        print("the circuit and the reference give different answers")
        return 1
    print(f"the circuit and the reference give the same answers to {len(few):,} events")
    return 0


if __name__ == "__main__":
    sys.exit(main())
