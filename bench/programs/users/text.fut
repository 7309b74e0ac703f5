-- Text, as users process it. Measured by `bench/run.py users`; the peers are in
-- bench/peers/users_text.py.

def is_space (c: u8) : bool = c == ' ' || c == '\n' || c == '\t'

-- The number of words, and the length of the longest one.
-- ==
-- entry: words
-- input { "to be,  or\nnot " }
-- output { 4i64 3i64 }
-- input { "\twords" }
-- output { 1i64 5i64 }
-- input { "  " }
-- output { 0i64 0i64 }
-- input { "" }
-- output { 0i64 0i64 }
entry words [n] (text: [n]u8) : (i64, i64) =
  let ends_word i = !(is_space text[i]) && (i == n - 1 || is_space text[i + 1])
  let count = i64.sum (map (\i -> i64.bool (ends_word i)) (iota n))
  let spaces = scan i64.max (-1) (map (\i -> if is_space text[i] then i else -1) (iota n))
  let longest = i64.maximum (map2 (-) (iota n) spaces)
  in (count, i64.max 0 longest)

-- Levenshtein's distance. A row of the table follows from the one above by a scan, for insertions:
-- the least of `best[k] + (j - k)` for k up to j.
-- ==
-- entry: levenshtein
-- input { "kitten" "sitting" }
-- output { 3i32 }
-- input { "" "abc" }
-- output { 3i32 }
-- input { "abc" "" }
-- output { 3i32 }
-- input { "gattaca" "tacgatt" }
-- output { 5i32 }
entry levenshtein [n] [m] (a: [n]u8) (b: [m]u8) : i32 =
  let row =
    loop row = map i32.i64 (iota (m + 1)) for i < n do
      let best j =
        if j == 0
        then row[0] + 1
        else i32.min (row[j] + 1) (row[j - 1] + i32.bool (a[i] != b[j - 1]))
      let relative = map (\j -> best j - i32.i64 j) (iota (m + 1))
      in map2 (\j least -> least + i32.i64 j) (iota (m + 1)) (scan i32.min i32.highest relative)
  in last row
