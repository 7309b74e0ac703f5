-- Strings in data: escape sequences are those of Haskell, characters are bytes of UTF-8.

-- ==
-- entry: bytes
-- input { "tab\t" }
-- output { [116u8, 97u8, 98u8, 9u8] }
-- input { "\65\x41\X4a\o101\O60" }
-- output { [65u8, 65u8, 74u8, 65u8, 48u8] }
-- input { "\a\b\f\n\r\t\v\\\"\'" }
-- output { [7u8, 8u8, 12u8, 10u8, 13u8, 9u8, 11u8, 92u8, 34u8, 39u8] }
-- input { "\"" }
-- output { "\34" }
-- input { "}\\" }
-- output { [125u8, 92u8] }
-- input { "a--b\"{c" }
-- output { [97u8, 45u8, 45u8, 98u8, 34u8, 123u8, 99u8] }
-- input { "\NUL\SOH\SO\&H\DEL\SP\US\ESC[" }
-- output { [0u8, 1u8, 14u8, 72u8, 127u8, 32u8, 31u8, 27u8, 91u8] }
-- input { "\^@\^A\^Z\^[\^\\^_" }
-- output { [0u8, 1u8, 26u8, 27u8, 28u8, 31u8] }
-- input { "\12\&3\0" }
-- output { [12u8, 51u8, 0u8] }
-- input { "\233\x20ac\128512é" }
-- output { [195u8, 169u8, 226u8, 130u8, 172u8, 240u8, 159u8, 152u8, 128u8, 195u8, 169u8] }
-- input { "" }
-- output { empty([0]u8) }
entry bytes (s: []u8) : []u8 = s

-- ==
-- entry: rows
-- input { ["a\tb", "\\\"c", "\65\66\67"] }
-- output { [204i64, 225i64, 198i64] ["b\ta", "c\"\\", "CBA"] }
entry rows [n] [m] (s: [n][m]u8) : ([n]i64, [n][m]u8) =
  (map (\row -> i64.sum (map i64.u8 row)) s, map reverse s)
