-- run: test FILE
-- exit: 1
-- prints: not supported yet: script inputs for compiled programs that are records, tuples or other opaque values

-- ==
-- entry: sum
-- script input { make 3 } output { 6 }
type~ t = {x: i64, ys: []i64}

entry make (x: i64): t = {x, ys = iota x}

entry sum (r: t): i64 = r.x + i64.sum r.ys
