CREATE STREAM trades (symbol STRING, price DECIMAL(10,2), qty INT, live BOOLEAN);
CREATE STREAM orders (symbol STRING);
CREATE SUBSCRIPTION good ON trades OWNER acme WHERE symbol = 'A' AND trades.PRICE < 3;
CREATE SUBSCRIPTION free ON trades OWNER initech WHERE qty = 3;
CREATE SUBSCRIPTION nobodys ON trades WHERE symbol = 'A';
CREATE SUBSCRIPTION elsewhere ON trades OWNER globex WHERE symbol = 'A';
CREATE SUBSCRIPTION there ON orders OWNER globex WHERE symbol = 'A';
CREATE SUBSCRIPTION not_there ON orders OWNER acme WHERE symbol = 'A';
CREATE SUBSCRIPTION unknown ON trades OWNER Acme WHERE symbol = 'A';
CREATE SUBSCRIPTION hidden ON trades WEIGHT 3 OWNER acme WHERE symbol = 'A' OR NOT live;
CREATE SUBSCRIPTION several ON trades OWNER acme
    WHERE qty > 5 AND (symbol = 'A' OR trades.`live` IS NULL)
      AND qty < 10;
CREATE SUBSCRIPTION weighted ON trades OWNER acme WHERE weight(qty IN (1, 2), 3);
CREATE SUBSCRIPTION compared ON trades OWNER acme WHERE price > qty;
CREATE SUBSCRIPTION certain ON trades OWNER acme WHERE qty < 10000000000000000000;
CREATE SUBSCRIPTION wrong ON trades OWNER acme WHERE pirce < 10 AND live;
