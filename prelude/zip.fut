-- | Arrays of tuples from tuples of arrays and back.

local def each 'a [n] 'x (f: a -> x) (as: [n]a): *[n]x = intrinsics.map f as

-- | Pairs of the elements at equal indices.
def zip [n] 'a 'b (as: [n]a) (bs: [n]b): *[n](a, b) = intrinsics.zip as bs

-- | The same as `zip`.
def zip2 [n] 'a 'b (as: [n]a) (bs: [n]b): *[n](a, b) = intrinsics.zip as bs

-- | `zip` for three arrays.
def zip3 [n] 'a 'b 'c (as: [n]a) (bs: [n]b) (cs: [n]c): *[n](a, b, c) =
  each (\((a, b), c) -> (a, b, c)) (zip (zip as bs) cs)

-- | `zip` for four arrays.
def zip4 [n] 'a 'b 'c 'd (as: [n]a) (bs: [n]b) (cs: [n]c) (ds: [n]d): *[n](a, b, c, d) =
  each (\((a, b), (c, d)) -> (a, b, c, d)) (zip (zip as bs) (zip cs ds))

-- | `zip` for five arrays.
def zip5 [n] 'a 'b 'c 'd 'e (as: [n]a) (bs: [n]b) (cs: [n]c) (ds: [n]d) (es: [n]e): *[n](a, b, c, d, e) =
  each (\(((a, b), (c, d)), e) -> (a, b, c, d, e)) (zip (zip (zip as bs) (zip cs ds)) es)

-- | The components of an array of pairs.
def unzip [n] 'a 'b (xs: [n](a, b)): ([n]a, [n]b) = intrinsics.unzip xs

-- | The same as `unzip`.
def unzip2 [n] 'a 'b (xs: [n](a, b)): ([n]a, [n]b) = intrinsics.unzip xs

-- | `unzip` for triples.
def unzip3 [n] 'a 'b 'c (xs: [n](a, b, c)): ([n]a, [n]b, [n]c) =
  let (abs, cs) = unzip (each (\(a, b, c) -> ((a, b), c)) xs)
  let (as, bs) = unzip abs
  in (as, bs, cs)

-- | `unzip` for tuples of four.
def unzip4 [n] 'a 'b 'c 'd (xs: [n](a, b, c, d)): ([n]a, [n]b, [n]c, [n]d) =
  let (abs, cds) = unzip (each (\(a, b, c, d) -> ((a, b), (c, d))) xs)
  let (as, bs) = unzip abs
  let (cs, ds) = unzip cds
  in (as, bs, cs, ds)

-- | `unzip` for tuples of five.
def unzip5 [n] 'a 'b 'c 'd 'e (xs: [n](a, b, c, d, e)): ([n]a, [n]b, [n]c, [n]d, [n]e) =
  let (abcds, es) = unzip (each (\(a, b, c, d, e) -> ((a, b, c, d), e)) xs)
  let (as, bs, cs, ds) = unzip4 abcds
  in (as, bs, cs, ds, es)
