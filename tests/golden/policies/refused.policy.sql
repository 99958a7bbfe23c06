CREATE POLICY FOR acme ON trades (symbol, price) WHERE live;
CREATE POLICY FOR globex ON orders;
CREATE POLICY FOR initech ON trades;
