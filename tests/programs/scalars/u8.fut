-- Integer arithmetic of type u8.  (Made by tests/oracle/make_scalars.py.)

-- ==
-- entry: arithmetic
-- input { [0u8, 1u8, 7u8, 100u8, 255u8, 0u8, 249u8, 5u8] [5u8, 1u8, 3u8, 99u8, 2u8, 3u8, 11u8, 1u8] }
-- output { [5u8, 2u8, 10u8, 199u8, 1u8, 3u8, 4u8, 6u8] [251u8, 0u8, 4u8, 1u8, 253u8, 253u8, 238u8, 4u8] [0u8, 1u8, 21u8, 172u8, 254u8, 0u8, 179u8, 5u8] [0u8, 255u8, 249u8, 156u8, 1u8, 0u8, 7u8, 251u8] [0u8, 1u8, 7u8, 100u8, 255u8, 0u8, 249u8, 5u8] [0u8, 1u8, 1u8, 1u8, 1u8, 0u8, 1u8, 1u8] [0u8, 1u8, 3u8, 99u8, 2u8, 0u8, 11u8, 1u8] [5u8, 1u8, 7u8, 100u8, 255u8, 3u8, 249u8, 5u8] }
-- input { empty([0]u8) empty([0]u8) }
-- output { empty([0]u8) empty([0]u8) empty([0]u8) empty([0]u8) empty([0]u8) empty([0]u8) empty([0]u8) empty([0]u8) }
entry arithmetic [n] (a: [n]u8) (b: [n]u8)
               : ([n]u8, [n]u8, [n]u8, [n]u8, [n]u8, [n]u8, [n]u8, [n]u8) =
  ( map2 (+) a b
  , map2 (-) a b
  , map2 (*) a b
  , map (\x -> -x) a
  , map u8.abs a
  , map u8.sgn a
  , map2 u8.min a b
  , map2 u8.max a b
  )

-- Rounded down, and rounded towards zero.
-- ==
-- entry: division
-- input { [0u8, 1u8, 7u8, 100u8, 255u8, 0u8, 249u8, 5u8] [3u8, 2u8, 254u8, 7u8, 10u8, 3u8, 4u8, 252u8] }
-- output { [0u8, 0u8, 0u8, 14u8, 25u8, 0u8, 62u8, 0u8] [0u8, 1u8, 7u8, 2u8, 5u8, 0u8, 1u8, 5u8] [0u8, 0u8, 0u8, 14u8, 25u8, 0u8, 62u8, 0u8] [0u8, 1u8, 7u8, 2u8, 5u8, 0u8, 1u8, 5u8] }
entry division [n] (a: [n]u8) (b: [n]u8) : ([n]u8, [n]u8, [n]u8, [n]u8) =
  (map2 (/) a b, map2 (%) a b, map2 (//) a b, map2 (%%) a b)

-- ==
-- entry: powers
-- input { [2u8, 3u8, 0u8, 0u8, 10u8, 5u8, 1u8] [5u8, 4u8, 0u8, 3u8, 2u8, 25u8, 100u8] }
-- output { [32u8, 81u8, 1u8, 0u8, 100u8, 37u8, 1u8] }
entry powers [n] (a: [n]u8) (b: [n]u8) : [n]u8 = map2 (**) a b

-- ==
-- entry: bits
-- input { [0u8, 1u8, 7u8, 100u8, 255u8, 0u8, 249u8, 5u8] [5u8, 1u8, 3u8, 99u8, 2u8, 3u8, 11u8, 1u8] }
-- output { [0u8, 1u8, 3u8, 96u8, 2u8, 0u8, 9u8, 1u8] [5u8, 1u8, 7u8, 103u8, 255u8, 3u8, 251u8, 5u8] [5u8, 0u8, 4u8, 7u8, 253u8, 3u8, 242u8, 4u8] [255u8, 254u8, 248u8, 155u8, 0u8, 255u8, 6u8, 250u8] }
entry bits [n] (a: [n]u8) (b: [n]u8) : ([n]u8, [n]u8, [n]u8, [n]u8) =
  (map2 (&) a b, map2 (|) a b, map2 (^) a b, map (\x -> !x) a)

-- Left, right (with the sign where there is one), right (with zeros).
-- ==
-- entry: shifts
-- input { [0u8, 1u8, 7u8, 100u8, 255u8, 0u8, 249u8, 5u8] [0u8, 3u8, 7u8, 1u8, 2u8, 1u8, 4u8, 3u8] }
-- output { [0u8, 8u8, 128u8, 200u8, 252u8, 0u8, 144u8, 40u8] [0u8, 0u8, 0u8, 50u8, 63u8, 0u8, 15u8, 0u8] [0u8, 0u8, 0u8, 50u8, 63u8, 0u8, 15u8, 0u8] }
entry shifts [n] (a: [n]u8) (s: [n]u8) : ([n]u8, [n]u8, [n]u8) =
  (map2 (<<) a s, map2 (>>) a s, map2 (u8.>>>) a s)

-- ==
-- entry: counts
-- input { [0u8, 1u8, 7u8, 100u8, 255u8, 0u8, 249u8, 5u8] }
-- output { [0i32, 1i32, 3i32, 3i32, 8i32, 0i32, 6i32, 2i32] [8i32, 7i32, 5i32, 1i32, 0i32, 8i32, 0i32, 5i32] [8i32, 0i32, 0i32, 2i32, 0i32, 8i32, 0i32, 0i32] [0i32, 0i32, 0i32, 0i32, 1i32, 0i32, 1i32, 0i32] [4u8, 5u8, 7u8, 100u8, 127u8, 4u8, 125u8, 5u8] 8i32 }
entry counts [n] (a: [n]u8) : ([n]i32, [n]i32, [n]i32, [n]i32, [n]u8, i32) =
  ( map u8.popc a
  , map u8.clz a
  , map u8.ctz a
  , map (u8.get_bit 3) a
  , map (\x -> u8.set_bit 2 (x & 127) 1) a
  , u8.num_bits
  )

-- Upper half of the double-width product.
-- ==
-- entry: high
-- input { [0u8, 1u8, 7u8, 100u8, 255u8, 0u8, 249u8, 5u8] [5u8, 1u8, 3u8, 99u8, 2u8, 3u8, 11u8, 1u8] }
-- output { [0u8, 0u8, 0u8, 38u8, 1u8, 0u8, 10u8, 0u8] [5u8, 1u8, 3u8, 137u8, 3u8, 3u8, 21u8, 1u8] }
entry high [n] (a: [n]u8) (b: [n]u8) : ([n]u8, [n]u8) =
  (map2 u8.mul_hi a b, map3 u8.mad_hi a b b)

-- ==
-- entry: comparisons
-- input { [0u8, 1u8, 7u8, 100u8, 255u8, 0u8, 249u8, 5u8] [5u8, 1u8, 3u8, 99u8, 2u8, 3u8, 11u8, 1u8] }
-- output { [false, true, false, false, false, false, false, false] [true, false, true, true, true, true, true, true] [true, false, false, false, false, true, false, false] [true, true, false, false, false, true, false, false] [false, false, true, true, true, false, true, true] [false, true, true, true, true, false, true, true] }
entry comparisons [n] (a: [n]u8) (b: [n]u8)
                : ([n]bool, [n]bool, [n]bool, [n]bool, [n]bool, [n]bool) =
  (map2 (==) a b, map2 (!=) a b, map2 (<) a b, map2 (<=) a b, map2 (>) a b, map2 (>=) a b)

-- ==
-- entry: summaries
-- input { [0u8, 1u8, 7u8, 100u8, 255u8, 0u8, 249u8, 5u8] }
-- output { 105u8 0u8 255u8 0u8 255u8 0u8 }
-- input { empty([0]u8) }
-- output { 0u8 1u8 0u8 255u8 255u8 0u8 }
entry summaries (a: []u8) : (u8, u8, u8, u8, u8, u8) =
  (u8.sum a, u8.product a, u8.maximum a, u8.minimum a, u8.highest, u8.lowest)
