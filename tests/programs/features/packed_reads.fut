-- Elements at a stride that many iterations read: if each is read often they are copied next to each other first,
-- which must change neither values nor failures.

-- The index is a remainder.
-- ==
-- entry: cyclic
-- input { [1i32, 2i32, 3i32, 4i32, 5i32, 6i32, 7i32, 8i32] 40i64 4i64 2i64 }
-- output { [1i32, 3i32, 5i32, 7i32, 1i32, 3i32, 5i32, 7i32, 1i32, 3i32, 5i32, 7i32, 1i32, 3i32, 5i32, 7i32, 1i32,
--   3i32, 5i32, 7i32, 1i32, 3i32, 5i32, 7i32, 1i32, 3i32, 5i32, 7i32, 1i32, 3i32, 5i32, 7i32, 1i32, 3i32, 5i32, 7i32,
--   1i32, 3i32, 5i32, 7i32] }
-- input { [1i32, 2i32, 3i32, 4i32, 5i32, 6i32, 7i32, 8i32] 9i64 3i64 1i64 }
-- output { [1i32, 2i32, 3i32, 1i32, 2i32, 3i32, 1i32, 2i32, 3i32] }
-- input { [1i32, 2i32, 3i32, 4i32, 5i32, 6i32, 7i32, 8i32] 9i64 1i64 7i64 }
-- output { [1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32] }
-- input { [1i32, 2i32, 3i32, 4i32, 5i32, 6i32, 7i32, 8i32] 9i64 3i64 0i64 }
-- output { [1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32] }
-- input { [1i32, 2i32, 3i32, 4i32, 5i32, 6i32, 7i32, 8i32] 3i64 100i64 3i64 }
-- output { [1i32, 4i32, 7i32] }
-- input { [1i32] 3i64 1i64 3i64 }
-- output { [1i32, 1i32, 1i32] }
-- input { empty([0]i32) 0i64 4i64 2i64 }
-- output { empty([0]i32) }
-- input { empty([0]i32) 0i64 0i64 0i64 }
-- output { empty([0]i32) }
-- input { [1i32, 2i32, 3i32, 4i32] 20i64 4i64 2i64 }
-- error: out of bounds for array of shape \[4\]
-- input { [1i32, 2i32, 3i32, 4i32] 20i64 4i64 -1i64 }
-- error: out of bounds for array of shape \[4\]
-- input { [1i32, 2i32, 3i32, 4i32] 20i64 0i64 1i64 }
-- error: division by zero
-- input { empty([0]i32) 20i64 4i64 1i64 }
-- error: out of bounds for array of shape \[0\]
-- input { [1i32, 2i32, 3i32, 4i32] 20i64 4i64 4611686018427387905i64 }
-- error: out of bounds for array of shape \[4\]
entry cyclic [n] (xs: [n]i32) (count: i64) (m: i64) (stride: i64) : [count]i32 =
  tabulate count (\i -> xs[i % m * stride])

-- Only some iterations read.
-- ==
-- entry: some_read
-- input { [1i32, 2i32, 3i32, 4i32, 5i32] 12i64 4i64 2i64 5i64 }
-- output { [-1i32, -1i32, -1i32, -1i32, -1i32, 3i32, 5i32, -1i32, 1i32, 3i32, 5i32, -1i32] }
-- input { [1i32, 2i32, 3i32, 4i32, 5i32] 12i64 3i64 2i64 0i64 }
-- output { [1i32, 3i32, 5i32, 1i32, 3i32, 5i32, 1i32, 3i32, 5i32, 1i32, 3i32, 5i32] }
-- input { [1i32, 2i32, 3i32, 4i32, 5i32] 12i64 4i64 2i64 0i64 }
-- output { [1i32, 3i32, 5i32, -1i32, 1i32, 3i32, 5i32, -1i32, 1i32, 3i32, 5i32, -1i32] }
entry some_read [n] (xs: [n]i32) (count: i64) (m: i64) (stride: i64) (first: i64) : [count]i32 =
  tabulate count (\i ->
    let at = i % m * stride
    in if i >= first && at < n then xs[at] else -1)

-- The stride is a quotient that every iteration computes, as in a Fourier transform.
-- ==
-- entry: quotient
-- input { [1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64] [8i64, 7i64, 6i64, 5i64, 4i64, 3i64, 2i64, 1i64] 2i64 }
-- output { [108i64, 505i64, 110i64, 507i64, 112i64, 509i64, 114i64, 511i64, 116i64, 513i64, 118i64, 515i64, 120i64, 517i64, 122i64, 519i64, 124i64, 521i64, 126i64, 523i64, 128i64, 525i64, 130i64, 527i64, 132i64, 529i64, 134i64, 531i64, 136i64, 533i64, 138i64, 535i64] }
-- input { [1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64] [8i64, 7i64, 6i64, 5i64, 4i64, 3i64, 2i64, 1i64] 4i64 }
-- output { [108i64, 307i64, 506i64, 705i64, 112i64, 311i64, 510i64, 709i64, 116i64, 315i64, 514i64, 713i64, 120i64, 319i64, 518i64, 717i64, 124i64, 323i64, 522i64, 721i64, 128i64, 327i64, 526i64, 725i64, 132i64, 331i64, 530i64, 729i64, 136i64, 335i64, 534i64, 733i64] }
-- input { [1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64] [8i64, 7i64, 6i64, 5i64, 4i64, 3i64, 2i64, 1i64] 8i64 }
-- output { [108i64, 208i64, 308i64, 408i64, 508i64, 608i64, 708i64, 808i64, 116i64, 216i64, 316i64, 416i64, 516i64, 616i64, 716i64, 816i64, 124i64, 224i64, 324i64, 424i64, 524i64, 624i64, 724i64, 824i64, 132i64, 232i64, 332i64, 432i64, 532i64, 632i64, 732i64, 832i64] }
-- input { empty([0]i64) empty([0]i64) 0i64 }
-- output { empty([0]i64) }
-- input { [1i64, 2i64] [3i64, 4i64] 0i64 }
-- error: division by zero
entry quotient [n] (xs: [n]i64) (ys: [n]i64) (size: i64) : [4 * n]i64 =
  tabulate (4 * n) (\i ->
    let k = i % size
    let at = k * (n / size)
    in 100 * xs[at] + ys[at] + i)

-- Masks and shifts.
-- ==
-- entry: masked
-- input { [1i32, 2i32, 3i32, 4i32, 5i32, 6i32, 7i32, 8i32] 20i64 3i64 1i64 }
-- output { [1i32, 3i32, 5i32, 7i32, 1i32, 3i32, 5i32, 7i32, 1i32, 3i32, 5i32, 7i32, 1i32, 3i32, 5i32, 7i32, 1i32, 3i32, 5i32, 7i32] }
-- input { [1i32, 2i32, 3i32, 4i32, 5i32, 6i32, 7i32, 8i32] 20i64 5i64 0i64 }
-- output { [1i32, 2i32, 1i32, 2i32, 5i32, 6i32, 5i32, 6i32, 1i32, 2i32, 1i32, 2i32, 5i32, 6i32, 5i32, 6i32, 1i32, 2i32, 1i32, 2i32] }
-- input { [1i32, 2i32, 3i32, 4i32, 5i32, 6i32, 7i32, 8i32] 20i64 0i64 1i64 }
-- output { [1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32] }
-- input { [1i32, 2i32, 3i32, 4i32, 5i32, 6i32, 7i32, 8i32] 3i64 -1i64 1i64 }
-- output { [1i32, 3i32, 5i32] }
-- input { [1i32, 2i32, 3i32, 4i32, 5i32, 6i32, 7i32, 8i32] 20i64 3i64 2i64 }
-- error: out of bounds for array of shape \[8\]
entry masked [n] (xs: [n]i32) (count: i64) (mask: i64) (shift: i64) : [count]i32 =
  tabulate count (\i -> xs[(i & mask) << shift])

-- The index counts the iterations of an inner map, of an inner reduction, of an inner loop.
-- ==
-- entry: inner
-- input { [1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64] [10i64, 20i64, 30i64, 40i64, 50i64] 4i64 2i64 }
-- output { [[11i64, 13i64, 15i64, 17i64], [21i64, 23i64, 25i64, 27i64], [31i64, 33i64, 35i64, 37i64], [41i64, 43i64, 45i64, 47i64], [51i64, 53i64, 55i64, 57i64]] [160i64, 320i64, 480i64, 640i64, 800i64] [734i64, 1544i64, 2354i64, 3164i64, 3974i64] }
-- input { [1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64] [10i64, 20i64, 30i64, 40i64, 50i64] 3i64 1i64 }
-- output { [[11i64, 12i64, 13i64], [21i64, 22i64, 23i64], [31i64, 32i64, 33i64], [41i64, 42i64, 43i64], [51i64, 52i64, 53i64]] [60i64, 120i64, 180i64, 240i64, 300i64] [252i64, 522i64, 792i64, 1062i64, 1332i64] }
-- input { [1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64] [10i64] 4i64 2i64 }
-- output { [[11i64, 13i64, 15i64, 17i64]] [160i64] [734i64] }
-- input { [1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64] [10i64, 20i64, 30i64, 40i64, 50i64] 0i64 2i64 }
-- output { empty([5][0]i64) [0i64, 0i64, 0i64, 0i64, 0i64] [10i64, 20i64, 30i64, 40i64, 50i64] }
-- input { [1i64, 2i64, 3i64] [10i64, 20i64, 30i64, 40i64, 50i64] 4i64 2i64 }
-- error: out of bounds for array of shape \[3\]
entry inner [n] [q] (xs: [n]i64) (ys: [q]i64) (m: i64) (stride: i64) : ([q][m]i64, [q]i64, [q]i64) =
  let rows = map (\y -> tabulate m (\k -> y + xs[k * stride])) ys
  let sums = map (\y -> i64.sum (tabulate m (\k -> y * xs[stride * k]))) ys
  let folds = map (\y -> loop s = y for k < m do 3 * s - xs[k * stride]) ys
  in (rows, sums, folds)

-- A row of the matrix is read again and again in a loop that changes the matrix.
-- ==
-- entry: changing
-- input { [1i32, 2i32, 3i32, 4i32, 5i32, 6i32, 7i32, 8i32] 3i64 2i64 3i32 }
-- output { [-81i32, 11i32, -12i32, -9i32, 109i32, 131i32, 15i32, 133i32] }
-- input { [1i32, 2i32, 3i32, 4i32, 5i32, 6i32, 7i32, 8i32] 2i64 1i64 4i32 }
-- output { [-216i32, -108i32, -168i32, -32i32, -64i32, 76i32, -32i32, 108i32] }
entry changing [n] (xs: *[n]i32) (m: i64) (stride: i64) (rounds: i32) : [n]i32 =
  loop xs for round < rounds do
    let sums = tabulate n (\i -> xs[i] + xs[i % m * stride])
    let xs[i64.i32 round] = -sums[n - 1]
    in map2 (+) xs sums
