-- Reverse derivatives of accumulators whose operators are not sums: products, extrema, any operator,
-- with updates in maps, loops, branches and nests.

type~ acc 't = intrinsics.acc t

def write [n] 't (acc: *acc ([n]t)) (i: i64) (x: t) : *acc ([n]t) =
  intrinsics.acc_write acc i x

def gather [n] [m] 'a 'b (dest: *[n]a) (op: a -> a -> a) (ne: a) (f: *acc ([n]a) -> b -> acc ([n]a)) (bs: [m]b) : *[n]a =
  intrinsics.hist_stream dest op ne f bs

def objective [n] (f: [n]f64 -> [n]f64) (x: [n]f64) : f64 =
  f64.sum (map2 (\i y -> f64.cos y * f64.i64 (i + 1)) (iota n) (f x))

def gradient [n] (f: [n]f64 -> [n]f64) (x: [n]f64) : [n]f64 =
  vjp (objective f) x 1

-- The derivative of the gradient times `x`.
def second [n] (f: [n]f64 -> [n]f64) (x: [n]f64) : [n]f64 =
  vjp (\x -> f64.sum (map2 (*) x (gradient f x))) x 1

def products [n] (x: [n]f64) : [n]f64 =
  gather (map f64.cos x) (*) 1
         (\(acc: *acc ([n]f64)) i -> write acc (i * 2 % (n + 1)) (x[i] * x[(i + 1) % n]))
         (iota n)

def greatest [n] (x: [n]f64) : [n]f64 =
  gather (replicate n (-1)) f64.max (-f64.inf)
         (\(acc: *acc ([n]f64)) i ->
            let acc = write acc (i / 2) (f64.sin x[i])
            in write acc (i % 2) (x[i] * x[i]))
         (iota n)

-- Updates in a loop, and of a branch; the operator uses a parameter of the function.
def any [n] (x: [n]f64) : [n]f64 =
  gather (copy x) (\a b -> a + b + x[0] * a * b) 0
         (\(acc: *acc ([n]f64)) i ->
            loop acc: *acc ([n]f64) = acc for k < i % 3 + 1 do
              if (i + k) % 4 == 3
              then acc
              else let acc = write acc ((i + k) % n) (f64.sin (x[i] * f64.i64 k))
                   in if k == 1 then write acc k x[k % n] else acc)
         (iota n)

-- Pairs, which depend on each other.
def pairs [n] (x: [n]f64) : [n]f64 =
  let op (a, b) (c, d) = (a * c, a * d + b)
  in gather (map (\x -> (x, 1)) x) op (1, 0)
            (\(acc: *acc ([n](f64, f64))) i -> write acc (i * i % n) (f64.exp x[i], x[(i + 1) % n]))
            (iota n)
     |> map (\(a, b) -> a * b)

-- Two accumulators, one of which is updated in an inner map of the iterations of a loop.
def nested [n] (x: [n]f64) : [n]f64 =
  let inner y i =
    gather (map (+ y) x) (*) 1
           (\(acc: *acc ([n]f64)) j -> if j % 2 == i % 2 then write acc (j / 2) (y * x[j]) else acc)
           (iota n)
  in gather (replicate n 1) (\a b -> a * b + a + b) 0
            (\(acc: *acc ([n]f64)) i ->
               let ys = inner x[i] i
               in loop acc: *acc ([n]f64) = acc for k < n do
                 if ys[k] > 0.5 then write acc k ys[k] else acc)
            (iota n)

-- ==
-- entry: of_products
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [-0.1649113663504554f64] }
-- input { [0.3f64, -1.2f64, 0.7f64, 2.1f64, 0.4f64] }
-- output { [-0.30826481119432886f64, -0.5773471142374486f64, -9.455114269204282f64, -4.857458995912076f64, 2.5449066027908454f64] }
entry of_products [n] (x: [n]f64) : [n]f64 = gradient products x

-- ==
-- entry: second_of_products
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [-0.5078846303088907f64] }
-- input { [0.3f64, -1.2f64, 0.7f64, 2.1f64, 0.4f64] }
-- output { [-2.2697851046702953f64, 1.6100502306029345f64, -22.484770191220147f64, -12.882482983470558f64, 10.667748208991862f64] }
entry second_of_products [n] (x: [n]f64) : [n]f64 = second products x

-- ==
-- entry: of_greatest
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [-0.404802117828051f64] }
-- input { [0.3f64, -1.2f64, 0.7f64, 2.1f64, 0.4f64] }
-- output { [0.0f64, 0.0f64, -0.658876243439621f64, 8.018873281945819f64, -1.0490434425232145f64] }
entry of_greatest [n] (x: [n]f64) : [n]f64 = gradient greatest x

-- ==
-- entry: second_of_greatest
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [-0.6358920909025699f64] }
-- input { [0.3f64, -1.2f64, 0.7f64, 2.1f64, 0.4f64] }
-- output { [0.0f64, 0.0f64, -2.5283131688923284f64, 38.10127456627696f64, -1.8134366715436658f64] }
entry second_of_greatest [n] (x: [n]f64) : [n]f64 = second greatest x

-- ==
-- entry: of_any
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [-0.47942553860420306f64] }
-- input { [0.3f64, -1.2f64, 0.7f64, 2.1f64, 0.4f64] }
-- output { [0.5434711000786988f64, 2.094942969437018f64, -1.0028107941316702f64, -3.452837466595495f64, -7.128957315240536f64] }
entry of_any [n] (x: [n]f64) : [n]f64 = gradient any x

-- ==
-- entry: second_of_any
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [-0.9182168195493895f64] }
-- input { [0.3f64, -1.2f64, 0.7f64, 2.1f64, 0.4f64] }
-- output { [-1.440768206073025f64, -3.5593727797464205f64, 13.809592871697525f64, 0.7878698120433086f64, -9.929636898142785f64] }
entry second_of_any [n] (x: [n]f64) : [n]f64 = second any x

-- ==
-- entry: of_pairs
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [-3.357845219360929f64] }
-- input { [0.3f64, -1.2f64, 0.7f64, 2.1f64, 0.4f64] }
-- output { [-0.15244872182058128f64, -0.05183829830730389f64, -83.30851029062802f64, -87.41410309264946f64, -298.74209003409635f64] }
entry of_pairs [n] (x: [n]f64) : [n]f64 = gradient pairs x

-- ==
-- entry: of_nested
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [0.0f64] }
-- input { [0.3f64, -1.2f64, 0.7f64, 2.1f64, 0.4f64] }
-- output { [-345.46055597821316f64, -623.7329675858758f64, -310.9688850870675f64, -2041.448413833475f64, -335.4639536354138f64] }
entry of_nested [n] (x: [n]f64) : [n]f64 = gradient nested x
