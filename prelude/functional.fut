-- | Functions on functions.

-- | Application from the left: `x |> f` is `f x`.
def (|>) '^a '^b (x: a) (f: a -> b): b = f x

-- | Application from the right: `f <| x` is `f x`.
def (<|) '^a '^b (f: a -> b) (x: a): b = f x

-- | First the left function, then the right one.
def (>->) '^a '^b '^c (f: a -> b) (g: b -> c) (x: a): c = g (f x)

-- | First the right function, then the left one.
def (<-<) '^a '^b '^c (g: b -> c) (f: a -> b) (x: a): c = g (f x)

-- | The function with its arguments exchanged.
def flip '^a '^b '^c (f: a -> b -> c) (b: b) (a: a): c = f a b

-- | A function on pairs as one of two arguments.
def curry '^a '^b '^c (f: (a, b) -> c) (a: a) (b: b): c = f (a, b)

-- | A function of two arguments as one on pairs.
def uncurry '^a '^b '^c (f: a -> b -> c) (a: a, b: b): c = f a b

-- | The first argument, whatever the second is.
def const '^a '^b (x: a) (_: b): a = x

-- | The argument.
def id '^a (x: a): a = x

-- | The function applied `n` times.
def iterate 'a (n: i32) (f: a -> a) (x: a): a = loop x for _i < n do f x

-- | The function applied until the predicate holds.
def iterate_until 'a (p: a -> bool) (f: a -> a) (x: a): a = loop x while !(p x) do f x

-- | The function applied while the predicate holds.
def iterate_while 'a (p: a -> bool) (f: a -> a) (x: a): a = loop x while p x do f x
