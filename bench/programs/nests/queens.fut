-- The number of placements of n queens on a board of n by n so that none attacks
-- another. The first two rows are iterations of a nest; the others a search with an
-- explicit stack, as the language has no recursion.

-- The free squares of a row, as bits: `columns` are those with a queen in the
-- column, `falling` and `rising` on a diagonal that meets this row there.
def free (board: u32) (columns: u32) (falling: u32) (rising: u32) : u32 =
  board & !(columns | falling | rising)

-- The number of ways to fill the rows from `first`.
def fill (n: i64) (first: i64) (columns: u32) (falling: u32) (rising: u32) : i64 =
  let board = (1u32 << u32.i64 n) - 1
  let stack () : *[n]u32 = replicate n 0
  let columns = stack () with [first] = columns
  let fallings = stack () with [first] = falling
  let risings = stack () with [first] = rising
  let untried = stack () with [first] = free board columns[first] falling rising
  let (found, _, _, _, _, _) =
    loop (found, row, columns, fallings, risings, untried) =
           (0i64, first, columns, fallings, risings, untried)
    while row >= first do
      if untried[row] == 0
      then (found, row - 1, columns, fallings, risings, untried)
      else let queen = untried[row] & -untried[row]
           let untried[row] = untried[row] ^ queen
           in if row == n - 1
              then (found + 1, row, columns, fallings, risings, untried)
              else let (c, f, r) =
                     ( columns[row] | queen
                     , (fallings[row] | queen) << 1
                     , (risings[row] | queen) >> 1
                     )
                   in ( found
                      , row + 1
                      , columns with [row + 1] = c
                      , fallings with [row + 1] = f
                      , risings with [row + 1] = r
                      , untried with [row + 1] = free board c f r
                      )
  in found

-- ==
-- input { 4i64 }
-- output { 2i64 }
-- input { 6i64 }
-- output { 4i64 }
-- input { 8i64 }
-- output { 92i64 }
entry main (n: i64) : i64 =
  let start (i: i64) (j: i64) : i64 =
    let (a, b) = (1u32 << u32.i64 i, 1u32 << u32.i64 j)
    let (columns, falling, rising) = (a, a << 1, a >> 1)
    in if (columns | falling | rising) & b != 0
       then 0
       else fill n 2 (columns | b) ((falling | b) << 1) ((rising | b) >> 1)
  in i64.sum (map (\i -> i64.sum (map (start i) (iota n))) (iota n))
