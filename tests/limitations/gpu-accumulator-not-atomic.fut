-- run: explain --backend cuda FILE
-- prints: version of rule suff_intra_par removed: it cannot run on a device

def write [k] (acc: *intrinsics.acc ([k]f32)) (i: i64) (x: f32) : *intrinsics.acc ([k]f32) =
  intrinsics.acc_write acc i x

entry main [n] (k: i64) (is: [n]i64) : [k]f32 =
  let update (bins: *intrinsics.acc ([k]f32)) i =
    let ys = loop ys = replicate n (f32.i64 i) for j < 3 do scan (+) 0 (map (* f32.i64 j) ys)
    in loop bins: *intrinsics.acc ([k]f32) = bins for j < n do write bins (i + j) ys[j]
  in intrinsics.hist_stream (replicate k 0) (+) 0 update is
