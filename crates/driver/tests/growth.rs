//! Programs whose functions double when they are copied, and programs of many modules: the size of
//! the output grows with the source, and the output is the same with any number of threads.

use driver::{Ir, Options, Session, Stage};
use std::fmt::Write;

/// A loader with one file.
struct Text(String);

impl check::Loader for Text {
    fn load(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.clone().into_bytes())
    }
}

fn session(threads: usize) -> Session {
    let options = Options { cpu: "x86-64-v3".to_owned(), threads, ..Options::default() };
    Session::new("program.fut", options)
}

fn lowered(session: &mut Session, text: &str) -> Ir {
    let typed = session.check(&mut Text(text.to_owned()));
    let typed = typed.unwrap_or_else(|failure| panic!("{:?}", failure.0));
    let ir = session.lower(&typed);
    ir.unwrap_or_else(|failure| panic!("{:?}", failure.0))
}

/// Lines of IR after `lower` and after the last pass.
fn lines(text: &str) -> (usize, usize) {
    let mut session = session(1);
    let ir = lowered(&mut session, text);
    let before = ir.print().lines().count();
    let ir = session.run_passes(ir, Stage::Llvm, &mut ());
    let ir = ir.unwrap_or_else(|failure| panic!("{:?}", failure.0));
    (before, ir.print().lines().count())
}

#[test]
fn functions_that_call_the_previous_one_twice_are_shared() {
    let mut text = "def f0 (x: i32) (y: i32) = x * y + 1\n".to_owned();
    for i in 1..40 {
        let _ = writeln!(text, "def f{i} (x: i32) (y: i32) = f{0} x (f{0} y x)", i - 1);
    }
    text.push_str("entry main (x: i32) (y: i32) = f39 x y\n");
    let (before, after) = lines(&text);
    assert!(before < 200_000, "{before}");
    assert!(after < 200_000, "{after}");
}

#[test]
fn functions_of_functors_are_shared() {
    let mut text = "module type op = { type t val f : t -> t }
module F (X: op) (Y: op with t = X.t) = {
  type t = X.t
  def f (x: t) = X.f (Y.f (X.f x))
}
module M0 = { type t = i32 def f (x: i32) : i32 = x * 3 + 1 }
"
    .to_owned();
    for i in 1..=22 {
        let _ = writeln!(text, "module M{i} = F M{0} M{0}", i - 1);
    }
    text.push_str("entry main (x: i32) : i32 = M22.f x\n");
    let (before, after) = lines(&text);
    assert!(before < 300_000, "{before}");
    assert!(after < 300_000, "{after}");
}

#[test]
fn local_and_higher_order_functions_are_shared() {
    let mut text = "def twice (f: i32 -> i32) (x: i32) : i32 = f (f x)
entry main (k: i32) (x: i32) : i32 =
  let f0 (y: i32) = y * k + 1
"
    .to_owned();
    for i in 1..30 {
        let _ = writeln!(text, "  let f{i} (y: i32) = twice f{0} (y + k)", i - 1);
    }
    text.push_str("  in f29 x\n");
    let (before, after) = lines(&text);
    assert!(before < 200_000, "{before}");
    assert!(after < 200_000, "{after}");
}

/// A program that is large enough for several modules: entry points with tasks, a table, and
/// functions that are called across modules.
fn many() -> String {
    let mut text = "def table = map (\\i -> f64.sqrt (f64.i64 i)) (iota 1000)
#[noinline] def share (xs: []f64) (k: f64) : f64 =
  loop s = k for x in xs do if x < s then s * 0.5 + x else s + x * k
"
    .to_owned();
    for i in 0..24 {
        let _ = writeln!(
            text,
            "entry e{i} (xs: []f64) : ([]f64, f64) =
  let ys = map (\\x -> share table[:10] (x + {i}) * f64.sin x) xs
  let zs = scan (+) 0 (map2 (\\x y -> x * y + f64.exp (x - {i})) xs ys)
  in (zs, reduce f64.max 0 ys + share table[{i}:] 2)"
        );
    }
    text
}

/// Tests that only `make test-all` runs.
mod all_tier {
    use super::*;

    #[test]
    fn objects_do_not_depend_on_the_number_of_threads() {
        let objects = |threads| {
            let mut session = session(threads);
            let ir = lowered(&mut session, &many());
            let objects = session.objects(ir, &mut ());
            objects.unwrap_or_else(|failure| panic!("{:?}", failure.0))
        };
        let one = objects(1);
        assert!(one.len() > 3, "{}", one.len());
        for threads in [2, 5] {
            assert!(objects(threads) == one, "{threads} threads");
        }
    }
}

/// In a process, modules may be further apart than a near address reaches.
#[test]
fn no_near_addresses_across_modules() {
    let mut session = session(2);
    let ir = lowered(&mut session, &many());
    let text = session.text(ir, Stage::Llvm, &mut ());
    let text = text.unwrap_or_else(|failure| panic!("{:?}", failure.0));
    let elsewhere = |line: &&str| line.starts_with("declare") && line.contains("@task.");
    assert!(text.lines().filter(elsewhere).count() > 3, "{text}");
    assert!(!text.contains("declare dso_local"), "{text}");
}

#[test]
fn code_in_several_modules_runs() {
    let mut session = session(2);
    let ir = lowered(&mut session, &many());
    let image = session.image(ir, &mut ());
    let image = image.unwrap_or_else(|failure| panic!("{:?}", failure.0));
    let config = runtime::Config::default();
    let mut context = runtime::Context::new(&config, image).expect("a context");
    let xs: Vec<f64> = (0..1000).map(|i| f64::from(i) / 500.0).collect();
    let args = vec![value::Value::from_slice(&[1000], &xs).expect("an array")];
    let results = context.call("e7", args).expect("e7 succeeds");
    assert_eq!(results.len(), 2);
}
