"""Circuits that know bits, not queries: each file one component, its contract in its docstring."""
