-- | Gradients, Jacobians and Hessians, for programs that import
-- `/prelude/derivatives`.

-- | Derivatives of functions to and from floats of one type. Where a point may
-- be of any type, it is an array, tuple or record with floats inside of it.
module type derivatives = {
  type t

  -- | Gradient, by reverse mode.
  val grad 'a : (f: a -> t) -> (x: a) -> a

  -- | Value and gradient.
  val value_and_grad 'a : (f: a -> t) -> (x: a) -> (t, a)

  -- | Jacobian, a row for each result, by forward mode. Its work grows with the
  -- number of arguments.
  val jacobian_forward [n] [m] : (f: [n]t -> [m]t) -> (x: [n]t) -> [m][n]t

  -- | Jacobian, a row for each result, by reverse mode. Its work grows with the
  -- number of results.
  val jacobian_reverse [n] [m] : (f: [n]t -> [m]t) -> (x: [n]t) -> [m][n]t

  -- | Hessian, by forward mode over reverse mode.
  val hessian [n] : (f: [n]t -> t) -> (x: [n]t) -> [n][n]t

  -- | Hessian times a vector, as cheap as a few gradients.
  val hvp 'a : (f: a -> t) -> (x: a) -> (v: a) -> a
}

-- | Derivatives of functions of the floats of a module.
module mk_derivatives (F: float) : derivatives with t = F.t = {
  type t = F.t

  def zero = F.f64 0
  def one = F.f64 1

  def units (n: i64) : [n][n]t =
    tabulate_2d n n (\i j -> if i == j then one else zero)

  def grad f x = vjp f x one
  def value_and_grad f x = vjp2 f x one

  def jacobian_forward [n] [m] (f: [n]t -> [m]t) (x: [n]t) : [m][n]t =
    transpose (jmp f x (units n))

  def jacobian_reverse [n] [m] (f: [n]t -> [m]t) (x: [n]t) : [m][n]t =
    mjp f x (units m)

  def hessian [n] (f: [n]t -> t) (x: [n]t) : [n][n]t = jmp (grad f) x (units n)

  def hvp f x v = jvp (grad f) x v
}

-- | Derivatives of functions of half-precision floats.
module f16 = mk_derivatives f16

-- | Derivatives of functions of single-precision floats.
module f32 = mk_derivatives f32

-- | Derivatives of functions of double-precision floats.
module f64 = mk_derivatives f64
