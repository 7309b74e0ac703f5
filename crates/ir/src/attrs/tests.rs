//! The source syntax of attributes, and the rules by which they merge.

use super::{Attr, Attrs, Inheritor, SPELLINGS, Versions};
use std::sync::Arc;

fn attrs(text: &str) -> Attrs {
    text.split_whitespace().map(Attr::of).collect()
}

fn text(attrs: &Attrs) -> String {
    let texts: Vec<String> = attrs.iter().map(Attr::to_string).collect();
    texts.join(" ")
}

#[test]
fn written_forms_are_read_back() {
    for (text, attr) in &SPELLINGS {
        assert_eq!((&Attr::of(text), &attr.to_string()[..]), (attr, *text));
    }
    for (text, attr) in [("stripmine(3)", Attr::StripMine(3)), ("bound(1000)", Attr::Bound(1000))] {
        assert_eq!((&Attr::of(text), &attr.to_string()[..]), (&attr, text));
    }
    for text in [
        "lent",
        "stripmine",
        "stripmine(x)",
        "bound(01)",
        "bound(-1)",
        "unroll(4)",
        "incremental_inline",
        "flattening",
        "",
    ] {
        let attr = Attr::of(text);
        assert_eq!(attr, Attr::Other(Arc::from(text)));
        assert_eq!(attr.to_string(), text);
    }
    let old = Attr::of("incremental_flattening(only_inner)");
    assert_eq!(old, Attr::Flattening(Versions::OnlyInner));
}

#[test]
fn attributes_are_unique_and_the_last_opposite_wins() {
    assert_eq!(text(&attrs("unroll a unroll b a")), "unroll a b");
    assert_eq!(text(&attrs("inline a noinline")), "a noinline");
    assert_eq!(text(&attrs("noinline inline")), "inline");
}

#[test]
fn fusion_keeps_restricting_attributes_only() {
    let fused = |p, c| text(&Attrs::fused(&attrs(p), &attrs(c)));
    assert_eq!(fused("sequential a", "flattening(no_outer) b"), "flattening(no_outer) b sequential a");
    assert_eq!(fused("sequential_outer", ""), "sequential_outer");
    assert_eq!(fused("", "sequential_inner"), "sequential_inner");
    assert_eq!(fused("unsafe unroll", ""), "");
    assert_eq!(fused("", "unsafe unroll"), "");
    assert_eq!(fused("unsafe unroll", "unroll unsafe"), "unroll unsafe");
    assert_eq!(fused("warn(safety_checks)", ""), "warn(safety_checks)");
    assert_eq!(fused("inline", "inline"), "");
    assert_eq!(fused("noinline", "noinline"), "");
}

#[test]
fn merging_equal_statements_keeps_safe_attributes() {
    let equal = |a, b| text(&Attrs::merged_equal(&attrs(a), &attrs(b)));
    assert_eq!(equal("", "warn(safety_checks)"), "warn(safety_checks)");
    assert_eq!(equal("unsafe", ""), "");
    assert_eq!(equal("unsafe", "unsafe"), "unsafe");
    assert_eq!(equal("a unroll", "b a"), "a unroll b");
}

#[test]
fn bodies_inherit_their_attributes() {
    let all: Attrs = (SPELLINGS.iter().map(|(_, attr)| attr.clone())).chain([Attr::of("mine")]).collect();
    assert_eq!(text(&all.inherited_by(Inheritor::Check)), "unsafe warn(safety_checks)");
    let operations = "sequential sequential_outer sequential_inner flattening(no_outer) \
        flattening(no_intra) flattening(only_intra) flattening(only_inner) \
        flattening(sequentialise_nonuniform)";
    assert_eq!(text(&all.inherited_by(Inheritor::Operation)), operations);
    let calls = format!("{operations} unsafe warn(safety_checks)");
    assert_eq!(text(&all.inherited_by(Inheritor::Call)), calls);
    let mut heir = attrs("unroll sequential");
    heir.inherit(&all.inherited_by(Inheritor::Check));
    assert_eq!(text(&heir), "unroll sequential unsafe warn(safety_checks)");
}
