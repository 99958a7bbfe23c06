"""Tests of memories that are either read or written."""

import random

import pytest
from streams import run_enabled

from penstock.rtl_lib.lookup import Lookup


@pytest.mark.parametrize(("width", "depth"), [(1, 1), (3, 2), (5, 16)])
@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_reads_find_the_newest_row_and_writes_keep_what_was_read(width, depth, stall):
    rng = random.Random(depth)
    init = [rng.getrandbits(width) for _ in range(depth - depth // 2)]
    rows = init + [0] * (depth // 2)
    inputs, want, row = [], [], None
    for cycle in range(200):
        address, other, new = rng.randrange(depth), rng.randrange(depth), rng.getrandbits(width)
        writes = cycle > 0 and rng.random() < 0.4
        inputs.append(
            {"address": address, "writes": writes, "write_address": other, "write_row": new}
        )
        if writes:
            rows[other] = new
        else:
            row = rows[address]
        want.append((row,))
    got = run_enabled(Lookup(width, depth, init), [*inputs, inputs[0]], ["row"], stall=stall)
    assert got[1:] == want
