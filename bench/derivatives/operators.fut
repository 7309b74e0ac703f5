-- Reductions, scans and generalised histograms by operator, and their derivatives: the operators of Bruun, Larsen,
-- Schenck and Oancea, "Reverse-Mode AD of Multi-Reduce and Scan in Futhark" (IFL 2023). Seeds are 1 for reductions, the
-- argument for scans, and given for histograms.

-- The composition of the functions that x maps to a.0 + a.1 x.
def compose (a: (f32, f32)) (b: (f32, f32)) : (f32, f32) = (b.0 + b.1 * a.0, a.1 * b.1)

-- The sum of the products of all pairs of elements, and their sum.
def sum_of_products (a: (f32, f32)) (b: (f32, f32)) : (f32, f32) = (a.0 + b.0 + a.1 * b.1, a.1 + b.1)

def saturating (most: f32) (a: f32) (b: f32) : f32 = if a + b > most then most else a + b

type matrix2 = (f32, f32, f32, f32)

def unit2 : matrix2 = (1, 0, 0, 1)

def multiply2 (a: matrix2) (b: matrix2) : matrix2 =
  (a.0 * b.0 + a.1 * b.2, a.0 * b.1 + a.1 * b.3, a.2 * b.0 + a.3 * b.2, a.2 * b.1 + a.3 * b.3)

def matrix2_of (a: [4]f32) : matrix2 = (a[0], a[1], a[2], a[3])

def matrix2_array (a: matrix2) : [4]f32 = [a.0, a.1, a.2, a.3]

type row3 = (f32, f32, f32)
type matrix3 = (row3, row3, row3)

def unit3 : matrix3 = ((1, 0, 0), (0, 1, 0), (0, 0, 1))

def multiply3 (a: matrix3) (b: matrix3) : matrix3 =
  let row (r: row3) : row3 =
    ( r.0 * b.0.0 + r.1 * b.1.0 + r.2 * b.2.0
    , r.0 * b.0.1 + r.1 * b.1.1 + r.2 * b.2.1
    , r.0 * b.0.2 + r.1 * b.1.2 + r.2 * b.2.2
    )
  in (row a.0, row a.1, row a.2)

def matrix3_of (a: [9]f32) : matrix3 = ((a[0], a[1], a[2]), (a[3], a[4], a[5]), (a[6], a[7], a[8]))

def matrix3_array (a: matrix3) : [9]f32 =
  [a.0.0, a.0.1, a.0.2, a.1.0, a.1.1, a.1.2, a.2.0, a.2.1, a.2.2]


entry reduce_plus [n] (xs: [n]f32) : f32 = reduce (+) 0 xs

entry reduce_plus_derivative [n] (xs: [n]f32) : [n]f32 = vjp reduce_plus xs 1

entry reduce_least [n] (xs: [n]f32) : f32 = reduce f32.min f32.inf xs

entry reduce_least_derivative [n] (xs: [n]f32) : [n]f32 = vjp reduce_least xs 1

entry reduce_product [n] (xs: [n]f32) : f32 = reduce (*) 1 xs

entry reduce_product_derivative [n] (xs: [n]f32) : [n]f32 = vjp reduce_product xs 1

def reduce_linear_of [n] (xs: [n](f32, f32)) : (f32, f32) = reduce compose (0, 1) xs

entry reduce_linear [n] (as: [n]f32) (bs: [n]f32) : (f32, f32) = reduce_linear_of (zip as bs)

entry reduce_linear_derivative [n] (as: [n]f32) (bs: [n]f32) : ([n]f32, [n]f32) =
  unzip (vjp reduce_linear_of (zip as bs) (1, 1))

def reduce_pairs_of [n] (xs: [n](f32, f32)) : (f32, f32) = reduce sum_of_products (0, 0) xs

entry reduce_pairs [n] (as: [n]f32) (bs: [n]f32) : (f32, f32) = reduce_pairs_of (zip as bs)

entry reduce_pairs_derivative [n] (as: [n]f32) (bs: [n]f32) : ([n]f32, [n]f32) =
  unzip (vjp reduce_pairs_of (zip as bs) (1, 1))

entry reduce_vector_plus [n][m] (xs: [n][m]f32) : [m]f32 = reduce (map2 (+)) (replicate m 0) xs

entry reduce_vector_plus_derivative [n][m] (xs: [n][m]f32) : [n][m]f32 = vjp reduce_vector_plus xs (replicate m 1)

entry reduce_vector_product [n][m] (xs: [n][m]f32) : [m]f32 = reduce (map2 (*)) (replicate m 1) xs

entry reduce_vector_product_derivative [n][m] (xs: [n][m]f32) : [n][m]f32 = vjp reduce_vector_product xs (replicate m 1)

entry reduce_matrices2 [n] (xs: [n][4]f32) : [4]f32 = matrix2_array (reduce multiply2 unit2 (map matrix2_of xs))

entry reduce_matrices2_derivative [n] (xs: [n][4]f32) : [n][4]f32 = vjp reduce_matrices2 xs (replicate 4 1)

entry reduce_matrices3 [n] (xs: [n][9]f32) : [9]f32 = matrix3_array (reduce multiply3 unit3 (map matrix3_of xs))

entry reduce_matrices3_derivative [n] (xs: [n][9]f32) : [n][9]f32 = vjp reduce_matrices3 xs (replicate 9 1)


entry scan_plus [n] (xs: [n]f32) : [n]f32 = scan (+) 0 xs

entry scan_plus_derivative [n] (xs: [n]f32) : [n]f32 = vjp scan_plus xs xs

entry scan_least [n] (xs: [n]f32) : [n]f32 = scan f32.min f32.inf xs

entry scan_least_derivative [n] (xs: [n]f32) : [n]f32 = vjp scan_least xs xs

entry scan_product [n] (xs: [n]f32) : [n]f32 = scan (*) 1 xs

entry scan_product_derivative [n] (xs: [n]f32) : [n]f32 = vjp scan_product xs xs

def scan_linear_of [n] (xs: [n](f32, f32)) : [n](f32, f32) = scan compose (0, 1) xs

entry scan_linear [n] (as: [n]f32) (bs: [n]f32) : ([n]f32, [n]f32) = unzip (scan_linear_of (zip as bs))

entry scan_linear_derivative [n] (as: [n]f32) (bs: [n]f32) : ([n]f32, [n]f32) =
  unzip (vjp scan_linear_of (zip as bs) (zip as bs))

def scan_pairs_of [n] (xs: [n](f32, f32)) : [n](f32, f32) = scan sum_of_products (0, 0) xs

entry scan_pairs [n] (as: [n]f32) (bs: [n]f32) : ([n]f32, [n]f32) = unzip (scan_pairs_of (zip as bs))

entry scan_pairs_derivative [n] (as: [n]f32) (bs: [n]f32) : ([n]f32, [n]f32) =
  unzip (vjp scan_pairs_of (zip as bs) (zip as bs))

entry scan_vector_plus [n][m] (xs: [n][m]f32) : [n][m]f32 = scan (map2 (+)) (replicate m 0) xs

entry scan_vector_plus_derivative [n][m] (xs: [n][m]f32) : [n][m]f32 = vjp scan_vector_plus xs xs

entry scan_vector_product [n][m] (xs: [n][m]f32) : [n][m]f32 = scan (map2 (*)) (replicate m 1) xs

entry scan_vector_product_derivative [n][m] (xs: [n][m]f32) : [n][m]f32 = vjp scan_vector_product xs xs

entry scan_matrices2 [n] (xs: [n][4]f32) : [n][4]f32 = map matrix2_array (scan multiply2 unit2 (map matrix2_of xs))

entry scan_matrices2_derivative [n] (xs: [n][4]f32) : [n][4]f32 = vjp scan_matrices2 xs xs

entry scan_matrices3 [n] (xs: [n][9]f32) : [n][9]f32 = map matrix3_array (scan multiply3 unit3 (map matrix3_of xs))

entry scan_matrices3_derivative [n] (xs: [n][9]f32) : [n][9]f32 = vjp scan_matrices3 xs xs


entry histogram_plus [n][k] (bins: [n]i64) (_seeds: [k]f32) (xs: [n]f32) : [k]f32 = hist (+) 0 k bins xs

entry histogram_plus_derivative [n][k] (bins: [n]i64) (seeds: [k]f32) (xs: [n]f32) : [n]f32 =
  vjp (histogram_plus bins seeds) xs seeds

entry histogram_least [n][k] (bins: [n]i64) (_seeds: [k]f32) (xs: [n]f32) : [k]f32 = hist f32.min f32.inf k bins xs

entry histogram_least_derivative [n][k] (bins: [n]i64) (seeds: [k]f32) (xs: [n]f32) : [n]f32 =
  vjp (histogram_least bins seeds) xs seeds

entry histogram_product [n][k] (bins: [n]i64) (_seeds: [k]f32) (xs: [n]f32) : [k]f32 = hist (*) 1 k bins xs

entry histogram_product_derivative [n][k] (bins: [n]i64) (seeds: [k]f32) (xs: [n]f32) : [n]f32 =
  vjp (histogram_product bins seeds) xs seeds

entry histogram_saturating_plus [n][k] (bins: [n]i64) (_seeds: [k]f32) (xs: [n]f32) : [k]f32 =
  hist (saturating 6250) 0 k bins xs

entry histogram_saturating_plus_derivative [n][k] (bins: [n]i64) (seeds: [k]f32) (xs: [n]f32) : [n]f32 =
  vjp (histogram_saturating_plus bins seeds) xs seeds

entry histogram_vector_plus [n][m][k] (bins: [n]i64) (_seeds: [k][m]f32) (xs: [n][m]f32) : [k][m]f32 =
  hist (map2 (+)) (replicate m 0) k bins xs

entry histogram_vector_plus_derivative [n][m][k] (bins: [n]i64) (seeds: [k][m]f32) (xs: [n][m]f32) : [n][m]f32 =
  vjp (histogram_vector_plus bins seeds) xs seeds

def histogram_pairs_of [n] (k: i64) (bins: [n]i64) (xs: [n](f32, f32)) : [k](f32, f32) =
  hist sum_of_products (0, 0) k bins xs

entry histogram_pairs [n][k] (bins: [n]i64) (_seeds: [k]f32) (as: [n]f32) (bs: [n]f32) : ([k]f32, [k]f32) =
  unzip (histogram_pairs_of k bins (zip as bs))

entry histogram_pairs_derivative [n][k] (bins: [n]i64) (seeds: [k]f32) (as: [n]f32) (bs: [n]f32) : ([n]f32, [n]f32) =
  unzip (vjp (histogram_pairs_of k bins) (zip as bs) (zip seeds seeds))
