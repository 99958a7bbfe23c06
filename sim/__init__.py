"""What correct means, and how we know: oracle, tree, workloads, simulated device.
Imports ``gen``, ``rtl_lib`` and ``host``."""
