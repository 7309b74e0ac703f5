-- Lookups of macroscopic cross sections as in XSBench (Tramm et al. 2014): for each nuclide of a material a binary
-- search in the nuclide's energies, and linear interpolation of five cross sections. The derivative of the sum of all
-- lookups is by cross sections and number densities. Materials have the nuclides `first[material]` up to
-- `first[material + 1]` of `members`.

-- The greatest index of an energy at most `x`, but the last.
def find [g] (energies: [g]f64) (x: f64) : i64 =
  let (low, _) =
    loop (low, high) = (0, g - 1) while high - low > 1 do
      let middle = (low + high) / 2
      in if energies[middle] > x then (low, middle) else (middle, high)
  in low

def micro [g] (energies: [g]f64) (table: [g][5]f64) (x: f64) : [5]f64 =
  let i = find energies x
  let share = (x - energies[i]) / (energies[i + 1] - energies[i])
  in map2 (\a b -> a + share * (b - a)) table[i] table[i + 1]

def macro [u][g][q][r] (energies: [u][g]f64) (first: [r]i32) (members: [q]i32)
                       (tables: [u][g][5]f64) (densities: [q]f64) (x: f64) (material: i32) : [5]f64 =
  loop sums = replicate 5 0 for i in i64.i32 first[material]..<i64.i32 first[material + 1] do
    let nuclide = members[i]
    in map2 (\sum section -> sum + densities[i] * section) sums (micro energies[nuclide] tables[nuclide] x)

def lookups [n][u][g][q][r] (xs: [n]f64) (materials: [n]i32) (energies: [u][g]f64) (first: [r]i32) (members: [q]i32)
                            (tables: [u][g][5]f64, densities: [q]f64) : f64 =
  let lookup x material =
    let s = macro energies first members tables densities x material
    in s[0] + s[1] + s[2] + s[3] + s[4]
  in f64.sum (map2 lookup xs materials)

entry primal [n][u][g][q][r] (xs: [n]f64) (materials: [n]i32) (energies: [u][g]f64) (first: [r]i32) (members: [q]i32)
                             (tables: [u][g][5]f64) (densities: [q]f64) : f64 =
  lookups xs materials energies first members (tables, densities)

entry derivative [n][u][g][q][r] (xs: [n]f64) (materials: [n]i32) (energies: [u][g]f64) (first: [r]i32)
                                 (members: [q]i32) (tables: [u][g][5]f64) (densities: [q]f64)
  : ([u][g][5]f64, [q]f64) =
  vjp (lookups xs materials energies first members) (tables, densities) 1
