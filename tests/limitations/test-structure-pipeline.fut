-- run: test -s FILE
-- prints: 0 of 0

-- ==
-- structure seq-mem { Screma 17 }
entry main (n: i64) = map (* 2) (iota n)
