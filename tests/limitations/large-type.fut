-- run: check FILE
-- exit: 1
-- prints: the type here is too large
-- prints: types may have 50000 parts and nest 500 levels deep

type pair 'a = (a, a)
type tuple16 'a = pair (pair (pair (pair a)))

entry main (x: tuple16 (tuple16 (tuple16 (tuple16 i8)))) = x.0
