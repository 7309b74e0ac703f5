//! Short programs that need many resources: types of exponential size, deep types, many parameters,
//! many errors. Each is answered quickly, with few messages.

use check::{Loader, check_program};
use std::time::{Duration, Instant};
use syntax::span::SourceMap;
use syntax::symbol::Interner;

struct OneFile(String);

impl Loader for OneFile {
    fn load(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.clone().into_bytes())
    }
}

/// The errors of a program; asserts that there are at most `most`, and that they are short.
#[track_caller]
fn errors(text: String, most: usize) -> Vec<&'static str> {
    let mut sources = SourceMap::new();
    let interner = Interner::new();
    let shown: String = text.chars().take(80).collect();
    let start = Instant::now();
    let checked = check_program(&mut sources, &interner, &mut OneFile(text), "main.fut");
    let time = start.elapsed();
    assert!(time < Duration::from_secs(20), "{shown}: took {time:?}");
    let diags = checked.diagnostics;
    assert_eq!(checked.program.is_none(), !diags.is_empty(), "{shown}");
    let render = |diag| syntax::render::render(diag, &sources, false);
    let all: Vec<String> = diags.iter().map(render).collect();
    let ids: Vec<&str> = diags.iter().map(|diag| diag.id).collect();
    assert!(diags.len() <= most, "{shown}: {ids:?}");
    for message in all {
        assert!(message.len() < 2000, "{shown}: {} bytes: {message}", message.len());
    }
    ids
}

fn nest(open: &str, core: &str, close: &str, n: usize) -> String {
    format!("{}{core}{}", open.repeat(n), close.repeat(n))
}

/// Numbered lines.
fn lines(n: usize, line: impl Fn(usize) -> String) -> String {
    (1..n).map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn applications_of_generic_functions() {
    for n in [100, 1000] {
        let many = "f ".repeat(n);
        let one = |text: String| assert_eq!(errors(text, 1), ["type-too-large"]);
        one(format!("def f x = x\nentry main = {many} 1"));
        one(format!(
            "def f x = x\ndef g (c: bool) (x: i32) = let a = {many}\n let b = {many}\n in (a x, b x)"
        ));
        one(format!("def f x = (x, x)\nentry main = {}", nest("f (", "1", ")", n)));
        let ids = errors(format!("entry main = {many} 1"), 1);
        assert_eq!(ids, ["unknown-variable"]);
        let ids = errors(format!("def f (x: i32) = x\nentry main = {many} 1"), 1);
        assert_eq!(ids, ["type-mismatch"]);
        errors(format!("def f 'a 'b (x: a) (y: b) = x\ndef main = {many} 1"), 3);
    }
}

#[test]
fn types_that_double_per_definition() {
    let step = |start: &str, line: &dyn Fn(usize) -> String| {
        let ids = errors(format!("{start}\n{}", lines(100, line)), 31);
        assert_eq!(ids[0], "type-too-large", "{start}");
    };
    step("def a0 = 1i32", &|i| format!("def a{i} = (a{0}, a{0})", i - 1));
    step("type a0 = i32", &|i| format!("type a{i} = (a{0}, a{0})", i - 1));
    step("module type t = { type t val x: t }\nmodule m0: t = { type t = i32 def x = 1i32 }", &|i| {
        let j = i - 1;
        format!(
            "module m{i}: t = {{ type t = (m{j}.t, m{j}.t) def x = (m{j}.x, m{j}.x) }}\ndef y{i} = m{i}.x"
        )
    });
    let text = format!("type t 'a = (a, a)\ntype u = {}", nest("t (", "i32", ")", 100));
    assert_eq!(errors(text, 1), ["type-too-large"]);
    let lets = lines(100, |i| format!("let a{i} = (a{0}, a{0})", i - 1));
    let ids = errors(format!("def f (a0: i32) = {lets} in 1"), 1);
    assert_eq!(ids, ["type-too-large"]);
}

#[test]
fn types_that_deepen_per_definition() {
    let step = |start: &str, line: &dyn Fn(usize) -> String| {
        let ids = errors(format!("{start}\n{}", lines(5000, line)), 31);
        assert_eq!(ids[0], "type-too-large", "{start}");
        assert_eq!(ids.last(), Some(&"type-too-large"), "{start}");
    };
    step("type a0 = i32", &|i| format!("type a{i} = (i32, a{})", i - 1));
    step("type^ a0 = i32 -> i32", &|i| format!("type^ a{i} = i32 -> a{}", i - 1));
    step("def a0 = 1i32", &|i| format!("def a{i} = (1i32, a{})", i - 1));
    step("def a0 = 1i32", &|i| format!("def a{i} = [a{}]", i - 1));
    step("def a0 (x: i32) = x", &|i| format!("def a{i} (x: i32) = a{}", i - 1));
    let chain = " +++ 1".repeat(20_000);
    let ids = errors(format!("def (+++) a b = (a, b)\ndef x = 1{chain}"), 1);
    assert_eq!(ids, ["type-too-large"]);
}

#[test]
fn many_parameters() {
    let params = |n: usize, form: &dyn Fn(usize) -> String| (0..n).map(form).collect::<Vec<_>>().join(" ");
    let name = |i: usize| format!("{}x{i}", if i == 0 { "" } else { "_" });
    let typed: &dyn Fn(usize) -> String = &|i| format!("({}: i32)", name(i));
    let plain: &dyn Fn(usize) -> String = &name;
    for form in [typed, plain] {
        for start in ["def f ", "def f = \\", "def f = let g "] {
            let (arrow, end) = match start {
                "def f " => ("=", ""),
                "def f = \\" => ("->", ""),
                _ => ("=", "in g"),
            };
            let text = |n: usize| format!("{start} {} {arrow} x0 {end}", params(n, form));
            assert_eq!(errors(text(300), 0), [""; 0]);
            assert_eq!(errors(text(20_000), 1), ["too-many-parameters"]);
        }
    }
    let sizes = params(5000, &|i| format!("[n{i}]"));
    errors(format!("def f {sizes} (x: i32) = x"), 31);
}

#[test]
fn sizes_of_exponential_extent() {
    let lets = lines(70, |i| format!("let n{i} = n{0} + n{0}", i - 1));
    assert_eq!(errors(format!("def f (n0: i64) = {lets} in iota n69"), 0), [""; 0]);
    let pair = format!("def f (n0: i64) = {lets} in (iota n69, iota n69)");
    assert_eq!(errors(pair, 0), [""; 0]);
    let calls = nest("f (length (", "iota n", "))", 50);
    let text = format!("def f (n: i64): [n + n]i32 = replicate (n + n) 1\ndef g (n: i64) = {calls}");
    assert_eq!(errors(text, 0), [""; 0]);
    let calls = nest("f (", "xs", ")", 100);
    let text = format!("def f [n] (x: [n]i32): [n + n]i32 = x ++ x\ndef g [n] (xs: [n]i32) = {calls}");
    assert_eq!(errors(text, 0), [""; 0]);
    let product = vec!["(n + m)"; 60].join(" * ");
    assert_eq!(errors(format!("def f (n: i64) (m: i64) = iota ({product})"), 0), [""; 0]);
}

#[test]
fn many_constructors() {
    let sum = |n: usize| {
        let all: Vec<String> = (0..n).map(|i| format!("#c{i}")).collect();
        format!("type t = {}\ndef f (x: t) = x", all.join(" | "))
    };
    assert_eq!(errors(sum(256), 0), [""; 0]);
    assert_eq!(errors(sum(257), 1), ["too-many-constructors"]);
}

#[test]
fn many_errors() {
    for (open, close) in [("(+ ", ")"), ("[0...", "]"), ("(0..<", ")"), ("f (", ")"), ("a[", "]")] {
        for n in [100, 1000, 100_000] {
            errors(format!("def x = {}", nest(open, "1", close, n)), 2);
            errors(format!("def x = {}", open.repeat(n)), 2);
        }
    }
    let ids = errors(lines(2000, |i| format!("def a{i}: i32 = true")), 31);
    assert_eq!(ids.last(), Some(&"too-many-errors"));
    let nested = nest("(a with [0] = ", "1", ")", 1900);
    errors(format!("def f (a: []i32) = {nested}"), 31);
    let nested = nest("(a with x = ", "1", ")", 1900);
    errors(format!("def f (a: {{x: i32}}) = {nested}"), 31);
}
