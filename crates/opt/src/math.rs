//! Mathematical functions: the definitions are simplified once, and late in the pipeline each
//! operation is replaced by its definition's body.
//!
//! ```text
//! let y = math.exp.f64 x         =>         let t = fma.f64 x 11.54.. magic
//!                                           ..
//!                                           let y = fmul.f64 p q
//! ```
//!
//! Until then an operation is one scalar operation that cannot fail: it is shared, hoisted, folded
//! and fused as any other, and analyses do not walk through polynomials.
//!
//! Contraction happens in a definition once, before any operation is folded, so that constants have
//! the bits of compiled code. The pass `fma` after expansion contracts a definition's last product
//! with a sum that uses it.

use crate::passes::Signatures;
use crate::splice;
use crate::{fma, simplify};
use ir::syntax::{Atom, BasicOp, Body, Exp, Function, Level, Program, Stm};
use ir::walk::{Import, Substitution, VisitMut, import_body};
use ir::{Context, MathDefinition, MathDefinitions, Name, NameTable, PassError, ProvTable, Segs, Soacs};
use prim::{MathFun, PrimType};
use rustc_hash::FxHashMap;

/// Simplifies and contracts the definitions of a program.
pub(crate) fn simplify_definitions(
    mut program: Program<Soacs>,
    context: &mut Context,
) -> Result<Program<Soacs>, PassError> {
    let definitions: Vec<MathDefinition> = program.math.iter().cloned().collect();
    let simplified = context.each(definitions, |definition, own| {
        let none = Signatures::default();
        let function = simplify::simplify(definition.function, &none, own)?;
        let function = fma::fuse_products(function, &none, own)?;
        Ok::<_, PassError>(MathDefinition { function, ..definition })
    })?;
    program.math = simplified.into_iter().collect();
    Ok(program)
}

/// Replaces each operation that stands for a definition by the definition's body, and removes the
/// definitions.
pub(crate) fn expand(mut program: Program<Segs>, context: &mut Context) -> Result<Program<Segs>, PassError> {
    let bodies = Bodies::of(&std::mem::take(&mut program.math))?;
    program.functions = context.each(program.functions, |mut function, _| {
        expand_function(&mut function, &bodies);
        Ok::<_, PassError>(function)
    })?;
    Ok(program)
}

/// The definitions of a program at a level.
struct Bodies<L: Level>(FxHashMap<(MathFun, PrimType), (MathDefinition, Body<L>)>);

impl<L: Level> Bodies<L> {
    fn of(definitions: &MathDefinitions) -> Result<Self, PassError> {
        let bodies = definitions.iter().map(|definition| {
            let body = definition.body_at::<L>();
            let bug = || PassError::bug(format!("the definition {} is not scalar", definition.function.name));
            Ok(((definition.fun, definition.ty), (definition.clone(), body.ok_or_else(bug)?)))
        });
        Ok(Self(bodies.collect::<Result<_, PassError>>()?))
    }
}

fn expand_function<L: Level>(function: &mut Function<L>, bodies: &Bodies<L>) {
    if bodies.0.is_empty() {
        return;
    }
    let Function { body, names, provs, .. } = function;
    let mut expansion = Expansion { bodies, names, provs, map: Substitution::default() };
    VisitMut::<L>::body(&mut expansion, body);
}

struct Expansion<'a, L: Level> {
    bodies: &'a Bodies<L>,
    names: &'a mut NameTable,
    provs: &'a mut ProvTable,
    /// The values of the operations that have been replaced.
    map: Substitution,
}

impl<L: Level> Expansion<'_, L> {
    fn replace(
        &mut self,
        definition: &MathDefinition,
        body: &Body<L>,
        args: &[Atom],
        mut stm: Stm<L>,
        out: &mut Vec<Stm<L>>,
    ) {
        let params = definition.function.params.iter();
        let mut map: Substitution = params.zip(args).map(|(param, arg)| (param.param.name, *arg)).collect();
        let mut import = Import {
            from_names: &definition.function.names,
            from_provs: &definition.function.provs,
            names: self.names,
            provs: self.provs,
            outer: stm.aux.prov,
        };
        let Body { stms, result } = import_body(body, &mut import, &mut map);
        splice::statements(stms, &stm.aux, out);
        let pat = std::mem::take(&mut stm.pat);
        out.extend(splice::results(pat, &stm.aux, &result, &mut self.map));
    }
}

impl<L: Level> VisitMut<L> for Expansion<'_, L> {
    fn name(&mut self, name: &mut Name) {
        if let Some(Atom::Var(new)) = self.map.get(name) {
            *name = *new;
        }
    }

    fn atom(&mut self, atom: &mut Atom) {
        if let Atom::Var(name) = atom
            && let Some(new) = self.map.get(name)
        {
            *atom = *new;
        }
    }

    fn body(&mut self, body: &mut Body<L>) {
        ir::walk::with_stack(|| {
            let stms = std::mem::take(&mut body.stms);
            let mut out = Vec::with_capacity(stms.len());
            for mut stm in stms {
                self.stm(&mut stm);
                let found = match &stm.exp {
                    Exp::Basic(BasicOp::Math(fun, ty, args)) => {
                        self.bodies.0.get(&(*fun, *ty)).map(|found| (found, args.clone()))
                    }
                    Exp::Basic(_)
                    | Exp::If { .. }
                    | Exp::Loop { .. }
                    | Exp::Apply { .. }
                    | Exp::Op(_) => None,
                };
                match found {
                    Some(((definition, body), args)) => self.replace(definition, body, &args, stm, &mut out),
                    None => out.push(stm),
                }
            }
            body.stms = out;
            for atom in &mut body.result {
                self.atom(atom);
            }
        });
    }
}
