//! The mathematical functions that generated code calls, one symbol for each function and float
//! type. They are the functions of `prim::eval`, so that compiled code and evaluators agree bit for
//! bit.

use half::f16;
use prim::{MathFun, Scalar, eval};

/// A symbol and its address.
pub type Symbol = (&'static str, *const ());

macro_rules! one {
    ($($module:ident $name:literal $fun:ident;)*) => {
        $(mod $module {
            use super::{MathFun, eval, half1};

            #[unsafe(export_name = concat!("br_math_", $name, "_f16"))]
            pub extern "C" fn f16(x: u16) -> u16 {
                half1(MathFun::$fun, x)
            }

            #[unsafe(export_name = concat!("br_math_", $name, "_f32"))]
            pub extern "C" fn f32(x: f32) -> f32 {
                eval::math1_f32(MathFun::$fun, x).unwrap_or(f32::NAN)
            }

            #[unsafe(export_name = concat!("br_math_", $name, "_f64"))]
            pub extern "C" fn f64(x: f64) -> f64 {
                eval::math1_f64(MathFun::$fun, x).unwrap_or(f64::NAN)
            }
        })*

        const ONE: &[Symbol] = &[$(
            (concat!("br_math_", $name, "_f16"), $module::f16 as *const ()),
            (concat!("br_math_", $name, "_f32"), $module::f32 as *const ()),
            (concat!("br_math_", $name, "_f64"), $module::f64 as *const ()),
        )*];
    };
}

macro_rules! two {
    ($($module:ident $name:literal $fun:ident;)*) => {
        $(mod $module {
            use super::{MathFun, eval, half2};

            #[unsafe(export_name = concat!("br_math_", $name, "_f16"))]
            pub extern "C" fn f16(x: u16, y: u16) -> u16 {
                half2(MathFun::$fun, x, y)
            }

            #[unsafe(export_name = concat!("br_math_", $name, "_f32"))]
            pub extern "C" fn f32(x: f32, y: f32) -> f32 {
                eval::math2_f32(MathFun::$fun, x, y).unwrap_or(f32::NAN)
            }

            #[unsafe(export_name = concat!("br_math_", $name, "_f64"))]
            pub extern "C" fn f64(x: f64, y: f64) -> f64 {
                eval::math2_f64(MathFun::$fun, x, y).unwrap_or(f64::NAN)
            }
        })*

        const TWO: &[Symbol] = &[$(
            (concat!("br_math_", $name, "_f16"), $module::f16 as *const ()),
            (concat!("br_math_", $name, "_f32"), $module::f32 as *const ()),
            (concat!("br_math_", $name, "_f64"), $module::f64 as *const ()),
        )*];
    };
}

fn half1(fun: MathFun, x: u16) -> u16 {
    half_bits(eval::math(fun, &[Scalar::F16(f16::from_bits(x))]))
}

fn half2(fun: MathFun, x: u16, y: u16) -> u16 {
    let [x, y] = [x, y].map(|bits| Scalar::F16(f16::from_bits(bits)));
    half_bits(eval::math(fun, &[x, y]))
}

fn half_bits(result: Option<Scalar>) -> u16 {
    result.map_or(f16::NAN.to_bits(), |x| x.bits() as u16)
}

one! {
    exp "exp" Exp;
    exp2 "exp2" Exp2;
    exp10 "exp10" Exp10;
    expm1 "expm1" Expm1;
    log "log" Log;
    log2 "log2" Log2;
    log10 "log10" Log10;
    log1p "log1p" Log1p;
    sin "sin" Sin;
    cos "cos" Cos;
    tan "tan" Tan;
    asin "asin" Asin;
    acos "acos" Acos;
    atan "atan" Atan;
    sinpi "sinpi" Sinpi;
    cospi "cospi" Cospi;
    tanpi "tanpi" Tanpi;
    asinpi "asinpi" Asinpi;
    acospi "acospi" Acospi;
    atanpi "atanpi" Atanpi;
    sinh "sinh" Sinh;
    cosh "cosh" Cosh;
    tanh "tanh" Tanh;
    asinh "asinh" Asinh;
    acosh "acosh" Acosh;
    atanh "atanh" Atanh;
    cbrt "cbrt" Cbrt;
    erf "erf" Erf;
    erfc "erfc" Erfc;
    gamma "gamma" Gamma;
    lgamma "lgamma" Lgamma;
    digamma "digamma" Digamma;
    trigamma "trigamma" Trigamma;
    tetragamma "tetragamma" Tetragamma;
}

two! {
    atan2 "atan2" Atan2;
    atan2pi "atan2pi" Atan2pi;
    pow "pow" Pow;
    hypot "hypot" Hypot;
    nextafter "nextafter" Nextafter;
    copysign "copysign" Copysign;
    ldexp "ldexp" Ldexp;
}

/// Every symbol of this module.
pub fn symbols() -> impl Iterator<Item = Symbol> {
    ONE.iter().chain(TWO).copied()
}

#[cfg(test)]
mod tests {
    use super::symbols;
    use prim::{MathFun, PrimType, Scalar, eval};

    /// Calls a symbol on words, by its type and arity.
    fn call(address: *const (), ty: PrimType, args: &[Scalar]) -> Scalar {
        macro_rules! by_type {
            ($rust:ty, $bits:expr, $back:expr) => {{
                // SAFETY: the test pairs names with addresses of this signature.
                let result: $rust = unsafe {
                    match *args {
                        [x] => std::mem::transmute::<*const (), extern "C" fn($rust) -> $rust>(address)(
                            $bits(x.bits()),
                        ),
                        [x, y] => std::mem::transmute::<*const (), extern "C" fn($rust, $rust) -> $rust>(
                            address,
                        )($bits(x.bits()), $bits(y.bits())),
                        _ => unreachable!("functions take one or two arguments"),
                    }
                };
                Scalar::from_bits(ty, $back(result))
            }};
        }
        match ty {
            PrimType::F16 => by_type!(u16, |b| b as u16, u64::from),
            PrimType::F32 => by_type!(f32, |b| f32::from_bits(b as u32), |x: f32| { x.to_bits().into() }),
            PrimType::F64 => by_type!(f64, f64::from_bits, f64::to_bits),
            _ => unreachable!("only floats"),
        }
    }

    #[test]
    fn every_function_has_its_symbols_and_the_bits_of_the_evaluators() {
        let table: Vec<_> = symbols().collect();
        assert_eq!(table.len(), MathFun::ALL.len() * 3);
        for &fun in MathFun::ALL {
            for ty in [PrimType::F16, PrimType::F32, PrimType::F64] {
                let name = format!("br_math_{}_{ty}", fun.name());
                let &(_, address) = table
                    .iter()
                    .find(|(symbol, _)| *symbol == name)
                    .unwrap_or_else(|| panic!("{name} is missing"));
                for x in [-2.5, 0.0, 0.3, 1.0, 7.0] {
                    let args = [x, 2.0].map(|x| match ty {
                        PrimType::F16 => Scalar::F16(half::f16::from_f64(x)),
                        PrimType::F32 => Scalar::F32(x as f32),
                        _ => Scalar::F64(x),
                    });
                    let args = &args[..fun.arity()];
                    let expected = eval::math(fun, args).expect("the table has the function");
                    assert_eq!(call(address, ty, args), expected, "{name} {args:?}");
                }
            }
        }
    }
}
