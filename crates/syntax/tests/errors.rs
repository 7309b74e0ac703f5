//! Malformed programs: messages and error recovery.

#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes raw strings")]

mod common;

use common::{exps, prog};
use expect_test::expect;
use syntax::render::render;
use syntax::span::SourceMap;
use syntax::symbol::Interner;

fn rendered(text: &str) -> String {
    let names = Interner::new();
    let mut sources = SourceMap::new();
    let file = sources.add("test.fut", text).expect("the text is below 4 GiB");
    let parse = syntax::parse(text, file, &names);
    parse.errors.iter().map(|error| render(error, &sources, false)).collect()
}

#[test]
fn parser_recovers_after_each_error() {
    let text = "
def a = (1 +
def b x = x
def c = [1, 2
type t = | i32
module m = {
  def d = {x = 1, y = )
  def e = 2
  val f : i32
}
def g = 3 }
def h = let x = 1
def i (x, = x
let j = if a then b
entry k = 4
";
    expect![[r#"
        (def a [] [] - <error>)
        (def b [] [x] - x)
        (def c [] [] - <error>)
        (module m [] - (decls [(def d [] [] - <error>) (def e [] [] - 2)]))
        (def g [] [] - 3)
        (def h [] [] - (let [(x = 1)] <error>))
        (let j [] [] - <error>)
        (entry k [] [] - 4)
        test.fut:3:1: error: expected an expression, but found `def` [unexpected-token]
        test.fut:5:1: error: expected `,` or `]`, but found `type` [unexpected-token]
        test.fut:5:10: error: expected a type, but found `|` [unexpected-token]
        test.fut:7:23: error: expected an expression, but found `)` [unexpected-token]
        test.fut:9:3: error: expected a declaration, but found `val` [unexpected-token]
        test.fut:11:11: error: expected a declaration, but found `}` [unexpected-token]
        test.fut:13:1: error: this `let` has no body [missing-in]
        test.fut:13:11: error: expected a pattern, but found `=` [unexpected-token]
        test.fut:15:1: error: expected `else`, but found `entry` [unexpected-token]
    "#]]
    .assert_eq(&prog(text));
}

#[test]
fn messages() {
    let text = "
        f !x
        a[0] [1]
        1..n
        (a + b *)
        (f x).(y)
        (a,)
        let x = 1
        match x
        \"open
        1u3
        1.5i32
        0x1p3
        99999999999999999999999999999999999999999
        'ab'
        \"\\q\"
        a $ b
        größe
        # a
        a[:]b:c
        a[]
        M.
        (+ 1
        loop x = 1 do x
        let \"x\" = 1 in 2
        x y z = 1
    ";
    expect![[r#"
        exp:1:3: error: expected an operator, an argument or the end, but found `!` [unexpected-token]
        exp:1:6: error: a space before `[` makes it an argument [split-index]
        exp:1:2: error: this range has no end [range-without-end]
        exp:1:8: error: the operator of this section binds more tightly than its operand [ambiguous-section]
        exp:1:1: error: only a module can be opened in an expression [open-of-non-module]
        exp:1:1: error: a tuple has zero or at least two elements [one-element-tuple]
        exp:1:10: error: this `let` has no body [missing-in]
        exp:1:8: error: expected `case`, but the file ends [unexpected-end]
        exp:1:1: error: unterminated string [unterminated-string]
        exp:1:1: error: `u3` is not a number suffix [invalid-number]
        exp:1:1: error: a number with a fraction or an exponent cannot be of type `i32` [invalid-number]
        exp:1:1: error: `p3` is not a number suffix [invalid-number]
        exp:1:1: error: this integer needs more than 128 bits [invalid-number]
        exp:1:1: error: a character literal has exactly one character or escape sequence [invalid-character-literal]
        exp:1:2: error: not an escape sequence [invalid-escape]
        exp:1:3: error: no token starts with the character `$` [invalid-character]
        exp:1:3: error: no token starts with the character `ö` [invalid-character]
        exp:1:1: error: no token starts with the character `#` [invalid-character]
        (: (apply (index a [(slice - - -)]) [b]) c)
        (index a [])
        exp:1:3: error: expected a field name, but the file ends [unexpected-end]
        exp:1:5: error: expected `)`, but the file ends [unexpected-end]
        exp:1:12: error: expected `for` or `while`, but found `do` [unexpected-token]
        exp:1:5: error: a pattern cannot be a string [string-pattern]
        exp:1:7: error: expected an operator, an argument or the end, but found `=` [unexpected-token]
    "#]].assert_eq(&exps(text));
}

#[test]
fn declaration_messages() {
    let text = "
def ! x = x
def a ! b = a
def (a, b) = c
def a M.+ b = c
def 1 = 2
def x
-- | documents nothing
  = 1
x = 1
type t
import foo
module type = {}
#[a(1i32)] def y = 1
-- | nor does this
";
    expect![[r#"
        (def x [] [] - <error>)
        (def y [] [] - 1)
        test.fut:2:5: error: expected a name or a parameter, but found `!` [unexpected-token]
        test.fut:3:7: error: `!` is a prefix operator and cannot be defined [prefix-operator]
        test.fut:4:5: error: a declaration binds one name, not a pattern [pattern-declaration]
        test.fut:5:7: error: a bound name cannot have a module path [qualified-binding]
        test.fut:6:5: error: a declaration binds one name, not a pattern [pattern-declaration]
        test.fut:8:1: error: this comment documents nothing: no declaration follows it [misplaced-documentation]
        test.fut:10:3: error: expected an operator, an argument or the next declaration, but found `=` [unexpected-token]
        test.fut:12:1: error: expected a type parameter or `=`, but found `import` [unexpected-token]
        test.fut:12:8: error: expected the path of a file as a string, but found `foo` [unexpected-token]
        test.fut:13:13: error: expected the name of a module type, but found `=` [unexpected-token]
        test.fut:14:5: error: a number in an attribute cannot have a type suffix [typed-attribute]
        test.fut:15:1: error: this comment documents nothing: no declaration follows it [misplaced-documentation]
    "#]].assert_eq(&prog(text));
}

#[test]
fn rendering() {
    let text = "def main (xs: []i32) =\n  let ys = map (\\x -> (x + 1) xs\n  in reduce (+) 0 ys\n";
    let long = format!("def x = [{}) + [{}", "1, ".repeat(500), "2, ".repeat(500));
    expect![[r#"
        error[unexpected-token]: expected an operator, `,` or `)`, but found `in`
         --> test.fut:3:3
          |
        2 |   let ys = map (\x -> (x + 1) xs
          |                - enclosing bracket
        3 |   in reduce (+) 0 ys
          |   ^^ expected an operator, `,` or `)`
        error[unexpected-token]: expected an expression, but found `)`
          |
        1 | ...1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ) + [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,...
          |                                                                ^ expected an expression
         ::: test.fut:1:1510
    "#]].assert_eq(&(rendered(text) + &rendered(&long)));
}

#[test]
fn malformed_texts_do_not_panic() {
    for text in ["", "\n", "\u{feff}", "-- only a comment", "\u{feff}def x = 1\r\n"] {
        assert_eq!(rendered(text), "", "{text:?}");
    }
    // No text causes a panic; every error has a span inside the text.
    let base = "def f [n] 't (x: t) = let (a, b) = #c \"s\" in \\y -> (.x[1:2]) ..< 'a' -- | d\n";
    let inserts = ["\0", "ß", "(", "}", "\"", "'\\", "#[", "..", "`", "0x", "\u{202e}", "1e", "-- |"];
    for (i, _) in base.char_indices() {
        for insert in inserts {
            for text in [
                format!("{}{insert}{}", &base[..i], &base[i..]),
                format!("{}{insert}", &base[..i]),
                format!("{insert}{}", &base[i..]),
            ] {
                let parse = syntax::parse(&text, syntax::span::FileId(0), &Interner::new());
                for error in &parse.errors {
                    let span = error.primary.as_ref().expect("every syntax error has a span").span;
                    assert!(text.get(span.range()).is_some(), "{text:?}: {error:?}");
                }
                rendered(&text);
            }
        }
    }
}

#[test]
fn invalid_utf8_is_rejected() {
    let mut sources = SourceMap::new();
    let error = sources
        .add_bytes("bad.fut", b"def x = 1\ndef \xff = 2\n".to_vec())
        .expect_err("the text is not UTF-8");
    assert_eq!(error.id, "invalid-utf8");
    assert_eq!(error.message, "`bad.fut` is not valid UTF-8: byte 0xff at offset 14, line 2",);
}

#[test]
fn invalid_characters_are_skipped() {
    for code in (0..=0xffu8).map(char::from) {
        // Terminates for every character.
        rendered(&format!("def a = 1 {code} 2"));
    }
    let text = rendered("def a = \u{7f}\u{0} 2");
    assert!(text.contains("no token starts with the character `U+007F`"), "{text}");
    assert_eq!(text.matches("error").count(), 1, "{text}");
}
