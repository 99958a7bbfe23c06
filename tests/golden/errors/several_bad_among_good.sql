CREATE STREAM trades (symbol STRING, price DECIMAL(10,2), qty INT, live BOOLEAN, day DATE, at TIMESTAMP, ratio DOUBLE);
CREATE SUBSCRIPTION good ON trades WHERE price > 1;
CREATE SUBSCRIPTION bad ON trades WHERE pirce > 1;
CREATE SUBSCRIPTION fine ON trades WHERE live;
CREATE SUBSCRIPTION worse ON trades WHERE price >
  'many'
  AND live;
CREATE SUBSCRIPTION last ON trades WHERE qty IN (1, 2);
