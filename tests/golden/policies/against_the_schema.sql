CREATE STREAM trades (symbol STRING, price DECIMAL(10,2), qty INT, live BOOLEAN);
CREATE SUBSCRIPTION q ON trades WHERE neither = 'this';
