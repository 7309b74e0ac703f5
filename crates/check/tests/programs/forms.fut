-- Every form of expression, pattern and declaration at least once.

type pair [n] 'a = {xs: [n]a, size: i64}
type shape = #circle f32 | #square {side: f32} | #nothing

def make [n] 'a (xs: [n]a): pair [n] a = {xs, size = n}

def area (s: shape): f32 =
  match s
  case #circle r -> 3.14 * r * r
  case #square {side} -> side ** 2
  case #nothing -> 0

def classify (x: i32) (y: bool): u8 =
  match (x, y)
  case (0, true) -> 'a'
  case (-1, _) -> 2u8
  case (_, false) -> 255
  case _ -> 0x10

def fib (n: i32): i32 = if n < 2 then n else fib (n - 1) + fib (n - 2)

def twice 'a (f: a -> a) = f >-> f

def sections (xs: []i32) =
  map (+ 1) xs |> map (2 -) |> map (`i32.max` 0) |> filter (> 1) |> map (\x -> (x, x)) |> map (.0)

def matrix [n] [m] (xss: [n][m]f64) =
  let swapped = transpose xss
  let column = xss[:, 0]
  let corner = xss[0, 0] + swapped[m - 1, n - 1]
  let reversed = map (.[::-1]) xss
  in (column, corner, flatten reversed)

def updates (n: i64) =
  let grid = replicate n (replicate n 0i32)
  let grid[0] = replicate n 1
  let grid = grid with [1, 0:2] = [7, 8]
  let r = {grid, tag = (1u16, false)}
  let r = r with tag = (2, true)
  let s = r with tag.0 = 3
  in s with grid[0, 0] = 5

def loops (xs: []i64) =
  let total = loop acc = 0 for x in xs do acc + x
  let power = loop p = 1i64 while p < total do p * 2
  let doubled = loop ys = xs for _i < 3i32 do ys ++ ys
  let (a, b) = loop (a, b) = (0, 1) for i < total do (b, a + b + i)
  let xs = loop xs = copy xs for i in indices xs do xs with [i] = i
  in (power, length doubled, a, b, xs)

def locals (k: i64) =
  let [n] (evens: [n]i64) = filter (\i -> i % 2 == 0) (iota k)
  let at 'a [m] (ys: [m]a) (i: i64) = ys[i % m]
  let same = evens == evens || evens != reverse evens && !(n < 3)
  let ys = assert (n > 0) (evens :> [k / 2]i64)
  in (at ys 1, at [same] 0, #[unsafe] ys[0], n)

def literals = (1i8, 2.5, 0b101u8, 1e3f32, 0x1.8p4f16, "text", [1, 2], 3f64, -4, !5u32, '\n')

entry ranges (n: i64) = (0..<n, 1..2...n, n..n - 1..>0, map u8.i64 (3...5), "é")

entry main [n] (xs: *[n]i32) (m: pair [n] f32) =
  let s: shape = if n > 3 then #circle 1 else #nothing
  let ys = scatter xs (iota n) (map (twice (* 2)) (rotate 1 xs))
  let {xs = fs, size = _} = m with size = 3
  in ( reduce_by_index (replicate 4 0) (+) 0 (map (% 4) (iota n)) ys
     , area s + f32.sum fs
     , classify 1 true
     , fib 7
     , partition (\y -> y > 0) ys
     , uncurry (curry (\(a, b) -> a & b)) (6, 3) )
