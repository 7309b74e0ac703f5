-- Loops that update a whole matrix in each iteration: elimination, shortest paths, decompositions.
-- Odd and even trip counts, few and no iterations, small matrices, reads of rows, columns, elements.

def weigh [n][m] (xs: [n][m]i32) : i64 =
  i64.sum (tabulate (n * m) (\p -> i64.i32 xs[p / m, p % m] * ((p / m * 31 + p % m * 17) % 101 + 1)))

def along (n: i64) (m: i64) (a: i64) (b: i64) (c: i64) : [n][m]i32 =
  opaque (tabulate_2d n m (\i j -> i32.i64 ((i * a + j * b + i * j % 7) % c) - 3))

-- A well-conditioned matrix whose large elements are not on the diagonal unless `step` is 1; `step`
-- and the size have no common factor.
def regular (n: i64) (step: i64) : [n][n]f64 =
  opaque (tabulate_2d n n (\i j ->
            f64.i64 ((i * 7 + j * 13 + i * j) % 17 - 8) / 4 + (if j == i * step % n then f64.i64 (4 * n) else 0)))

-- The sums of the rows of the inverse, weighted by columns.
def weigh_rows [n] (rows: [n][n]f64) : [n]f64 =
  map (\row -> f64.sum (map2 (\j x -> x * f64.i64 (j % 5 + 1)) (iota n) row)) rows

-- Gauss-Jordan elimination with pivots.
-- ==
-- entry: inverse
-- input { 40i64 7i64 }
-- output { [0.006593830298805842f64, 0.02436560154181171f64, 0.01186560154181171f64, 0.03058990910979143f64, 0.018089909109791434f64, 0.006322299078524171f64, 0.025072299078524166f64, 0.012572299078524167f64, 0.031058065436970945f64, 0.01855806543697095f64, 0.005699966459266794f64, 0.024449966459266788f64, 0.012109561949367569f64, 0.030859561949367557f64, 0.01835956194936756f64, 0.006698602270903325f64, 0.02544860227090332f64, 0.013377644379247279f64, 0.03212764437924728f64, 0.01973547131168521f64, 0.007235471311685206f64, 0.025985471311685222f64, 0.01219305578611407f64, 0.030943055786114056f64, 0.01908468749414447f64, 0.006584687494144484f64, 0.021501369177164206f64, 0.009001369177164193f64, 0.027751369177164174f64, 0.018922190195879613f64, 0.0064221901958796054f64, 0.024861398739940945f64, 0.012361398739940946f64, 0.03245506908981427f64, 0.01995506908981429f64, 0.007455069089814282f64, 0.025759764997040052f64, 0.013259764997040045f64, 0.03159383029880585f64, 0.019093830298805847f64] }
-- input { 41i64 5i64 }
-- output { [0.006408970683610641f64, 0.02435570396003013f64, 0.0067949984611719305f64, 0.018604092634830153f64, 0.030333663473711206f64, 0.011803521255750134f64, 0.03079921458604967f64, 0.012040980546881934f64, 0.02399864320696965f64, 0.006290880256511647f64, 0.01903009526662687f64, 0.005705960280140379f64, 0.01848600220773115f64, 0.03122521721784636f64, 0.012314395647993637f64, 0.024930859565275947f64, 0.01293253429101711f64, 0.02450951759921315f64, 0.006638176638446683f64, 0.017866871295181292f64, 0.02713988823469621f64, 0.01883329858966619f64, 0.030061993246400787f64, 0.008847205307866951f64, 0.023884410395514487f64, 0.006561468095082637f64, 0.02104232725908647f64, 0.00559172746868523f64, 0.018756590046302157f64, 0.030836627127890898f64, 0.011982582260123303f64, 0.03095171199752166f64, 0.012543944201061624f64, 0.024177704211342816f64, 0.005961135690500862f64, 0.018175097599381664f64, 0.00588502128451355f64, 0.018156257641720373f64, 0.030370219550601152f64, 0.012160582008810619f64, 0.025087681388001205f64] }
-- input { 33i64 2i64 }
-- output { [0.00716352723813108f64, 0.02231504238964623f64, 0.015464316055697029f64, 0.030615831207212185f64, 0.023118544611245476f64, 0.038270059762760635f64, 0.02968754680336111f64, 0.006960274076088374f64, 0.033766557709330756f64, 0.011039284982058025f64, 0.00707862247604086f64, 0.022230137627556025f64, 0.01559917608922629f64, 0.030750691240741434f64, 0.022738513400592422f64, 0.03789002855210754f64, 0.029972196938489404f64, 0.007244924211216657f64, 0.038761179469406076f64, 0.016033906742133362f64, 0.0075222267712111626f64, 0.022673741922726313f64, 0.015054771780580354f64, 0.030206286932095497f64, 0.023370298256048493f64, 0.038521813407563624f64, 0.030401737823532428f64, 0.00767446509625971f64, 0.03889211051517418f64, 0.016164837787901433f64, 0.0077983192390135795f64, 0.022949834390528744f64, 0.015821704318776664f64] }
-- input { 5i64 2i64 }
-- output { [0.058438820506429505f64, 0.2590296320066774f64, 0.09605235615977592f64, 0.2211882451746524f64, 0.13360440816173286f64] }
-- input { 1i64 1i64 }
-- output { [0.5f64] }
entry inverse (n: i64) (step: i64) : [n]f64 =
  let width = n + n
  let identity = tabulate_2d n n (\i j -> f64.bool (i == j))
  let start = map2 (\left right -> left ++ right :> [width]f64) (regular n step) identity
  let larger (i, x) (j, y) = if x > y || (x == y && i < j) then (i, x) else (j, y)
  let reduced =
    loop rows = start for k < n do
      let candidates = map (\i -> (i, if i < k then -1 else f64.abs rows[i, k])) (iota n)
      let (pivot, _) = reduce larger (n, -1) candidates
      let pivot_row = map (/ rows[pivot, k]) rows[pivot]
      in tabulate n (\i ->
           let row = if i == pivot then rows[k] else rows[i]
           in if i == k then pivot_row else map2 (\x p -> x - row[k] * p) row pivot_row)
  in weigh_rows (map (\row -> row[n:] :> [n]f64) reduced)

-- Gauss-Jordan elimination along the diagonal, in place of the matrix.
-- ==
-- entry: inverse_along_diagonal
-- input { 40i64 }
-- output { [0.006619215126859844f64, 0.012580660077355983f64, 0.018755674709506027f64, 0.02546867083609566f64, 0.027761170446533447f64, 0.00708902351948386f64, 0.012033534525060978f64, 0.018833178597798476f64, 0.02524934237941278f64, 0.031043798513556462f64, 0.0062700835857902185f64, 0.012790365021153305f64, 0.01815817204922102f64, 0.02518299833845235f64, 0.030822536715881664f64, 0.006414679442406233f64, 0.012931507793946376f64, 0.019119215126859847f64, 0.025080660077355994f64, 0.031255674709506034f64, 0.006718670836095659f64, 0.009011170446533448f64, 0.01958902351948387f64, 0.02453353452506097f64, 0.03133317859779846f64, 0.00649934237941278f64, 0.012293798513556465f64, 0.01877008358579023f64, 0.02529036502115331f64, 0.030658172049221014f64, 0.006432998338452357f64, 0.012072536715881663f64, 0.01891467944240624f64, 0.025431507793946387f64, 0.031619215126859855f64, 0.006330660077355986f64, 0.012505674709506028f64, 0.019218670836095658f64, 0.021511170446533452f64, 0.032089023519483874f64] }
-- input { 39i64 }
-- output { [0.007149263354277819f64, 0.012928248120643691f64, 0.019020880592514507f64, 0.026578421839239343f64, 0.028537287517632997f64, 0.007200358238872163f64, 0.011932955467894206f64, 0.019572693300609442f64, 0.025910804771064586f64, 0.03153572808357414f64, 0.006831021910292452f64, 0.013208234176491092f64, 0.01843779472205981f64, 0.025391856044057266f64, 0.03179605454622909f64, 0.006538734218229633f64, 0.012957531063151102f64, 0.01996977617479063f64, 0.02574876094115651f64, 0.03184139341302733f64, 0.0073476526084701125f64, 0.00930651828686378f64, 0.02002087105938499f64, 0.02475346828840703f64, 0.03239320612112225f64, 0.0066800355402953605f64, 0.012304958852804908f64, 0.019651534730805272f64, 0.026028746997003905f64, 0.03125830754257263f64, 0.006161086813288039f64, 0.01256528531545986f64, 0.019359247038742457f64, 0.025778043883663927f64, 0.03279028899530344f64, 0.006517991710387282f64, 0.012610624182258093f64, 0.020168165428982938f64, 0.0221270311073766f64] }
-- input { 3i64 }
-- output { [0.06745263915762949f64, 0.2174773882914098f64, 0.21450749223777169f64] }
entry inverse_along_diagonal (n: i64) : [n]f64 =
  weigh_rows (loop a = regular n 1 for k < n do
                tabulate_2d n n (\i j ->
                  if i == k
                  then if j == k then 1 / a[k, k] else a[k, j] / a[k, k]
                  else if j == k
                  then - a[i, k] / a[k, k]
                  else a[i, j] - a[i, k] * (a[k, j] / a[k, k])))

-- The numbers of a decomposition into triangular matrices, by updates of rank one; all of them with
-- as many steps as rows. Quotients are expensive, so that only large matrices are composed.
-- ==
-- entry: triangular
-- input { 40i64 40i64 }
-- output { 19252.263646298503f64 }
-- input { 2i64 2i64 }
-- output { 22.5625f64 }
-- input { 257i64 5i64 }
-- output { 798093.5380620263f64 }
-- input { 256i64 4i64 }
-- output { 792982.5169269269f64 }
-- input { 255i64 6i64 }
-- output { 788887.9247975259f64 }
entry triangular (n: i64) (steps: i64) : f64 =
  f64.sum (weigh_rows (loop a = regular n 1 for k < i64.min steps n do
                tabulate_2d n n (\i j ->
                  if i > k && j > k
                  then a[i, j] - a[i, k] * (a[k, j] / a[k, k])
                  else if i > k && j == k then a[i, k] / a[k, k] else a[i, j])))

-- Shortest paths through the first `steps` vertices.
-- ==
-- entry: shortest_paths
-- input { 40i64 40i64 }
-- output { -25431293326i64 }
-- input { 45i64 45i64 }
-- output { -1033062705705i64 }
-- input { 40i64 0i64 }
-- output { 3325897i64 }
-- input { 40i64 1i64 }
-- output { 3149328i64 }
-- input { 40i64 2i64 }
-- output { 2618211i64 }
-- input { 40i64 3i64 }
-- output { 2580971i64 }
-- input { 40i64 4i64 }
-- output { 2193128i64 }
-- input { 40i64 5i64 }
-- output { 2137251i64 }
-- input { 40i64 -3i64 }
-- output { 3325897i64 }
-- input { 31i64 31i64 }
-- output { -29827551i64 }
-- input { 7i64 7i64 }
-- output { 67095i64 }
-- input { 0i64 0i64 }
-- output { 0i64 }
entry shortest_paths (n: i64) (steps: i64) : i64 =
  weigh (loop d = along n n 31 17 97 for k < steps do
           tabulate_2d n n (\i j -> i32.min d[i, j] (d[i, k] + d[k, j])))

-- The same, with one iteration too many.
-- ==
-- entry: too_many
-- input { 40i64 40i32 }
-- output { -25431293326i64 }
-- input { 40i64 41i32 }
-- error: out of bounds
-- input { 40i64 43i32 }
-- error: Index \[:, 40\] out of bounds for array of shape \[40\]\[40\]
entry too_many (n: i64) (steps: i32) : i64 =
  weigh (loop d = along n n 31 17 97 for k < steps do
           let k = i64.i32 k
           let column = d[:, k]
           let row = d[k]
           in map2 (\x ds -> map2 (\d y -> i32.min d (x + y)) ds row) column d)

-- Elimination without quotients; rows above the pivot stay.
-- ==
-- entry: without_quotients
-- input { 40i64 48i64 40i64 }
-- output { -382425429578i64 }
-- input { 48i64 40i64 39i64 }
-- output { -453675794634i64 }
-- input { 40i64 20i64 10i64 }
-- output { -520954753486i64 }
-- input { 33i64 32i64 6i64 }
-- output { -5272006680i64 }
entry without_quotients (n: i64) (m: i64) (steps: i64) : i64 =
  weigh (loop a = along n m 5 3 11 for k < steps do
           map (\i -> if i <= k
                      then a[i]
                      else map2 (\x y -> x * a[k, k] - a[i, k] * y) a[i] a[k]) (iota n))

-- Each row but the last is computed from the next one of the matrix before.
-- ==
-- entry: rotated
-- input { 40i64 50i64 13i64 }
-- output { 13242363836717i64 }
-- input { 35i64 33i64 4i64 }
-- output { 30697671i64 }
entry rotated (n: i64) (m: i64) (steps: i64) : i64 =
  weigh (loop a = along n m 5 3 11 for k < steps do
           let top = a[k]
           in map (\i -> let next = i64.min (i + 1) (n - 1)
                         in map2 (\x y -> x * 3 + y) a[next] top) (iota n))

-- Only a row and a column of the matrix before are read.
-- ==
-- entry: outer_products
-- input { 40i64 50i64 11i64 }
-- output { -3210584945698i64 }
-- input { 40i64 50i64 12i64 }
-- output { -826332113131i64 }
entry outer_products (n: i64) (m: i64) (steps: i64) : i64 =
  weigh (loop a = along n m 5 3 11 for k < steps do
           tabulate_2d n m (\i j -> a[i, k] * a[k, j] + i32.i64 (i - j)))

-- A vector is updated in place, and a sum kept.
-- ==
-- entry: with_diagonal
-- input { 40i64 33i64 }
-- output { 2553662983727i64 1484689038i32 154374795137i64 }
-- input { 36i64 36i64 }
-- output { -2557954760452i64 -2015965084i32 27681670114i64 }
entry with_diagonal (n: i64) (steps: i64) : (i64, i32, i64) =
  let (a, diagonal, sum) =
    loop (a, diagonal, sum) = (along n n 5 3 11, replicate n 1i32, 0i32) for k < steps do
      let pivot = a[k, k]
      let next = map2 (\i row -> map2 (\x y -> x + diagonal[i] * y) row a[k]) (iota n) a
      in (next, copy diagonal with [k] = pivot + diagonal[0], sum * 3 + a[n - 1, k])
  in (weigh a, sum, i64.sum (map2 (\i x -> i64.i32 x * (i + 1)) (iota n) diagonal))

-- The matrix before the last iteration is returned as well.
-- ==
-- entry: last_two
-- input { 40i64 9i64 }
-- output { 79756712i64 39873063i64 }
-- input { 40i64 0i64 }
-- output { 161811i64 161811i64 }
entry last_two (n: i64) (steps: i64) : (i64, i64) =
  let start = along n n 5 3 11
  let (a, b) = loop (a, _) = (start, start) for k < steps do (map (map2 (+) a[k]) a, a)
  in (weigh a, weigh b)

-- Two matrices; the second one reads columns of the first.
-- ==
-- entry: two_matrices
-- input { 40i64 44i64 15i64 }
-- output { 1068236298538i64 9098306510947i64 }
entry two_matrices (n: i64) (m: i64) (steps: i64) : (i64, i64) =
  let (a, b) =
    loop (a, b) = (along n n 5 3 11, along m n 3 7 13) for k < steps do
      (map (\row -> map2 (\x y -> x * 3 - y * row[k]) row a[k]) a,
       map (\row -> map2 (\x y -> x + y) row a[:, k]) b)
  in (weigh a, weigh b)

-- A pivot is chosen by the elements of a column, from an array of candidates that may fail.
-- ==
-- entry: chosen
-- input { 40i64 21i64 40i64 }
-- output { 40052187i64 }
-- input { 40i64 21i64 4i64 }
-- error: out of bounds
entry chosen (n: i64) (steps: i64) (limit: i64) : i64 =
  weigh (loop a = along n n 5 3 11 for k < steps do
           let least = i32.minimum (map (\row -> row[k] & 63) a)
           let row = if i64.i32 least < limit && k < limit then k else n
           let chosen = a[row]
           in map (\row -> map2 (\x y -> (x - y + least) & 1023) row chosen) a)

-- Neighbours are read, so iterations are not composed.
-- ==
-- entry: averages
-- input { 40i64 36i64 9i64 }
-- output { -29098i64 }
entry averages (n: i64) (m: i64) (steps: i64) : i64 =
  weigh (loop a = along n m 5 3 11 for _k < steps do
           tabulate_2d n m (\i j ->
             if i == 0 || j == 0 || i == n - 1 || j == m - 1
             then a[i, j]
             else (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4))

-- Rows are scaled by the pivot's inverse: the elements of an iteration are products.
-- ==
-- entry: inverse_by_products
-- input { 40i64 }
-- output { [0.006619215126859844f64, 0.012580660077355983f64, 0.018755674709506027f64, 0.02546867083609566f64, 0.027761170446533447f64, 0.00708902351948386f64, 0.012033534525060978f64, 0.018833178597798476f64, 0.02524934237941278f64, 0.031043798513556462f64, 0.0062700835857902185f64, 0.012790365021153305f64, 0.01815817204922102f64, 0.02518299833845235f64, 0.030822536715881664f64, 0.006414679442406233f64, 0.012931507793946376f64, 0.019119215126859847f64, 0.025080660077355994f64, 0.031255674709506034f64, 0.006718670836095659f64, 0.009011170446533448f64, 0.01958902351948387f64, 0.02453353452506097f64, 0.03133317859779846f64, 0.00649934237941278f64, 0.012293798513556465f64, 0.01877008358579023f64, 0.02529036502115331f64, 0.030658172049221014f64, 0.006432998338452357f64, 0.012072536715881663f64, 0.01891467944240624f64, 0.025431507793946387f64, 0.031619215126859855f64, 0.006330660077355986f64, 0.012505674709506028f64, 0.019218670836095658f64, 0.021511170446533452f64, 0.032089023519483874f64] }
-- input { 38i64 }
-- output { [0.007074573763616752f64, 0.013429625797872836f64, 0.019454329711125515f64, 0.0269850707392658f64, 0.029308335538566734f64, 0.007284680032330277f64, 0.01252639326781237f64, 0.020185228921033603f64, 0.0264333695737993f64, 0.032635377582493276f64, 0.007051240459036334f64, 0.013386994325944614f64, 0.01913807533111054f64, 0.026061382739911064f64, 0.03240800993512844f64, 0.006877227038218659f64, 0.013262915574311711f64, 0.02023246850045886f64, 0.026587520534714946f64, 0.03261222444796761f64, 0.007248228634002646f64, 0.009571493433303581f64, 0.020442574769172373f64, 0.02568428800465447f64, 0.03334312365787571f64, 0.006696527468536143f64, 0.012898535477230137f64, 0.02020913519587844f64, 0.02654488906278672f64, 0.032295970067952644f64, 0.006324540634647907f64, 0.01267116782986529f64, 0.02003512177506076f64, 0.02642081031115383f64, 0.03339036323730098f64, 0.006850678429451784f64, 0.012875382342704455f64, 0.020406123370844746f64] }
entry inverse_by_products (n: i64) : [n]f64 =
  weigh_rows (loop a = regular n 1 for k < n do
                let factor = 1 / a[k, k]
                in tabulate_2d n n (\i j ->
                     if i == k
                     then if j == k then factor else a[k, j] * factor
                     else if j == k then - a[i, k] * factor else a[i, j] - a[i, k] * (a[k, j] * factor)))
