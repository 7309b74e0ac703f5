-- | Derivatives of functions.

-- | Value and Jacobian-vector product: forward mode.
def jvp2 'a 'b (f: a -> b) (x: a) (x': a): (b, b) = intrinsics.jvp2 f x x'

-- | Value and vector-Jacobian product: reverse mode.
def vjp2 'a 'b (f: a -> b) (x: a) (y': b): (b, a) = intrinsics.vjp2 f x y'

-- | Value and Jacobian-matrix product: forward mode with several directions.
def jmp2 'a 'b [n] (f: a -> b) (x: a) (x': [n]a): (b, [n]b) = intrinsics.jmp2 f x x'

-- | Value and matrix-Jacobian product: reverse mode with several adjoints.
def mjp2 'a 'b [n] (f: a -> b) (x: a) (y': [n]b): (b, [n]a) = intrinsics.mjp2 f x y'

-- | Jacobian-vector product.
def jvp 'a 'b (f: a -> b) (x: a) (x': a): b = (intrinsics.jvp2 f x x').1

-- | Vector-Jacobian product.
def vjp 'a 'b (f: a -> b) (x: a) (y': b): a = (intrinsics.vjp2 f x y').1

-- | Jacobian-matrix product.
def jmp 'a 'b [n] (f: a -> b) (x: a) (x': [n]a): [n]b = (intrinsics.jmp2 f x x').1

-- | Matrix-Jacobian product.
def mjp 'a 'b [n] (f: a -> b) (x: a) (y': [n]b): [n]a = (intrinsics.mjp2 f x y').1

-- | The function with a vector-Jacobian product of its own, which gets the
-- function's result and the adjoint of the result.
def with_vjp 'a 'b (f: a -> b) (f': (res: b) -> (b_adj: b) -> a) (x: a): b =
  intrinsics.with_vjp f f' x

-- | `with_vjp` where the function leaves a tape for its derivative.
def with_vjp_tape 'a 'b 'c (f: a -> (c, b)) (f': (c, b) -> a) (x: a): b =
  (with_vjp f (\(tape, _) (_, adj) -> f' (tape, adj)) x).1
