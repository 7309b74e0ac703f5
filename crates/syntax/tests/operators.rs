//! Precedence and associativity of operators.

#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes raw strings")]

mod common;

use common::exps;
use expect_test::expect;

#[test]
fn precedence() {
    // From loose to tight; each line has an operator with the next tighter one on both sides.
    let text = "
        a `f` b ... c `f` d
        a |> b `f` c |> d
        a <| b |> c <| d
        a || b <| c || d
        a && b || c && d
        a == b && c == d
        a & b == c & d
        a << b & c << d
        a + b << c + d
        a * b + c * d
        a ** b * c ** d
        f a ** g b
        -a ** !b
        - f a + - - b
    ";
    expect![[r#"
        (range (a `f` b) - ... (c `f` d))
        ((a |> b) `f` (c |> d))
        ((a <| b) |> (c <| d))
        ((a || b) <| (c || d))
        ((a && b) || (c && d))
        ((a == b) && (c == d))
        ((a & b) == (c & d))
        ((a << b) & (c << d))
        ((a + b) << (c + d))
        ((a * b) + (c * d))
        ((a ** b) * (c ** d))
        ((apply f [a]) ** (apply g [b]))
        ((neg a) ** (not b))
        ((neg (apply f [a])) + (neg (neg b)))
    "#]]
    .assert_eq(&exps(text));
}

#[test]
fn operators_of_one_precedence_are_flat() {
    let text = "
        a + b - c +^ d * e // f %% g
        a - (b - c) - d
        f <| g <| x
        a |> f |> g
        a < b == c != d !! e =.= f
        a >>= b << c
        a <|> b ||| c &&& d
        a M.+ b M.N.*^ c
        a `M.f` b `g` c
        x+1 - y-1
        f -1
        a ** b ** c
    ";
    expect![[r#"
        (a + b - c +^ (d * e // f %% g))
        (a - (paren (b - c)) - d)
        (f <| (g <| x))
        (a |> f |> g)
        (a < b == c != d !! e =.= f)
        (a >>= b << c)
        (a <|> (b ||| (c &&& d)))
        (a M.+ (b M.N.*^ c))
        (a `M.f` b `g` c)
        (x + 1 - y - 1)
        (f - 1)
        (a ** b ** c)
    "#]]
    .assert_eq(&exps(text));
}

#[test]
fn open_ended_forms() {
    let text = r"
        1 + let x = 2 in x + 3 : i32
        f <| \x -> x + 1 |> g
        a + if b then c else d * e
        a + b with [0] = c + d with [1] = e
        0..2...n-1
        0..<n with [0] = 1
        1..>0
        -1...-2
        if a then b else c : t
        -if a then b else c
        assert a b with [0] = c
    ";
    expect![[r#"
        (1 + (let [(x = 2)] (: (x + 3) i32)))
        (f <| (\ [x] - ((x + 1) |> g)))
        (a + (if b c (d * e)))
        (with (with (a + b) [(at [0])] (c + d)) [(at [1])] e)
        (range 0 2 ... (n - 1))
        (range 0 - ..< (with n [(at [0])] 1))
        (range 1 - ..> 0)
        (range (neg 1) - ... (neg 2))
        (if a b (: c t))
        (neg (if a b c))
        (assert a (with b [(at [0])] c))
    "#]]
    .assert_eq(&exps(text));
}
