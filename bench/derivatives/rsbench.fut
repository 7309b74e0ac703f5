-- Lookups of macroscopic cross sections from multipole data without Doppler broadening as in RSBench (Tramm et al.
-- 2014). A nuclide has windows of energies; a window has three coefficients of a fit and four poles. A pole has complex
-- numbers: its location and residues of the total, absorption and fission cross sections. The derivative of the sum of
-- all lookups is by poles, fits, pseudo radii and number densities. Materials have the nuclides `first[material]` up to
-- `first[material + 1]` of `members`.

type complex = (f64, f64)

def times (a: complex) (b: complex) : complex = (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)

-- The real part of a product.
def real (a: complex) (b: complex) : f64 = a.0 * b.0 - a.1 * b.1

def inverse (a: complex) : complex =
  let square = a.0 * a.0 + a.1 * a.1
  in (a.0 / square, -a.1 / square)

-- The derivative of `atan` in the reference compiler 0.25.32 is wrong.
def arctan (x: f64) : f64 = f64.asin (x / f64.sqrt (1 + x * x))

-- The phase factor of an angular momentum.
def phase (radius: f64) (root: f64) (l: i32) : complex =
  let phi = radius * root
  let phi =
    if l == 0 then phi
    else if l == 1 then phi - arctan phi
    else if l == 2 then phi - arctan (3 * phi / (3 - phi * phi))
    else phi - arctan (phi * (15 - phi * phi) / (15 - 6 * phi * phi))
  in (f64.cos (2 * phi), -f64.sin (2 * phi))

def micro [w] (poles: [w][4][8]f64) (momenta: [w][4]i32) (fits: [w][3]f64) (radii: [4]f64) (x: f64)
  : (f64, f64, f64) =
  let root = f64.sqrt x
  let window = i64.min (i64.f64 (root * f64.i64 w)) (w - 1)
  let fit = fits[window]
  in loop (total, absorption, fission) = (x * fit[0], x * fit[1], x * fit[2]) for i < 4i32 do
       let pole = poles[window, i]
       let l = momenta[window, i]
       let (re, im) = inverse (pole[0] - root, pole[1])
       let part = (-im / x, re / x)
       in ( total + real (pole[2], pole[3]) (times part (phase radii[l] root l))
          , absorption + real (pole[4], pole[5]) part
          , fission + real (pole[6], pole[7]) part
          )

type parameters [u][w][q] = {poles: [u][w][4][8]f64, fits: [u][w][3]f64, radii: [u][4]f64, densities: [q]f64}

def macro [u][w][q][r] (momenta: [u][w][4]i32) (first: [r]i32) (members: [q]i32) (p: parameters [u][w][q])
                       (x: f64) (material: i32) : f64 =
  loop sum = 0 for i in i64.i32 first[material]..<i64.i32 first[material + 1] do
    let nuclide = members[i]
    let (total, absorption, fission) =
      micro p.poles[nuclide] momenta[nuclide] p.fits[nuclide] p.radii[nuclide] x
    in sum + p.densities[i] * (total + absorption + fission)

def lookups [n][u][w][q][r] (xs: [n]f64) (materials: [n]i32) (momenta: [u][w][4]i32) (first: [r]i32)
                            (members: [q]i32) (p: parameters [u][w][q]) : f64 =
  f64.sum (map2 (macro momenta first members p) xs materials)

entry primal [n][u][w][q][r] (xs: [n]f64) (materials: [n]i32) (momenta: [u][w][4]i32) (first: [r]i32)
                             (members: [q]i32) (poles: [u][w][4][8]f64) (fits: [u][w][3]f64) (radii: [u][4]f64)
                             (densities: [q]f64) : f64 =
  lookups xs materials momenta first members {poles, fits, radii, densities}

entry derivative [n][u][w][q][r] (xs: [n]f64) (materials: [n]i32) (momenta: [u][w][4]i32) (first: [r]i32)
                                 (members: [q]i32) (poles: [u][w][4][8]f64) (fits: [u][w][3]f64) (radii: [u][4]f64)
                                 (densities: [q]f64) : ([u][w][4][8]f64, [u][w][3]f64, [u][4]f64, [q]f64) =
  let d = vjp (lookups xs materials momenta first members) {poles, fits, radii, densities} 1
  in (d.poles, d.fits, d.radii, d.densities)
