//! Source locations, and the checks and allocations that report them.

use crate::emitter::Emitter;
use imp::{Check, CheckId, Expr, Stmt, Var};
use ir::Prov;
use ir::name::SrcLoc;
use std::fmt::Write;
use std::sync::Arc;

impl Emitter<'_> {
    /// Emits an allocation, with the source location for its failure if it is known.
    pub(crate) fn alloc(&mut self, var: Var, bytes: impl Into<Expr>, prov: Prov) {
        let check = self.span_check(prov);
        self.emit(Stmt::Alloc(var, bytes.into(), check));
    }

    /// The check that carries the source location of a failing allocation, if it is known.
    pub(crate) fn span_check(&mut self, prov: Prov) -> Option<CheckId> {
        let location = self.source_location(prov);
        (!location.is_empty()).then(|| self.tables.check(Check { format: "".into(), location }))
    }

    /// Source locations, innermost first, one per line.
    pub(crate) fn source_location(&self, prov: Prov) -> Arc<str> {
        self.span_list(&self.function.provs.stack(prov)).into()
    }

    /// The source locations of all statements that were fused into one, the last consumer's first,
    /// separated by empty lines.
    pub(crate) fn provenance(&self, prov: Prov) -> Arc<str> {
        let stacks = self.function.provs.stacks(prov);
        let texts: Vec<String> = stacks.iter().rev().map(|stack| self.span_list(stack)).collect();
        texts.join("\n\n").into()
    }

    fn span_list(&self, stack: &[SrcLoc]) -> String {
        let mut text = String::new();
        for loc in stack {
            if !text.is_empty() {
                text.push('\n');
            }
            self.span_text(*loc, &mut text);
        }
        text
    }

    fn span_text(&self, loc: SrcLoc, text: &mut String) {
        let file = self.shared.files.get(loc.file as usize).map_or("?", |file| file);
        let SrcLoc { file: _, line, col, end_line, end_col } = loc;
        let last = end_col.saturating_sub(1).max(1);
        let written = if line == end_line {
            write!(text, "{file}:{line}:{col}-{last}")
        } else {
            write!(text, "{file}:{line}:{col}-{end_line}:{last}")
        };
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    }
}
