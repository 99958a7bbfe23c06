"""The circuit itself as a device: compiled by Verilator, driven a whole batch at a time."""
