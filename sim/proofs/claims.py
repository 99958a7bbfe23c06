"""Everything that is claimed and proved, in order of the components."""

from __future__ import annotations

from penstock.sim.proofs import (
    best_queue,
    collector,
    compare,
    merge,
    predecoder,
    rank_encoder,
    serialiser,
    skid_buffer,
)

CLAIMS = (
    *compare.CLAIMS,
    *rank_encoder.CLAIMS,
    *predecoder.CLAIMS,
    *skid_buffer.CLAIMS,
    *serialiser.CLAIMS,
    *merge.CLAIMS,
    *collector.CLAIMS,
    *best_queue.CLAIMS,
)
