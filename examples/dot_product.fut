-- A first Futhark program: the dot product of two arrays.
--
--   echo '[1.0, 2.0, 3.0] [4.0, 5.0, 6.0]' | bindrune run examples/dot_product.fut
--
-- A function marked `entry` can be called from outside.  The lines below the
-- `==` are its tests: inputs and expected outputs.
-- ==
-- entry: main
-- input { [1.0, 2.0, 3.0] [4.0, 5.0, 6.0] }
-- output { 32.0f64 }
-- input { [-0.5] [8.0] }
-- output { -4.0f64 }
-- input { empty([0]f64) empty([0]f64) }
-- output { 0.0f64 }

-- `[n]` in front of the parameters names a size: it says that both arrays have
-- the same length, whatever that is.  `map2` multiplies the elements in pairs,
-- `reduce` adds up the products.  Both run in parallel, and the compiler fuses
-- them into one loop: the array of products never exists.
entry main [n] (xs: [n]f64) (ys: [n]f64) : f64 =
  reduce (+) 0 (map2 (*) xs ys)

-- The same for arrays that are too large to type in: two waves of n samples.
-- Nothing is stored here either, as the waves are computed where they are used.
--
--   echo 100000000i64 | bindrune run examples/dot_product.fut -e waves
-- ==
-- entry: waves
-- input { 0i64 }
-- output { f64.nan }
-- input { 5i64 }
-- output { 0.5f64 }
-- input { 1000i64 }
-- output { 0.5f64 }
entry waves (n: i64) : f64 =
  let step = 2 * f64.pi / f64.i64 n
  let wave k = map (\i -> f64.sin (k * step * f64.i64 i)) (iota n)
  in main (wave 3) (map (+ 0.5) (wave 3)) / f64.i64 n
