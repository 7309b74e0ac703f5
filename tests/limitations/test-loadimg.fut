-- run: test FILE
-- exit: 1
-- prints: not supported yet: the script function `$loadimg`

-- ==
-- script input { $loadimg "test-loadimg.fut" } output { 6 }
entry main (xs: [][]u32): i64 = length xs
