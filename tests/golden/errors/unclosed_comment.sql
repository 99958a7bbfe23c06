CREATE STREAM trades (symbol STRING, price DECIMAL(10,2), qty INT, live BOOLEAN, day DATE, at TIMESTAMP, ratio DOUBLE);
-- don't stumble over /* this
/* nor over 'this */
  /* open /* closed */
CREATE SUBSCRIPTION q ON trades WHERE TRUE;
