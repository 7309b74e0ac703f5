//! Tests fused multiply-adds of processors without the instruction against the C library's: bit for
//! bit, in vectors and as scalars, for operands of all sizes, for sums in the middle of two floats
//! and next to it, and for infinities and NaNs.

use crate::common::cases::is_nan;
use crate::common::vectors::{Random, array, export, run, unit};
use crate::common::{self, Fun, entry_fn, jit, machines, mul, v};
use imp::{Access, Expr, Program, Stmt, VarType};
use prim::{BinOp, PrimType, Scalar, ScalarOp, eval};

/// Scalar, inline vector code, and vector code in a function.
const WIDTHS: [u32; 3] = [1, 8, 32];
/// A multiple of all widths.
const LANES: u32 = 32;

/// `out[i] = fma (x[i], y[i], z[i])`, in vectors and as scalars, and the same with `x` for `y`,
/// which has code of its own.
fn program(ty: PrimType) -> Program {
    let mut program = Program { source_name: "fma".into(), ..Program::default() };
    for (lanes, square) in WIDTHS.into_iter().flat_map(|n| [(n, false), (n, true)]) {
        let mut f = Fun::default();
        let (out, n) = f.array("out");
        let buffers = ["x", "y", "z"].map(|name| f.array(name).0);
        let i = f.int("i");
        let of = match lanes {
            1 => VarType::Scalar(ty),
            _ => VarType::Vector(ty, lanes),
        };
        let vars = ["x", "y", "z"].map(|name| f.var(name, of));
        let position = || mul(v(i), Expr::i64(i64::from(lanes)));
        let element = |buffer| Access { buffer, elem: ty, offset: v(i), dims: Vec::new() };
        let mut body = Vec::new();
        for (var, buffer) in vars.iter().zip(buffers) {
            body.push(match lanes {
                1 => Stmt::Load(*var, element(buffer)),
                _ => Stmt::LoadLanes { var: *var, from: unit(buffer, ty, lanes, position()), mask: None },
            });
        }
        let [x, y, z] = vars.map(|var| Box::new(v(var)));
        let value = Expr::Scalar(ScalarOp::Fma(ty, x.clone(), if square { x } else { y }, z));
        body.push(match lanes {
            1 => Stmt::Store(element(out), value),
            _ => Stmt::StoreLanes { to: unit(out, ty, lanes, position()), value, mask: None },
        });
        let count = Expr::i64(i64::from(lanes));
        let count = common::bin(BinOp::SQuot, PrimType::I64, v(n), count);
        let body = vec![common::seq(false, i, Expr::i64(0), count, body)];
        export(
            &mut program,
            f.finish(&name(lanes, square), body),
            &std::array::from_fn::<_, 4, _>(|_| array(ty)),
        );
    }
    program
}

fn name(lanes: u32, square: bool) -> String {
    format!("{}{lanes}", if square { "square" } else { "fma" })
}

/// Operands as bits of the float type.
struct Operands {
    ty: PrimType,
    random: Random,
    rows: Vec<[u64; 3]>,
}

impl Operands {
    fn bits(&mut self) -> u64 {
        self.random.scalar(PrimType::I64).bits()
    }

    /// The numbers of bits of the fraction and of the exponent.
    fn sizes(&self) -> (u32, u32) {
        match self.ty {
            PrimType::F64 => (52, 11),
            PrimType::F32 => (23, 8),
            _ => (10, 5),
        }
    }

    /// A float from its sign, biased exponent and fraction.
    fn float(&self, sign: u64, exponent: i64, fraction: u64) -> u64 {
        let (low, high) = self.sizes();
        let exponent = exponent.clamp(0, (1 << high) - 1) as u64;
        (sign & 1) << (low + high) | exponent << low | fraction & ((1 << low) - 1)
    }

    /// A fraction: random, with few bits at either end, or next to a power of two.
    fn fraction(&mut self) -> u64 {
        let (low, _) = self.sizes();
        let bits = self.bits();
        let shift = self.bits() % u64::from(low);
        match self.bits() % 6 {
            0 => bits << shift,
            1 => bits & ((1 << shift) - 1),
            2 => 1 << shift,
            3 => (1 << shift) - 1,
            4 => (bits & 3).wrapping_sub(2),
            _ => bits,
        }
    }

    /// A float of any size, or a special one.
    fn any(&mut self) -> u64 {
        let (_, high) = self.sizes();
        let top = (1 << high) - 1;
        let (sign, fraction) = (self.bits(), self.fraction());
        let exponent = match self.bits() % 16 {
            0 => 0,
            1 => top,
            2 => top - 1,
            3 => 1,
            _ => (self.bits() % (1 << high)) as i64,
        };
        let fraction = if self.bits().is_multiple_of(8) { 0 } else { fraction };
        self.float(sign, exponent, fraction)
    }

    /// A third operand near a rounding boundary: a limited number of bits above or below the
    /// product, or the difference between the product and a middle of two floats.
    fn near(&mut self, x: u64, y: u64) -> u64 {
        let (low, high) = self.sizes();
        let bias = (1 << (high - 1)) - 1;
        let exponent = |bits: u64| ((bits >> low) & ((1 << high) - 1)) as i64;
        let product = exponent(x) + exponent(y) - bias;
        let far = 3 * i64::from(low);
        let distance = (self.bits() % (2 * far as u64 + 1)) as i64 - far;
        let (sign, fraction) = (self.bits(), self.fraction());
        self.float(sign, product + distance, fraction)
    }

    fn add(&mut self, x: u64, y: u64, z: u64) {
        self.rows.push([x, y, z]);
    }
}

fn value(ty: PrimType, bits: u64) -> Scalar {
    Scalar::from_bits(ty, bits)
}

fn operands(ty: PrimType, count: usize) -> Vec<[u64; 3]> {
    let random = Random(11);
    let mut all = Operands { ty, random, rows: Vec::new() };
    let (low, high) = all.sizes();
    let one = all.float(0, (1 << (high - 1)) - 1, 0);
    // Special operands in all combinations.
    let top = (1 << high) - 1;
    let ends = [0, 1, 2, top / 2, top / 2 + 1, top - 1, top];
    let mut special = Vec::new();
    for exponent in ends {
        for fraction in [0, 1, u64::MAX] {
            for sign in [0, 1] {
                special.push(all.float(sign, exponent, fraction));
            }
        }
    }
    for &x in &special {
        for &y in &special {
            for &z in &special {
                all.add(x, y, z);
            }
        }
    }
    while all.rows.len() < count {
        let (x, y) = (all.any(), all.any());
        let z = all.any();
        all.add(x, y, z);
        let z = all.near(x, y);
        all.add(x, y, z);
        // Around the middle of two floats: z is m ulp and x y half an ulp, more or less by the
        // difference of y from a power of two.
        let scale = (all.bits() % (1 << high)) as i64;
        let (m, s, few) = (all.fraction(), all.bits(), all.bits() % 3);
        let z = all.float(s >> 1, scale, m);
        let below = i64::from(low) + (all.bits() % 3) as i64;
        let x = all.float(s >> 2, scale - below, 0);
        let y = one.wrapping_add(few).wrapping_sub(1);
        all.add(x, y, z);
        // The negated product, slightly off: the result is near the product's rounding error.
        let (x, y) = (all.any(), all.any());
        if let Some(p) = eval::binary(BinOp::FMul, value(ty, x), value(ty, y)) {
            let sign = 1 << (low + high);
            let off = (all.bits() % 5).wrapping_sub(2);
            all.add(x, y, p.bits() ^ sign);
            all.add(x, y, (p.bits() ^ sign).wrapping_add(off) & (sign | (sign - 1)));
        }
        // The same for a square, which has code of its own.
        let z = all.near(x, x);
        all.add(x, x, z);
        if let Some(p) = eval::binary(BinOp::FMul, value(ty, x), value(ty, x)) {
            all.add(x, x, p.bits() ^ (1 << (low + high)));
        }
        // Small numbers, whose sums are exact or nearly exact.
        let small = |all: &mut Operands| {
            let n = all.bits() % 4096;
            let shift = (all.bits() % 64) as i32 - 40;
            match ty {
                PrimType::F64 => (n as f64 * f64::powi(2.0, shift)).to_bits(),
                PrimType::F32 => u64::from((n as f32 * f32::powi(2.0, shift)).to_bits()),
                _ => u64::from(half::f16::from_f64(n as f64 * f64::powi(2.0, shift)).to_bits()),
            }
        };
        let (x, y, z) = (small(&mut all), small(&mut all), small(&mut all));
        all.add(x, y, z);
    }
    let whole = all.rows.len() / LANES as usize * LANES as usize;
    all.rows.truncate(whole);
    all.rows
}

fn column(rows: &[[u64; 3]], at: usize, size: usize) -> Vec<u8> {
    let bytes = rows.iter().map(|row| row[at].to_le_bytes());
    bytes.flat_map(|bytes| bytes[..size].to_vec()).collect()
}

#[test]
fn products_and_sums_are_rounded_once() {
    for (ty, count) in [(PrimType::F64, 1_000_000), (PrimType::F32, 1_000_000), (PrimType::F16, 300_000)] {
        let rows = operands(ty, count);
        let size = ty.size() as usize;
        let wanted = [false, true].map(|square| {
            let of = |row: &[u64; 3]| {
                let [x, y, z] = row.map(|bits| value(ty, bits));
                eval::fma(x, if square { x } else { y }, z).expect("fma is defined for floats")
            };
            rows.iter().map(of).collect::<Vec<Scalar>>()
        });
        let columns = [0, 1, 2].map(|at| column(&rows, at, size));
        let program = program(ty);
        for cpu in machines().into_iter().filter(|cpu| *cpu != "native") {
            let jit = jit(&program, cpu);
            for lanes in WIDTHS {
                for (wanted, square) in wanted.iter().zip([false, true]) {
                    let code = entry_fn(&jit, &name(lanes, square));
                    let mut out = vec![0u8; rows.len() * size];
                    let n = rows.len() as u64;
                    let mut words = vec![out.as_mut_ptr() as u64, n];
                    words.extend(columns.iter().flat_map(|c| [c.as_ptr() as u64, n]));
                    // SAFETY: the code does not access its context; the words are as described.
                    unsafe { run(code, &words) };
                    for (at, (got, wanted)) in out.chunks(size).zip(wanted).enumerate() {
                        let mut bits = [0; 8];
                        bits[..size].copy_from_slice(got);
                        let got = value(ty, u64::from_le_bytes(bits));
                        let same = got == *wanted || is_nan(got) && is_nan(*wanted);
                        let [x, y, z] = rows[at];
                        assert!(
                            same,
                            "{cpu}, {}: {x:x} {y:x} {z:x} give {got:?}, not {wanted:?}",
                            name(lanes, square)
                        );
                    }
                }
            }
        }
    }
}
