-- Modules: abstract types, parametric modules, sizes in module types.

module type monoid = {
  type t
  val zero: t
  val plus: t -> t -> t
}

module type sequence = {
  type elem
  type~ seq
  val from [n]: [n]elem -> seq
  val total: seq -> elem
}

module mk_sequence (M: monoid): (sequence with elem = M.t) = {
  type elem = M.t
  type~ seq = ?[n].[n]elem
  local def step = M.plus
  def from [n] (xs: [n]elem): seq = xs
  def total (xs: seq): elem = foldl step M.zero xs
}

module add_f32 = {
  type t = f32
  def zero = 0f32
  def plus (x: t) (y: t): t = x + y
}

module sums = mk_sequence add_f32
module products = mk_sequence {
  type t = i32
  def zero = 1i32
  def plus (a: i32) (b: i32) = a * b
}

module both (A: monoid) (B: monoid) = {
  type t = (A.t, B.t)
  def zero: t = (A.zero, B.zero)
  def plus (x: t) (y: t): t = (A.plus x.0 y.0, B.plus x.1 y.1)
}

module pairs = both add_f32 (both add_f32 add_f32)

module apply (F: (M: monoid) -> {val id: M.t}) = {
  module here = F add_f32
  def id: f32 = here.id
}

module zeros = apply (\(M: monoid) -> {def id = M.zero})

module type sized = {
  val n: i64
  val first: i64 -> [n]i64
}

module three: sized = {
  def n = 3i64
  def first (k: i64) = replicate n k
}

module numbers (N: numeric) = {
  open N
  def square (x: t): t = x * x
  def norm (xs: []t) = N.(sum (map square xs) + i32 1)
}

module squares = numbers f64

entry main (xs: []f32) (is: []i32) =
  let three_of = three.first 4
  in ( sums.total (sums.from xs)
     , products.total (products.from is)
     , pairs.plus pairs.zero (1, (2, 3))
     , zeros.id
     , map (+ 1) three_of
     , squares.norm [1, 2] )
