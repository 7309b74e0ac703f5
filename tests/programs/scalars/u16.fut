-- Integer arithmetic of type u16.  (Made by tests/oracle/make_scalars.py.)

-- ==
-- entry: arithmetic
-- input { [0u16, 1u16, 7u16, 100u16, 65535u16, 0u16, 65529u16, 5u16] [5u16, 1u16, 3u16, 99u16, 2u16, 3u16, 11u16, 1u16] }
-- output { [5u16, 2u16, 10u16, 199u16, 1u16, 3u16, 4u16, 6u16] [65531u16, 0u16, 4u16, 1u16, 65533u16, 65533u16, 65518u16, 4u16] [0u16, 1u16, 21u16, 9900u16, 65534u16, 0u16, 65459u16, 5u16] [0u16, 65535u16, 65529u16, 65436u16, 1u16, 0u16, 7u16, 65531u16] [0u16, 1u16, 7u16, 100u16, 65535u16, 0u16, 65529u16, 5u16] [0u16, 1u16, 1u16, 1u16, 1u16, 0u16, 1u16, 1u16] [0u16, 1u16, 3u16, 99u16, 2u16, 0u16, 11u16, 1u16] [5u16, 1u16, 7u16, 100u16, 65535u16, 3u16, 65529u16, 5u16] }
-- input { empty([0]u16) empty([0]u16) }
-- output { empty([0]u16) empty([0]u16) empty([0]u16) empty([0]u16) empty([0]u16) empty([0]u16) empty([0]u16) empty([0]u16) }
entry arithmetic [n] (a: [n]u16) (b: [n]u16)
               : ([n]u16, [n]u16, [n]u16, [n]u16, [n]u16, [n]u16, [n]u16, [n]u16) =
  ( map2 (+) a b
  , map2 (-) a b
  , map2 (*) a b
  , map (\x -> -x) a
  , map u16.abs a
  , map u16.sgn a
  , map2 u16.min a b
  , map2 u16.max a b
  )

-- Rounded down, and rounded towards zero.
-- ==
-- entry: division
-- input { [0u16, 1u16, 7u16, 100u16, 65535u16, 0u16, 65529u16, 5u16] [3u16, 2u16, 65534u16, 7u16, 10u16, 3u16, 4u16, 65532u16] }
-- output { [0u16, 0u16, 0u16, 14u16, 6553u16, 0u16, 16382u16, 0u16] [0u16, 1u16, 7u16, 2u16, 5u16, 0u16, 1u16, 5u16] [0u16, 0u16, 0u16, 14u16, 6553u16, 0u16, 16382u16, 0u16] [0u16, 1u16, 7u16, 2u16, 5u16, 0u16, 1u16, 5u16] }
entry division [n] (a: [n]u16) (b: [n]u16) : ([n]u16, [n]u16, [n]u16, [n]u16) =
  (map2 (/) a b, map2 (%) a b, map2 (//) a b, map2 (%%) a b)

-- ==
-- entry: powers
-- input { [2u16, 3u16, 0u16, 0u16, 10u16, 5u16, 1u16] [5u16, 4u16, 0u16, 3u16, 2u16, 25u16, 100u16] }
-- output { [32u16, 81u16, 1u16, 0u16, 100u16, 42021u16, 1u16] }
entry powers [n] (a: [n]u16) (b: [n]u16) : [n]u16 = map2 (**) a b

-- ==
-- entry: bits
-- input { [0u16, 1u16, 7u16, 100u16, 65535u16, 0u16, 65529u16, 5u16] [5u16, 1u16, 3u16, 99u16, 2u16, 3u16, 11u16, 1u16] }
-- output { [0u16, 1u16, 3u16, 96u16, 2u16, 0u16, 9u16, 1u16] [5u16, 1u16, 7u16, 103u16, 65535u16, 3u16, 65531u16, 5u16] [5u16, 0u16, 4u16, 7u16, 65533u16, 3u16, 65522u16, 4u16] [65535u16, 65534u16, 65528u16, 65435u16, 0u16, 65535u16, 6u16, 65530u16] }
entry bits [n] (a: [n]u16) (b: [n]u16) : ([n]u16, [n]u16, [n]u16, [n]u16) =
  (map2 (&) a b, map2 (|) a b, map2 (^) a b, map (\x -> !x) a)

-- Left, right (with the sign where there is one), right (with zeros).
-- ==
-- entry: shifts
-- input { [0u16, 1u16, 7u16, 100u16, 65535u16, 0u16, 65529u16, 5u16] [0u16, 3u16, 15u16, 1u16, 2u16, 1u16, 8u16, 3u16] }
-- output { [0u16, 8u16, 32768u16, 200u16, 65532u16, 0u16, 63744u16, 40u16] [0u16, 0u16, 0u16, 50u16, 16383u16, 0u16, 255u16, 0u16] [0u16, 0u16, 0u16, 50u16, 16383u16, 0u16, 255u16, 0u16] }
entry shifts [n] (a: [n]u16) (s: [n]u16) : ([n]u16, [n]u16, [n]u16) =
  (map2 (<<) a s, map2 (>>) a s, map2 (u16.>>>) a s)

-- ==
-- entry: counts
-- input { [0u16, 1u16, 7u16, 100u16, 65535u16, 0u16, 65529u16, 5u16] }
-- output { [0i32, 1i32, 3i32, 3i32, 16i32, 0i32, 14i32, 2i32] [16i32, 15i32, 13i32, 9i32, 0i32, 16i32, 0i32, 13i32] [16i32, 0i32, 0i32, 2i32, 0i32, 16i32, 0i32, 0i32] [0i32, 0i32, 0i32, 0i32, 1i32, 0i32, 1i32, 0i32] [4u16, 5u16, 7u16, 100u16, 127u16, 4u16, 125u16, 5u16] 16i32 }
entry counts [n] (a: [n]u16) : ([n]i32, [n]i32, [n]i32, [n]i32, [n]u16, i32) =
  ( map u16.popc a
  , map u16.clz a
  , map u16.ctz a
  , map (u16.get_bit 3) a
  , map (\x -> u16.set_bit 2 (x & 127) 1) a
  , u16.num_bits
  )

-- Upper half of the double-width product.
-- ==
-- entry: high
-- input { [0u16, 1u16, 7u16, 100u16, 65535u16, 0u16, 65529u16, 5u16] [5u16, 1u16, 3u16, 99u16, 2u16, 3u16, 11u16, 1u16] }
-- output { [0u16, 0u16, 0u16, 0u16, 1u16, 0u16, 10u16, 0u16] [5u16, 1u16, 3u16, 99u16, 3u16, 3u16, 21u16, 1u16] }
entry high [n] (a: [n]u16) (b: [n]u16) : ([n]u16, [n]u16) =
  (map2 u16.mul_hi a b, map3 u16.mad_hi a b b)

-- ==
-- entry: comparisons
-- input { [0u16, 1u16, 7u16, 100u16, 65535u16, 0u16, 65529u16, 5u16] [5u16, 1u16, 3u16, 99u16, 2u16, 3u16, 11u16, 1u16] }
-- output { [false, true, false, false, false, false, false, false] [true, false, true, true, true, true, true, true] [true, false, false, false, false, true, false, false] [true, true, false, false, false, true, false, false] [false, false, true, true, true, false, true, true] [false, true, true, true, true, false, true, true] }
entry comparisons [n] (a: [n]u16) (b: [n]u16)
                : ([n]bool, [n]bool, [n]bool, [n]bool, [n]bool, [n]bool) =
  (map2 (==) a b, map2 (!=) a b, map2 (<) a b, map2 (<=) a b, map2 (>) a b, map2 (>=) a b)

-- ==
-- entry: summaries
-- input { [0u16, 1u16, 7u16, 100u16, 65535u16, 0u16, 65529u16, 5u16] }
-- output { 105u16 0u16 65535u16 0u16 65535u16 0u16 }
-- input { empty([0]u16) }
-- output { 0u16 1u16 0u16 65535u16 65535u16 0u16 }
entry summaries (a: []u16) : (u16, u16, u16, u16, u16, u16) =
  (u16.sum a, u16.product a, u16.maximum a, u16.minimum a, u16.highest, u16.lowest)
