//! Mathematical functions: a call of one is an operation, and the prelude's definition becomes a
//! definition of the program ([`ir::math`]), once.
//!
//! The prelude marks its definitions by `#[math(sin)]`. Inside of a definition, calls of others are
//! inlined: it consists of scalar operations and conditionals.

use crate::value::{Env, Value};
use crate::{Lower, Res};
use analysis::size;
use check::tast::{Def, Ty};
use ir::syntax::{Attrs, FunKind, FunParam, FunResult};
use ir::walk::VisitMut;
use ir::{BasicOp, Function, MathDefinition, Prov, ProvTable, Soacs, Type};
use prim::{MathFun, ScalarOp, ScalarType};
use smallvec::SmallVec;
use std::sync::Arc;

/// The definitions that have been lowered.
#[derive(Default)]
pub(crate) struct Definitions {
    pub(crate) done: Vec<MathDefinition>,
    /// True while one is being lowered.
    pub(crate) in_definition: bool,
    /// True if the program contains derivatives.
    pub(crate) differentiated: bool,
}

impl Lower<'_> {
    /// The operation for a call of a mathematical function; `None` for other functions, and inside
    /// of definitions.
    pub(crate) fn math_operation(&mut self, def: &Arc<Def>, args: &[Value]) -> Res<Option<Value>> {
        let Some((fun, ty)) = math_function(def).filter(|_| !self.definitions.in_definition) else {
            return Ok(None);
        };
        let atoms: SmallVec<[ir::Atom; 2]> = args
            .iter()
            .filter_map(|arg| match arg {
                Value::Scalar(atom, _) => Some(*atom),
                _ => None,
            })
            .collect();
        if atoms.len() != fun.arity() {
            return self.bug("a mathematical function has the wrong number of arguments");
        }
        let prim = ty.prim();
        if !self.definitions.done.iter().any(|known| known.fun == fun && known.ty == prim) {
            let definition = self.math_definition(def, fun, ty)?;
            self.definitions.done.push(definition);
        }
        let op = BasicOp::Scalar(ScalarOp::Math(fun, prim, atoms));
        self.f.add_size(size::of_basic(&op));
        let name = self.f.basic(fun.name(), op);
        Ok(Some(Value::Scalar(name.into(), ty)))
    }

    /// Lowers the definitions of the functions of which derivatives of the program's consist, and of
    /// all their derivatives.
    pub(crate) fn definitions_of_derivatives(&mut self) -> Res<()> {
        let mut at = 0;
        while let Some((fun, ty)) = self.definitions.done.get(at).map(|known| (known.fun, known.ty)) {
            at += 1;
            for needed in prim::derivative::functions(fun, ty) {
                if self.definitions.done.iter().any(|known| known.fun == needed && known.ty == ty) {
                    continue;
                }
                let defines = |def: &&Arc<Def>| {
                    math_function(def).is_some_and(|(fun, own)| fun == needed && own.prim() == ty)
                };
                let Some(def) = self.program.defs.iter().find(defines).map(Arc::clone) else {
                    continue;
                };
                let Some((_, own)) = math_function(&def) else {
                    continue;
                };
                let definition = self.math_definition(&def, needed, own)?;
                self.definitions.done.push(definition);
            }
        }
        Ok(())
    }

    fn math_definition(&mut self, def: &Arc<Def>, fun: MathFun, ty: ScalarType) -> Res<MathDefinition> {
        let prim = ty.prim();
        self.definitions.in_definition = true;
        let made = self.in_function(|s| {
            let params: Vec<_> = (0..fun.arity()).map(|_| s.f.param("x", Type::Prim(prim))).collect();
            let args = params.iter().map(|param| Value::Scalar(param.name.into(), ty)).collect();
            let env = Env::inside(&s.root);
            let value = s.in_place(&def.params, &[], &def.ret, &def.body, &env, args)?;
            Ok((params, value.atoms()))
        });
        self.definitions.in_definition = false;
        let ((params, result), f) = made?;
        let (mut body, names, _) = f.finish(result);
        VisitMut::<Soacs>::body(&mut NoProvenance, &mut body);
        let function = Function {
            name: MathDefinition::name(fun, prim),
            kind: FunKind::Function,
            version: None,
            attrs: Attrs::default(),
            params: params.into_iter().map(|param| FunParam { param, consumed: false }).collect(),
            ret: vec![FunResult { ty: Type::Prim(prim), aliases: Vec::new(), ann: () }],
            body,
            tunables: Vec::new(),
            names,
            provs: ProvTable::new(),
        };
        Ok(MathDefinition { fun, ty: prim, function })
    }
}

/// Removes provenances: those of an operation apply to its whole definition.
struct NoProvenance;

impl VisitMut<Soacs> for NoProvenance {
    fn prov(&mut self, prov: &mut Prov) {
        *prov = Prov::NONE;
    }
}

/// The mathematical function that a definition of the prelude defines, and its type.
fn math_function(def: &Def) -> Option<(MathFun, ScalarType)> {
    let marks = if def.is_prelude { def.attrs.as_slice() } else { &[] };
    let mark = marks.iter().find(|attr| &*attr.name == "math")?;
    let fun = MathFun::from_name(&mark.args.first()?.name)?;
    match def.ret.ty {
        Ty::Scalar(ty) if fun.has_definition(ty.prim()) => Some((fun, ty)),
        _ => None,
    }
}
