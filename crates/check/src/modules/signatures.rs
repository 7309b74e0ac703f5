//! Loads the signatures of the built-in module's functions.

use crate::intrinsics::ArrayFun;
use crate::modules::Elaborator;
use std::rc::Rc;
use syntax::ast::{DeclKind, ModTypeExpKind, Prog, SpecKind};

impl<'a> Elaborator<'a> {
    /// Adds the types and functions of the built-in module.
    pub(crate) fn load_signatures(&mut self, prog: &'a Prog) {
        for decl in &prog.decls {
            let DeclKind::ModType(bind) = &decl.kind else {
                continue;
            };
            let ModTypeExpKind::Specs(specs) = &bind.body.kind else {
                continue;
            };
            for spec in specs {
                match &spec.kind {
                    SpecKind::Type { lifted, name, params } => {
                        let text = self.cx.symbol_text(name.name);
                        let params = self.spec_params(params, spec.span);
                        let (_, abbr) = self.tables.new_abstract(text, params, *lifted, None);
                        let abbr = Rc::new(abbr);
                        self.cx.builtins.add_type(name.name, Rc::clone(&abbr));
                        self.cx.env.bind_type(name.name, abbr);
                    }
                    SpecKind::Val { name, type_params, ty } => {
                        let text = self.cx.symbol_text(name.name);
                        let Some(fun) = ArrayFun::from_name(&text) else {
                            continue;
                        };
                        let scheme = self.val_spec(type_params, ty);
                        self.cx.builtins.add_fun(name.name, fun, scheme);
                    }
                    SpecKind::TypeAbbr(_) | SpecKind::Mod(..) | SpecKind::Include(_) => {}
                }
            }
        }
    }
}
