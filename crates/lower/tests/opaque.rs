//! Tests of the table of opaque types for the types of entry points. Names, fields and kinds were
//! compared with the manifests of the reference compiler.

use check::{Loader, check_program};
use expect_test::{Expect, expect};
use std::fmt::Write as _;
use syntax::span::SourceMap;
use syntax::symbol::Interner;

struct Text<'t>(&'t str);

impl Loader for Text<'_> {
    fn load(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.as_bytes().to_vec())
    }
}

/// Compares the table and the entry points of a program, without the source's own spelling.
fn check(text: &str, expected: Expect) {
    let mut sources = SourceMap::new();
    let interner = Interner::new();
    let checked = check_program(&mut sources, &interner, &mut Text(text), "test.fut");
    let program = checked.program.ok_or(checked.diagnostics);
    let program = program.expect("the checker accepts the program");
    let program =
        lower::lower(&program, &sources, lower::Options::default()).expect("the program can be lowered");
    ir::verify::verify(&program).expect("the core program is valid");
    let printed = ir::text::print(&program);
    assert_eq!(ir::text::parse(&printed).as_ref(), Ok(&program));
    let lines = printed.lines().skip(1);
    let lines = lines.filter(|line| line.starts_with("opaque#") || line.starts_with("entry "));
    let lines: Vec<&str> = lines.chain([""]).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn records_and_tuples_are_listed_once_after_their_components() {
    check(
        "type point = {y: f32, x: f32}
         type~ line = {from: point, to: point, name: []u8}
         entry make (p: point) (q: point) : line = {from = p, to = q, name = \"pq\"}
         entry ends (l: line) : ((point, point), i32) = ((l.from, l.to), 2)
         entry length [n] (xs: [n]f32) : f32 = f32.i64 n",
        expect![[r#"
            opaque#0 "point" = record ("x": f32, "y": f32)
            opaque#1 "line" = record ("from": opaque#0, "name": array 1 u8, "to": opaque#0)
            opaque#2 "(point, point)" = record ("0": opaque#0, "1": opaque#0)
            opaque#3 "((point, point), i32)" = record ("0": opaque#2, "1": i32)
            entry "make" = make ("p": "point" as opaque#0, "q": "point" as opaque#0) -> ("": "line" as opaque#1)
            entry "ends" = ends ("l": "line" as opaque#1) -> ("": "((point, point), i32)" as opaque#3)
            entry "length" = length ("xs": "[n]f32" as array 1 f32) -> ("": "f32" as f32)
        "#]],
    );
}

#[test]
fn anonymous_types_are_named_by_their_structure() {
    check(
        "entry main (x: i32) = {a = x, b = (x, [x]), c = (if x > 0 then #some x else #none : #some i32 | #none)}",
        expect![[r##"
            opaque#0 "(i32, []i32)" = record ("0": i32, "1": array 1 i32)
            opaque#1 "#none | #some i32" = sum ("none" (), "some" (i32))
            opaque#2 "{a: i32, b: (i32, []i32), c: #none | #some i32}" = record ("a": i32, "b": opaque#0, "c": opaque#1)
            entry "main" = main ("x": "i32" as i32) -> ("": "{a: i32, b: (i32, []i32), c: #none | #some i32}" as opaque#2)
        "##]],
    );
}

#[test]
fn type_names_have_arguments_but_no_sizes() {
    check(
        "type pair 'a 'b = (a, b)
         type grid [n] = [n](i32, bool)
         type bag [n] = {items: [n]i64}
         entry main [n] (g: grid [n]) (b: bag []) (p: pair i32 (pair u8 f32)) : *bag [n] =
           {items = replicate n b.items[p.0 + g[0].0]}",
        expect![[r#"
            opaque#0 "(i32, bool)" = record ("0": i32, "1": bool)
            opaque#1 "grid" = array 1 of opaque#0 record ("0": array 1 i32, "1": array 1 bool)
            opaque#2 "bag" = record ("items": array 1 i64)
            opaque#3 "(u8, f32)" = record ("0": u8, "1": f32)
            opaque#4 "pair i32 (pair u8 f32)" = record ("0": i32, "1": opaque#3)
            entry "main" = main ("g": "grid [n]" as opaque#1, "b": "bag []" as opaque#2, "p": "pair i32 (pair u8 f32)" as opaque#4) -> ("": *"bag [n]" as opaque#2)
        "#]],
    );
}

#[test]
fn sums_list_the_types_of_their_payloads() {
    check(
        "type point = {x: f32, y: f32}
         type~ shape = #line ([]point) bool | #none | #dot point i32
         entry main (s: shape) : i32 = match s case #line _ _ -> 1 case #none -> 2 case #dot _ i -> i",
        expect![[r#"
            opaque#0 "point" = record ("x": f32, "y": f32)
            opaque#1 "[]point" = array 1 of opaque#0 record ("x": array 1 f32, "y": array 1 f32)
            opaque#2 "shape" = sum ("dot" (opaque#0, i32), "line" (opaque#1, bool), "none" ())
            entry "main" = main ("s": "shape" as opaque#2) -> ("": "i32" as i32)
        "#]],
    );
}

#[test]
fn element_types_of_arrays_are_listed() {
    check(
        "type point = {x: f32, ys: [2]f32}
         type flag = #on i32 | #off
         entry records [n] (ps: [n]point) : [n][1](point, i32) = map (\\p -> [(p, 1)]) ps
         entry sums (fs: [][]flag) : i64 = length fs
         entry units (us: []()) : i64 = length us",
        expect![[r#"
            opaque#0 "point" = record ("x": f32, "ys": array 1 f32)
            opaque#1 "[]point" = array 1 of opaque#0 record ("x": array 1 f32, "ys": array 2 f32)
            opaque#2 "(point, i32)" = record ("0": opaque#0, "1": i32)
            opaque#3 "[][]point" = array 2 of opaque#0 record ("x": array 2 f32, "ys": array 3 f32)
            opaque#4 "[][](point, i32)" = array 2 of opaque#2 record ("0": opaque#3, "1": array 2 i32)
            opaque#5 "flag" = sum ("off" (), "on" (i32))
            opaque#6 "[][]flag" = array 2 of opaque#5
            opaque#7 "()" = record ()
            opaque#8 "[]()" = array 1 of opaque#7
            entry "records" = records ("ps": "[n]point" as opaque#1) -> ("": "[n][1](point, i32)" as opaque#4)
            entry "sums" = sums ("fs": "[][]flag" as opaque#6) -> ("": "i64" as i64)
            entry "units" = units ("us": "[]()" as opaque#8) -> ("": "i64" as i64)
        "#]],
    );
}

#[test]
fn abstract_types_have_their_name_and_their_representation() {
    check(
        "module m : { type t val make : i32 -> t } = { type t = {x: i32, y: bool} def make x = {x, y = true} }
         module k : { type t val make : i32 -> t } = { type t = i32 def make x = x }
         open m
         entry one (x: i32) : m.t = m.make x
         entry two (x: i32) : t = make x
         entry three (x: i32) : k.t = k.make x",
        expect![[r#"
            opaque#0 "m.t" = record ("x": i32, "y": bool)
            opaque#1 "t" = record ("x": i32, "y": bool)
            entry "one" = one ("x": "i32" as i32) -> ("": "m.t" as opaque#0)
            entry "two" = two ("x": "i32" as i32) -> ("": "t" as opaque#1)
            entry "three" = three ("x": "i32" as i32) -> ("": "k.t" as i32)
        "#]],
    );
}

#[test]
fn types_of_equal_names_are_distinguished() {
    check(
        "module a = { type t = {x: i32} }
         module b = { type t = {y: f32} }
         local open a
         entry first (x: i32) : t = {x}
         local open b
         entry second (y: f32) : t = {y}
         entry third (y: f32) : (t, b.t) = ({y}, {y})",
        expect![[r#"
            opaque#0 "t" = record ("x": i32)
            opaque#1 "{y: f32}" = record ("y": f32)
            opaque#2 "b.t" = record ("y": f32)
            opaque#3 "(t, b.t)" = record ("0": opaque#1, "1": opaque#2)
            entry "first" = first ("x": "i32" as i32) -> ("": "t" as opaque#0)
            entry "second" = second ("y": "f32" as f32) -> ("": "t" as opaque#1)
            entry "third" = third ("y": "f32" as f32) -> ("": "(t, b.t)" as opaque#3)
        "#]],
    );
}

#[test]
fn deeply_nested_arrays_are_visited_once() {
    let mut text = "type t0 = {x: i32, y: f32}\n".to_owned();
    for i in 1..40 {
        let last = i - 1;
        let _ = writeln!(text, "type t{i} = {{a: [2]t{last}}}");
    }
    text += "entry main (x: t39) : i32 = 1";
    let mut sources = SourceMap::new();
    let interner = Interner::new();
    let checked = check_program(&mut sources, &interner, &mut Text(&text), "test.fut");
    let program = checked.program.expect("the checker accepts the program");
    let program =
        lower::lower(&program, &sources, lower::Options::default()).expect("the program can be lowered");
    // Each record, for each number of dimensions around it.
    assert_eq!(program.opaques.len(), 40 * 41 / 2);
}
