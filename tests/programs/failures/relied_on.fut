-- The element is known without the array, but not whether it is there.

-- ==
-- entry: known_element
-- input { empty([0]u8) }
-- error: Index \[0\] out of bounds
-- input { [1u8] }
-- error: Index \[2\] out of bounds
-- input { [1u8, 1u8, 1u8, 1u8, 1u8] }
-- output { 144i64 }
entry known_element [n] (_: [n]u8) : i64 =
  loop acc = 0 for _i < 4i64 do acc + (16 + (n + (replicate n 15i64)[acc % 5]))
