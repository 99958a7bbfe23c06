CREATE STREAM trades (symbol STRING, price DECIMAL(10,2), qty INT, live BOOLEAN, day DATE, at TIMESTAMP, ratio DOUBLE);
CREATE	SUBSCRIPTION	'日本' ON trades WHERE symbol = '日本語' AND pirce = 1;
		CREATE SUBSCRIPTION 'grüß' ON trades WHERE symbol = 'é' AND symbol = '😀' AND grüß = 1;
CREATE SUBSCRIPTION r ON trades WHERE symbol = 'ﬁ	' AND price = '日本';
