-- Alert rules over a stream of trades. Check them with
--     penstock check examples/trades/rules.sql
-- and with what their owners may use
--     penstock check examples/trades/rules.sql --policy examples/trades/policy.sql

CREATE STREAM trades (
    symbol   STRING,
    venue    STRING,
    side     STRING,
    price    DECIMAL(10,2),
    previous DECIMAL(10,2),
    quantity INT,
    traded   TIMESTAMP,
    settles  DATE,
    odd_lot  BOOLEAN,
    spread   DOUBLE
);

CREATE SUBSCRIPTION cheap ON trades OWNER desk
    WHERE price < 10;

CREATE SUBSCRIPTION big_tech ON trades WEIGHT 5 OWNER desk
    WHERE symbol IN ('AAPL', 'MSFT', 'NVDA') AND quantity >= 10000;

CREATE SUBSCRIPTION jump ON trades WEIGHT 3 OWNER desk
    WHERE price > previous AND NOT odd_lot;

CREATE SUBSCRIPTION round_lots_at_open ON trades OWNER desk
    WHERE traded BETWEEN TIMESTAMP '2026-03-02 14:30:00' AND TIMESTAMP '2026-03-02 14:35:00'
      AND quantity >= 100 AND odd_lot IS NOT TRUE;

CREATE SUBSCRIPTION off_exchange ON trades OWNER surveillance
    WHERE venue LIKE 'DARK%' OR venue IS NULL;

CREATE SUBSCRIPTION wide_or_bad_spread ON trades OWNER surveillance
    WHERE spread > 0.05D * 2 OR spread = CAST('NaN' AS DOUBLE);

CREATE SUBSCRIPTION late_settlement ON trades OWNER surveillance
    WHERE settles > DATE '2026-03-02' + 2 AND NOT (side = 'B' AND venue = 'XNAS');

-- The k best matches of an event rank by score: WEIGHT above, plus what each predicate is worth.
CREATE SUBSCRIPTION watchlist ON trades WEIGHT 1 OWNER desk
    WHERE weight(symbol = 'NVDA', 4) OR weight(symbol LIKE 'A%', 2);
