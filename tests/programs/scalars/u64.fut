-- Integer arithmetic of type u64.  (Made by tests/oracle/make_scalars.py.)

-- ==
-- entry: arithmetic
-- input { [0u64, 1u64, 7u64, 100u64, 18446744073709551615u64, 0u64, 18446744073709551609u64, 5u64] [5u64, 1u64, 3u64, 99u64, 2u64, 3u64, 11u64, 1u64] }
-- output { [5u64, 2u64, 10u64, 199u64, 1u64, 3u64, 4u64, 6u64] [18446744073709551611u64, 0u64, 4u64, 1u64, 18446744073709551613u64, 18446744073709551613u64, 18446744073709551598u64, 4u64] [0u64, 1u64, 21u64, 9900u64, 18446744073709551614u64, 0u64, 18446744073709551539u64, 5u64] [0u64, 18446744073709551615u64, 18446744073709551609u64, 18446744073709551516u64, 1u64, 0u64, 7u64, 18446744073709551611u64] [0u64, 1u64, 7u64, 100u64, 18446744073709551615u64, 0u64, 18446744073709551609u64, 5u64] [0u64, 1u64, 1u64, 1u64, 1u64, 0u64, 1u64, 1u64] [0u64, 1u64, 3u64, 99u64, 2u64, 0u64, 11u64, 1u64] [5u64, 1u64, 7u64, 100u64, 18446744073709551615u64, 3u64, 18446744073709551609u64, 5u64] }
-- input { empty([0]u64) empty([0]u64) }
-- output { empty([0]u64) empty([0]u64) empty([0]u64) empty([0]u64) empty([0]u64) empty([0]u64) empty([0]u64) empty([0]u64) }
entry arithmetic [n] (a: [n]u64) (b: [n]u64)
               : ([n]u64, [n]u64, [n]u64, [n]u64, [n]u64, [n]u64, [n]u64, [n]u64) =
  ( map2 (+) a b
  , map2 (-) a b
  , map2 (*) a b
  , map (\x -> -x) a
  , map u64.abs a
  , map u64.sgn a
  , map2 u64.min a b
  , map2 u64.max a b
  )

-- Rounded down, and rounded towards zero.
-- ==
-- entry: division
-- input { [0u64, 1u64, 7u64, 100u64, 18446744073709551615u64, 0u64, 18446744073709551609u64, 5u64] [3u64, 2u64, 18446744073709551614u64, 7u64, 10u64, 3u64, 4u64, 18446744073709551612u64] }
-- output { [0u64, 0u64, 0u64, 14u64, 1844674407370955161u64, 0u64, 4611686018427387902u64, 0u64] [0u64, 1u64, 7u64, 2u64, 5u64, 0u64, 1u64, 5u64] [0u64, 0u64, 0u64, 14u64, 1844674407370955161u64, 0u64, 4611686018427387902u64, 0u64] [0u64, 1u64, 7u64, 2u64, 5u64, 0u64, 1u64, 5u64] }
entry division [n] (a: [n]u64) (b: [n]u64) : ([n]u64, [n]u64, [n]u64, [n]u64) =
  (map2 (/) a b, map2 (%) a b, map2 (//) a b, map2 (%%) a b)

-- ==
-- entry: powers
-- input { [2u64, 3u64, 0u64, 0u64, 10u64, 5u64, 1u64] [5u64, 4u64, 0u64, 3u64, 2u64, 25u64, 100u64] }
-- output { [32u64, 81u64, 1u64, 0u64, 100u64, 298023223876953125u64, 1u64] }
entry powers [n] (a: [n]u64) (b: [n]u64) : [n]u64 = map2 (**) a b

-- ==
-- entry: bits
-- input { [0u64, 1u64, 7u64, 100u64, 18446744073709551615u64, 0u64, 18446744073709551609u64, 5u64] [5u64, 1u64, 3u64, 99u64, 2u64, 3u64, 11u64, 1u64] }
-- output { [0u64, 1u64, 3u64, 96u64, 2u64, 0u64, 9u64, 1u64] [5u64, 1u64, 7u64, 103u64, 18446744073709551615u64, 3u64, 18446744073709551611u64, 5u64] [5u64, 0u64, 4u64, 7u64, 18446744073709551613u64, 3u64, 18446744073709551602u64, 4u64] [18446744073709551615u64, 18446744073709551614u64, 18446744073709551608u64, 18446744073709551515u64, 0u64, 18446744073709551615u64, 6u64, 18446744073709551610u64] }
entry bits [n] (a: [n]u64) (b: [n]u64) : ([n]u64, [n]u64, [n]u64, [n]u64) =
  (map2 (&) a b, map2 (|) a b, map2 (^) a b, map (\x -> !x) a)

-- Left, right (with the sign where there is one), right (with zeros).
-- ==
-- entry: shifts
-- input { [0u64, 1u64, 7u64, 100u64, 18446744073709551615u64, 0u64, 18446744073709551609u64, 5u64] [0u64, 3u64, 63u64, 1u64, 2u64, 1u64, 32u64, 3u64] }
-- output { [0u64, 8u64, 9223372036854775808u64, 200u64, 18446744073709551612u64, 0u64, 18446744043644780544u64, 40u64] [0u64, 0u64, 0u64, 50u64, 4611686018427387903u64, 0u64, 4294967295u64, 0u64] [0u64, 0u64, 0u64, 50u64, 4611686018427387903u64, 0u64, 4294967295u64, 0u64] }
entry shifts [n] (a: [n]u64) (s: [n]u64) : ([n]u64, [n]u64, [n]u64) =
  (map2 (<<) a s, map2 (>>) a s, map2 (u64.>>>) a s)

-- ==
-- entry: counts
-- input { [0u64, 1u64, 7u64, 100u64, 18446744073709551615u64, 0u64, 18446744073709551609u64, 5u64] }
-- output { [0i32, 1i32, 3i32, 3i32, 64i32, 0i32, 62i32, 2i32] [64i32, 63i32, 61i32, 57i32, 0i32, 64i32, 0i32, 61i32] [64i32, 0i32, 0i32, 2i32, 0i32, 64i32, 0i32, 0i32] [0i32, 0i32, 0i32, 0i32, 1i32, 0i32, 1i32, 0i32] [4u64, 5u64, 7u64, 100u64, 127u64, 4u64, 125u64, 5u64] 64i32 }
entry counts [n] (a: [n]u64) : ([n]i32, [n]i32, [n]i32, [n]i32, [n]u64, i32) =
  ( map u64.popc a
  , map u64.clz a
  , map u64.ctz a
  , map (u64.get_bit 3) a
  , map (\x -> u64.set_bit 2 (x & 127) 1) a
  , u64.num_bits
  )

-- Upper half of the double-width product.
-- ==
-- entry: high
-- input { [0u64, 1u64, 7u64, 100u64, 18446744073709551615u64, 0u64, 18446744073709551609u64, 5u64] [5u64, 1u64, 3u64, 99u64, 2u64, 3u64, 11u64, 1u64] }
-- output { [0u64, 0u64, 0u64, 0u64, 1u64, 0u64, 10u64, 0u64] [5u64, 1u64, 3u64, 99u64, 3u64, 3u64, 21u64, 1u64] }
entry high [n] (a: [n]u64) (b: [n]u64) : ([n]u64, [n]u64) =
  (map2 u64.mul_hi a b, map3 u64.mad_hi a b b)

-- ==
-- entry: comparisons
-- input { [0u64, 1u64, 7u64, 100u64, 18446744073709551615u64, 0u64, 18446744073709551609u64, 5u64] [5u64, 1u64, 3u64, 99u64, 2u64, 3u64, 11u64, 1u64] }
-- output { [false, true, false, false, false, false, false, false] [true, false, true, true, true, true, true, true] [true, false, false, false, false, true, false, false] [true, true, false, false, false, true, false, false] [false, false, true, true, true, false, true, true] [false, true, true, true, true, false, true, true] }
entry comparisons [n] (a: [n]u64) (b: [n]u64)
                : ([n]bool, [n]bool, [n]bool, [n]bool, [n]bool, [n]bool) =
  (map2 (==) a b, map2 (!=) a b, map2 (<) a b, map2 (<=) a b, map2 (>) a b, map2 (>=) a b)

-- ==
-- entry: summaries
-- input { [0u64, 1u64, 7u64, 100u64, 18446744073709551615u64, 0u64, 18446744073709551609u64, 5u64] }
-- output { 105u64 0u64 18446744073709551615u64 0u64 18446744073709551615u64 0u64 }
-- input { empty([0]u64) }
-- output { 0u64 1u64 0u64 18446744073709551615u64 18446744073709551615u64 0u64 }
entry summaries (a: []u64) : (u64, u64, u64, u64, u64, u64) =
  (u64.sum a, u64.product a, u64.maximum a, u64.minimum a, u64.highest, u64.lowest)
