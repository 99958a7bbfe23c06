CREATE STREAM trades (symbol STRING, price DECIMAL(10,2), qty INT, live BOOLEAN, day DATE, at TIMESTAMP, ratio DOUBLE);
CREATE SUBSCRIPTION q ON trades
WHERE upper(
    symbol
  ) = 'A';
CREATE SUBSCRIPTION r ON trades WHERE live


  AND (price >
    1 1);
