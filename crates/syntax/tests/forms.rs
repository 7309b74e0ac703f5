//! Every form of the grammar, with the tree that it parses to.

#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes raw strings")]

mod common;

use common::{exps, prog};
use expect_test::expect;

#[test]
fn atoms() {
    let text = r#"
        x
        M.N.x
        x.0.1.y
        (f x).y.0
        M.(x + 1)
        ???
        ()
        (a)
        (a, b, c,)
        {}
        {x = 1, y, 0 = z,}
        []
        [1, 2, 3,]
        a[i]
        a [i]
        a[i, j:k, ::-1, :n, n:, a:b:c, :]
        a[0][1].x[2]
        #none
        #some 1 (f x) #none
        "text, \"\92\t\x41\o101\&1"
        "äöü"
    "#;
    expect![[r#"
        x
        M.N.x
        (project (project (project x 0) 1) y)
        (project (project (paren (apply f [x])) y) 0)
        (open-in M (x + 1))
        ???
        (tuple [])
        (paren a)
        (tuple [a b c])
        (record [])
        (record [x=1 y 0=z])
        (array [])
        (array [1 2 3])
        (index a [i])
        (apply a [(array [i])])
        (index a [i (slice j k -) (slice - - (neg 1)) (slice - n -) (slice n - -) (slice a b c) (slice - - -)])
        (index (project (index (index a [0]) [1]) x) [2])
        #none
        #some [1 (paren (apply f [x])) #none]
        "text, \"\\\tAA1"
        "äöü"
    "#]]
    .assert_eq(&exps(text));
}

#[test]
fn numbers() {
    let text = "
        0 1_000 42i8 42u64 0xFF 0Xf_fi64 0b1_01u8 0rXIV 340282366920938463463374607431768211455
        1.5 1_0.2_5 1e3 1E-3f32 2.5e+2f64 3f16 7f32 0.1f32 0x1.8p3 0x0.1P-4f32 0x1f32 0xf.fp1
        'a' '\\n' '\\'' 'ß' '\"'
    ";
    let array = format!("[{}]", text.split_whitespace().collect::<Vec<_>>().join(", "));
    expect![[r#"
        (array [0 1000 42i8 42u64 255 255i64 5u8 14 340282366920938463463374607431768211455 1.5 10.25 1000.0 0.0010000000474974513f32 250.0f64 3.0f16 7.0f32 0.10000000149011612f32 12.0 0.00390625f32 7986 31.875 'a' '\n' '\'' 'ß' '"'])
    "#]].assert_eq(&exps(&array));
}

#[test]
fn sections_and_lambdas() {
    let text = r"
        (+)
        (-)
        (x -)
        (-x)
        (- x)
        (* 2)
        (x * 2 +)
        (`M.f` x)
        (x `f`)
        (`f`)
        (M.+)
        (|> f)
        (.x.0)
        (.[0, 1:])
        (.x[0].y)
        \x -> x
        \(x, _) {y, z = w}: i32 -> y
        map2 f \x y -> x + y
    ";
    expect![[r#"
        (section +)
        (section -)
        (section-left x -)
        (paren (neg x))
        (paren (neg x))
        (section-right * 2)
        (section-left (x * 2) +)
        (section-right `M.f` x)
        (section-left x `f`)
        (section `f`)
        (section M.+)
        (section-right |> f)
        (section-path [.x .0])
        (section-path [(at [0 (slice 1 - -)])])
        (section-path [.x (at [0]) .y])
        (\ [x] - x)
        (\ [(tuple [x _]) (record [y z=w])] i32 y)
        (apply map2 [f (\ [x y] - (x + y))])
    "#]]
    .assert_eq(&exps(text));
}

#[test]
fn control() {
    let text = r"
        if a then b else if c then d else e
        let x = 1 let y: i32 = 2 in x
        let (a, b) = p in let f [n] 't (x: [n]t): t = x[0] in f a
        let [n][m] (xs: [n][m]i32) = ys in n
        let a[i] = v let r.f.0[1].g = w in a
        loop x = 0 for i < n do x + i
        loop (x, y) for (a, b) in xs do (y, x)
        loop acc = [] while c acc do acc
        loop x: i32 = 0 for _i < 10do x
        match x case 0 -> a case -1i8 -> b case #c y (#d _) -> c case 'x' -> d case _ -> e
        match (a, b) case (true, {f, g = 1.5}) -> #[trace] a : t
        assert (x > 0) x + 1
        #[unroll] #[flattening(only_inner, 1)] map f xs
        a with [0] = 1 with x.y[2] = f 3
        e : i32
        a ++ b :> [n]i32
    ";
    expect![[r#"
        (if a b (if c d e))
        (let [(x = 1) ((: y i32) = 2)] x)
        (let [((tuple [a b]) = p) (fun f [[n] 't] [(paren (: x (array [n] t)))] t = (index x [0]))] (apply f [a]))
        (let [( [n m] (paren (: xs (array [n] (array [m] i32)))) = ys)] n)
        (let [(with a [(at [i])] = v) (with r [.f .0 (at [1]) .g] = w)] a)
        (loop x 0 (for i n) (x + i))
        (loop (tuple [x y]) - (for-in (tuple [a b]) xs) (tuple [y x]))
        (loop acc (array []) (while (apply c [acc])) acc)
        (loop (: x i32) 0 (for _i 10) x)
        (match x [0 -> a -1i8 -> b #c [y (paren #d [_])] -> c 'x' -> d _ -> e])
        (match (tuple [a b]) [(tuple [true (record [f g=1.5])]) -> (attr trace (: a t))])
        (assert (paren (x > 0)) (x + 1))
        (attr unroll (attr flattening [only_inner 1] (apply map [f xs])))
        (with (with a [(at [0])] 1) [.x .y (at [2])] (apply f [3]))
        (: e i32)
        (:> (a ++ b) (array [n] i32))
    "#]].assert_eq(&exps(text));
}

#[test]
fn types() {
    let text = "
        type a = i32
        type b [n] 'a '~b '^c = ([n]a, [][n+1]b, c)
        type~ c = ?[n][m].[n][m]i32
        type^ d = (x: i64) -> *[x]i32 -> M.t -> ()
        type e = #one | #two i32 [n]f64 | #three {x: i32, 0: b [2] bool,}
        type f = (b [] ([]i32), (i32))
        type g = [3]#a | #b
        type h = *[2]b [n] i32 (a -> b)
    ";
    expect![[r#"
        (type a [] i32)
        (type b [[n] 'a '~b '^c] (tuple [(array [n] a) (array [] (array [(n + 1)] b)) c]))
        (type~ c [] (exists [n m] (array [n] (array [m] i32))))
        (type^ d [] (-> x i64 (-> - (* (array [x] i32)) (-> - M.t (tuple [])))))
        (type e [] (sum [#one [] #two [i32 (array [n] f64)] #three [(record [x: i32 0: (apply b [[2] bool])])]]))
        (type f [] (tuple [(apply b [[] (paren (array [] i32))]) (paren i32)]))
        (type g [] (array [3] (sum [#a [] #b []])))
        (type h [] (* (array [2] (apply b [[n] i32 (paren (-> - a b))]))))
    "#]].assert_eq(&prog(text));
}

#[test]
fn declarations() {
    let text = "
-- | The file.

-- | Adds one.
-- In the obvious way.
def inc (x: i32): i32 = x + 1
entry main [n] 't (xs: [n]t) _ () 0 = xs
let old = 1
def (+^) 't (a: t) (b: t) = a
def x +++ (y, z) = x
def a `f` b = a
def (`g`) a b = a
#[inline] #[noinline(1)] local def hidden x = x
import \"lib/a\"
local import \"b\"
open import \"c\"
open M
";
    expect![[r#"
        (doc "The file.")
        (doc "Adds one.\nIn the obvious way.") (def inc [] [(paren (: x i32))] i32 (x + 1))
        (entry main [[n] 't] [(paren (: xs (array [n] t))) _ (tuple []) 0] - xs)
        (let old [] [] - 1)
        (def +^ ['t] [(paren (: a t)) (paren (: b t))] - a)
        (def-infix +++ [] [x (tuple [y z])] - x)
        (def-infix f [] [a b] - a)
        (def g [] [a b] - a)
        #inline #noinline [1] (local (def hidden [] [x] - x))
        (import "lib/a")
        (local (import "b"))
        (open (import "c"))
        (open M)
    "#]]
    .assert_eq(&prog(text));
}

#[test]
fn modules() {
    let text = r#"
module m = { def x = 1 module n = { type t = i32 } }
module f (P: mt) (Q: { val x: i32 }): (mt with t = P.t) = P
module g = \(P: mt) : (mt) -> f P { def y = 2 } : mt
module h = import "x" : mt with t 'a [n] = [n]a with u = i32
module type mt = {
  -- | A value.
  val f [n] 'a: [n]a -> a
  val (+): t -> t -> t
  val *: t -> t -> t
  #[opaque] type t
  type~ u 'a
  type^ v = i32 -> i32
  module sub: mt2
  include mt3 with t = i32
}
module type fn = (P: mt) -> mt2 -> { }
"#;
    expect![[r#"
        (module m [] - (decls [(def x [] [] - 1) (module n [] - (decls [(type t [] i32)]))]))
        (module f [(P: mt) (Q: (specs [(val x [] i32)]))] (paren (with mt t [] P.t)) P)
        (module g [] - (\ (P: mt) (paren mt) (: (apply (apply f P) (decls [(def y [] [] - 2)])) mt)))
        (module h [] - (: (import "x") (with (with mt t ['a [n]] (array [n] a)) u [] i32)))
        (module-type mt (specs [(doc "A value.") (val f [[n] 'a] (-> - (array [n] a) a)) (val + [] (-> - t (-> - t t))) (val * [] (-> - t (-> - t t))) #opaque (type t []) (type~ u ['a]) (type^ v [] (-> - i32 i32)) (module sub mt2) (include (with mt3 t [] i32))]))
        (module-type fn (-> P mt (-> - mt2 (specs []))))
    "#]].assert_eq(&prog(text));
}

#[test]
fn comments_are_kept() {
    let text = "-- one\ndef x = 1 -- two\n-- | doc\n--more\ndef y = 2 --";
    let names = syntax::symbol::Interner::new();
    let parse = syntax::parse(text, syntax::span::FileId(0), &names);
    assert!(parse.errors.is_empty(), "{:?}", parse.errors);
    let found: Vec<_> =
        parse.comments.iter().map(|comment| (&text[comment.span.range()], comment.doc)).collect();
    assert_eq!(found, [("-- one", false), ("-- two", false), ("-- | doc\n--more", true), ("--", false),],);
}
