-- Breadth-first search: the distance of each node from node 0, or -1 if it is not
-- reachable. The edges of node i are `edges[starts[i]..starts[i + 1]]`.

-- In each iteration every node tests whether it was just reached, and then follows its
-- edges, whose number differs between nodes.
-- ==
-- entry: by_flags by_frontier
-- input { [0i64, 2i64, 3i64, 3i64, 4i64, 4i64] [1i32, 2i32, 3i32, 1i32] }
-- output { [0, 1, 1, 2, -1] }
entry by_flags [n1][m] (starts: [n1]i64) (edges: [m]i32) : []i32 =
  let n = n1 - 1
  let far = replicate n (-1i32) with [0] = 0
  let (far, _, _) =
    loop (far, turn, going) = (far, 0i32, true) while going do
      let targets =
        map (\i -> if far[i] == turn then starts[i] else starts[i + 1]) (iota n)
      let most =
        i64.maximum (map2 (\i first -> starts[i + 1] - first) (iota n) targets)
      let far' =
        loop far = copy far for k < most do
          let reached =
            map2 (\i first ->
                    if first + k < starts[i + 1]
                    then let to = i64.i32 edges[first + k]
                         in if far[to] < 0 then to else -1
                    else -1)
                 (iota n)
                 targets
          in scatter far reached (replicate n (turn + 1))
      in (far', turn + 1, or (map (== turn + 1) far'))
  in far

-- Only the frontier: the edges of all its nodes are segments of different lengths,
-- flattened by a scan of their sizes.
entry by_frontier [n1][m] (starts: [n1]i64) (edges: [m]i32) : []i32 =
  let n = n1 - 1
  let far = replicate n (-1i32) with [0] = 0
  let (far, _, _) =
    loop (far, turn, frontier) = (far, 1i32, [0i64]) while length frontier > 0 do
      let sizes = map (\i -> starts[i + 1] - starts[i]) frontier
      let ends = scan (+) 0 sizes
      let total = if length ends == 0 then 0 else last ends
      let begins = map2 (-) ends sizes
      let marks =
        reduce_by_index (replicate total 0i64)
                        i64.max
                        0
                        (map2 (\size at -> if size > 0 then at else -1) sizes begins)
                        (indices frontier)
      let owners = scan i64.max 0 marks
      let targets =
        map2 (\at owner -> i64.i32 edges[starts[frontier[owner]] + at - begins[owner]])
             (iota total)
             owners
      let fresh = filter (\to -> far[to] < 0) targets
      -- Of the edges that reach the same node, one remains.
      let claims = scatter (replicate n (-1i64)) fresh (indices fresh)
      let next = map (.1) (filter (\(i, to) -> claims[to] == i) (zip (indices fresh) fresh))
      in (scatter far next (map (const turn) next), turn + 1, next)
  in far
