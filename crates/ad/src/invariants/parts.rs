//! The parts of a map's body: what is invariant in the map, what varies, and combinators, loops and
//! branches with both, which are split.

use analysis::{cost, thresholds};
use ir::Name;
use ir::build::Builder;
use ir::soac::{Soac, Soacs};
use ir::syntax::{Atom, BasicOp, Body, Exp, LoopForm, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Substitution, Visit, stm_names, substitute_stm, with_stack};
use prim::PrimType;
use rustc_hash::{FxHashMap, FxHashSet};

/// The assumed number of elements of a dimension that is not a constant.
const ELEMENTS: i64 = 64;

/// A statement, by what it depends on.
#[allow(clippy::large_enum_variant, reason = "few exist at a time")]
pub(super) enum Part {
    /// It depends on the iteration, or has to stay.
    Varying(Stm<Soacs>),
    /// It computes the same in all iterations.
    Invariant(Stm<Soacs>),
    /// It does both.
    Split {
        /// The statement.
        whole: Stm<Soacs>,
        /// The invariant part, with values that the rest reads.
        invariant: Vec<Stm<Soacs>>,
        /// The rest, unless no result varies.
        varying: Option<Stm<Soacs>>,
        /// True if the invariant part is expensive to compute.
        expensive: bool,
    },
}

/// The parts of a body, and the values of the invariant part that the rest reads.
pub(super) struct Cut {
    pub parts: Vec<Part>,
    /// The values to save.
    pub saved: Vec<(Name, Type)>,
    /// True if the invariant part is expensive.
    pub expensive: bool,
}

pub(super) struct Splitter<'a> {
    pub b: Builder<'a, Soacs>,
    /// The names that only the invariant parts of enclosing statements bind: parameters of loops.
    /// Whatever depends on them is saved.
    pub own: FxHashSet<Name>,
}

impl Splitter<'_> {
    /// The parts of statements in a map whose iterations bind `varying`; the names that depend on these
    /// are added to them.
    pub fn parts(&mut self, stms: &[Stm<Soacs>], varying: &mut FxHashSet<Name>) -> Vec<Part> {
        with_stack(|| stms.iter().map(|stm| self.part(stm, varying)).collect())
    }

    fn part(&mut self, stm: &Stm<Soacs>, varying: &mut FxHashSet<Name>) -> Part {
        let stays = has_to_stay(stm);
        let mut varies = stays;
        stm_names(stm, |name| varies |= varying.contains(&name));
        if !varies {
            return Part::Invariant(stm.clone());
        }
        let stays = stays || stm.aux.certs.iter().any(|cert| varying.contains(cert));
        let part = if stays { None } else { self.split(stm, varying) };
        let part = part.unwrap_or_else(|| Part::Varying(stm.clone()));
        if let Part::Varying(stm) | Part::Split { varying: Some(stm), .. } = &part {
            varying.extend(stm.pat.iter().map(|param| param.name));
        }
        part
    }

    fn split(&mut self, stm: &Stm<Soacs>, varying: &mut FxHashSet<Name>) -> Option<Part> {
        let is_invariant = |atom: &Atom| atom.var().is_none_or(|name| !varying.contains(&name));
        match &stm.exp {
            Exp::Op(Soac::Screma(screma)) if screma.scan_reduce.is_map() => {
                self.split_map(stm, screma, varying)
            }
            Exp::If { cond, then_body, else_body } if is_invariant(cond) => {
                self.split_branch(stm, *cond, [then_body, else_body], varying)
            }
            Exp::Loop { params, form: LoopForm::For { var, ty: PrimType::I64, bound }, body }
                if is_invariant(bound) =>
            {
                self.split_loop(stm, (params, *var, *bound, body), varying)
            }
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => None,
        }
    }

    /// The parts of a body that binds names, and the values to save. `None` if these cannot be saved, or
    /// have more elements than `most`.
    pub fn cut(
        &mut self,
        body: &Body<Soacs>,
        (bound, most): (&FxHashSet<Name>, i64),
        varying: &mut FxHashSet<Name>,
    ) -> Option<Cut> {
        let parts = self.parts(&body.stms, varying);
        let values = Values::of(&parts, &self.own);
        let read = values.read(&parts);
        let results = body.result.iter().filter_map(|result| result.var());
        let mut computed = results.filter(|name| !varying.contains(name)).chain(read.iter().copied());
        let expensive = computed.any(|name| values.is_expensive(name));
        let choices = [self.storable(values.sources(&read), bound), self.storable(read, bound)];
        let size = |saved: &Vec<(Name, Type)>| saved.iter().map(|(_, ty)| elements(ty)).sum::<i64>();
        let saved = choices.into_iter().flatten().min_by_key(size)?;
        (size(&saved) <= most).then_some(Cut { parts, saved, expensive })
    }

    /// Values with their types, if arrays of them can be made outside of the body.
    fn storable(&self, values: Vec<Name>, bound: &FxHashSet<Name>) -> Option<Vec<(Name, Type)>> {
        let outside = |dim: &Dim| !matches!(dim, Dim::Var(name) if bound.contains(name));
        let typed = values.into_iter().map(|name| {
            let ty = self.b.types.type_of(name).clone();
            let stores = matches!(ty, Type::Prim(_) | Type::Array { .. }) && ty.shape().iter().all(outside);
            stores.then_some((name, ty))
        });
        typed.collect()
    }
}

impl Cut {
    /// The statements of the invariant part.
    pub fn invariant(&self) -> Vec<Stm<Soacs>> {
        let mut stms = Vec::new();
        for part in &self.parts {
            match part {
                Part::Varying(_) => {}
                Part::Invariant(stm) => stms.push(stm.clone()),
                Part::Split { invariant, .. } => stms.extend(invariant.iter().cloned()),
            }
        }
        stms
    }

    /// The statements and results of the varying part, with the saved values under the names in `saved`.
    /// `None` if it needs a name that only the invariant part has.
    pub fn varying(
        &self,
        results: &[Atom],
        saved: &Substitution,
        own: &FxHashSet<Name>,
    ) -> Option<Body<Soacs>> {
        let mut needed: FxHashSet<Name> = results.iter().filter_map(|result| result.var()).collect();
        let mut stms = Vec::new();
        let binds = |pat: &[Param<Soacs>], needed: &FxHashSet<Name>| {
            let mut names = pat.iter().map(|param| param.name);
            names.any(|name| needed.contains(&name) && !saved.contains_key(&name))
        };
        for part in self.parts.iter().rev() {
            let stm = match part {
                Part::Varying(stm) => stm,
                Part::Invariant(stm) if binds(&stm.pat, &needed) => stm,
                Part::Invariant(_) => continue,
                Part::Split { whole, invariant, varying, .. } => {
                    if let Some(stm) = varying {
                        stm_names(stm, |name| {
                            needed.insert(name);
                        });
                    }
                    match varying {
                        _ if invariant.iter().any(|stm| binds(&stm.pat, &needed)) => whole,
                        Some(stm) => stm,
                        None => continue,
                    }
                }
            };
            stm_names(stm, |name| {
                needed.insert(name);
            });
            let mut stm = stm.clone();
            substitute_stm(&mut stm, saved);
            stms.push(stm);
        }
        stms.reverse();
        let mut body = Body { stms, result: results.to_vec() };
        for result in &mut body.result {
            *result = result.var().and_then(|name| saved.get(&name).copied()).unwrap_or(*result);
        }
        let is_missing = |name: &Name| needed.contains(name) && !saved.contains_key(name);
        (!own.iter().any(is_missing)).then_some(body)
    }
}

/// The values of the invariant part of a body.
struct Values<'a> {
    /// The statement of each name, and true if it is expensive by itself.
    made_by: FxHashMap<Name, (&'a Stm<Soacs>, bool)>,
    /// The names that are expensive to compute, or depend on such names.
    expensive: FxHashSet<Name>,
    /// The names that only the invariant part can compute.
    own: FxHashSet<Name>,
}

impl<'a> Values<'a> {
    fn of(parts: &'a [Part], own: &FxHashSet<Name>) -> Self {
        let mut values =
            Self { made_by: FxHashMap::default(), expensive: FxHashSet::default(), own: own.clone() };
        for part in parts {
            match part {
                Part::Varying(_) => {}
                Part::Invariant(stm) => values.add(stm),
                Part::Split { invariant, .. } => invariant.iter().for_each(|stm| values.add(stm)),
            }
        }
        values
    }

    fn add(&mut self, stm: &'a Stm<Soacs>) {
        let is_expensive = is_expensive(stm);
        let (mut expensive, mut own) = (is_expensive, false);
        stm_names(stm, |name| {
            expensive |= self.expensive.contains(&name);
            own |= self.own.contains(&name);
        });
        for param in &stm.pat {
            self.made_by.insert(param.name, (stm, is_expensive));
            if expensive {
                self.expensive.insert(param.name);
            }
            if own {
                self.own.insert(param.name);
            }
        }
    }

    fn is_expensive(&self, name: Name) -> bool {
        self.expensive.contains(&name)
    }

    fn has_to_be_saved(&self, name: Name) -> bool {
        self.expensive.contains(&name) || self.own.contains(&name)
    }

    /// The values that the varying part reads and that are not computed again.
    fn read(&self, parts: &[Part]) -> Vec<Name> {
        let (mut read, mut found) = (Vec::new(), FxHashSet::default());
        for part in parts {
            if let Part::Varying(stm) | Part::Split { varying: Some(stm), .. } = part {
                stm_names(stm, |name| {
                    if self.has_to_be_saved(name) && found.insert(name) {
                        read.push(name);
                    }
                });
            }
        }
        read
    }

    /// Values from which the rest of what values depend on is cheap to compute.
    fn sources(&self, values: &[Name]) -> Vec<Name> {
        let (mut sources, mut found) = (Vec::new(), FxHashSet::default());
        let mut open = values.to_vec();
        while let Some(name) = open.pop() {
            if !found.insert(name) {
                continue;
            }
            match self.made_by.get(&name) {
                Some((stm, false)) => stm_names(stm, |name| {
                    if self.has_to_be_saved(name) {
                        open.push(name);
                    }
                }),
                Some(_) | None => sources.push(name),
            }
        }
        sources
    }
}

/// Returns true if a statement computes what is much more expensive than to read.
pub(super) fn is_expensive(stm: &Stm<Soacs>) -> bool {
    let cost = match &stm.exp {
        Exp::Basic(op) if !op.is_scalar() => 0,
        Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => {
            cost::statements(std::slice::from_ref(stm)).total()
        }
    };
    cost >= thresholds::TABLE
}

/// Returns true if a statement calls a function or works on accumulators.
fn has_to_stay(stm: &Stm<Soacs>) -> bool {
    struct Stays(bool);
    impl Visit<Soacs> for Stays {
        fn exp(&mut self, exp: &Exp<Soacs>) {
            self.0 |= match exp {
                Exp::Basic(op) => matches!(op, BasicOp::Opaque(_)),
                Exp::Apply { .. } | Exp::Op(Soac::WithAcc { .. } | ir::derivative_op!()) => true,
                Exp::If { .. } | Exp::Loop { .. } | Exp::Op(_) => false,
            };
            if !self.0 {
                self.walk_exp(exp);
            }
        }
    }
    let mut stays = Stays(stm.pat.iter().any(|param| matches!(param.ty, Type::Acc { .. })));
    stays.stm(stm);
    stays.0
}

/// The number of elements of a value, of which each unknown dimension has an assumed number.
fn elements(ty: &Type) -> i64 {
    let counts = ty.shape().iter().map(|dim| match dim {
        Dim::Const(n) => *n,
        Dim::Var(_) | Dim::Ext(_) => ELEMENTS,
    });
    counts.fold(1, i64::saturating_mul)
}
