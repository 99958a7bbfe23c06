CREATE POLICY FOR acme ON trades (symbol);
CREATE POLICY FOR globex, acme ON Trades (price);
CREATE POLICY FOR initech, initech ON trades;
CREATE POLICY FOR DEFAULT ON trades;
CREATE POLICY FOR default ON trades;
CREATE POLICY FOR 'DEFAULT' ON trades;
CREATE POLICY FOR acme ON orders;
