//! Fuzzes the text form of the IR at all levels: any text gives a program or an error. The verifier
//! accepts or rejects any program, and a valid one is printed and parsed back unchanged.

#![no_main]

use ir::{Level, Mems, Segs, Soacs};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match ir::text::level_of(text) {
        Some("segs") => level::<Segs>(text),
        Some("mems") => level::<Mems>(text),
        Some("imp") => imperative(text),
        _ => level::<Soacs>(text),
    }
});

fn level<L: Level>(text: &str) {
    let Ok(program) = ir::text::parse::<L>(text) else {
        return;
    };
    let printed = ir::text::print(&program);
    if let Err(errors) = ir::verify::verify(&program) {
        assert!(!errors.is_empty());
        ir::verify::listing(&program, &errors);
        return;
    }
    let read = ir::text::parse::<L>(&printed).expect("what was printed can be read");
    assert_eq!(ir::text::print(&read), printed);
}

fn imperative(text: &str) {
    let Ok(program) = imp::parse(text) else {
        return;
    };
    let printed = imp::print(&program);
    if imp::verify(&program).is_err() {
        return;
    }
    let read = imp::parse(&printed).expect("what was printed can be read");
    assert_eq!(imp::print(&read), printed);
}
