-- Quotients and remainders of narrow integers, in vector lanes by products with reciprocals: with
-- divisors equal in all iterations, and with some that vary.

def mixed (i: i64) : u64 =
  let x = u64.i64 i * 0x9E3779B97F4A7C15
  in (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9

-- Many exact quotients, their neighbours, and the bounds of the type.
def dividend32 (d: i32) (i: i64) : i32 =
  let x = i32.u64 (mixed i >> 32)
  in match i % 5
     case 0 -> x
     case 1 -> x / d * d
     case 2 -> x / d * d - 1
     case 3 -> x / d * d + 1
     case _ -> if i % 2 == 0 then i32.lowest else i32.highest

def checksum (a: i64) (i: i64) (x: i64) : i64 = (a + x * (i * 2 + 1)) & 0xFFFFFFFFFFFF

-- ==
-- entry: signed32
-- input { 2000i64 1i32 }
-- output { 209172603568565i64 0i64 209172603568565i64 0i64 }
-- input { 2000i64 -1i32 }
-- output { 44024308465227i64 0i64 44024308465227i64 0i64 }
-- input { 2000i64 3i32 }
-- output { 257374185019686i64 281474976187842i64 257374183507493i64 4013765i64 }
-- input { 2000i64 -7i32 }
-- output { 10328909350480i64 281474976251098i64 10328907820973i64 281474965544549i64 }
-- input { 2000i64 10i32 }
-- output { 274244738400832i64 281474976113025i64 274244736831259i64 15098099i64 }
-- input { 2000i64 65537i32 }
-- output { 281473872265825i64 195739505i64 281473870657633i64 105591818609i64 }
-- input { 2000i64 2147483647i32 }
-- output { 281474975866369i64 273532415108842i64 281474973884712i64 25508789201425i64 }
-- input { 2000i64 -2147483648i32 }
-- output { 779248i64 178224942941161i64 281474975930511i64 207153695163369i64 }
-- input { 2000i64 -1000003i32 }
-- output { 71126237i64 281446799169197i64 69533630i64 279854187391376i64 }
entry signed32 (n: i64) (d: i32) : (i64, i64, i64, i64) =
  let xs = map (dividend32 d) (iota n)
  let by f = map f xs
  let quots = by (// d)
  let rems = by (%% d)
  let divs = by (/ d)
  let mods = by (% d)
  let all ys = loop a = 0 for i < n do checksum a i (i64.i32 ys[i])
  in (all quots, all rems, all divs, all mods)

-- ==
-- entry: unsigned32
-- input { 2000i64 1u32 }
-- output { 233079932448966i64 0i64 }
-- input { 2000i64 3u32 }
-- output { 77693308606744i64 3964942i64 }
-- input { 2000i64 4294967295u32 }
-- output { 1334667i64 200798208331647i64 }
-- input { 2000i64 2147483648u32 }
-- output { 2025520i64 98730456691188i64 }
-- input { 2000i64 641u32 }
-- output { 13537171755877i64 1293635570i64 }
entry unsigned32 (n: i64) (d: u32) : (i64, i64) =
  let xs = map (\i -> let x = u32.u64 (mixed i >> 32) in if i % 3 == 0 then x / d * d else if i % 3 == 1 then x / d * d - 1 else x) (iota n)
  let all ys = loop a = 0 for i < n do checksum a i (i64.u32 ys[i])
  in (all (map (/ d) xs), all (map (% d) xs))

-- All 8-bit values by all 8-bit values, and 16-bit values by some.
-- ==
-- entry: narrow
-- input { 256i64 }
-- output { 281472543258756i64 277600521950i64 281393617893785i64 401199737876i64 }
entry narrow (n: i64) : (i64, i64, i64, i64) =
  let pairs = flatten (map (\x -> map (\y -> (x, y)) (iota n)) (iota n))
  let all ys = loop a = 0 for i < n * n do checksum a i ys[i]
  let some m y = if y % m == 0 then 1 else y
  in ( all (map (\(x, y) -> i64.i8 (i8.i64 x / i8.i64 (some 256 y))) pairs)
     , all (map (\(x, y) -> i64.u8 (u8.i64 x % u8.i64 (some 256 y))) pairs)
     , all (map (\(x, y) -> i64.i16 (i16.i64 (x * 257 + y) // i16.i64 (some 65536 (y * 259)))) pairs)
     , all (map (\(x, y) -> i64.u16 (u16.i64 (x * 257 + y) / u16.i64 (some 65536 (y * 3 + x)))) pairs)
     )

-- Divisors that vary between iterations.
-- ==
-- entry: varying
-- input { 5000i64 }
-- output { 167459231902416i64 42376805678818i64 }
entry varying (n: i64) : (i64, i64) =
  let d i = let x = i32.u64 (mixed (i + 99) >> u64.i64 (33 + i % 30)) in if x == 0 then -1 else x
  let ys = map (\i -> let e = d i in (dividend32 e i / e, dividend32 e i %% e)) (iota n)
  let (as, bs) = unzip ys
  let all ys = loop a = 0 for i < n do checksum a i (i64.i32 ys[i])
  in (all as, all bs)
