"""The host API: devices, encoding, the software engine, residuals. Imports the parts of
``gen`` that describe queries and plans, never Amaranth or Spark."""
