"""From a plan to a circuit of `penstock.rtl_lib`."""
