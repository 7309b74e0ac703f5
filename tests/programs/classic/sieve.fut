-- Prime numbers: a sieve by scatter, and trial division by a nested
-- reduction.

-- The primes up to n.
-- ==
-- entry: primes primes_by_division
-- input { 0i64 }
-- output { empty([0]i64) }
-- input { 2i64 }
-- output { [2i64] }
-- input { 30i64 }
-- output { [2i64, 3i64, 5i64, 7i64, 11i64, 13i64, 17i64, 19i64, 23i64, 29i64] }
-- input { 121i64 }
-- output { [2i64, 3i64, 5i64, 7i64, 11i64, 13i64, 17i64, 19i64, 23i64, 29i64, 31i64, 37i64, 41i64, 43i64, 47i64, 53i64, 59i64, 61i64, 67i64, 71i64, 73i64, 79i64, 83i64, 89i64, 97i64, 101i64, 103i64, 107i64, 109i64, 113i64] }
entry primes (n: i64) : []i64 =
  let start = map (\i -> i >= 2) (iota (n + 1))
  let (flags, _) =
    loop (flags, p) = (start, 2) while p * p <= n do
      if !flags[p] then (flags, p + 1)
      else let crossed = (n - p * p) / p + 1
           let multiples = map (\i -> p * p + i * p) (iota crossed)
           in (scatter flags multiples (replicate crossed false), p + 1)
  in filter (\i -> flags[i]) (iota (n + 1))

entry primes_by_division (n: i64) : []i64 =
  filter (\k -> k >= 2 && all (\d -> d * d > k || k % d != 0) (2..<i64.max 2 k)) (iota (n + 1))

-- The number of primes below n.
-- ==
-- entry: count
-- input { 1i64 }
-- output { 0i64 }
-- input { 1000i64 }
-- output { 168i64 }
entry count (n: i64) : i64 = length (primes (n - 1))
