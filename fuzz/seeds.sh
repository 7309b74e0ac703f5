#!/bin/sh
# Makes the seeds of the fuzz targets from the project's own programs: their text
# for the parser and the checker, their test blocks' values for the readers, and
# what the compiler makes of them at each level for the reader of IR text.
#
#   fuzz/seeds.sh [BINDRUNE]
set -eu
cd "$(dirname "$0")/.."
bindrune=${1:-build/bindrune}
for target in parse check values ir; do mkdir -p "fuzz/corpus/$target"; done
find tests/programs examples crates/check/tests/programs prelude -name '*.fut' -size -8k | while read -r file; do
  name=$(echo "$file" | tr / -)
  cp "$file" "fuzz/corpus/parse/$name"
  cp "$file" "fuzz/corpus/check/$name"
  # Inputs and outputs on one line each.
  sed -n 's/^-- *\(input\|output\) *{\(.*\)}.*/\2/p' "$file" | sort -u | head -n 20 >"fuzz/corpus/values/$name"
done
find fuzz/corpus/values -empty -delete
# Binary values of each type.
for type in i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 bool; do
  "$bindrune" data --binary -g "$type" >"fuzz/corpus/values/$type"
  "$bindrune" data --binary -g "[2][3]$type" >"fuzz/corpus/values/array-$type"
done
find tests/programs -name '*.fut' -size -3k | while read -r file; do
  name=$(echo "$file" | tr / -)
  for stage in lower segs mems imp lanes; do
    text=fuzz/corpus/ir/$name.$stage
    "$bindrune" dev "$file" --stage "$stage" >"$text" 2>/dev/null || true
    # Large texts make slow seeds.
    find "$text" \( -empty -o -size +24k \) -delete
  done
done
