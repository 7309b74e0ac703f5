-- run: test FILE
-- exit: 1
-- prints: not supported yet: the script function `$loadaudio`

-- ==
-- script input { $loadaudio "test-loadaudio.fut" } output { 6 }
entry main (xs: [][]u32): i64 = length xs
