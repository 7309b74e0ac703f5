-- Cases in which executables of the reference compiler 0.25.32 crash, report a false
-- error, or miss an error that the language requires. `futhark test` fails on this
-- file.

-- Negative sizes: a message on standard error, but the whole process ends.

-- ==
-- entry: fill
-- input { -3i64 2i64 }
-- error: [Nn]egative
-- input { 2i64 1i64 }
-- output { [[7i32], [7i32]] }
entry fill (n: i64) (m: i64) : [n][m]i32 = replicate n (replicate m 7)

-- Division that overflows wraps around: no error, and no signal.
-- ==
-- entry: overflow
-- input { [-2147483648, -2147483648, 7] [-1, 1, -1] }
-- output { [-2147483648i32, -2147483648i32, -7i32] [0i32, 0i32, 0i32] }
entry overflow [n] (a: [n]i32) (b: [n]i32) : ([n]i32, [n]i32) = (map2 (/) a b, map2 (%) a b)

-- An assertion around an identity.
-- ==
-- entry: identity
-- input { [1, -2] }
-- error: [Aa]ssert
-- input { [1, 2] }
-- output { 3i32 }
entry identity (xs: []i32) : i32 = reduce (+) 0 (map (\x -> assert (x > 0) x) xs)

-- A descending slice that starts after the end.
-- ==
-- entry: descending
-- input { [1, 2, 3] 3i64 -1i64 }
-- error: out of bounds
-- input { [1, 2, 3] 5i64 1i64 }
-- error: out of bounds
-- input { [1, 2, 3] 2i64 0i64 }
-- output { [3i32, 2i32] }
entry descending (xs: []i32) (i: i64) (j: i64) : []i32 = xs[i:j:-1]

-- The rotation of no rows divides by zero.
-- ==
-- entry: rotated
-- input { empty([0][2]i32) 3i64 }
-- output { empty([0][2]i32) }
-- input { [[1, 2], [3, 4], [5, 6]] 2i64 }
-- output { [[5i32, 6i32], [1i32, 2i32], [3i32, 4i32]] }
entry rotated [n] [m] (xss: [n][m]i32) (r: i64) : [n][m]i32 =
  map (\i -> xss[(i + r) % n]) (iota n)

-- A failed assertion in one of many tasks, whose value is used.
-- ==
-- entry: scan_assert
-- input { 20000i64 1i64 }
-- error: Assertion is false
-- input { 20000i64 -1i64 }
-- output { 199990000i64 }
entry scan_assert (n: i64) (bad: i64) : i64 =
  let xs = map (\i -> (i * 7919) % n) (iota n)
  in last (scan (+) 0 (map (\x -> assert (x != bad) x) xs))
