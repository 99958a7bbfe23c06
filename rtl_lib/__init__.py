"""Circuits, which know bits and not queries. Imports Amaranth and nothing of Penstock."""
