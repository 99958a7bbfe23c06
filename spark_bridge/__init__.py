"""DataFrames in, DataFrames out. Imports ``host``, the schema and types of ``gen``, and Spark."""
