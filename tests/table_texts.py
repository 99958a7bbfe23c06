"""Every operator of the language, and values around the constants, for tests of the table."""

from decimal import Decimal
from typing import Any

from strategies import NAN

OPERATORS = [
    "n = 3", "n <> 3", "n < 3", "n <= 3", "n > 3", "n >= 3", "n <=> 3", "NOT (n <=> 3)",
    "n BETWEEN 2 AND 4", "n NOT BETWEEN 2 AND 4", "n IN (1, 3, 5)", "n NOT IN (1, 3, NULL)",
    "n IS NULL", "n IS NOT NULL", "n > 2 AND s = 'a'", "n = 1 OR s = 'b'", "x = 0", "x > 1e0",
    "x = CAST('NaN' AS DOUBLE)", "x < 0 OR x >= CAST('Infinity' AS DOUBLE)", "s = ''", "s < 'a'",
    "s LIKE 'a%'", "s LIKE '%b'", "s NOT LIKE 'a_'", "b", "NOT b", "b IS NOT TRUE", "d < 1.5",
    "n < m", "n <=> m", "s = t", "s <=> t", "TRUE", "n < 1 AND n > 2",
]  # fmt: skip
VALUES: list[dict[str, Any]] = [
    {},
    *({"n": n, "m": 3} for n in range(6)),
    *({"s": s, "t": "a"} for s in ("", "a", "ab", "b", "a\0", "\U0001f600")),
    *({"x": x} for x in (0.0, -0.0, NAN, float("inf"), -float("inf"), 1.5)),
    *({"b": b, "n": 3, "s": "a"} for b in (True, False)),
    *({"d": Decimal(d), "n": 1, "s": "b"} for d in ("1.49", "1.50", "-9.99")),
]
COLUMNS = {
    "n": "INT", "m": "BIGINT", "s": "STRING", "t": "STRING", "x": "DOUBLE", "b": "BOOLEAN",
    "d": "DECIMAL(5,2)",
}  # fmt: skip
