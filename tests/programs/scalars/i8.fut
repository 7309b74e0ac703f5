-- Integer arithmetic of type i8.  (Made by tests/oracle/make_scalars.py.)

-- ==
-- entry: arithmetic
-- input { [0i8, 1i8, 7i8, 100i8, 127i8, -128i8, 121i8, -123i8, -1i8, -7i8] [5i8, 1i8, 3i8, 99i8, 2i8, 3i8, 11i8, -127i8, 127i8, -3i8] }
-- output { [5i8, 2i8, 10i8, -57i8, -127i8, -125i8, -124i8, 6i8, 126i8, -10i8] [-5i8, 0i8, 4i8, 1i8, 125i8, 125i8, 110i8, 4i8, -128i8, -4i8] [0i8, 1i8, 21i8, -84i8, -2i8, -128i8, 51i8, 5i8, -127i8, 21i8] [0i8, -1i8, -7i8, -100i8, -127i8, -128i8, -121i8, 123i8, 1i8, 7i8] [0i8, 1i8, 7i8, 100i8, 127i8, -128i8, 121i8, 123i8, 1i8, 7i8] [0i8, 1i8, 1i8, 1i8, 1i8, -1i8, 1i8, -1i8, -1i8, -1i8] [0i8, 1i8, 3i8, 99i8, 2i8, -128i8, 11i8, -127i8, -1i8, -7i8] [5i8, 1i8, 7i8, 100i8, 127i8, 3i8, 121i8, -123i8, 127i8, -3i8] }
-- input { empty([0]i8) empty([0]i8) }
-- output { empty([0]i8) empty([0]i8) empty([0]i8) empty([0]i8) empty([0]i8) empty([0]i8) empty([0]i8) empty([0]i8) }
entry arithmetic [n] (a: [n]i8) (b: [n]i8)
               : ([n]i8, [n]i8, [n]i8, [n]i8, [n]i8, [n]i8, [n]i8, [n]i8) =
  ( map2 (+) a b
  , map2 (-) a b
  , map2 (*) a b
  , map (\x -> -x) a
  , map i8.abs a
  , map i8.sgn a
  , map2 i8.min a b
  , map2 i8.max a b
  )

-- Rounded down, and rounded towards zero.
-- ==
-- entry: division
-- input { [0i8, 1i8, 7i8, 100i8, 127i8, -128i8, 121i8, -123i8, -1i8, -7i8] [3i8, 2i8, -2i8, 7i8, 10i8, 3i8, 4i8, -4i8, -5i8, -3i8] }
-- output { [0i8, 0i8, -4i8, 14i8, 12i8, -43i8, 30i8, 30i8, 0i8, 2i8] [0i8, 1i8, -1i8, 2i8, 7i8, 1i8, 1i8, -3i8, -1i8, -1i8] [0i8, 0i8, -3i8, 14i8, 12i8, -42i8, 30i8, 30i8, 0i8, 2i8] [0i8, 1i8, 1i8, 2i8, 7i8, -2i8, 1i8, -3i8, -1i8, -1i8] }
entry division [n] (a: [n]i8) (b: [n]i8) : ([n]i8, [n]i8, [n]i8, [n]i8) =
  (map2 (/) a b, map2 (%) a b, map2 (//) a b, map2 (%%) a b)

-- ==
-- entry: powers
-- input { [2i8, 3i8, 0i8, 0i8, 10i8, 5i8, 1i8, -2i8, -3i8] [5i8, 4i8, 0i8, 3i8, 2i8, 25i8, 100i8, 7i8, 2i8] }
-- output { [32i8, 81i8, 1i8, 0i8, 100i8, 37i8, 1i8, -128i8, 9i8] }
entry powers [n] (a: [n]i8) (b: [n]i8) : [n]i8 = map2 (**) a b

-- ==
-- entry: bits
-- input { [0i8, 1i8, 7i8, 100i8, 127i8, -128i8, 121i8, -123i8, -1i8, -7i8] [5i8, 1i8, 3i8, 99i8, 2i8, 3i8, 11i8, -127i8, 127i8, -3i8] }
-- output { [0i8, 1i8, 3i8, 96i8, 2i8, 0i8, 9i8, -127i8, 127i8, -7i8] [5i8, 1i8, 7i8, 103i8, 127i8, -125i8, 123i8, -123i8, -1i8, -3i8] [5i8, 0i8, 4i8, 7i8, 125i8, -125i8, 114i8, 4i8, -128i8, 4i8] [-1i8, -2i8, -8i8, -101i8, -128i8, 127i8, -122i8, 122i8, 0i8, 6i8] }
entry bits [n] (a: [n]i8) (b: [n]i8) : ([n]i8, [n]i8, [n]i8, [n]i8) =
  (map2 (&) a b, map2 (|) a b, map2 (^) a b, map (\x -> !x) a)

-- Left, right (with the sign where there is one), right (with zeros).
-- ==
-- entry: shifts
-- input { [0i8, 1i8, 7i8, 100i8, 127i8, -128i8, 121i8, -123i8, -1i8, -7i8] [0i8, 3i8, 7i8, 1i8, 2i8, 1i8, 4i8, 3i8, 1i8, 5i8] }
-- output { [0i8, 8i8, -128i8, -56i8, -4i8, 0i8, -112i8, 40i8, -2i8, 32i8] [0i8, 0i8, 0i8, 50i8, 31i8, -64i8, 7i8, -16i8, -1i8, -1i8] [0i8, 0i8, 0i8, 50i8, 31i8, 64i8, 7i8, 16i8, 127i8, 7i8] }
entry shifts [n] (a: [n]i8) (s: [n]i8) : ([n]i8, [n]i8, [n]i8) =
  (map2 (<<) a s, map2 (>>) a s, map2 (i8.>>>) a s)

-- ==
-- entry: counts
-- input { [0i8, 1i8, 7i8, 100i8, 127i8, -128i8, 121i8, -123i8, -1i8, -7i8] }
-- output { [0i32, 1i32, 3i32, 3i32, 7i32, 1i32, 5i32, 3i32, 8i32, 6i32] [8i32, 7i32, 5i32, 1i32, 1i32, 0i32, 1i32, 0i32, 0i32, 0i32] [8i32, 0i32, 0i32, 2i32, 0i32, 7i32, 0i32, 0i32, 0i32, 0i32] [0i32, 0i32, 0i32, 0i32, 1i32, 0i32, 1i32, 0i32, 1i32, 1i32] [4i8, 5i8, 7i8, 100i8, 127i8, 4i8, 125i8, 5i8, 127i8, 125i8] 8i32 }
entry counts [n] (a: [n]i8) : ([n]i32, [n]i32, [n]i32, [n]i32, [n]i8, i32) =
  ( map i8.popc a
  , map i8.clz a
  , map i8.ctz a
  , map (i8.get_bit 3) a
  , map (\x -> i8.set_bit 2 (x & 127) 1) a
  , i8.num_bits
  )

-- Upper half of the double-width product.
-- ==
-- entry: high
-- input { [0i8, 1i8, 7i8, 100i8, 127i8, -128i8, 121i8, -123i8, -1i8, -7i8] [5i8, 1i8, 3i8, 99i8, 2i8, 3i8, 11i8, -127i8, 127i8, -3i8] }
-- output { [0i8, 0i8, 0i8, 38i8, 0i8, -2i8, 5i8, 61i8, -1i8, 0i8] [5i8, 1i8, 3i8, -119i8, 2i8, 1i8, 16i8, -66i8, 126i8, -3i8] }
entry high [n] (a: [n]i8) (b: [n]i8) : ([n]i8, [n]i8) =
  (map2 i8.mul_hi a b, map3 i8.mad_hi a b b)

-- ==
-- entry: comparisons
-- input { [0i8, 1i8, 7i8, 100i8, 127i8, -128i8, 121i8, -123i8, -1i8, -7i8] [5i8, 1i8, 3i8, 99i8, 2i8, 3i8, 11i8, -127i8, 127i8, -3i8] }
-- output { [false, true, false, false, false, false, false, false, false, false] [true, false, true, true, true, true, true, true, true, true] [true, false, false, false, false, true, false, false, true, true] [true, true, false, false, false, true, false, false, true, true] [false, false, true, true, true, false, true, true, false, false] [false, true, true, true, true, false, true, true, false, false] }
entry comparisons [n] (a: [n]i8) (b: [n]i8)
                : ([n]bool, [n]bool, [n]bool, [n]bool, [n]bool, [n]bool) =
  (map2 (==) a b, map2 (!=) a b, map2 (<) a b, map2 (<=) a b, map2 (>) a b, map2 (>=) a b)

-- ==
-- entry: summaries
-- input { [0i8, 1i8, 7i8, 100i8, 127i8, -128i8, 121i8, -123i8, -1i8, -7i8] }
-- output { 97i8 0i8 127i8 -128i8 127i8 -128i8 }
-- input { empty([0]i8) }
-- output { 0i8 1i8 -128i8 127i8 127i8 -128i8 }
entry summaries (a: []i8) : (i8, i8, i8, i8, i8, i8) =
  (i8.sum a, i8.product a, i8.maximum a, i8.minimum a, i8.highest, i8.lowest)
