CREATE STREAM trades (symbol STRING, price DECIMAL(10,2), qty INT, live BOOLEAN, day DATE, at TIMESTAMP, ratio DOUBLE);
CREATE SUBSCRIPTION q1 ON trades WHERE symbol = X'zz';
