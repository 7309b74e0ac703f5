-- Segments of different lengths, each sorted by quicksort with an explicit stack:
-- iterations with very different times and arrays of very different sizes.

def swap [n] (xs: *[n]i32) (i: i64) (j: i64) : *[n]i32 =
  let (x, y) = (xs[i], xs[j])
  in xs with [i] = y with [j] = x

-- Moves elements below the middle element of `xs[low..high]` to the front and those
-- above to the back. Returns the last index of the front and the first of the back.
def split [n] (xs: *[n]i32) (low: i64) (high: i64) : (*[n]i32, i64, i64) =
  let pivot = copy xs[(low + high) / 2]
  in loop (xs, i, j) = (xs, low, high) while i <= j do
       let i = loop i while xs[i] < pivot do i + 1
       let j = loop j while xs[j] > pivot do j - 1
       in if i <= j then (swap xs i j, i + 1, j - 1) else (xs, i, j)

def sort [n] (xs: *[n]i32) : *[n]i32 =
  -- The longer part is pushed, so that the stack stays small.
  let (lows, highs) = (replicate 64 0i64, replicate 64 0i64 with [0] = n - 1)
  let (xs, _, _, _) =
    loop (xs, lows, highs, waiting) = (xs, lows, highs, 1i64) while waiting > 0 do
      let (low, high) = (lows[waiting - 1], highs[waiting - 1])
      in if low >= high
         then (xs, lows, highs, waiting - 1)
         else let (xs, i, j) = split xs low high
              let (first, second) =
                if j - low > high - i then ((low, j), (i, high)) else ((i, high), (low, j))
              in ( xs
                 , lows with [waiting - 1] = first.0 with [waiting] = second.0
                 , highs with [waiting - 1] = first.1 with [waiting] = second.1
                 , waiting + 1
                 )
  in xs

-- For each segment the sum of its sorted elements times their indices.
-- ==
-- input { [0i64, 3i64, 3i64, 8i64] [5, -2, 7, 4, 4, 1, 9, -3] }
-- output { [19i64, 0i64, 57i64] }
entry main [n1][m] (starts: [n1]i64) (xs: [m]i32) : []i64 =
  map (\k ->
         let ordered = sort (copy xs[starts[k]:starts[k + 1]])
         in i64.sum (map2 (\x place -> i64.i32 x * place) ordered (indices ordered)))
      (iota (n1 - 1))
