-- run: explain FILE
-- prints: not vectorised: it allocates memory

entry main [n] (sizes: [n]i64) =
  map (\k -> let a = loop a = replicate k 1 for i < k do a with [(i * 7) % k] = i + a[i]
             in i64.sum (map (\i -> a[a[i] % k]) (iota k))) sizes
