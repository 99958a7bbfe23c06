"""Verification with cocotb: the whole circuit under stalls, its answers those of the BE-Tree."""
