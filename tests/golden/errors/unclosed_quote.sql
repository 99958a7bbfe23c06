CREATE STREAM trades (symbol STRING, price DECIMAL(10,2), qty INT, live BOOLEAN, day DATE, at TIMESTAMP, ratio DOUBLE);
CREATE SUBSCRIPTION fine ON trades WHERE symbol = 'it''s' AND symbol = r'\';
CREATE SUBSCRIPTION q ON trades
WHERE symbol = 'abc;
