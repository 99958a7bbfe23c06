CREATE STREAM trades (symbol STRING, price DECIMAL(10,2), qty INT, live BOOLEAN, day DATE, at TIMESTAMP, ratio DOUBLE);
CREATE SUBSCRIPTION q1 ON trades WHERE upper(symbol) = 'A';
CREATE SUBSCRIPTION q2 ON trades WHERE foo( symbol , ')' ) = 'A';
CREATE SUBSCRIPTION q3 ON trades WHERE now() > at;
CREATE SUBSCRIPTION q4 ON trades WHERE current_date > day;
CREATE SUBSCRIPTION q5 ON trades WHERE count(*) > 1;
CREATE SUBSCRIPTION q6 ON trades WHERE if(qty > 1, TRUE, FALSE);
CREATE SUBSCRIPTION q7 ON trades WHERE isnull(qty);
