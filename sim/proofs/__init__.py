"""Proofs that the parts of circuits do what they say, for every input and any stalls.

``python -m penstock.sim.proofs`` proves everything. A harness in Amaranth asserts what a
component promises; yowasp-sby and the solver Yices prove it or find a run that breaks it.
"""
