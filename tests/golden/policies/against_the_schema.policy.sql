CREATE POLICY FOR acme ON trades (symbol, pirce, quantity) WHERE sybmol LIKE 'A%';
CREATE POLICY FOR globex ON trades WHERE symbol > 5;
CREATE POLICY FOR initech ON trades WHERE weight(qty > 5, 3) AND live;
CREATE POLICY FOR acme ON orders (anything) WHERE of_that_stream;
CREATE POLICY FOR DEFAULT ON trades WHERE price;
