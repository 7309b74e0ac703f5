//! The context of a function being flattened, and what is the same inside and
//! outside of segops: statements, branches, loops, lambdas.

use crate::functions::{Parallel, Place, place_of};
use crate::{parallel, sequential};
use ir::attrs::Versions;
use ir::decision::{Kind, Operation, Runs, Sequential};
use ir::name::{Name, NameTable, Prov, ProvTable, SrcLoc};
use ir::soac::Soac;
use ir::syntax::{
    Atom, Attr, Aux, BasicOp, Body, DimIndex, Exp, Lambda, LoopForm, LoopParam, Param, Stm,
};
use ir::tunable::{Class, Rule, Tunable, TunableId};
use ir::types::{Dim, Type};
use ir::{Fuel, PassError, Segs, Soacs};
use rustc_hash::{FxHashMap, FxHashSet};

/// A function being flattened.
pub(crate) struct Ctx<'a> {
    names: NameTable,
    types: Vec<Option<Type>>,
    provs: &'a ProvTable,
    parallel: &'a Parallel,
    /// Whether what is bound now is bound inside a segop.
    is_inside: bool,
    /// Names that are bound inside a segop.
    inside: FxHashSet<Name>,
    /// Arrays whose elements do not lie next to each other in the innermost
    /// dimension, as far as it shows here.
    strided: FxHashSet<Name>,
    /// Tokens of accumulators with an operator.
    combining: FxHashSet<Name>,
    /// Whether the segop that is being made reads arrays that lie across.
    reads_across: bool,
    /// Guards to stand before the segop that is being made.
    guards: Vec<Guard>,
    /// Whether there is such a segop.
    guarded: bool,
    /// The function's tuning parameters up to here.
    pub(crate) tunables: Vec<Tunable>,
    /// The next ordinal of each rule.
    ordinals: FxHashMap<Rule, u32>,
    /// Whether combinators may be shared by the lanes of one worker.
    pub(crate) lanes: Lanes,
    /// How many choices may still be made that flattening gets on without.
    pub(crate) fuel: &'a mut Fuel,
    /// What was decided, where that is wanted.
    decided: Option<Vec<(Prov, Kind)>>,
    /// Where the outermost combinator comes from that is being flattened.
    outermost: Prov,
    /// Whether an attribute asks for sequential code here.
    asked: bool,
}

/// Whether attributes leave it open that the lanes of one worker share a
/// combinator.
#[derive(Clone, Copy)]
pub(crate) struct Lanes {
    /// That which is being flattened.
    pub(crate) here: bool,
    /// Those inside of it.
    inside: bool,
}

/// A comparison that decides between versions: whether a size is no less than a
/// tuning parameter.
#[derive(Clone, Copy)]
pub(crate) struct Guard {
    pub(crate) cond: Name,
    size: Name,
    tunable: TunableId,
}

/// The parts of a segop at level 1, and what came up while they were made.
pub(crate) struct InSeg<T> {
    pub(crate) parts: T,
    pub(crate) guards: Vec<Guard>,
    pub(crate) reads_across: bool,
}

impl Guard {
    /// Appends the comparison.
    pub(crate) fn compare(self, ctx: &mut Ctx<'_>, aux: &Aux, out: &mut Vec<Stm<Segs>>) {
        let pat = vec![ctx.param(Param {
            name: self.cond,
            ty: Type::BOOL,
            ann: (),
        })];
        out.push(Stm {
            pat,
            aux: Aux::at(aux.prov),
            exp: Exp::Basic(BasicOp::SizeAtLeast {
                size: self.size.into(),
                tunable: self.tunable,
            }),
        });
    }
}

impl<'a> Ctx<'a> {
    pub(crate) fn new(
        names: NameTable,
        provs: &'a ProvTable,
        parallel: &'a Parallel,
        place: Place,
        fuel: &'a mut Fuel,
        account: bool,
    ) -> Self {
        let types = vec![None; names.len()];
        Self {
            names,
            types,
            provs,
            parallel,
            is_inside: place == Place::Inside,
            inside: FxHashSet::default(),
            strided: FxHashSet::default(),
            combining: FxHashSet::default(),
            reads_across: false,
            guards: Vec::new(),
            guarded: false,
            tunables: Vec::new(),
            ordinals: FxHashMap::default(),
            lanes: Lanes {
                here: true,
                inside: true,
            },
            fuel,
            decided: account.then(Vec::new),
            outermost: Prov::NONE,
            asked: false,
        }
    }

    /// Notes how a combinator runs, where somebody wants to know.
    pub(crate) fn decide(&mut self, aux: &Aux, what: Operation, how: impl FnOnce(&Self) -> Runs) {
        if self.decided.is_some() {
            let kind = Kind::Runs {
                what,
                how: how(self),
                parts: self.provs.stacks(aux.prov),
            };
            self.decided.get_or_insert_default().push((aux.prov, kind));
        }
    }

    /// Notes that a combinator becomes a sequential loop.
    pub(crate) fn decide_loop(&mut self, aux: &Aux, what: Operation, place: Place) {
        self.decide(aux, what, |ctx| {
            Runs::Loop(if ctx.asked || aux.attrs.has(&Attr::SequentialOuter) {
                Sequential::Asked
            } else if place == Place::Inside {
                Sequential::Inside(ctx.around())
            } else {
                Sequential::ArrayOperator
            })
        });
    }

    /// Where the outermost combinator comes from that is being flattened.
    pub(crate) fn around(&self) -> Vec<SrcLoc> {
        self.provs.stack(self.outermost)
    }

    /// What was decided.
    pub(crate) fn decided(&mut self) -> Vec<(Prov, Kind)> {
        self.decided.take().unwrap_or_default()
    }

    /// The table of names.
    pub(crate) fn names(&mut self) -> &mut NameTable {
        &mut self.names
    }

    /// Makes the parts of a segop at level 1, with the guards that have to stand
    /// before it; also returns whether combinators in it read arrays that lie
    /// across ([`Ctx::note_across`]).
    pub(crate) fn in_seg<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, PassError>,
    ) -> Result<InSeg<T>, PassError> {
        let around = (self.is_inside, self.guarded);
        (self.is_inside, self.guarded) = (true, true);
        let parts = f(self)?;
        (self.is_inside, self.guarded) = around;
        Ok(InSeg {
            parts,
            guards: std::mem::take(&mut self.guards),
            reads_across: std::mem::take(&mut self.reads_across),
        })
    }

    /// Notes that a combinator inside a segop reads these arrays, whose elements
    /// may lie apart: then those of points side by side are likely to lie together.
    pub(crate) fn note_across(&mut self, inputs: &[Name]) {
        self.reads_across |= self.is_inside && inputs.iter().any(|&input| self.is_strided(input));
    }

    /// A condition that holds if a size is no less than a parameter that the rule
    /// makes, which is `least` by default: before the segop that is being made if
    /// the size is known there, else here. Before a segop there is one for each
    /// size, rule and default.
    pub(crate) fn guard(
        &mut self,
        size: Name,
        rule: Rule,
        least: i64,
        aux: &Aux,
        out: &mut Vec<Stm<Segs>>,
    ) -> Atom {
        let outside = self.guarded && !self.is_inside(size);
        let known = self.guards.iter().find(|guard| {
            let tunable = self.tunables.get(guard.tunable.index());
            guard.size == size && tunable.is_some_and(|t| t.rule == rule && t.default == least)
        });
        if let (true, Some(known)) = (outside, known) {
            return known.cond.into();
        }
        let cond = self.names.fresh("long");
        let tunable = self.threshold(rule, least);
        let guard = Guard {
            cond,
            size,
            tunable,
        };
        if outside {
            self.guards.push(guard);
        } else {
            guard.compare(self, aux, out);
        }
        cond.into()
    }

    /// From now on accumulators of this token have an operator.
    pub(crate) fn note_combining(&mut self, token: Name) {
        self.combining.insert(token);
    }

    /// Whether there are accumulators with an operator among these types.
    pub(crate) fn combines(&self, types: &[Type]) -> bool {
        types
            .iter()
            .any(|ty| matches!(ty, Type::Acc { token, .. } if self.combining.contains(token)))
    }

    /// Begins with the parameters that the function has.
    pub(crate) fn adopt(&mut self, tunables: Vec<Tunable>) {
        for tunable in &tunables {
            let next = self.ordinals.entry(tunable.rule).or_insert(0);
            *next = tunable.ordinal.saturating_add(1).max(*next);
        }
        self.tunables = tunables;
    }

    /// A new parameter.
    fn threshold(&mut self, rule: Rule, default: i64) -> TunableId {
        let next = self.ordinals.entry(rule).or_insert(0);
        let ordinal = *next;
        *next += 1;
        let id = TunableId(self.tunables.len() as u32);
        self.tunables.push(Tunable {
            rule,
            ordinal,
            class: Class::Threshold,
            default,
        });
        id
    }

    /// Whether a name is bound inside a segop.
    pub(crate) fn is_inside(&self, name: Name) -> bool {
        self.inside.contains(&name)
    }

    /// Whether the elements of an array do not lie next to each other.
    pub(crate) fn is_strided(&self, array: Name) -> bool {
        self.strided.contains(&array)
    }

    pub(crate) fn into_names(self) -> NameTable {
        self.names
    }

    /// The places of a statement, for errors.
    pub(crate) fn stack(&self, aux: &Aux) -> Vec<SrcLoc> {
        self.provs.stack(aux.prov)
    }

    /// The type of a name that was bound before.
    pub(crate) fn type_of(&self, name: Name) -> Result<Type, PassError> {
        self.types
            .get(name.index())
            .cloned()
            .flatten()
            .ok_or_else(|| PassError::bug(format!("{name:?} is used before it is bound")))
    }

    /// A fresh name with its type.
    pub(crate) fn fresh(&mut self, hint: &str, ty: Type) -> Param<Segs> {
        let name = self.names.fresh(hint);
        self.note(name, ty.clone());
        Param { name, ty, ann: () }
    }

    fn note(&mut self, name: Name, ty: Type) {
        self.types.resize(self.names.len(), None);
        self.types[name.index()] = Some(ty);
        if self.is_inside {
            self.inside.insert(name);
        }
    }

    /// A fresh name for a combinator's parameter or pattern element.
    pub(crate) fn fresh_soac(&mut self, hint: &str, ty: Type) -> Param<Soacs> {
        let Param { name, ty, ann } = self.fresh(hint, ty);
        Param { name, ty, ann }
    }

    /// A bound name at the level of segops, its type noted.
    pub(crate) fn param(&mut self, param: Param<Soacs>) -> Param<Segs> {
        let Param { name, ty, ann: () } = param;
        self.note(name, ty.clone());
        Param { name, ty, ann: () }
    }

    pub(crate) fn params(&mut self, params: Vec<Param<Soacs>>) -> Vec<Param<Segs>> {
        params.into_iter().map(|p| self.param(p)).collect()
    }

    /// A body whose combinators become segops or loops.
    pub(crate) fn body(
        &mut self,
        body: Body<Soacs>,
        place: Place,
    ) -> Result<Body<Segs>, PassError> {
        let mut stms = Vec::with_capacity(body.stms.len());
        self.stms(body.stms, place, &mut stms)?;
        Ok(Body {
            stms,
            result: body.result,
        })
    }

    /// Appends the statements to `out`.
    pub(crate) fn stms(
        &mut self,
        stms: Vec<Stm<Soacs>>,
        place: Place,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            for stm in stms {
                self.stm(stm, place, out)?;
            }
            Ok(())
        })
    }

    fn stm(
        &mut self,
        stm: Stm<Soacs>,
        place: Place,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let Stm { pat, aux, exp } = stm;
        let exp = match exp {
            Exp::Basic(op) => {
                if let [param] = pat.as_slice() {
                    self.note_layout(param.name, &op);
                }
                Exp::Basic(op)
            }
            Exp::If {
                cond,
                then_body,
                else_body,
            } => Exp::If {
                cond,
                then_body: self.body(then_body, place)?,
                else_body: self.body(else_body, place)?,
            },
            Exp::Loop { params, form, body } => {
                let params = params
                    .into_iter()
                    .map(|p| LoopParam {
                        param: self.param(p.param),
                        init: p.init,
                        consumed: p.consumed,
                    })
                    .collect();
                if let LoopForm::For { var, ty, bound: _ } = form {
                    self.note(var, Type::Prim(ty));
                }
                Exp::Loop {
                    params,
                    form,
                    body: self.body(body, place)?,
                }
            }
            Exp::Apply { fun, args } => Exp::Apply {
                fun: self.parallel.callee(&fun, place_of(&aux, place)),
                args,
            },
            Exp::Op(soac) => {
                return self.soac(pat, aux, soac, place, out);
            }
        };
        let pat = self.params(pat);
        out.push(Stm { pat, aux, exp });
        Ok(())
    }

    /// Appends the form of a combinator that its place and its attributes ask for.
    fn soac(
        &mut self,
        pat: Vec<Param<Soacs>>,
        aux: Aux,
        soac: Soac,
        place: Place,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let has = |attr| aux.attrs.has(&attr);
        let ordered = has(Attr::Sequential);
        let around = self.lanes;
        let plain = has(Attr::SequentialInner) || has(Attr::Flattening(Versions::NoIntra));
        self.lanes = Lanes {
            here: around.inside && !ordered && !has(Attr::SequentialOuter),
            inside: around.inside && !ordered && !plain,
        };
        let asked = self.asked;
        self.asked |= ordered;
        let place = place_of(&aux, place);
        if place == Place::Outside && !has(Attr::SequentialOuter) {
            self.outermost = aux.prov;
            parallel::soac(self, pat, aux, soac, out)?;
        } else {
            sequential::soac(self, pat, aux, soac, place, out)?;
        }
        self.lanes = around;
        self.asked = asked;
        Ok(())
    }

    /// A lambda whose body runs inside.
    pub(crate) fn lambda_inside(
        &mut self,
        lambda: Lambda<Soacs>,
    ) -> Result<Lambda<Segs>, PassError> {
        let params = self.params(lambda.params);
        let body = self.body(lambda.body, Place::Inside)?;
        Ok(Lambda {
            params,
            body,
            ret: lambda.ret,
        })
    }

    /// Statements that bind a map lambda's parameters to one row of the inputs
    /// (accumulators: to `acc_values`, in order, or the input itself).
    pub(crate) fn bind_rows(
        &mut self,
        params: Vec<Param<Soacs>>,
        inputs: &[Name],
        index: Name,
        aux: &Aux,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        for (param, &input) in params.into_iter().zip(inputs) {
            let param = self.param(param);
            let exp = match self.type_of(input)? {
                ty @ Type::Array { .. } => index_row(input, &ty, Atom::Var(index)),
                Type::Acc { .. } => BasicOp::Atom(Atom::Var(input)),
                Type::Prim(_) | Type::Cert | Type::Mem(_) => {
                    return Err(PassError::bug("a combinator's input is no array"));
                }
            };
            self.note_layout(param.name, &exp);
            out.push(Stm {
                pat: vec![param],
                aux: Aux::at(aux.prov),
                exp: Exp::Basic(exp),
            });
        }
        Ok(())
    }

    /// Notes whether what an operation makes is a view whose elements lie apart.
    fn note_layout(&mut self, name: Name, op: &BasicOp) {
        let strided = match op {
            BasicOp::Rearrange { array, perm } => {
                perm.last() != perm.len().checked_sub(1).as_ref() || self.is_strided(*array)
            }
            BasicOp::Index { array, slice } => {
                let apart = match slice.last() {
                    Some(DimIndex::Slice { stride, .. }) => *stride != Atom::i64(1),
                    Some(DimIndex::Fix(_)) | None => true,
                };
                apart || self.is_strided(*array)
            }
            BasicOp::Reshape { array, .. } => self.is_strided(*array),
            BasicOp::Atom(Atom::Var(array)) => self.is_strided(*array),
            BasicOp::Atom(_)
            | BasicOp::Unary(..)
            | BasicOp::Binary(..)
            | BasicOp::Compare(..)
            | BasicOp::SizeAtLeast { .. }
            | BasicOp::Convert { .. }
            | BasicOp::Select { .. }
            | BasicOp::Fma(..)
            | BasicOp::Math(..)
            | BasicOp::Assert { .. }
            | BasicOp::Update { .. }
            | BasicOp::FlatIndex { .. }
            | BasicOp::FlatUpdate { .. }
            | BasicOp::Concat { .. }
            | BasicOp::Iota { .. }
            | BasicOp::Replicate { .. }
            | BasicOp::Scratch { .. }
            | BasicOp::Copy(_)
            | BasicOp::Manifest { .. }
            | BasicOp::ArrayLit { .. }
            | BasicOp::ConstArray { .. }
            | BasicOp::Opaque(_)
            | BasicOp::UpdateAcc { .. } => false,
        };
        if strided {
            self.strided.insert(name);
        }
    }

    /// Inlines a lambda: its parameters get the arguments, its statements are
    /// appended, its results returned.
    pub(crate) fn inline(
        &mut self,
        lambda: Lambda<Soacs>,
        args: impl IntoIterator<Item = Atom>,
        place: Place,
        aux: &Aux,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<Vec<Atom>, PassError> {
        for (param, arg) in lambda.params.into_iter().zip(args) {
            let param = self.param(param);
            let exp = Exp::Basic(BasicOp::Atom(arg));
            out.push(Stm {
                pat: vec![param],
                aux: Aux::at(aux.prov),
                exp,
            });
        }
        self.stms(lambda.body.stms, place, out)?;
        Ok(lambda.body.result)
    }
}

/// The row of an array at an index of its outermost dimension.
pub(crate) fn index_row(array: Name, ty: &Type, index: Atom) -> BasicOp {
    BasicOp::Index {
        array,
        slice: row_slice(ty, index),
    }
}

/// The slice that is the row at an index of the outermost dimension.
pub(crate) fn row_slice(ty: &Type, index: Atom) -> Vec<DimIndex> {
    let full = |&count: &Dim| DimIndex::Slice {
        start: Atom::i64(0),
        count,
        stride: Atom::i64(1),
    };
    std::iter::once(DimIndex::Fix(index))
        .chain(ty.shape().iter().skip(1).map(full))
        .collect()
}
