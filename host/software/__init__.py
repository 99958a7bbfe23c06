"""The software engine: query sets as flat arrays, matched by compiled loops."""
