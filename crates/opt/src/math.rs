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
//! with a sum that uses it. Where some operands are constants, the definition is specialised to
//! them, once for all operations with these constants.

use crate::{fma, simplify, splice};
use analysis::signatures::Signatures;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Function, Level, Program, Stm};
use ir::walk::{Import, Substitution, Visit, VisitMut, import_body, substitute_body, with_stack};
use ir::{Context, MathDefinition, MathDefinitions, Name, NameTable, PassError, ProvTable, Segs, Soacs};
use prim::{MathFun, PrimType, Scalar, ScalarOp};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

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
    let definitions = std::mem::take(&mut program.math);
    if definitions.iter().len() == 0 {
        return Ok(program);
    }
    let mut wanted = Wanted::default();
    for function in &program.functions {
        Visit::<Segs>::body(&mut wanted, &function.body);
    }
    let specialised = context.each(wanted.list, |key, own| {
        let body = specialise(&definitions, &key, own)?;
        Ok::<_, PassError>((key, body))
    })?;
    let bodies: Bodies<Segs> = specialised.into_iter().collect();
    program.functions = context.each(program.functions, |mut function, _| {
        let Function { body, names, provs, .. } = &mut function;
        let mut expansion = Expansion { bodies: &bodies, names, provs, map: Substitution::default() };
        VisitMut::<Segs>::body(&mut expansion, body);
        Ok::<_, PassError>(function)
    })?;
    Ok(program)
}

/// A function at a type, and its constant arguments.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    fun: MathFun,
    ty: PrimType,
    constants: SmallVec<[Option<Scalar>; 2]>,
}

impl Key {
    /// The key of an operation that stands for a definition.
    fn of(op: &BasicOp) -> Option<Self> {
        let BasicOp::Scalar(ScalarOp::Math(fun, ty, args)) = op else {
            return None;
        };
        let constants = args.iter().map(|arg| arg.constant()).collect();
        fun.has_definition(*ty).then_some(Self { fun: *fun, ty: *ty, constants })
    }
}

/// The operations of a program, each once, in order.
#[derive(Default)]
struct Wanted {
    list: Vec<Key>,
    seen: FxHashSet<Key>,
}

impl<L: Level> Visit<L> for Wanted {
    fn basic(&mut self, op: &BasicOp) {
        if let Some(key) = Key::of(op)
            && self.seen.insert(key.clone())
        {
            self.list.push(key);
        }
    }
}

/// A body to be inlined, the names of its parameters and all its names.
struct Expanded<L: Level> {
    params: Vec<Name>,
    body: Body<L>,
    names: NameTable,
}

type Bodies<L> = FxHashMap<Key, Expanded<L>>;

/// The body of a definition with constants in the place of parameters.
fn specialise<L: Level>(
    definitions: &MathDefinitions,
    key: &Key,
    context: &mut Context,
) -> Result<Expanded<L>, PassError> {
    let spelling = || key.fun.spelling(key.ty);
    let missing = || PassError::bug(format!("the program has no definition of {}", spelling()));
    let mut definition = definitions.get(key.fun, key.ty).ok_or_else(missing)?.clone();
    let params: Vec<Name> = definition.function.params.iter().map(|param| param.param.name).collect();
    if key.constants.iter().any(Option::is_some) {
        let constants = params.iter().zip(&key.constants);
        let map: Substitution =
            constants.filter_map(|(name, value)| Some((*name, Atom::Const((*value)?)))).collect();
        substitute_body(&mut definition.function.body, &map);
        definition.function = simplify::simplify(definition.function, &Signatures::default(), context)?;
    }
    let not_scalar = || PassError::bug(format!("the definition of {} is not scalar", spelling()));
    let body = definition.body_at().ok_or_else(not_scalar)?;
    Ok(Expanded { params, body, names: definition.function.names })
}

struct Expansion<'a, L: Level> {
    bodies: &'a Bodies<L>,
    names: &'a mut NameTable,
    provs: &'a mut ProvTable,
    /// The values of the operations that have been replaced.
    map: Substitution,
}

impl<L: Level> Expansion<'_, L> {
    fn replace(&mut self, by: &Expanded<L>, args: &[Atom], stm: Stm<L>, out: &mut Vec<Stm<L>>) {
        let mut map: Substitution = by.params.iter().copied().zip(args.iter().copied()).collect();
        let mut import = Import {
            from_names: &by.names,
            from_provs: &ProvTable::new(),
            names: self.names,
            provs: self.provs,
            outer: stm.aux.prov,
        };
        let Body { stms, result } = import_body(&by.body, &mut import, &mut map);
        splice::statements(stms, &stm.aux, out);
        // A result that the body binds has the operation's certificates; an operand has not.
        let is_bound = result.iter().all(|atom| atom.var().is_some() && !args.contains(atom));
        let aux = if is_bound { &Aux::at(stm.aux.prov) } else { &stm.aux };
        out.extend(splice::results(stm.pat, aux, &result, &mut self.map));
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
        with_stack(|| {
            let mut out = Vec::with_capacity(body.stms.len());
            for mut stm in std::mem::take(&mut body.stms) {
                // By the operands before substitution, which may make constants of names.
                let key = if let Exp::Basic(op) = &stm.exp { Key::of(op) } else { None };
                VisitMut::<L>::stm(self, &mut stm);
                if let Some(by) = key.and_then(|key| self.bodies.get(&key))
                    && let Exp::Basic(BasicOp::Scalar(ScalarOp::Math(_, _, args))) = &stm.exp
                {
                    let args = args.clone();
                    self.replace(by, &args, stm, &mut out);
                } else {
                    out.push(stm);
                }
            }
            body.stms = out;
            for atom in &mut body.result {
                VisitMut::<L>::atom(self, atom);
            }
        });
    }
}
