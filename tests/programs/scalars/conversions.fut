-- Conversions between all scalar types.  (Made by tests/oracle/make_scalars.py.)

-- ==
-- entry: from_i8
-- input { [0i8, 1i8, 77i8, 127i8, -1i8, -128i8, -100i8] }
-- output { [0i16, 1i16, 77i16, 127i16, -1i16, -128i16, -100i16] [0i32, 1i32, 77i32, 127i32, -1i32, -128i32, -100i32] [0i64, 1i64, 77i64, 127i64, -1i64, -128i64, -100i64] [0u8, 1u8, 77u8, 127u8, 255u8, 128u8, 156u8] [0u16, 1u16, 77u16, 127u16, 255u16, 128u16, 156u16] [0u32, 1u32, 77u32, 127u32, 255u32, 128u32, 156u32] [0u64, 1u64, 77u64, 127u64, 255u64, 128u64, 156u64] [0.0f32, 1.0f32, 77.0f32, 127.0f32, -1.0f32, -128.0f32, -1.0e+02f32] [0.0f64, 1.0f64, 77.0f64, 127.0f64, -1.0f64, -128.0f64, -100.0f64] [false, true, true, true, true, true, true] }
entry from_i8 [n] (a: [n]i8)
    : ([n]i16, [n]i32, [n]i64, [n]u8, [n]u16, [n]u32, [n]u64, [n]f32, [n]f64, [n]bool) =
  ( map i16.i8 a
  , map i32.i8 a
  , map i64.i8 a
  , map u8.i8 a
  , map u16.i8 a
  , map u32.i8 a
  , map u64.i8 a
  , map f32.i8 a
  , map f64.i8 a
  , map bool.i8 a
  )

-- ==
-- entry: from_i16
-- input { [0i16, 1i16, 77i16, 32767i16, -1i16, -32768i16, -100i16] }
-- output { [0i8, 1i8, 77i8, -1i8, -1i8, 0i8, -100i8] [0i32, 1i32, 77i32, 32767i32, -1i32, -32768i32, -100i32] [0i64, 1i64, 77i64, 32767i64, -1i64, -32768i64, -100i64] [0u8, 1u8, 77u8, 255u8, 255u8, 0u8, 156u8] [0u16, 1u16, 77u16, 32767u16, 65535u16, 32768u16, 65436u16] [0u32, 1u32, 77u32, 32767u32, 65535u32, 32768u32, 65436u32] [0u64, 1u64, 77u64, 32767u64, 65535u64, 32768u64, 65436u64] [0.0f32, 1.0f32, 77.0f32, 32767.0f32, -1.0f32, -32768.0f32, -1.0e+02f32] [0.0f64, 1.0f64, 77.0f64, 32767.0f64, -1.0f64, -32768.0f64, -100.0f64] [false, true, true, true, true, true, true] }
entry from_i16 [n] (a: [n]i16)
    : ([n]i8, [n]i32, [n]i64, [n]u8, [n]u16, [n]u32, [n]u64, [n]f32, [n]f64, [n]bool) =
  ( map i8.i16 a
  , map i32.i16 a
  , map i64.i16 a
  , map u8.i16 a
  , map u16.i16 a
  , map u32.i16 a
  , map u64.i16 a
  , map f32.i16 a
  , map f64.i16 a
  , map bool.i16 a
  )

-- ==
-- entry: from_i32
-- input { [0i32, 1i32, 77i32, 2147483647i32, -1i32, -2147483648i32, -100i32] }
-- output { [0i8, 1i8, 77i8, -1i8, -1i8, 0i8, -100i8] [0i16, 1i16, 77i16, -1i16, -1i16, 0i16, -100i16] [0i64, 1i64, 77i64, 2147483647i64, -1i64, -2147483648i64, -100i64] [0u8, 1u8, 77u8, 255u8, 255u8, 0u8, 156u8] [0u16, 1u16, 77u16, 65535u16, 65535u16, 0u16, 65436u16] [0u32, 1u32, 77u32, 2147483647u32, 4294967295u32, 2147483648u32, 4294967196u32] [0u64, 1u64, 77u64, 2147483647u64, 4294967295u64, 2147483648u64, 4294967196u64] [0.0f32, 1.0f32, 77.0f32, 2.1474836e+09f32, -1.0f32, -2.1474836e+09f32, -1.0e+02f32] [0.0f64, 1.0f64, 77.0f64, 2147483647.0f64, -1.0f64, -2147483648.0f64, -100.0f64] [false, true, true, true, true, true, true] }
entry from_i32 [n] (a: [n]i32)
    : ([n]i8, [n]i16, [n]i64, [n]u8, [n]u16, [n]u32, [n]u64, [n]f32, [n]f64, [n]bool) =
  ( map i8.i32 a
  , map i16.i32 a
  , map i64.i32 a
  , map u8.i32 a
  , map u16.i32 a
  , map u32.i32 a
  , map u64.i32 a
  , map f32.i32 a
  , map f64.i32 a
  , map bool.i32 a
  )

-- ==
-- entry: from_i64
-- input { [0i64, 1i64, 77i64, 9223372036854775807i64, -1i64, -9223372036854775808i64, -100i64] }
-- output { [0i8, 1i8, 77i8, -1i8, -1i8, 0i8, -100i8] [0i16, 1i16, 77i16, -1i16, -1i16, 0i16, -100i16] [0i32, 1i32, 77i32, -1i32, -1i32, 0i32, -100i32] [0u8, 1u8, 77u8, 255u8, 255u8, 0u8, 156u8] [0u16, 1u16, 77u16, 65535u16, 65535u16, 0u16, 65436u16] [0u32, 1u32, 77u32, 4294967295u32, 4294967295u32, 0u32, 4294967196u32] [0u64, 1u64, 77u64, 9223372036854775807u64, 18446744073709551615u64, 9223372036854775808u64, 18446744073709551516u64] [0.0f32, 1.0f32, 77.0f32, 9.223372e+18f32, -1.0f32, -9.223372e+18f32, -1.0e+02f32] [0.0f64, 1.0f64, 77.0f64, 9.223372036854776e+18f64, -1.0f64, -9.223372036854776e+18f64, -100.0f64] [false, true, true, true, true, true, true] }
entry from_i64 [n] (a: [n]i64)
    : ([n]i8, [n]i16, [n]i32, [n]u8, [n]u16, [n]u32, [n]u64, [n]f32, [n]f64, [n]bool) =
  ( map i8.i64 a
  , map i16.i64 a
  , map i32.i64 a
  , map u8.i64 a
  , map u16.i64 a
  , map u32.i64 a
  , map u64.i64 a
  , map f32.i64 a
  , map f64.i64 a
  , map bool.i64 a
  )

-- ==
-- entry: from_u8
-- input { [0u8, 1u8, 77u8, 255u8, 255u8] }
-- output { [0i8, 1i8, 77i8, -1i8, -1i8] [0i16, 1i16, 77i16, 255i16, 255i16] [0i32, 1i32, 77i32, 255i32, 255i32] [0i64, 1i64, 77i64, 255i64, 255i64] [0u16, 1u16, 77u16, 255u16, 255u16] [0u32, 1u32, 77u32, 255u32, 255u32] [0u64, 1u64, 77u64, 255u64, 255u64] [0.0f32, 1.0f32, 77.0f32, 255.0f32, 255.0f32] [0.0f64, 1.0f64, 77.0f64, 255.0f64, 255.0f64] [false, true, true, true, true] }
entry from_u8 [n] (a: [n]u8)
    : ([n]i8, [n]i16, [n]i32, [n]i64, [n]u16, [n]u32, [n]u64, [n]f32, [n]f64, [n]bool) =
  ( map i8.u8 a
  , map i16.u8 a
  , map i32.u8 a
  , map i64.u8 a
  , map u16.u8 a
  , map u32.u8 a
  , map u64.u8 a
  , map f32.u8 a
  , map f64.u8 a
  , map bool.u8 a
  )

-- ==
-- entry: from_u16
-- input { [0u16, 1u16, 77u16, 65535u16, 65535u16] }
-- output { [0i8, 1i8, 77i8, -1i8, -1i8] [0i16, 1i16, 77i16, -1i16, -1i16] [0i32, 1i32, 77i32, 65535i32, 65535i32] [0i64, 1i64, 77i64, 65535i64, 65535i64] [0u8, 1u8, 77u8, 255u8, 255u8] [0u32, 1u32, 77u32, 65535u32, 65535u32] [0u64, 1u64, 77u64, 65535u64, 65535u64] [0.0f32, 1.0f32, 77.0f32, 65535.0f32, 65535.0f32] [0.0f64, 1.0f64, 77.0f64, 65535.0f64, 65535.0f64] [false, true, true, true, true] }
entry from_u16 [n] (a: [n]u16)
    : ([n]i8, [n]i16, [n]i32, [n]i64, [n]u8, [n]u32, [n]u64, [n]f32, [n]f64, [n]bool) =
  ( map i8.u16 a
  , map i16.u16 a
  , map i32.u16 a
  , map i64.u16 a
  , map u8.u16 a
  , map u32.u16 a
  , map u64.u16 a
  , map f32.u16 a
  , map f64.u16 a
  , map bool.u16 a
  )

-- ==
-- entry: from_u32
-- input { [0u32, 1u32, 77u32, 4294967295u32, 4294967295u32] }
-- output { [0i8, 1i8, 77i8, -1i8, -1i8] [0i16, 1i16, 77i16, -1i16, -1i16] [0i32, 1i32, 77i32, -1i32, -1i32] [0i64, 1i64, 77i64, 4294967295i64, 4294967295i64] [0u8, 1u8, 77u8, 255u8, 255u8] [0u16, 1u16, 77u16, 65535u16, 65535u16] [0u64, 1u64, 77u64, 4294967295u64, 4294967295u64] [0.0f32, 1.0f32, 77.0f32, 4.2949673e+09f32, 4.2949673e+09f32] [0.0f64, 1.0f64, 77.0f64, 4294967295.0f64, 4294967295.0f64] [false, true, true, true, true] }
entry from_u32 [n] (a: [n]u32)
    : ([n]i8, [n]i16, [n]i32, [n]i64, [n]u8, [n]u16, [n]u64, [n]f32, [n]f64, [n]bool) =
  ( map i8.u32 a
  , map i16.u32 a
  , map i32.u32 a
  , map i64.u32 a
  , map u8.u32 a
  , map u16.u32 a
  , map u64.u32 a
  , map f32.u32 a
  , map f64.u32 a
  , map bool.u32 a
  )

-- ==
-- entry: from_u64
-- input { [0u64, 1u64, 77u64, 18446744073709551615u64, 18446744073709551615u64] }
-- output { [0i8, 1i8, 77i8, -1i8, -1i8] [0i16, 1i16, 77i16, -1i16, -1i16] [0i32, 1i32, 77i32, -1i32, -1i32] [0i64, 1i64, 77i64, -1i64, -1i64] [0u8, 1u8, 77u8, 255u8, 255u8] [0u16, 1u16, 77u16, 65535u16, 65535u16] [0u32, 1u32, 77u32, 4294967295u32, 4294967295u32] [0.0f32, 1.0f32, 77.0f32, 1.8446744e+19f32, 1.8446744e+19f32] [0.0f64, 1.0f64, 77.0f64, 1.8446744073709552e+19f64, 1.8446744073709552e+19f64] [false, true, true, true, true] }
entry from_u64 [n] (a: [n]u64)
    : ([n]i8, [n]i16, [n]i32, [n]i64, [n]u8, [n]u16, [n]u32, [n]f32, [n]f64, [n]bool) =
  ( map i8.u64 a
  , map i16.u64 a
  , map i32.u64 a
  , map i64.u64 a
  , map u8.u64 a
  , map u16.u64 a
  , map u32.u64 a
  , map f32.u64 a
  , map f64.u64 a
  , map bool.u64 a
  )

-- ==
-- entry: from_f16
-- input { [0.0f16, 1.0f16, 3.75f16, 100.5f16, 127.0f16] }
-- output { [0i8, 1i8, 3i8, 100i8, 127i8] [0i16, 1i16, 3i16, 100i16, 127i16] [0i32, 1i32, 3i32, 100i32, 127i32] [0i64, 1i64, 3i64, 100i64, 127i64] [0u8, 1u8, 3u8, 100u8, 127u8] [0u16, 1u16, 3u16, 100u16, 127u16] [0u32, 1u32, 3u32, 100u32, 127u32] [0u64, 1u64, 3u64, 100u64, 127u64] [0.0f32, 1.0f32, 3.75f32, 100.5f32, 127.0f32] [0.0f64, 1.0f64, 3.75f64, 100.5f64, 127.0f64] [false, true, true, true, true] }
entry from_f16 [n] (a: [n]f16)
    : ([n]i8, [n]i16, [n]i32, [n]i64, [n]u8, [n]u16, [n]u32, [n]u64, [n]f32, [n]f64, [n]bool) =
  ( map i8.f16 a
  , map i16.f16 a
  , map i32.f16 a
  , map i64.f16 a
  , map u8.f16 a
  , map u16.f16 a
  , map u32.f16 a
  , map u64.f16 a
  , map f32.f16 a
  , map f64.f16 a
  , map bool.f16 a
  )

-- ==
-- entry: from_f32
-- input { [0.0f32, 1.0f32, 3.75f32, 100.5f32, 127.0f32] }
-- output { [0i8, 1i8, 3i8, 100i8, 127i8] [0i16, 1i16, 3i16, 100i16, 127i16] [0i32, 1i32, 3i32, 100i32, 127i32] [0i64, 1i64, 3i64, 100i64, 127i64] [0u8, 1u8, 3u8, 100u8, 127u8] [0u16, 1u16, 3u16, 100u16, 127u16] [0u32, 1u32, 3u32, 100u32, 127u32] [0u64, 1u64, 3u64, 100u64, 127u64] [0.0f16, 1.0f16, 3.75f16, 100.5f16, 127.0f16] [0.0f64, 1.0f64, 3.75f64, 100.5f64, 127.0f64] [false, true, true, true, true] }
entry from_f32 [n] (a: [n]f32)
    : ([n]i8, [n]i16, [n]i32, [n]i64, [n]u8, [n]u16, [n]u32, [n]u64, [n]f16, [n]f64, [n]bool) =
  ( map i8.f32 a
  , map i16.f32 a
  , map i32.f32 a
  , map i64.f32 a
  , map u8.f32 a
  , map u16.f32 a
  , map u32.f32 a
  , map u64.f32 a
  , map f16.f32 a
  , map f64.f32 a
  , map bool.f32 a
  )

-- ==
-- entry: from_f64
-- input { [0.0f64, 1.0f64, 3.75f64, 100.5f64, 127.0f64] }
-- output { [0i8, 1i8, 3i8, 100i8, 127i8] [0i16, 1i16, 3i16, 100i16, 127i16] [0i32, 1i32, 3i32, 100i32, 127i32] [0i64, 1i64, 3i64, 100i64, 127i64] [0u8, 1u8, 3u8, 100u8, 127u8] [0u16, 1u16, 3u16, 100u16, 127u16] [0u32, 1u32, 3u32, 100u32, 127u32] [0u64, 1u64, 3u64, 100u64, 127u64] [0.0f16, 1.0f16, 3.75f16, 100.5f16, 127.0f16] [0.0f32, 1.0f32, 3.75f32, 100.5f32, 127.0f32] [false, true, true, true, true] }
entry from_f64 [n] (a: [n]f64)
    : ([n]i8, [n]i16, [n]i32, [n]i64, [n]u8, [n]u16, [n]u32, [n]u64, [n]f16, [n]f32, [n]bool) =
  ( map i8.f64 a
  , map i16.f64 a
  , map i32.f64 a
  , map i64.f64 a
  , map u8.f64 a
  , map u16.f64 a
  , map u32.f64 a
  , map u64.f64 a
  , map f16.f64 a
  , map f32.f64 a
  , map bool.f64 a
  )

-- ==
-- entry: from_bool
-- input { [true, false] }
-- output { [1i8, 0i8] [1i16, 0i16] [1i32, 0i32] [1i64, 0i64] [1u8, 0u8] [1u16, 0u16] [1u32, 0u32] [1u64, 0u64] [1.0f16, 0.0f16] [1.0f32, 0.0f32] [1.0f64, 0.0f64] }
entry from_bool [n] (a: [n]bool)
    : ([n]i8, [n]i16, [n]i32, [n]i64, [n]u8, [n]u16, [n]u32, [n]u64, [n]f16, [n]f32, [n]f64) =
  ( map i8.bool a
  , map i16.bool a
  , map i32.bool a
  , map i64.bool a
  , map u8.bool a
  , map u16.bool a
  , map u32.bool a
  , map u64.bool a
  , map f16.bool a
  , map f32.bool a
  , map f64.bool a
  )

-- ==
-- entry: from_negative_f64
-- input { [-1.0f64, -3.75f64, -128.0f64, -0.5f64] }
-- output { [-1i8, -3i8, -128i8, 0i8] [-1i16, -3i16, -128i16, 0i16] [-1i32, -3i32, -128i32, 0i32] [-1i64, -3i64, -128i64, 0i64] [-1.0f32, -3.75f32, -128.0f32, -0.5f32] [-1.0f16, -3.75f16, -128.0f16, -0.5f16] }
entry from_negative_f64 [n] (a: [n]f64)
    : ([n]i8, [n]i16, [n]i32, [n]i64, [n]f32, [n]f16) =
  ( map i8.f64 a
  , map i16.f64 a
  , map i32.f64 a
  , map i64.f64 a
  , map f32.f64 a
  , map f16.f64 a
  )

-- ==
-- entry: from_small_i32
-- input { [0i32, -3i32, 2048i32, 60000i32] }
-- output { [0.0f16, -3.0f16, 2048.0f16, 6.0e+04f16] }
entry from_small_i32 [n] (a: [n]i32)
    : ([n]f16) =
  ( map f16.i32 a
  )
