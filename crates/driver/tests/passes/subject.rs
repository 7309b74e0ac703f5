//! A program at any level, for the tests of passes: parsed, checked, run.

use super::arguments::{Param, Sizes, arguments, signature_of};
use driver::{Ir, PassInfo};
use ir::eval::{ErrorClass, EvalError, EvalValue};
use ir::syntax::{EntryPoint, EntryType, FunKind, OpaqueTypes};
use ir::text::{self, TextLevel};
use ir::tunable::{Listener, Settings};
use ir::verify::{self, VerifyLevel};
use ir::{Context, FunId, Level, Mems, Program, Segs, Soacs};
use prim::Scalar;

/// The outcome of a call of an entry point: results, or `None` if the program fails.
type Outcome = Option<Vec<EvalValue>>;

/// A program, with entry points for its functions if it had none.
pub struct TestProgram {
    /// The program itself.
    pub ir: Ir,
    generated_entries: bool,
}

/// Prefixes a problem with its context.
pub fn problem_at(at: &str, result: Result<(), String>) -> Result<(), String> {
    result.map_err(|problem| format!("{at}: {problem}"))
}

fn parse<L: TextLevel>(source: &str) -> Result<(Program<L>, bool), String> {
    let mut program = text::parse::<L>(source).map_err(|e| e.to_string())?;
    let made_entries = program.entries.is_empty();
    if made_entries {
        let functions = program.functions.iter().enumerate();
        let functions = functions.filter(|(_, function)| function.kind == FunKind::Function);
        let entries = functions.map(|(at, function)| {
            let signature = signature_of(function, &mut program.opaques)?;
            Ok(EntryPoint { fun: FunId::new(at), signature })
        });
        program.entries = entries.collect::<Result<_, String>>()?;
    }
    Ok((program, made_entries))
}

fn check<L: TextLevel + VerifyLevel>(program: &Program<L>) -> Result<(), String> {
    verify::verify(program).map_err(|errors| verify::listing(program, &errors))?;
    let printed = text::print(program);
    match text::parse::<L>(&printed) {
        Ok(parsed) if parsed == *program => Ok(()),
        Ok(_) => Err(format!("the printed program parses to another program\n{printed}")),
        Err(error) => Err(format!("the printed program does not parse: {error}\n{printed}")),
    }
}

fn check_imp(program: &imp::Program) -> Result<(), String> {
    let printed = imp::print(program);
    imp::verify(program).map_err(|errors| format!("{errors:?}\n{printed}"))?;
    match imp::parse(&printed) {
        Ok(parsed) if parsed == *program => Ok(()),
        Ok(_) => Err(format!("the printed program parses to another program\n{printed}")),
        Err(error) => Err(format!("the printed program does not parse: {error}\n{printed}")),
    }
}

/// Equality of outcomes, of floats up to a relative difference.
fn same_outcome(expected: &Outcome, actual: &Outcome, tolerance: f64) -> bool {
    let (Some(expected), Some(actual)) = (expected, actual) else { return expected == actual };
    let same = |(x, y): (&EvalValue, &EvalValue)| x == y || tolerance > 0.0 && is_close(x, y, tolerance);
    expected.len() == actual.len() && expected.iter().zip(actual).all(same)
}

fn is_close(x: &EvalValue, y: &EvalValue, tolerance: f64) -> bool {
    let close = |(x, y): (&Scalar, &Scalar)| {
        let (x, y) = match (*x, *y) {
            (Scalar::F64(x), Scalar::F64(y)) => (x, y),
            (Scalar::F32(x), Scalar::F32(y)) => (x.into(), y.into()),
            _ => return x == y,
        };
        x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= tolerance * x.abs().max(y.abs()).max(1.0)
    };
    match (x, y) {
        (EvalValue::Scalar(x), EvalValue::Scalar(y)) => close((x, y)),
        (EvalValue::Array(x), EvalValue::Array(y)) => {
            x.shape() == y.shape() && x.scalars().iter().zip(&y.scalars()).all(close)
        }
        _ => false,
    }
}

fn params(values: &[ir::syntax::EntryValue]) -> Result<Vec<Param>, String> {
    let param = |value: &ir::syntax::EntryValue| match value.ty {
        EntryType::Value(ty) => Ok((value.type_name.clone(), ty)),
        EntryType::Opaque(_) => Err("arguments of opaque types cannot be generated".to_owned()),
    };
    values.iter().map(param).collect()
}

impl TestProgram {
    /// Parses a program at the level that its text states.
    pub fn parse(source: &str) -> Result<Self, String> {
        let (ir, made_entries) = match text::level_of(source) {
            Some("soacs") => parse::<Soacs>(source).map(|(p, made)| (Ir::Soacs(p), made))?,
            Some("segs") => parse::<Segs>(source).map(|(p, made)| (Ir::Segs(p), made))?,
            Some("mems") => parse::<Mems>(source).map(|(p, made)| (Ir::Mems(p), made))?,
            Some("imp") => (Ir::Imp(imp::parse(source).map_err(|e| e.to_string())?), false),
            other => return Err(format!("unknown level {other:?}")),
        };
        Ok(Self { ir, generated_entries: made_entries })
    }

    /// The result of a pass on the program.
    pub fn after(&self, pass: &PassInfo, context: &mut Context) -> Result<Self, String> {
        let ir = pass.apply(self.ir.clone(), context).map_err(|e| e.to_string())?;
        let made_entries = self.generated_entries;
        Ok(Self { ir, generated_entries: made_entries })
    }

    /// Checks that the program verifies, prints and parses back.
    pub fn check(&self) -> Result<(), String> {
        match &self.ir {
            Ir::Soacs(program) => check(program),
            Ir::Segs(program) => check(program),
            Ir::Mems(program) => check(program),
            Ir::Imp(program) => check_imp(program),
        }
    }

    /// The text, without generated entry points.
    pub fn print(&self) -> String {
        let mut ir = self.ir.clone();
        if self.generated_entries {
            fn clear(entries: &mut Vec<EntryPoint>, opaques: &mut OpaqueTypes) {
                entries.clear();
                *opaques = OpaqueTypes::default();
            }
            match &mut ir {
                Ir::Soacs(program) => clear(&mut program.entries, &mut program.opaques),
                Ir::Segs(program) => clear(&mut program.entries, &mut program.opaques),
                Ir::Mems(program) => clear(&mut program.entries, &mut program.opaques),
                Ir::Imp(program) => clear(&mut program.entries, &mut program.opaques),
            }
        }
        ir.print()
    }

    /// The entry points' names and parameters.
    fn entries(&self) -> Result<Vec<(String, Vec<Param>)>, String> {
        type Entries = Result<Vec<(String, Vec<Param>)>, String>;
        fn of(entries: &[EntryPoint]) -> Entries {
            let signatures = entries.iter().map(|entry| &entry.signature);
            signatures.map(|entry| Ok((entry.name.to_string(), params(&entry.params)?))).collect()
        }
        match &self.ir {
            Ir::Soacs(program) => of(&program.entries),
            Ir::Segs(program) => of(&program.entries),
            Ir::Mems(program) => of(&program.entries),
            Ir::Imp(program) => of(&program.entries),
        }
    }

    /// The full names of the program's tuning parameters.
    fn tunables(&self) -> Vec<String> {
        fn of<L: Level>(program: &Program<L>) -> Vec<String> {
            let functions = program.functions.iter();
            let names = functions.flat_map(|f| f.tunables.iter().map(|t| t.full_name(&f.name)));
            names.collect()
        }
        match &self.ir {
            Ir::Soacs(program) => of(program),
            Ir::Segs(program) => of(program),
            Ir::Mems(program) => of(program),
            Ir::Imp(program) => (program.tunables.iter()).map(|tunable| tunable.name.to_string()).collect(),
        }
    }

    /// Settings to try: the defaults, and all parameters so low or so high that every comparison
    /// holds, or none.
    fn settings(&self) -> Vec<Settings> {
        let names = self.tunables();
        let mut settings = vec![Settings::default()];
        if !names.is_empty() {
            let all = |value| Settings(names.iter().map(|name| (name.clone(), value)).collect());
            settings.extend([all(0), all(i64::MAX)]);
        }
        settings
    }

    fn call(&self, entry: &str, args: Vec<EvalValue>, settings: Settings) -> Result<Outcome, EvalError> {
        // Code that is only run for a listener is run when parameters are set.
        let listener: Option<Listener> = (!settings.0.is_empty()).then_some(|_| {});
        let options = ir::eval::Options { settings, listener, ..ir::eval::Options::default() };
        let result = match &self.ir {
            Ir::Soacs(program) => ir::eval::eval_entry_with(program, entry, args, &options),
            Ir::Segs(program) => ir::eval::eval_entry_with(program, entry, args, &options),
            Ir::Mems(program) => ir::eval::eval_entry_with(program, entry, args, &options),
            Ir::Imp(program) => {
                let options = imp::eval::Options {
                    settings: options.settings,
                    listener,
                    ..imp::eval::Options::default()
                };
                imp::eval::eval_entry_with(program, entry, args, options)
            }
        };
        match result {
            Ok(values) => Ok(Some(values)),
            Err(error) if error.class == ErrorClass::Failure => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Checks that both programs have the same results up to a tolerance, or fail, for arguments of these sizes and
    /// all settings of tuning parameters, and that each entry point has results for some arguments.
    pub fn same_results(&self, other: &Self, sizes: &[&[Sizes]], tolerance: f64) -> Result<(), String> {
        let entries = self.entries()?;
        if entries.is_empty() {
            return Err("the program has no entry points".to_owned());
        }
        for (entry, params) in entries {
            let mut any = false;
            for sizes in sizes.iter().copied().flatten() {
                let at = |program: &Self, error: &dyn std::fmt::Display| {
                    format!("{entry} with {sizes:?}: {error}\n{}", program.print())
                };
                let args = arguments(&params, *sizes);
                let plain = self.call(&entry, args.clone(), Settings::default());
                let expected = plain.map_err(|e| at(self, &e))?;
                for settings in other.settings() {
                    let shown_settings = format!("{settings:?}");
                    let actual = other.call(&entry, args.clone(), settings);
                    let actual = actual.map_err(|e| at(other, &format!("{shown_settings}: {e}")))?;
                    if !same_outcome(&expected, &actual, tolerance) {
                        let what = format!(
                            "results differ: {expected:?} before, {actual:?} after; {shown_settings}"
                        );
                        return Err(at(other, &what));
                    }
                }
                any |= expected.is_some();
            }
            if !any {
                return Err(format!("{entry} fails for arguments of every size tried"));
            }
        }
        Ok(())
    }
}
