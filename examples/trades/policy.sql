-- Who may subscribe to what. Match the trades under it with
--     penstock match examples/trades/rules.sql examples/trades/events.csv
--         --policy examples/trades/policy.sql

-- The desk sees trades on exchanges only, though it may not ask for the venue itself.
CREATE POLICY FOR desk ON trades (symbol, price, previous, quantity, traded, odd_lot)
    WHERE venue LIKE 'X%';

CREATE POLICY FOR surveillance ON trades;
