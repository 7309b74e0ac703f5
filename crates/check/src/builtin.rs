//! Lookup in the built-in module `intrinsics`.

use crate::checker::Checker;
use crate::env::{Entry, Scheme, Target, ValueEntry};
use crate::intrinsics::{self, ArrayFun, Intrinsic};
use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;
use syntax::ast::{DeclKind, Ident, ModTypeExpKind, Prog, SpecKind};

/// The path under which the signatures of [`ArrayFun`] are a source file.
pub(crate) const SIGNATURES: &str = "/intrinsics";

/// The signatures of all array functions as source text.
pub(crate) fn signatures() -> String {
    let mut text = String::from("module type intrinsics = {\ntype~ acc 't\n");
    for fun in ArrayFun::ALL {
        let _ = writeln!(text, "val {} {}", fun.name(), fun.signature());
    }
    text.push_str("}\n");
    text
}

impl<'a> Checker<'a> {
    /// Reads the signatures.
    pub(crate) fn load_signatures(&mut self, prog: &'a Prog) {
        for decl in &prog.decls {
            let DeclKind::ModType(bind) = &decl.kind else {
                continue;
            };
            let ModTypeExpKind::Specs(specs) = &bind.body.kind else {
                continue;
            };
            for spec in specs {
                if let SpecKind::Type {
                    lifted,
                    name,
                    params,
                } = &spec.kind
                {
                    let text = self.name(name.name);
                    let params = self.scoped(|c| c.type_params(params));
                    let (_, abbr) = self.new_abstract(text, params, *lifted, None);
                    let abbr = Rc::new(abbr);
                    self.builtin_types.insert(name.name, Rc::clone(&abbr));
                    self.env.bind_type(name.name, abbr);
                }
                let SpecKind::Val {
                    name,
                    type_params,
                    ty,
                } = &spec.kind
                else {
                    continue;
                };
                let text = self.name(name.name);
                let Some(fun) = ArrayFun::from_name(&text) else {
                    continue;
                };
                let scheme = self.val_spec(type_params, ty);
                let entry = ValueEntry {
                    target: Target::Intrinsic(Intrinsic::Array(fun)),
                    scheme: Arc::new(scheme),
                    via: None,
                    span: None,
                };
                self.array_funs.insert(name.name, Rc::new(entry));
            }
        }
    }

    /// A member of module `intrinsics`.
    pub(crate) fn intrinsic(&mut self, ident: &Ident) -> Option<Entry<'a>> {
        if let Some(entry) = self.array_funs.get(&ident.name) {
            return Some(Entry::Value(Rc::clone(entry)));
        }
        let text = self.name(ident.name);
        if let Some(operator) = self.operators.get(&ident.name) {
            return Some(operator.clone());
        }
        let (intrinsic, ty) = intrinsics::scalar(&text)?;
        let entry = Rc::new(ValueEntry {
            target: Target::Intrinsic(intrinsic),
            scheme: Arc::new(Scheme::mono(ty)),
            via: None,
            span: None,
        });
        self.array_funs.insert(ident.name, Rc::clone(&entry));
        Some(Entry::Value(entry))
    }
}
