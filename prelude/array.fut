-- | Functions on arrays.

import "functional"
import "soacs"
open import "zip"

-- | The number of elements.
def length [n] 't (_: [n]t): i64 = n

-- | Whether there are no elements.
def null [n] 't (_: [n]t): bool = n == 0

-- | The first element.
def head [n] 't (x: [n]t): t = x[0]

-- | The last element.
def last [n] 't (x: [n]t): t = x[n - 1]

-- | All but the first element.
def tail [n] 't (x: [n]t): [n - 1]t = x[1:]

-- | All but the last element.
def init [n] 't (x: [n]t): [n - 1]t = x[0:n - 1]

-- | The first `i` elements.
def take [n] 't (i: i64) (x: [n]t): [i]t = x[0:i]

-- | All but the first `i` elements.
def drop [n] 't (i: i64) (x: [n]t): [n - i]t = x[i:]

-- | The array with a size that is checked at run time.
def sized [m] 't (n: i64) (xs: [m]t): [n]t = xs :> [n]t

-- | The array in two parts, whose sizes are inferred.
def split [n] [m] 't (xs: [n + m]t): ([n]t, [m]t) = (xs[0:n], xs[n:n + m] :> [m]t)

-- | The elements from last to first.
def reverse [n] 't (x: [n]t): [n]t = x[::-1]

-- | One array after the other.
def (++) [n] [m] 't (xs: [n]t) (ys: [m]t): *[n + m]t = intrinsics.concat xs ys

-- | One array after the other.
def concat [n] [m] 't (xs: [n]t) (ys: [m]t): *[n + m]t = intrinsics.concat xs ys

-- | `0`, `1`, ..., `n - 1`.
def iota (n: i64): *[n]i64 = intrinsics.iota n

-- | The valid indices of an array.
def indices [n] 't (_: [n]t): *[n]i64 = intrinsics.iota n

-- | Rotation to the left: element `i` is element `i + r`, modulo the size.
def rotate [n] 't (r: i64) (a: [n]t): *[n]t =
  let k = if n == 0 then 0 else #[unsafe] (r % n)
  in intrinsics.map (\i -> let j = i + k in #[unsafe] a[if j >= n then j - n else j]) (intrinsics.iota n)

-- | `n` times the same value.
def replicate 't (n: i64) (x: t): *[n]t = intrinsics.replicate n x

-- | `replicate` to an inferred size.
def rep 't [n] (x: t): *[n]t = intrinsics.replicate n x

-- | A copy that aliases nothing.
def copy 't (a: t): *t = intrinsics.copy a

-- | A copy in row-major order.
def manifest 't (a: t): *t = intrinsics.manifest a

-- | The two outer dimensions as one.
def flatten [n] [m] 't (xs: [n][m]t): [n * m]t = intrinsics.flatten xs

-- | The three outer dimensions as one.
def flatten_3d [n] [m] [l] 't (xs: [n][m][l]t): [n * m * l]t =
  intrinsics.flatten (intrinsics.flatten xs)

-- | The four outer dimensions as one.
def flatten_4d [n] [m] [l] [k] 't (xs: [n][m][l][k]t): [n * m * l * k]t =
  intrinsics.flatten (flatten_3d xs)

-- | The outer dimension as two.
def unflatten 't [n] [m] (xs: [n * m]t): [n][m]t = intrinsics.unflatten n m xs

-- | The outer dimension as three.
def unflatten_3d 't [n] [m] [l] (xs: [n * m * l]t): [n][m][l]t = unflatten (unflatten xs)

-- | The outer dimension as four.
def unflatten_4d 't [n] [m] [l] [k] (xs: [n * m * l * k]t): [n][m][l][k]t = unflatten (unflatten_3d xs)

-- | The two outer dimensions exchanged.
def transpose [n] [m] 't (a: [n][m]t): [m][n]t = intrinsics.transpose a

-- | Whether all elements are true.
def and [n] (xs: [n]bool): bool = intrinsics.reduce_comm intrinsics.and_bool true xs

-- | Whether some element is true.
def or [n] (xs: [n]bool): bool = intrinsics.reduce_comm intrinsics.or_bool false xs

-- | A sequential fold from the left.
def foldl [n] 'a 'b (f: a -> b -> a) (acc: a) (bs: [n]b): a = loop acc for b in bs do f acc b

-- | A sequential fold from the right.
def foldr [n] 'a 'b (f: b -> a -> a) (acc: a) (bs: [n]b): a =
  loop acc for b in reverse bs do f b acc

-- | The function's values for `0`, `1`, ..., `n - 1`.
def tabulate 'a (n: i64) (f: i64 -> a): *[n]a = intrinsics.map f (intrinsics.iota n)

-- | `tabulate` in two dimensions.
def tabulate_2d 'a (n: i64) (m: i64) (f: i64 -> i64 -> a): *[n][m]a =
  tabulate n (\i -> tabulate m (f i))

-- | `tabulate` in three dimensions.
def tabulate_3d 'a (n: i64) (m: i64) (o: i64) (f: i64 -> i64 -> i64 -> a): *[n][m][o]a =
  tabulate n (\i -> tabulate_2d m o (f i))
