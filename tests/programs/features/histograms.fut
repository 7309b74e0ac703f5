-- Histograms of floats: many more points than bins, whose sums depend on the
-- order of addition in their last bits.

-- Distances between the points that fall into a bin vary.
def spread (k: i64) (i: i64) : i64 = (i * 7919 + i / 13) % k

-- Terms of all magnitudes and both signs.
def term (i: i64) : f64 = f64.i64 (i % 1009 - 500) / f64.i64 (i % 89 + 1)

-- ==
-- entry: single
-- input { 0i64 3i64 }
-- output { [0.0f32, 0.0f32, 0.0f32] }
-- input { 100i64 1i64 }
-- output { [-3684.9907f32] }
-- input { 100000i64 7i64 }
-- output { [-5238.4517f32, 12359.0205f32, -7511.843f32, 11488.716f32, -3085.6177f32, 4664.122f32, 7530.7256f32] }
entry single (n: i64) (k: i64) : [k]f32 =
  hist (+) 0 k (map (spread k) (iota n)) (map (\i -> f32.f64 (term i)) (iota n))

-- ==
-- entry: double
-- input { 60000i64 5i64 }
-- output { [2153.9797087277416f64, 2908.39050682191f64, 2069.461884137266f64, 3449.172851665053f64, 1291.647606464887f64] }
-- input { 30000i64 11i64 }
-- output { [1285.3586457953234f64, 1652.4217874457809f64, 2193.1843448894056f64, 1528.9826283532311f64, -1074.6696474553619f64, 48.525917855286224f64, -200.4002107274997f64, -729.0331449109592f64, -635.3220091559721f64, 312.12042228698795f64, -78.54089591716425f64] }
entry double (n: i64) (k: i64) : [k]f64 =
  hist (+) 0 k (map (spread k) (iota n)) (map term (iota n))

-- So many bins that they decide how many chunks there are; the last few.
-- ==
-- entry: many_bins
-- input { 50000i64 20000i64 4i64 }
-- output { [3.612763f32, -6.7717776f32, -3.512195f32, -15.436252f32] }
-- input { 50000i64 30000i64 3i64 }
-- output { [2.8360655f32, -6.8913045f32, 6.516129f32] }
entry many_bins (n: i64) (k: i64) (last: i64) : []f32 =
  let bins = hist (+) 0 k (map (spread k) (iota n)) (map (\i -> f32.f64 (term i)) (iota n))
  in bins[k - last:]

-- Some points are outside; what stood in the bins before comes first.
-- ==
-- entry: onto
-- input { 50000i64 [1.5f32, -2.25f32, 1e6f32, 0.1f32] }
-- output { [5327.027f32, -4899.931f32, 1008493.25f32, -4430.0903f32] }
entry onto [k] (n: i64) (dest: *[k]f32) : [k]f32 =
  reduce_by_index dest (+) 0 (map (\i -> spread (k + 3) i - 1) (iota n))
                  (map (\i -> f32.f64 (term i)) (iota n))

-- Sums and products of the same points, in two dimensions of bins.
-- ==
-- entry: grid
-- input { 40000i64 2i64 3i64 }
-- output { [[1295.0740146696007f64, 904.1490232471393f64, 1187.358861692647f64], [1603.1833386712615f64, 428.469349377864f64, 1005.4111654203612f64]] [[1.012541277165488f64, 1.0087240642646829f64, 1.0114633947104859f64], [1.0156764799314768f64, 1.0039295306170588f64, 1.0098654809760208f64]] }
entry grid (n: i64) (h: i64) (w: i64) : ([h][w]f64, [h][w]f64) =
  let places = map (\i -> (spread h i, spread (w + 1) (i / 2))) (iota n)
  let values = map (\i -> (term i, 1 + term i / 1e5)) (iota n)
  in unzip (map unzip (reduce_by_index_2d (replicate h (replicate w (0, 1)))
                                          (\(a, b) (c, d) -> (a + c, b * d)) (0, 1)
                                          places values))
