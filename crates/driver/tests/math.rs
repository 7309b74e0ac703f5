//! Mathematical functions as operations: the table of costs, the bits of the definitions, programs
//! with many of them.

use analysis::cost;
use driver::{Ir, Options, Session, Stage};
use ir::{MathDefinition, Program, Soacs};
use prim::{MathFun, PrimType, Scalar, eval};
use std::fmt::Write;
use target::time;

/// A loader with one file.
struct Text(String);

impl check::Loader for Text {
    fn load(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.clone().into_bytes())
    }
}

/// The program after a stage.
fn compiled(text: &str, stage: &str) -> Ir {
    let options = Options { cpu: "x86-64-v3".to_owned(), threads: 1, ..Options::default() };
    let mut session = Session::new("program.fut", options);
    let typed = session.check(&mut Text(text.to_owned()));
    let typed = typed.unwrap_or_else(|failure| panic!("{:?}", failure.0));
    let ir = session.lower(&typed).unwrap_or_else(|failure| panic!("{:?}", failure.0));
    let stage = Stage::from_name(stage).expect("the stage exists");
    session.run_passes(ir, stage, &mut ()).unwrap_or_else(|failure| panic!("{:?}", failure.0))
}

fn soacs(text: &str, stage: &str) -> Program<Soacs> {
    match compiled(text, stage) {
        Ir::Soacs(program) => program,
        _ => panic!("{stage} is not a stage of combinators"),
    }
}

/// A program with each function that has definitions, at both types.
fn all_functions() -> String {
    let mut text = "module libm32 = import \"/prelude/libm32\"
module libm64 = import \"/prelude/libm64\"
module special32 = import \"/prelude/special32\"
module special64 = import \"/prelude/special64\"
"
    .to_owned();
    for fun in MathFun::ALL {
        for ty in [PrimType::F32, PrimType::F64].into_iter().filter(|ty| fun.has_definition(*ty)) {
            let name = fun.name();
            let module = match fun {
                MathFun::Exp2 | MathFun::Exp10 | MathFun::Expm1 => format!("libm{}", 8 * ty.size()),
                MathFun::Digamma | MathFun::Trigamma | MathFun::Tetragamma => {
                    format!("special{}", 8 * ty.size())
                }
                _ => ty.to_string(),
            };
            let _ = match fun.arity() {
                _ if *fun == MathFun::Pow => writeln!(text, "entry {name}_{ty} (x: {ty}) (y: {ty}) = x ** y"),
                1 => writeln!(text, "entry {name}_{ty} (x: {ty}) = {module}.{name} x"),
                _ => writeln!(text, "entry {name}_{ty} (x: {ty}) (y: {ty}) = {module}.{name} x y"),
            };
        }
    }
    text
}

#[test]
fn the_table_of_costs_is_that_of_the_definitions() {
    let program = soacs(&all_functions(), "math-definitions");
    assert_eq!(program.math.iter().len(), 76);
    let mut wrong = Vec::new();
    for MathDefinition { fun, ty, function } in program.math.iter() {
        let (own, table) = (cost::body(&function.body).total(), time::math(*fun, *ty));
        if own != table {
            wrong.push(format!("{}: {own}, not {table}", fun.spelling(*ty)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The definitions are close to the functions of the library: each is the one that it claims to be.
#[test]
fn definitions_compute_their_functions() {
    let program = soacs(&all_functions(), "math-definitions");
    for definition in program.math.iter() {
        for (x, y) in [(0.5, 0.75), (0.25, 1.5), (0.875, 2.0)] {
            let x = if definition.fun == MathFun::Acosh { x + 1.0 } else { x };
            let args = [x, y].map(|x: f64| match definition.ty {
                PrimType::F32 => Scalar::F32(x as f32),
                _ => Scalar::F64(x),
            });
            let args = &args[..definition.fun.arity()];
            let own = definition.evaluate(args).expect("the definition has a value");
            let library = eval::math(definition.fun, args).expect("the library has the function");
            let near = match (own, library) {
                (Scalar::F32(a), Scalar::F32(b)) => (a - b).abs() <= 1e-5 * b.abs().max(1.0),
                (Scalar::F64(a), Scalar::F64(b)) => (a - b).abs() <= 1e-13 * b.abs().max(1.0),
                _ => false,
            };
            assert!(near, "{} {args:?}: {own:?}, library {library:?}", definition.function.name);
        }
    }
}

#[test]
fn definitions_are_lowered_once_and_expanded_late() {
    let text = "entry main (xs: []f64) = map (\\x -> f64.sin x + f64.sin (x + 1) + f64.exp x) xs";
    let lowered = soacs(text, "math-definitions");
    assert_eq!(lowered.math.iter().len(), 2);
    let before = compiled(text, "simplify-2").print();
    let after = compiled(text, "expand-math").print();
    assert_eq!(before.matches("= math.sin.f64 ").count(), 2, "{before}");
    assert!(!after.contains("= math."), "{after}");
}

/// The number of statements after expansion of a function with this many uses.
fn expanded(uses: usize) -> usize {
    let mut text = "entry main (x0: f64) : f64 =\n".to_owned();
    for i in 0..uses {
        let fun = ["sin", "exp", "log"][i % 3];
        let _ = writeln!(text, "  let x{} = f64.{fun} (x{i} + {i})", i + 1);
    }
    let _ = writeln!(text, "  in x{uses}");
    compiled(&text, "expand-math").statements().expect("not the imperative IR")
}

#[test]
fn expansion_grows_with_the_number_of_uses() {
    let (few, many) = (expanded(30), expanded(300));
    assert!(many <= 11 * few, "{few} statements of 30 uses, {many} of 300");
}
