//! Deep or long input is parsed, or rejected with an error.

use syntax::ast::{DeclKind, ExpKind, Prog};
use syntax::span::FileId;
use syntax::symbol::Interner;
use syntax::{MAX_NESTING, MAX_SUFFIXES, MIN_NESTING_LIMIT, STACK_PER_LEVEL, dump};

/// Parses a file that must be well formed.
fn read(text: &str) -> (Prog, Interner) {
    let names = Interner::new();
    let parse = syntax::parse(text, FileId(0), &names);
    assert!(parse.errors.is_empty(), "{:?}", parse.errors);
    (parse.prog, names)
}

/// The text before, the repeated opening text and the repeated closing text of a nested form.
const NESTS: [(&str, &str, &str); 22] = [
    ("def x = ", "(", ")"),
    ("def x = ", "[", "]"),
    ("def x = ", "{a = ", "}"),
    ("def x = ", "- ", ""),
    ("def x = ", "f (", ")"),
    ("def x = ", "a + (", ")"),
    ("def x = ", "a <| ", ""),
    ("def x = ", "\\x -> ", ""),
    ("def x = ", "if a then b else ", ""),
    ("def x = ", "match a case b -> ", ""),
    ("def x = ", "loop a = ", " for i < n do a"),
    ("def x = ", "a[", "]"),
    ("def x = ", "#[a] ", ""),
    ("def x = ", "let f x = ", " in f"),
    ("def x = ", "(+ ", ")"),
    ("def x: ", "(", ")"),
    ("def x: ", "[]", ""),
    ("def x: ", "a -> ", ""),
    ("def x: ", "[(", ")]i32"),
    ("def f ", "(", ")"),
    ("module m = ", "{ module m = ", "}"),
    ("module type m = ", "{ module m: ", "}"),
];

#[test]
fn nesting_is_accepted_up_to_the_limit() {
    for (number, (start, open, close)) in NESTS.into_iter().enumerate() {
        let core = if start.contains("module") { "{}" } else { "y" };
        let text = |depth: usize| {
            let end = match start {
                "def x: " | "def f " => " = 1",
                _ => "",
            };
            format!("{start}{}{core}{}{end}", open.repeat(depth), close.repeat(depth))
        };
        // A depth allowed on every stack can also be walked and dropped on a small one.
        let (prog, names) = read(&text(MIN_NESTING_LIMIT as usize / 4));
        assert!(dump::prog(&prog, &names).len() > 500);
        // A large stack allows deeper nesting, up to the limit; tested for a quarter of the forms.
        if number % 4 == 0 {
            stacker::grow(MAX_NESTING as usize * STACK_PER_LEVEL + (1 << 20), || {
                read(&text(MAX_NESTING as usize / 4 - 10));
                let names = Interner::new();
                let parse = syntax::parse(&text(MAX_NESTING as usize + 10), FileId(0), &names);
                assert_eq!(parse.errors[0].id, "nesting-too-deep", "{start}{open}");
                assert_eq!(parse.errors.len(), 1, "{start}{open}: {:?}", parse.errors);
            });
        }
        let names = Interner::new();
        let parse = syntax::parse(&text(100_000), FileId(0), &names);
        assert_eq!(parse.errors[0].id, "nesting-too-deep", "{start}{open}");
        assert_eq!(parse.errors.len(), 1, "{start}{open}: {:?}", parse.errors);
        let unclosed = text(100_000);
        let unclosed = &unclosed[..start.len() + open.len() * 100_000];
        let parse = syntax::parse(unclosed, FileId(0), &names);
        assert_eq!(parse.errors[0].id, "nesting-too-deep", "{start}{open}");
    }
}

#[test]
fn suffixes_are_accepted_up_to_the_limit() {
    for suffix in [".0", "[0]", ": t", ":> t", " with [0] = 1"] {
        let names = Interner::new();
        let text = |count: u32| format!("def x = (a){}", suffix.repeat(count as usize));
        read(&text(MAX_SUFFIXES));
        let parse = syntax::parse(&text(MAX_SUFFIXES + 1), FileId(0), &names);
        assert_eq!(parse.errors[0].id, "nesting-too-deep", "{suffix}");
        // Suffixes of siblings are not added up.
        let one = format!("(a){}", suffix.repeat(1000));
        read(&format!("def x = [{}{one}]", format!("{one}, ").repeat(200)));
        read(&format!("def x = (a){} + b.y", " + b.x".repeat(200_000)));
    }
    // The deepest tree that every stack allows.
    let depth = MIN_NESTING_LIMIT as usize - 10;
    let suffix = ".0".repeat(MAX_SUFFIXES as usize / MIN_NESTING_LIMIT as usize);
    let text = format!("def x = {}a{}", "(".repeat(depth), format!("){suffix}").repeat(depth));
    let (prog, names) = read(&text);
    assert!(dump::prog(&prog, &names).len() > depth * 100);
    let more = text + &".1".repeat(2000);
    let parse = syntax::parse(&more, FileId(0), &names);
    assert_eq!(parse.errors[0].id, "nesting-too-deep");
}

#[test]
fn long_sequences_are_flat() {
    let n = 100_000;
    let text = format!(
        "def a = 1{}\ndef b = {} x\ndef c = {} in x\ndef d = [{}]\ndef e = f{}\ndef g = {}\n",
        " + 1".repeat(n),
        "let x = 1 in ".repeat(n),
        "let x = 1 ".repeat(n),
        "1, ".repeat(n),
        " x".repeat(n),
        "a.".repeat(n) + "a",
    );
    let (prog, _) = read(&text);
    let lengths: Vec<usize> = prog
        .decls
        .iter()
        .map(|decl| match &decl.kind {
            DeclKind::Val(bind) => match &bind.body.kind {
                ExpKind::BinOp(_, rest) => rest.len(),
                ExpKind::Let(binds, _) => binds.len(),
                ExpKind::Array(elems) => elems.len(),
                ExpKind::Apply(_, args) => args.len(),
                ExpKind::Var(name) => name.quals.len(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(lengths, [n; 6]);
}

#[test]
fn number_of_errors_is_limited() {
    let names = Interner::new();
    for text in ["$ ", "def x = )\n", ") ", "{", "-- |\n\n", "\"\n"] {
        let parse = syntax::parse(&text.repeat(100_000), FileId(0), &names);
        assert!((1..=100).contains(&parse.errors.len()), "{text:?}");
    }
}
