#!/bin/sh
# Nanoseconds per element of functions of the prelude, compiled for this machine
# and run in one thread over blocks of 4096 elements, then those of the C library
# (speed.c). "good": arguments between 0.1 and 20; "bad": between 2^-100 and 2^100.
# Needs BINDRUNE (by default `bindrune`), gcc, awk.
set -e
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT
functions="exp log sin cos tan cbrt erf pow"
for ty in f32 f64; do
  for f in $functions; do
    call="$ty.$f x"
    [ $f = pow ] && call="x $ty.** (x - 5)"
    for kind in good bad; do
      arg="0.1 + 19.9 * u"
      [ $kind = bad ] && arg="$ty.f64 (f64.exp ((u * 200 - 100) * 0.6931471805599453))"
      [ $kind = good ] && arg="$ty.f64 ($arg)"
      echo "entry ${kind}_${f}_$ty (n: i64) (k: i64): $ty ="
      echo "  let xs = tabulate n (\\i -> let u = f64.u32 (u32.i64 i * 2654435761) / 4294967296 in $arg)"
      echo "  let ys = loop ys = replicate n 0 for _i < k do map2 (\\x y -> $call + y * 1e-30) xs ys"
      echo "  in ys[n - 1]"
    done
  done
done > "$dir/speed.fut"
${BINDRUNE:-bindrune} build "$dir/speed.fut" -o "$dir/speed"
for kind in good bad; do
  for f in $functions; do
    for ty in f32 f64; do
      echo "4096 500" | "$dir/speed" -e ${kind}_${f}_$ty -n -r 40 --num-threads=1 -t "$dir/times"
      sort -n "$dir/times" | awk -v what="$kind $f $ty" 'NR == 1 { printf "%s %.3f\n", what, $1 * 1000 / 4096 / 500 }'
    done
  done
done
gcc -O3 -march=native -ffast-math "$here/speed.c" -o "$dir/peer" -lmvec -lm
"$dir/peer"
