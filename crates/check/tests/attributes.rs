//! Attributes are accepted wherever the grammar allows them, with any name, and are kept at the
//! same position in the typed tree.

use check::tast::{Attr, Bind, Def, Exp, ExpKind, Pat, PatKind, Program};
use check::{Loader, check_program, children};
use syntax::span::SourceMap;
use syntax::symbol::Interner;

const PROGRAM: &str = "
#[inline]
def f (x: i32) = x + 1

#[noinline] #[reproducible(1)]
def g (#[lent] x: i32) = f x

module m = {
  #[inner]
  def h (x: i32) = g x
}

entry main [n] (xs: [n]i32) =
  let a = #[sequential] map m.h xs
  let b = #[sequential_inner] map (\\x -> #[opaque] x) a
  let c = #[flattening(only_intra)] map g b
  let d = #[flattening(no_outer, only_inner)] map g c
  let e = #[incremental_flattening(no_intra)] map g d
  let #[unroll] s = #[scratch] replicate n 0
  let t = #[trace] #[trace(tag)] e[0]
  let u = #[break] t
  let v = #[param(tile, 16)] map (+ u) s
  in #[unsafe] v[0]
";

struct OneFile;

impl Loader for OneFile {
    fn load(&mut self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "main.fut" => Ok(PROGRAM.as_bytes().to_vec()),
            _ => Err("no such file".to_owned()),
        }
    }
}

fn program() -> Program {
    let mut sources = SourceMap::new();
    let interner = Interner::new();
    let checked = check_program(&mut sources, &interner, &mut OneFile, "main.fut");
    assert_eq!(checked.diagnostics, []);
    checked.program.expect("the program has no errors")
}

fn show(attr: &Attr) -> String {
    let args: Vec<String> = attr.args.iter().map(show).collect();
    if args.is_empty() { attr.name.to_string() } else { format!("{}({})", attr.name, args.join(", ")) }
}

fn pattern(pat: &Pat, out: &mut Vec<String>) {
    if let PatKind::Attr(attrs, inner) = &pat.kind {
        out.extend(attrs.iter().map(show));
        pattern(inner, out);
    }
}

fn expression(exp: &Exp, out: &mut Vec<String>) {
    if let ExpKind::Attr(attrs, _) = &exp.kind {
        out.extend(attrs.iter().map(show));
    }
    if let ExpKind::Let { binds, .. } = &exp.kind {
        for bind in binds {
            if let Bind::Pat { pat, .. } = bind {
                pattern(pat, out);
            }
        }
    }
    children(exp, &mut |child| expression(child, out));
}

fn attributes(def: &Def) -> Vec<String> {
    let mut out: Vec<String> = def.attrs.iter().map(show).collect();
    def.params.iter().for_each(|pat| pattern(pat, &mut out));
    expression(&def.body, &mut out);
    out
}

#[test]
fn all_attributes_are_kept() {
    let program = program();
    let of = |name: &str| {
        let def = program.defs.iter().rev().find(|def| program.name(def.var) == name);
        attributes(def.expect("the definition exists"))
    };
    assert_eq!(of("f"), ["inline"]);
    assert_eq!(of("g"), ["noinline", "reproducible(1)", "lent"]);
    assert_eq!(of("h"), ["inner"]);
    let mut main = of("main");
    main.sort_unstable();
    let mut expected = [
        "sequential",
        "sequential_inner",
        "opaque",
        "flattening(only_intra)",
        "flattening(no_outer, only_inner)",
        "incremental_flattening(no_intra)",
        "unroll",
        "scratch",
        "trace",
        "trace(tag)",
        "break",
        "param(tile, 16)",
        "unsafe",
    ];
    expected.sort_unstable();
    assert_eq!(main, expected);
}
