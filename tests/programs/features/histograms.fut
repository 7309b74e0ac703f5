-- Histograms of floats: many more iterations than bins, whose sums depend on the order of
-- additions in their last bits.

-- The distances between the iterations of a bin vary.
def spread (k: i64) (i: i64) : i64 = (i * 7919 + i / 13) % k

-- Terms of all magnitudes and both signs.
def term (i: i64) : f64 = f64.i64 (i % 1009 - 500) / f64.i64 (i % 89 + 1)

-- ==
-- entry: single
-- input { 0i64 3i64 }
-- output { [0.0f32, 0.0f32, 0.0f32] }
-- input { 100i64 1i64 }
-- output { [-3684.9907f32] }
-- input { 20000i64 7i64 }
-- output { [199.54536f32, 670.27747f32, -1802.7721f32, 2484.2905f32, -2281.1104f32, 2514.0208f32, 215.70367f32] }
entry single (n: i64) (k: i64) : [k]f32 =
  hist (+) 0 k (map (spread k) (iota n)) (map (\i -> f32.f64 (term i)) (iota n))

-- ==
-- entry: double
-- input { 20000i64 5i64 }
-- output { [-112.54859321388214f64, 1999.4340225635651f64, 407.57920214125727f64, 840.0111435414622f64, -1134.5204634915337f64] }
-- input { 9000i64 11i64 }
-- output { [521.3387056250529f64, 674.5334160964817f64, -764.8068598241929f64, -774.6279646073615f64, -1416.6472414205366f64, 309.398558966758f64, 728.6620713506524f64, 604.1412089084617f64, 85.7121863399736f64, -96.41996785085318f64, -133.54909459300796f64] }
entry double (n: i64) (k: i64) : [k]f64 =
  hist (+) 0 k (map (spread k) (iota n)) (map term (iota n))

-- The number of bins determines the number of chunks; the last few bins.
-- ==
-- entry: many_bins
-- input { 12000i64 5000i64 4i64 }
-- output { [0.0f32, 0.0f32, 0.0f32, 0.0f32] }
-- input { 12000i64 7000i64 3i64 }
-- output { [12.409571f32, 0.0f32, -42.60989f32] }
entry many_bins (n: i64) (k: i64) (last: i64) : []f32 =
  let bins = hist (+) 0 k (map (spread k) (iota n)) (map (\i -> f32.f64 (term i)) (iota n))
  in bins[k - last:]

-- Some indices are out of bounds; the initial values of bins come first.
-- ==
-- entry: onto
-- input { 20000i64 [1.5f32, -2.25f32, 1e6f32, 0.1f32] }
-- output { [671.77747f32, -1805.0221f32, 1002484.3f32, -2281.0103f32] }
entry onto [k] (n: i64) (dest: *[k]f32) : [k]f32 =
  reduce_by_index dest (+) 0 (map (\i -> spread (k + 3) i - 1) (iota n))
                  (map (\i -> f32.f64 (term i)) (iota n))

-- Sums and products over the same iterations, in two dimensions of bins.
-- ==
-- entry: grid
-- input { 10000i64 2i64 3i64 }
-- output { [[623.2061706269915f64, -551.3143299135048f64, -495.03016071696993f64], [-216.13378038689225f64, -1398.0122438685667f64, 383.46301771912704f64]] [[1.0061220427908313f64, 0.9944190409751715f64, 0.9949395483185033f64], [0.9977330819501427f64, 0.9860331918079984f64, 1.0037855189753284f64]] }
entry grid (n: i64) (h: i64) (w: i64) : ([h][w]f64, [h][w]f64) =
  let positions = map (\i -> (spread h i, spread (w + 1) (i / 2))) (iota n)
  let values = map (\i -> (term i, 1 + term i / 1e5)) (iota n)
  in unzip (map unzip (reduce_by_index_2d (replicate h (replicate w (0, 1)))
                                          (\(a, b) (c, d) -> (a + c, b * d)) (0, 1)
                                          positions values))
