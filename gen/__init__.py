"""The compiler: query text to plan to circuit. Imports nothing but itself and parsers;
only ``gen.lower`` may import ``rtl_lib``, only ``gen.build`` may import ``constraints``."""
