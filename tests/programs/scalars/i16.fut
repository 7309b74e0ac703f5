-- Integer arithmetic of type i16.  (Made by tests/oracle/make_scalars.py.)

-- ==
-- entry: arithmetic
-- input { [0i16, 1i16, 7i16, 100i16, 32767i16, -32768i16, 32761i16, -32763i16, -1i16, -7i16] [5i16, 1i16, 3i16, 99i16, 2i16, 3i16, 11i16, -32767i16, 32767i16, -3i16] }
-- output { [5i16, 2i16, 10i16, 199i16, -32767i16, -32765i16, -32764i16, 6i16, 32766i16, -10i16] [-5i16, 0i16, 4i16, 1i16, 32765i16, 32765i16, 32750i16, 4i16, -32768i16, -4i16] [0i16, 1i16, 21i16, 9900i16, -2i16, -32768i16, 32691i16, 5i16, -32767i16, 21i16] [0i16, -1i16, -7i16, -100i16, -32767i16, -32768i16, -32761i16, 32763i16, 1i16, 7i16] [0i16, 1i16, 7i16, 100i16, 32767i16, -32768i16, 32761i16, 32763i16, 1i16, 7i16] [0i16, 1i16, 1i16, 1i16, 1i16, -1i16, 1i16, -1i16, -1i16, -1i16] [0i16, 1i16, 3i16, 99i16, 2i16, -32768i16, 11i16, -32767i16, -1i16, -7i16] [5i16, 1i16, 7i16, 100i16, 32767i16, 3i16, 32761i16, -32763i16, 32767i16, -3i16] }
-- input { empty([0]i16) empty([0]i16) }
-- output { empty([0]i16) empty([0]i16) empty([0]i16) empty([0]i16) empty([0]i16) empty([0]i16) empty([0]i16) empty([0]i16) }
entry arithmetic [n] (a: [n]i16) (b: [n]i16)
               : ([n]i16, [n]i16, [n]i16, [n]i16, [n]i16, [n]i16, [n]i16, [n]i16) =
  ( map2 (+) a b
  , map2 (-) a b
  , map2 (*) a b
  , map (\x -> -x) a
  , map i16.abs a
  , map i16.sgn a
  , map2 i16.min a b
  , map2 i16.max a b
  )

-- Rounded down, and rounded towards zero.
-- ==
-- entry: division
-- input { [0i16, 1i16, 7i16, 100i16, 32767i16, -32768i16, 32761i16, -32763i16, -1i16, -7i16] [3i16, 2i16, -2i16, 7i16, 10i16, 3i16, 4i16, -4i16, -5i16, -3i16] }
-- output { [0i16, 0i16, -4i16, 14i16, 3276i16, -10923i16, 8190i16, 8190i16, 0i16, 2i16] [0i16, 1i16, -1i16, 2i16, 7i16, 1i16, 1i16, -3i16, -1i16, -1i16] [0i16, 0i16, -3i16, 14i16, 3276i16, -10922i16, 8190i16, 8190i16, 0i16, 2i16] [0i16, 1i16, 1i16, 2i16, 7i16, -2i16, 1i16, -3i16, -1i16, -1i16] }
entry division [n] (a: [n]i16) (b: [n]i16) : ([n]i16, [n]i16, [n]i16, [n]i16) =
  (map2 (/) a b, map2 (%) a b, map2 (//) a b, map2 (%%) a b)

-- ==
-- entry: powers
-- input { [2i16, 3i16, 0i16, 0i16, 10i16, 5i16, 1i16, -2i16, -3i16] [5i16, 4i16, 0i16, 3i16, 2i16, 25i16, 100i16, 7i16, 2i16] }
-- output { [32i16, 81i16, 1i16, 0i16, 100i16, -23515i16, 1i16, -128i16, 9i16] }
entry powers [n] (a: [n]i16) (b: [n]i16) : [n]i16 = map2 (**) a b

-- ==
-- entry: bits
-- input { [0i16, 1i16, 7i16, 100i16, 32767i16, -32768i16, 32761i16, -32763i16, -1i16, -7i16] [5i16, 1i16, 3i16, 99i16, 2i16, 3i16, 11i16, -32767i16, 32767i16, -3i16] }
-- output { [0i16, 1i16, 3i16, 96i16, 2i16, 0i16, 9i16, -32767i16, 32767i16, -7i16] [5i16, 1i16, 7i16, 103i16, 32767i16, -32765i16, 32763i16, -32763i16, -1i16, -3i16] [5i16, 0i16, 4i16, 7i16, 32765i16, -32765i16, 32754i16, 4i16, -32768i16, 4i16] [-1i16, -2i16, -8i16, -101i16, -32768i16, 32767i16, -32762i16, 32762i16, 0i16, 6i16] }
entry bits [n] (a: [n]i16) (b: [n]i16) : ([n]i16, [n]i16, [n]i16, [n]i16) =
  (map2 (&) a b, map2 (|) a b, map2 (^) a b, map (\x -> !x) a)

-- Left, right (with the sign where there is one), right (with zeros).
-- ==
-- entry: shifts
-- input { [0i16, 1i16, 7i16, 100i16, 32767i16, -32768i16, 32761i16, -32763i16, -1i16, -7i16] [0i16, 3i16, 15i16, 1i16, 2i16, 1i16, 8i16, 3i16, 1i16, 5i16] }
-- output { [0i16, 8i16, -32768i16, 200i16, -4i16, 0i16, -1792i16, 40i16, -2i16, -224i16] [0i16, 0i16, 0i16, 50i16, 8191i16, -16384i16, 127i16, -4096i16, -1i16, -1i16] [0i16, 0i16, 0i16, 50i16, 8191i16, 16384i16, 127i16, 4096i16, 32767i16, 2047i16] }
entry shifts [n] (a: [n]i16) (s: [n]i16) : ([n]i16, [n]i16, [n]i16) =
  (map2 (<<) a s, map2 (>>) a s, map2 (i16.>>>) a s)

-- ==
-- entry: counts
-- input { [0i16, 1i16, 7i16, 100i16, 32767i16, -32768i16, 32761i16, -32763i16, -1i16, -7i16] }
-- output { [0i32, 1i32, 3i32, 3i32, 15i32, 1i32, 13i32, 3i32, 16i32, 14i32] [16i32, 15i32, 13i32, 9i32, 1i32, 0i32, 1i32, 0i32, 0i32, 0i32] [16i32, 0i32, 0i32, 2i32, 0i32, 15i32, 0i32, 0i32, 0i32, 0i32] [0i32, 0i32, 0i32, 0i32, 1i32, 0i32, 1i32, 0i32, 1i32, 1i32] [4i16, 5i16, 7i16, 100i16, 127i16, 4i16, 125i16, 5i16, 127i16, 125i16] 16i32 }
entry counts [n] (a: [n]i16) : ([n]i32, [n]i32, [n]i32, [n]i32, [n]i16, i32) =
  ( map i16.popc a
  , map i16.clz a
  , map i16.ctz a
  , map (i16.get_bit 3) a
  , map (\x -> i16.set_bit 2 (x & 127) 1) a
  , i16.num_bits
  )

-- Upper half of the double-width product.
-- ==
-- entry: high
-- input { [0i16, 1i16, 7i16, 100i16, 32767i16, -32768i16, 32761i16, -32763i16, -1i16, -7i16] [5i16, 1i16, 3i16, 99i16, 2i16, 3i16, 11i16, -32767i16, 32767i16, -3i16] }
-- output { [0i16, 0i16, 0i16, 0i16, 0i16, -2i16, 5i16, 16381i16, -1i16, 0i16] [5i16, 1i16, 3i16, 99i16, 2i16, 1i16, 16i16, -16386i16, 32766i16, -3i16] }
entry high [n] (a: [n]i16) (b: [n]i16) : ([n]i16, [n]i16) =
  (map2 i16.mul_hi a b, map3 i16.mad_hi a b b)

-- ==
-- entry: comparisons
-- input { [0i16, 1i16, 7i16, 100i16, 32767i16, -32768i16, 32761i16, -32763i16, -1i16, -7i16] [5i16, 1i16, 3i16, 99i16, 2i16, 3i16, 11i16, -32767i16, 32767i16, -3i16] }
-- output { [false, true, false, false, false, false, false, false, false, false] [true, false, true, true, true, true, true, true, true, true] [true, false, false, false, false, true, false, false, true, true] [true, true, false, false, false, true, false, false, true, true] [false, false, true, true, true, false, true, true, false, false] [false, true, true, true, true, false, true, true, false, false] }
entry comparisons [n] (a: [n]i16) (b: [n]i16)
                : ([n]bool, [n]bool, [n]bool, [n]bool, [n]bool, [n]bool) =
  (map2 (==) a b, map2 (!=) a b, map2 (<) a b, map2 (<=) a b, map2 (>) a b, map2 (>=) a b)

-- ==
-- entry: summaries
-- input { [0i16, 1i16, 7i16, 100i16, 32767i16, -32768i16, 32761i16, -32763i16, -1i16, -7i16] }
-- output { 97i16 0i16 32767i16 -32768i16 32767i16 -32768i16 }
-- input { empty([0]i16) }
-- output { 0i16 1i16 -32768i16 32767i16 32767i16 -32768i16 }
entry summaries (a: []i16) : (i16, i16, i16, i16, i16, i16) =
  (i16.sum a, i16.product a, i16.maximum a, i16.minimum a, i16.highest, i16.lowest)
