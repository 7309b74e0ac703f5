-- Loops that update a whole matrix in each iteration: elimination, shortest paths, decompositions.
-- Odd and even trip counts, few and no iterations, small matrices, reads of rows, columns, elements.

def weigh [n][m] (xs: [n][m]i32) : i64 =
  i64.sum (tabulate (n * m) (\p -> i64.i32 xs[p / m, p % m] * ((p / m * 31 + p % m * 17) % 101 + 1)))

def along (n: i64) (m: i64) (a: i64) (b: i64) (c: i64) : [n][m]i32 =
  opaque (tabulate_2d n m (\i j -> i32.i64 ((i * a + j * b + i * j % 7) % c) - 3))

-- A well-conditioned matrix whose large elements are not on the diagonal unless `step` is 1; `step`
-- and the size have no common factor.
def regular (n: i64) (step: i64) : [n][n]f64 =
  opaque (tabulate_2d n n (\i j ->
            f64.i64 ((i * 7 + j * 13 + i * j) % 17 - 8) / 4 + (if j == i * step % n then f64.i64 (4 * n) else 0)))

-- Some elements.
def some [n] (rows: [n][n]f64) : [8]f64 =
  map (\t -> rows[t * 31 % n, t * 17 % n]) (iota 8)

-- Gauss-Jordan elimination with pivots.
-- ==
-- entry: inverse
-- input { 40i64 7i64 }
-- output { [0.0063312072077115564f64, 5.927289588404838e-05f64, -6.984574743605537e-05f64, -2.2916749440170446e-06f64, -6.870646311123285e-05f64, 0.006311700585065939f64, -2.9851870736500568e-05f64, 4.659398255238082e-05f64] }
-- input { 41i64 5i64 }
-- output { [0.006174808102269468f64, 3.807571771829276e-05f64, -6.575218893671742e-05f64, -5.651792803605124e-05f64, 6.613352280609918e-05f64, -2.0908386436068705e-05f64, 1.1637606728533509e-05f64, -4.685632463076932e-06f64] }
-- input { 33i64 2i64 }
-- output { [0.007690505292781119f64, -9.06734310307167e-05f64, -0.00011628539117563059f64, -0.00011632761407602088f64, -8.852969833973556e-05f64, -3.256925331275796e-05f64, 5.612857182703837e-05f64, -7.019026774824266e-05f64] }
-- input { 5i64 2i64 }
-- output { [0.05486494677245913f64, 0.005276034566404653f64, -0.004348501138706033f64, -0.0020412045634732f64, -0.0024851414638217316f64, 0.05486494677245913f64, 0.005276034566404653f64, -0.004348501138706033f64] }
-- input { 1i64 1i64 }
-- output { [0.5f64, 0.5f64, 0.5f64, 0.5f64, 0.5f64, 0.5f64, 0.5f64, 0.5f64] }
entry inverse (n: i64) (step: i64) : [8]f64 =
  let width = n + n
  let identity = tabulate_2d n n (\i j -> f64.bool (i == j))
  let start = map2 (\left right -> left ++ right :> [width]f64) (regular n step) identity
  let larger (i, x) (j, y) = if x > y || (x == y && i < j) then (i, x) else (j, y)
  let reduced =
    loop rows = start for k < n do
      let candidates = map (\i -> (i, if i < k then -1 else f64.abs rows[i, k])) (iota n)
      let (pivot, _) = reduce larger (n, -1) candidates
      let pivot_row = map (/ rows[pivot, k]) rows[pivot]
      in tabulate n (\i ->
           let row = if i == pivot then rows[k] else rows[i]
           in if i == k then pivot_row else map2 (\x p -> x - row[k] * p) row pivot_row)
  in some (map (\row -> row[n:] :> [n]f64) reduced)

-- Gauss-Jordan elimination along the diagonal, in place of the matrix.
-- ==
-- entry: inverse_along_diagonal
-- input { 40i64 }
-- output { [0.006327668949325659f64, -5.089399057682168e-05f64, 7.0543349617335e-05f64, 4.500738499923693e-05f64, -2.874865301786999e-05f64, -4.072967389204031e-06f64, 5.5919563904276584e-05f64, -6.545686034033426e-05f64] }
-- input { 39i64 }
-- output { [0.006492740479660108f64, -5.314365511708797e-05f64, 3.971577800333465e-06f64, -8.139754698945082e-05f64, 8.418948542478536e-05f64, -3.1196315358719035e-05f64, 7.564113289454181e-05f64, 5.8408850903286085e-05f64] }
-- input { 3i64 }
-- output { [0.1002564910228142f64, 0.012554560590379335f64, -0.005849795257165999f64, 0.1002564910228142f64, 0.012554560590379335f64, -0.005849795257165999f64, 0.1002564910228142f64, 0.012554560590379335f64] }
entry inverse_along_diagonal (n: i64) : [8]f64 =
  some (loop a = regular n 1 for k < n do
                tabulate_2d n n (\i j ->
                  if i == k
                  then if j == k then 1 / a[k, k] else a[k, j] / a[k, k]
                  else if j == k
                  then - a[i, k] / a[k, k]
                  else a[i, j] - a[i, k] * (a[k, j] / a[k, k])))

-- The numbers of a decomposition into triangular matrices, by updates of rank one; all of them with
-- as many steps as rows. Quotients are expensive, so that only large matrices are composed.
-- ==
-- entry: triangular
-- input { 40i64 40i64 }
-- output { [158.0f64, 0.008032738872591223f64, -1.7835023255667413f64, -0.00762087587954613f64, 0.747639573861619f64, 0.0013532305108386955f64, -0.008467427179098999f64, 1.562118502544722f64] }
-- input { 2i64 2i64 }
-- output { [6.0f64, 7.052083333333333f64, 6.0f64, 7.052083333333333f64, 6.0f64, 7.052083333333333f64, 6.0f64, 7.052083333333333f64] }
-- input { 257i64 5i64 }
-- output { [1026.0f64, 1.2507307781067463f64, 0.2538282387926261f64, -0.7544446781706149f64, -1.7523691888848583f64, 1.502797940932692f64, 0.5048734302184485f64, -0.49824203832618136f64] }
-- input { 256i64 4i64 }
-- output { [1022.0f64, 1.2496369373356635f64, 0.2529272594459713f64, -0.7551987478364078f64, -1.752931291343036f64, 1.502443653643892f64, 0.5047111101372637f64, -0.4982342958071031f64] }
-- input { 255i64 6i64 }
-- output { [1018.0f64, 1.2524568367942246f64, 0.25471272698507896f64, -0.7544676619911043f64, -1.7532399141945922f64, 1.5010982882254538f64, 0.5023260360219656f64, -0.5016726499881197f64] }
entry triangular (n: i64) (steps: i64) : [8]f64 =
  some (loop a = regular n 1 for k < i64.min steps n do
                tabulate_2d n n (\i j ->
                  if i > k && j > k
                  then a[i, j] - a[i, k] * (a[k, j] / a[k, k])
                  else if i > k && j == k then a[i, k] / a[k, k] else a[i, j]))

-- Shortest paths through the first `steps` vertices.
-- ==
-- entry: shortest_paths
-- input { 40i64 40i64 }
-- output { -25431293326i64 }
-- input { 45i64 45i64 }
-- output { -1033062705705i64 }
-- input { 40i64 0i64 }
-- output { 3325897i64 }
-- input { 40i64 1i64 }
-- output { 3149328i64 }
-- input { 40i64 2i64 }
-- output { 2618211i64 }
-- input { 40i64 3i64 }
-- output { 2580971i64 }
-- input { 40i64 4i64 }
-- output { 2193128i64 }
-- input { 40i64 5i64 }
-- output { 2137251i64 }
-- input { 40i64 -3i64 }
-- output { 3325897i64 }
-- input { 31i64 31i64 }
-- output { -29827551i64 }
-- input { 7i64 7i64 }
-- output { 67095i64 }
-- input { 0i64 0i64 }
-- output { 0i64 }
entry shortest_paths (n: i64) (steps: i64) : i64 =
  weigh (loop d = along n n 31 17 97 for k < steps do
           tabulate_2d n n (\i j -> i32.min d[i, j] (d[i, k] + d[k, j])))

-- The same, with one iteration too many.
-- ==
-- entry: too_many
-- input { 40i64 40i32 }
-- output { -25431293326i64 }
-- input { 40i64 41i32 }
-- error: out of bounds
-- input { 40i64 43i32 }
-- error: Index \[:, 40\] out of bounds for array of shape \[40\]\[40\]
entry too_many (n: i64) (steps: i32) : i64 =
  weigh (loop d = along n n 31 17 97 for k < steps do
           let k = i64.i32 k
           let column = d[:, k]
           let row = d[k]
           in map2 (\x ds -> map2 (\d y -> i32.min d (x + y)) ds row) column d)

-- Elimination without quotients; rows above the pivot stay.
-- ==
-- entry: without_quotients
-- input { 40i64 48i64 40i64 }
-- output { -382425429578i64 }
-- input { 48i64 40i64 39i64 }
-- output { -453675794634i64 }
-- input { 40i64 20i64 10i64 }
-- output { -520954753486i64 }
-- input { 33i64 32i64 6i64 }
-- output { -5272006680i64 }
entry without_quotients (n: i64) (m: i64) (steps: i64) : i64 =
  weigh (loop a = along n m 5 3 11 for k < steps do
           map (\i -> if i <= k
                      then a[i]
                      else map2 (\x y -> x * a[k, k] - a[i, k] * y) a[i] a[k]) (iota n))

-- Each row but the last is computed from the next one of the matrix before.
-- ==
-- entry: rotated
-- input { 40i64 50i64 13i64 }
-- output { 13242363836717i64 }
-- input { 35i64 33i64 4i64 }
-- output { 30697671i64 }
entry rotated (n: i64) (m: i64) (steps: i64) : i64 =
  weigh (loop a = along n m 5 3 11 for k < steps do
           let top = a[k]
           in map (\i -> let next = i64.min (i + 1) (n - 1)
                         in map2 (\x y -> x * 3 + y) a[next] top) (iota n))

-- Only a row and a column of the matrix before are read.
-- ==
-- entry: outer_products
-- input { 40i64 50i64 11i64 }
-- output { -3210584945698i64 }
-- input { 40i64 50i64 12i64 }
-- output { -826332113131i64 }
entry outer_products (n: i64) (m: i64) (steps: i64) : i64 =
  weigh (loop a = along n m 5 3 11 for k < steps do
           tabulate_2d n m (\i j -> a[i, k] * a[k, j] + i32.i64 (i - j)))

-- A vector is updated in place, and a sum kept.
-- ==
-- entry: with_diagonal
-- input { 40i64 33i64 }
-- output { 2553662983727i64 1484689038i32 154374795137i64 }
-- input { 36i64 36i64 }
-- output { -2557954760452i64 -2015965084i32 27681670114i64 }
entry with_diagonal (n: i64) (steps: i64) : (i64, i32, i64) =
  let (a, diagonal, sum) =
    loop (a, diagonal, sum) = (along n n 5 3 11, replicate n 1i32, 0i32) for k < steps do
      let pivot = a[k, k]
      let next = map2 (\i row -> map2 (\x y -> x + diagonal[i] * y) row a[k]) (iota n) a
      in (next, copy diagonal with [k] = pivot + diagonal[0], sum * 3 + a[n - 1, k])
  in (weigh a, sum, i64.sum (map2 (\i x -> i64.i32 x * (i + 1)) (iota n) diagonal))

-- The matrix before the last iteration is returned as well.
-- ==
-- entry: last_two
-- input { 40i64 9i64 }
-- output { 79756712i64 39873063i64 }
-- input { 40i64 0i64 }
-- output { 161811i64 161811i64 }
entry last_two (n: i64) (steps: i64) : (i64, i64) =
  let start = along n n 5 3 11
  let (a, b) = loop (a, _) = (start, start) for k < steps do (map (map2 (+) a[k]) a, a)
  in (weigh a, weigh b)

-- Two matrices; the second one reads columns of the first.
-- ==
-- entry: two_matrices
-- input { 40i64 44i64 15i64 }
-- output { 1068236298538i64 9098306510947i64 }
entry two_matrices (n: i64) (m: i64) (steps: i64) : (i64, i64) =
  let (a, b) =
    loop (a, b) = (along n n 5 3 11, along m n 3 7 13) for k < steps do
      (map (\row -> map2 (\x y -> x * 3 - y * row[k]) row a[k]) a,
       map (\row -> map2 (\x y -> x + y) row a[:, k]) b)
  in (weigh a, weigh b)

-- A pivot is chosen by the elements of a column, from an array of candidates that may fail.
-- ==
-- entry: chosen
-- input { 40i64 21i64 40i64 }
-- output { 40052187i64 }
-- input { 40i64 21i64 4i64 }
-- error: out of bounds
entry chosen (n: i64) (steps: i64) (limit: i64) : i64 =
  weigh (loop a = along n n 5 3 11 for k < steps do
           let least = i32.minimum (map (\row -> row[k] & 63) a)
           let row = if i64.i32 least < limit && k < limit then k else n
           let chosen = a[row]
           in map (\row -> map2 (\x y -> (x - y + least) & 1023) row chosen) a)

-- Neighbours are read, so iterations are not composed.
-- ==
-- entry: averages
-- input { 40i64 36i64 9i64 }
-- output { -29098i64 }
entry averages (n: i64) (m: i64) (steps: i64) : i64 =
  weigh (loop a = along n m 5 3 11 for _k < steps do
           tabulate_2d n m (\i j ->
             if i == 0 || j == 0 || i == n - 1 || j == m - 1
             then a[i, j]
             else (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4))

-- Rows are scaled by the pivot's inverse: the elements of an iteration are products.
-- ==
-- entry: inverse_by_products
-- input { 40i64 }
-- output { [0.006327668949325659f64, -5.089399057682168e-05f64, 7.0543349617335e-05f64, 4.500738499923693e-05f64, -2.874865301786999e-05f64, -4.072967389204031e-06f64, 5.5919563904276584e-05f64, -6.545686034033426e-05f64] }
-- input { 38i64 }
-- output { [0.006666240078531959f64, -5.571544340627442e-05f64, -8.452838215351413e-05f64, -9.165320007791603e-05f64, -4.5976392314506736e-05f64, -5.0563096118121265e-05f64, -8.120531659295302e-05f64, -8.227335047831704e-05f64] }
entry inverse_by_products (n: i64) : [8]f64 =
  some (loop a = regular n 1 for k < n do
                let factor = 1 / a[k, k]
                in tabulate_2d n n (\i j ->
                     if i == k
                     then if j == k then factor else a[k, j] * factor
                     else if j == k then - a[i, k] * factor else a[i, j] - a[i, k] * (a[k, j] * factor)))
