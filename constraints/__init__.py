"""One board per file: pins, clocks, part. Imports Amaranth and nothing of Penstock."""
