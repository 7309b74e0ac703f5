-- Integer arithmetic of type i32.  (Made by tests/oracle/make_scalars.py.)

-- ==
-- entry: arithmetic
-- input { [0i32, 1i32, 7i32, 100i32, 2147483647i32, -2147483648i32, 2147483641i32, -2147483643i32, -1i32, -7i32] [5i32, 1i32, 3i32, 99i32, 2i32, 3i32, 11i32, -2147483647i32, 2147483647i32, -3i32] }
-- output { [5i32, 2i32, 10i32, 199i32, -2147483647i32, -2147483645i32, -2147483644i32, 6i32, 2147483646i32, -10i32] [-5i32, 0i32, 4i32, 1i32, 2147483645i32, 2147483645i32, 2147483630i32, 4i32, -2147483648i32, -4i32] [0i32, 1i32, 21i32, 9900i32, -2i32, -2147483648i32, 2147483571i32, 5i32, -2147483647i32, 21i32] [0i32, -1i32, -7i32, -100i32, -2147483647i32, -2147483648i32, -2147483641i32, 2147483643i32, 1i32, 7i32] [0i32, 1i32, 7i32, 100i32, 2147483647i32, -2147483648i32, 2147483641i32, 2147483643i32, 1i32, 7i32] [0i32, 1i32, 1i32, 1i32, 1i32, -1i32, 1i32, -1i32, -1i32, -1i32] [0i32, 1i32, 3i32, 99i32, 2i32, -2147483648i32, 11i32, -2147483647i32, -1i32, -7i32] [5i32, 1i32, 7i32, 100i32, 2147483647i32, 3i32, 2147483641i32, -2147483643i32, 2147483647i32, -3i32] }
-- input { empty([0]i32) empty([0]i32) }
-- output { empty([0]i32) empty([0]i32) empty([0]i32) empty([0]i32) empty([0]i32) empty([0]i32) empty([0]i32) empty([0]i32) }
entry arithmetic [n] (a: [n]i32) (b: [n]i32)
               : ([n]i32, [n]i32, [n]i32, [n]i32, [n]i32, [n]i32, [n]i32, [n]i32) =
  ( map2 (+) a b
  , map2 (-) a b
  , map2 (*) a b
  , map (\x -> -x) a
  , map i32.abs a
  , map i32.sgn a
  , map2 i32.min a b
  , map2 i32.max a b
  )

-- Rounded down, and rounded towards zero.
-- ==
-- entry: division
-- input { [0i32, 1i32, 7i32, 100i32, 2147483647i32, -2147483648i32, 2147483641i32, -2147483643i32, -1i32, -7i32] [3i32, 2i32, -2i32, 7i32, 10i32, 3i32, 4i32, -4i32, -5i32, -3i32] }
-- output { [0i32, 0i32, -4i32, 14i32, 214748364i32, -715827883i32, 536870910i32, 536870910i32, 0i32, 2i32] [0i32, 1i32, -1i32, 2i32, 7i32, 1i32, 1i32, -3i32, -1i32, -1i32] [0i32, 0i32, -3i32, 14i32, 214748364i32, -715827882i32, 536870910i32, 536870910i32, 0i32, 2i32] [0i32, 1i32, 1i32, 2i32, 7i32, -2i32, 1i32, -3i32, -1i32, -1i32] }
entry division [n] (a: [n]i32) (b: [n]i32) : ([n]i32, [n]i32, [n]i32, [n]i32) =
  (map2 (/) a b, map2 (%) a b, map2 (//) a b, map2 (%%) a b)

-- ==
-- entry: powers
-- input { [2i32, 3i32, 0i32, 0i32, 10i32, 5i32, 1i32, -2i32, -3i32] [5i32, 4i32, 0i32, 3i32, 2i32, 25i32, 100i32, 7i32, 2i32] }
-- output { [32i32, 81i32, 1i32, 0i32, 100i32, 167814181i32, 1i32, -128i32, 9i32] }
entry powers [n] (a: [n]i32) (b: [n]i32) : [n]i32 = map2 (**) a b

-- ==
-- entry: bits
-- input { [0i32, 1i32, 7i32, 100i32, 2147483647i32, -2147483648i32, 2147483641i32, -2147483643i32, -1i32, -7i32] [5i32, 1i32, 3i32, 99i32, 2i32, 3i32, 11i32, -2147483647i32, 2147483647i32, -3i32] }
-- output { [0i32, 1i32, 3i32, 96i32, 2i32, 0i32, 9i32, -2147483647i32, 2147483647i32, -7i32] [5i32, 1i32, 7i32, 103i32, 2147483647i32, -2147483645i32, 2147483643i32, -2147483643i32, -1i32, -3i32] [5i32, 0i32, 4i32, 7i32, 2147483645i32, -2147483645i32, 2147483634i32, 4i32, -2147483648i32, 4i32] [-1i32, -2i32, -8i32, -101i32, -2147483648i32, 2147483647i32, -2147483642i32, 2147483642i32, 0i32, 6i32] }
entry bits [n] (a: [n]i32) (b: [n]i32) : ([n]i32, [n]i32, [n]i32, [n]i32) =
  (map2 (&) a b, map2 (|) a b, map2 (^) a b, map (\x -> !x) a)

-- Left, right (with the sign where there is one), right (with zeros).
-- ==
-- entry: shifts
-- input { [0i32, 1i32, 7i32, 100i32, 2147483647i32, -2147483648i32, 2147483641i32, -2147483643i32, -1i32, -7i32] [0i32, 3i32, 31i32, 1i32, 2i32, 1i32, 16i32, 3i32, 1i32, 5i32] }
-- output { [0i32, 8i32, -2147483648i32, 200i32, -4i32, 0i32, -458752i32, 40i32, -2i32, -224i32] [0i32, 0i32, 0i32, 50i32, 536870911i32, -1073741824i32, 32767i32, -268435456i32, -1i32, -1i32] [0i32, 0i32, 0i32, 50i32, 536870911i32, 1073741824i32, 32767i32, 268435456i32, 2147483647i32, 134217727i32] }
entry shifts [n] (a: [n]i32) (s: [n]i32) : ([n]i32, [n]i32, [n]i32) =
  (map2 (<<) a s, map2 (>>) a s, map2 (i32.>>>) a s)

-- ==
-- entry: counts
-- input { [0i32, 1i32, 7i32, 100i32, 2147483647i32, -2147483648i32, 2147483641i32, -2147483643i32, -1i32, -7i32] }
-- output { [0i32, 1i32, 3i32, 3i32, 31i32, 1i32, 29i32, 3i32, 32i32, 30i32] [32i32, 31i32, 29i32, 25i32, 1i32, 0i32, 1i32, 0i32, 0i32, 0i32] [32i32, 0i32, 0i32, 2i32, 0i32, 31i32, 0i32, 0i32, 0i32, 0i32] [0i32, 0i32, 0i32, 0i32, 1i32, 0i32, 1i32, 0i32, 1i32, 1i32] [4i32, 5i32, 7i32, 100i32, 127i32, 4i32, 125i32, 5i32, 127i32, 125i32] 32i32 }
entry counts [n] (a: [n]i32) : ([n]i32, [n]i32, [n]i32, [n]i32, [n]i32, i32) =
  ( map i32.popc a
  , map i32.clz a
  , map i32.ctz a
  , map (i32.get_bit 3) a
  , map (\x -> i32.set_bit 2 (x & 127) 1) a
  , i32.num_bits
  )

-- Upper half of the double-width product.
-- ==
-- entry: high
-- input { [0i32, 1i32, 7i32, 100i32, 2147483647i32, -2147483648i32, 2147483641i32, -2147483643i32, -1i32, -7i32] [5i32, 1i32, 3i32, 99i32, 2i32, 3i32, 11i32, -2147483647i32, 2147483647i32, -3i32] }
-- output { [0i32, 0i32, 0i32, 0i32, 0i32, -2i32, 5i32, 1073741821i32, -1i32, 0i32] [5i32, 1i32, 3i32, 99i32, 2i32, 1i32, 16i32, -1073741826i32, 2147483646i32, -3i32] }
entry high [n] (a: [n]i32) (b: [n]i32) : ([n]i32, [n]i32) =
  (map2 i32.mul_hi a b, map3 i32.mad_hi a b b)

-- ==
-- entry: comparisons
-- input { [0i32, 1i32, 7i32, 100i32, 2147483647i32, -2147483648i32, 2147483641i32, -2147483643i32, -1i32, -7i32] [5i32, 1i32, 3i32, 99i32, 2i32, 3i32, 11i32, -2147483647i32, 2147483647i32, -3i32] }
-- output { [false, true, false, false, false, false, false, false, false, false] [true, false, true, true, true, true, true, true, true, true] [true, false, false, false, false, true, false, false, true, true] [true, true, false, false, false, true, false, false, true, true] [false, false, true, true, true, false, true, true, false, false] [false, true, true, true, true, false, true, true, false, false] }
entry comparisons [n] (a: [n]i32) (b: [n]i32)
                : ([n]bool, [n]bool, [n]bool, [n]bool, [n]bool, [n]bool) =
  (map2 (==) a b, map2 (!=) a b, map2 (<) a b, map2 (<=) a b, map2 (>) a b, map2 (>=) a b)

-- ==
-- entry: summaries
-- input { [0i32, 1i32, 7i32, 100i32, 2147483647i32, -2147483648i32, 2147483641i32, -2147483643i32, -1i32, -7i32] }
-- output { 97i32 0i32 2147483647i32 -2147483648i32 2147483647i32 -2147483648i32 }
-- input { empty([0]i32) }
-- output { 0i32 1i32 -2147483648i32 2147483647i32 2147483647i32 -2147483648i32 }
entry summaries (a: []i32) : (i32, i32, i32, i32, i32, i32) =
  (i32.sum a, i32.product a, i32.maximum a, i32.minimum a, i32.highest, i32.lowest)
