-- Integer arithmetic of type u32.  (Made by tests/oracle/make_scalars.py.)

-- ==
-- entry: arithmetic
-- input { [0u32, 1u32, 7u32, 100u32, 4294967295u32, 0u32, 4294967289u32, 5u32] [5u32, 1u32, 3u32, 99u32, 2u32, 3u32, 11u32, 1u32] }
-- output { [5u32, 2u32, 10u32, 199u32, 1u32, 3u32, 4u32, 6u32] [4294967291u32, 0u32, 4u32, 1u32, 4294967293u32, 4294967293u32, 4294967278u32, 4u32] [0u32, 1u32, 21u32, 9900u32, 4294967294u32, 0u32, 4294967219u32, 5u32] [0u32, 4294967295u32, 4294967289u32, 4294967196u32, 1u32, 0u32, 7u32, 4294967291u32] [0u32, 1u32, 7u32, 100u32, 4294967295u32, 0u32, 4294967289u32, 5u32] [0u32, 1u32, 1u32, 1u32, 1u32, 0u32, 1u32, 1u32] [0u32, 1u32, 3u32, 99u32, 2u32, 0u32, 11u32, 1u32] [5u32, 1u32, 7u32, 100u32, 4294967295u32, 3u32, 4294967289u32, 5u32] }
-- input { empty([0]u32) empty([0]u32) }
-- output { empty([0]u32) empty([0]u32) empty([0]u32) empty([0]u32) empty([0]u32) empty([0]u32) empty([0]u32) empty([0]u32) }
entry arithmetic [n] (a: [n]u32) (b: [n]u32)
               : ([n]u32, [n]u32, [n]u32, [n]u32, [n]u32, [n]u32, [n]u32, [n]u32) =
  ( map2 (+) a b
  , map2 (-) a b
  , map2 (*) a b
  , map (\x -> -x) a
  , map u32.abs a
  , map u32.sgn a
  , map2 u32.min a b
  , map2 u32.max a b
  )

-- Rounded down, and rounded towards zero.
-- ==
-- entry: division
-- input { [0u32, 1u32, 7u32, 100u32, 4294967295u32, 0u32, 4294967289u32, 5u32] [3u32, 2u32, 4294967294u32, 7u32, 10u32, 3u32, 4u32, 4294967292u32] }
-- output { [0u32, 0u32, 0u32, 14u32, 429496729u32, 0u32, 1073741822u32, 0u32] [0u32, 1u32, 7u32, 2u32, 5u32, 0u32, 1u32, 5u32] [0u32, 0u32, 0u32, 14u32, 429496729u32, 0u32, 1073741822u32, 0u32] [0u32, 1u32, 7u32, 2u32, 5u32, 0u32, 1u32, 5u32] }
entry division [n] (a: [n]u32) (b: [n]u32) : ([n]u32, [n]u32, [n]u32, [n]u32) =
  (map2 (/) a b, map2 (%) a b, map2 (//) a b, map2 (%%) a b)

-- ==
-- entry: powers
-- input { [2u32, 3u32, 0u32, 0u32, 10u32, 5u32, 1u32] [5u32, 4u32, 0u32, 3u32, 2u32, 25u32, 100u32] }
-- output { [32u32, 81u32, 1u32, 0u32, 100u32, 167814181u32, 1u32] }
entry powers [n] (a: [n]u32) (b: [n]u32) : [n]u32 = map2 (**) a b

-- ==
-- entry: bits
-- input { [0u32, 1u32, 7u32, 100u32, 4294967295u32, 0u32, 4294967289u32, 5u32] [5u32, 1u32, 3u32, 99u32, 2u32, 3u32, 11u32, 1u32] }
-- output { [0u32, 1u32, 3u32, 96u32, 2u32, 0u32, 9u32, 1u32] [5u32, 1u32, 7u32, 103u32, 4294967295u32, 3u32, 4294967291u32, 5u32] [5u32, 0u32, 4u32, 7u32, 4294967293u32, 3u32, 4294967282u32, 4u32] [4294967295u32, 4294967294u32, 4294967288u32, 4294967195u32, 0u32, 4294967295u32, 6u32, 4294967290u32] }
entry bits [n] (a: [n]u32) (b: [n]u32) : ([n]u32, [n]u32, [n]u32, [n]u32) =
  (map2 (&) a b, map2 (|) a b, map2 (^) a b, map (\x -> !x) a)

-- Left, right (with the sign where there is one), right (with zeros).
-- ==
-- entry: shifts
-- input { [0u32, 1u32, 7u32, 100u32, 4294967295u32, 0u32, 4294967289u32, 5u32] [0u32, 3u32, 31u32, 1u32, 2u32, 1u32, 16u32, 3u32] }
-- output { [0u32, 8u32, 2147483648u32, 200u32, 4294967292u32, 0u32, 4294508544u32, 40u32] [0u32, 0u32, 0u32, 50u32, 1073741823u32, 0u32, 65535u32, 0u32] [0u32, 0u32, 0u32, 50u32, 1073741823u32, 0u32, 65535u32, 0u32] }
entry shifts [n] (a: [n]u32) (s: [n]u32) : ([n]u32, [n]u32, [n]u32) =
  (map2 (<<) a s, map2 (>>) a s, map2 (u32.>>>) a s)

-- ==
-- entry: counts
-- input { [0u32, 1u32, 7u32, 100u32, 4294967295u32, 0u32, 4294967289u32, 5u32] }
-- output { [0i32, 1i32, 3i32, 3i32, 32i32, 0i32, 30i32, 2i32] [32i32, 31i32, 29i32, 25i32, 0i32, 32i32, 0i32, 29i32] [32i32, 0i32, 0i32, 2i32, 0i32, 32i32, 0i32, 0i32] [0i32, 0i32, 0i32, 0i32, 1i32, 0i32, 1i32, 0i32] [4u32, 5u32, 7u32, 100u32, 127u32, 4u32, 125u32, 5u32] 32i32 }
entry counts [n] (a: [n]u32) : ([n]i32, [n]i32, [n]i32, [n]i32, [n]u32, i32) =
  ( map u32.popc a
  , map u32.clz a
  , map u32.ctz a
  , map (u32.get_bit 3) a
  , map (\x -> u32.set_bit 2 (x & 127) 1) a
  , u32.num_bits
  )

-- Upper half of the double-width product.
-- ==
-- entry: high
-- input { [0u32, 1u32, 7u32, 100u32, 4294967295u32, 0u32, 4294967289u32, 5u32] [5u32, 1u32, 3u32, 99u32, 2u32, 3u32, 11u32, 1u32] }
-- output { [0u32, 0u32, 0u32, 0u32, 1u32, 0u32, 10u32, 0u32] [5u32, 1u32, 3u32, 99u32, 3u32, 3u32, 21u32, 1u32] }
entry high [n] (a: [n]u32) (b: [n]u32) : ([n]u32, [n]u32) =
  (map2 u32.mul_hi a b, map3 u32.mad_hi a b b)

-- ==
-- entry: comparisons
-- input { [0u32, 1u32, 7u32, 100u32, 4294967295u32, 0u32, 4294967289u32, 5u32] [5u32, 1u32, 3u32, 99u32, 2u32, 3u32, 11u32, 1u32] }
-- output { [false, true, false, false, false, false, false, false] [true, false, true, true, true, true, true, true] [true, false, false, false, false, true, false, false] [true, true, false, false, false, true, false, false] [false, false, true, true, true, false, true, true] [false, true, true, true, true, false, true, true] }
entry comparisons [n] (a: [n]u32) (b: [n]u32)
                : ([n]bool, [n]bool, [n]bool, [n]bool, [n]bool, [n]bool) =
  (map2 (==) a b, map2 (!=) a b, map2 (<) a b, map2 (<=) a b, map2 (>) a b, map2 (>=) a b)

-- ==
-- entry: summaries
-- input { [0u32, 1u32, 7u32, 100u32, 4294967295u32, 0u32, 4294967289u32, 5u32] }
-- output { 105u32 0u32 4294967295u32 0u32 4294967295u32 0u32 }
-- input { empty([0]u32) }
-- output { 0u32 1u32 0u32 4294967295u32 4294967295u32 0u32 }
entry summaries (a: []u32) : (u32, u32, u32, u32, u32, u32) =
  (u32.sum a, u32.product a, u32.maximum a, u32.minimum a, u32.highest, u32.lowest)
