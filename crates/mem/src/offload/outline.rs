//! Outlining: moves a statement that cannot be a kernel to a function of its own, whose parameters
//! are the statement's free names and whose results are the statement's.

use super::host;
use crate::callees::Callees;
use ir::name::{FunId, FunName, Name, NameTable, SrcLoc};
use ir::prov::{Prov, ProvTable};
use ir::syntax::{Atom, Attrs, BasicOp, Body, Exp, FunKind, FunParam, FunResult, Function, Param, Stm};
use ir::types::{Dim, Type};
use ir::typing::{TypeEnv, map_dims};
use ir::version::{CallPosition, Version};
use ir::walk::{
    Import, LevelOp, Substitution, Visit, VisitMut, free_names_exp, import_body, substitute_type,
};
use ir::{PassError, Segs};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// The functions outlined from one function.
pub(super) struct Outline<'a> {
    name: FunName,
    names: &'a NameTable,
    provs: &'a ProvTable,
    types: TypeEnv,
    callees: &'a Callees,
    /// The number of functions of the program; the outlined functions have the ids that follow.
    n_functions: usize,
    made: Vec<Function<Segs>>,
}

impl<'a> Outline<'a> {
    /// Creates an empty list for a function with these names.
    pub(super) fn new(
        name: &FunName,
        names: &'a NameTable,
        provs: &'a ProvTable,
        types: TypeEnv,
        callees: &'a Callees,
        n_functions: usize,
    ) -> Self {
        Self { name: name.clone(), names, provs, types, callees, n_functions, made: Vec::new() }
    }

    /// Returns the outlined functions, converted to host functions.
    pub(super) fn finish(self) -> Result<Vec<Function<Segs>>, PassError> {
        let mut made = self.made;
        made.iter_mut().try_for_each(host::convert)?;
        Ok(made)
    }

    /// The function from which statements are outlined.
    pub(super) const fn name(&self) -> &FunName {
        &self.name
    }

    /// The source locations of a statement.
    pub(super) fn spans(&self, prov: Prov) -> Vec<SrcLoc> {
        self.provs.stack(prov)
    }

    /// Outlines a statement, and replaces its expression by a call.
    pub(super) fn unit(&mut self, stm: &mut Stm<Segs>) {
        let (free, certs) = self.free(stm);
        let mut names = NameTable::new();
        let mut provs = ProvTable::default();
        let mut map = Substitution::default();
        let consumed = self.consumed(&stm.exp);
        let mut params = Vec::with_capacity(free.len());
        for &name in &free {
            let new = names.fresh_shared(self.names.hint(name).clone());
            let mut ty = self.types.type_of(name).clone();
            substitute_type(&mut ty, &map);
            map.insert(name, Atom::Var(new));
            params.push(FunParam {
                param: Param { name: new, ty, ann: () },
                consumed: consumed.contains(&name),
            });
        }
        let mut aux = stm.aux.clone();
        aux.certs.clear();
        let name = FunName(format!("{}.host{}", self.name, self.made.len() + 1).into());
        let fun = FunId::new(self.n_functions + self.made.len());
        let args = free.into_iter().map(Atom::Var).collect();
        let call = Exp::Apply { fun, args };
        let exp = std::mem::replace(&mut stm.exp, call);
        for cert in &certs {
            if !stm.aux.certs.contains(cert) {
                stm.aux.certs.push(*cert);
            }
        }
        let result = stm.pat.iter().map(|param| Atom::Var(param.name)).collect();
        let pat = stm.pat.clone();
        let mut body = Body { stms: vec![Stm { pat, aux, exp }], result };
        VisitMut::body(&mut Held(&certs), &mut body);
        let mut import = Import {
            from_names: self.names,
            from_provs: self.provs,
            names: &mut names,
            provs: &mut provs,
            outer: Prov::NONE,
        };
        let body = import_body(&body, &mut import, &mut map);
        let ret = results(&body);
        self.made.push(Function {
            name,
            kind: FunKind::Function,
            version: Some(Version { of: self.name.clone(), position: CallPosition::Host }),
            attrs: Attrs::default(),
            params,
            ret,
            body,
            tunables: Vec::new(),
            names,
            provs,
        });
    }

    /// The free names of a statement, scalars before arrays; and its certificates.
    fn free(&self, stm: &Stm<Segs>) -> (Vec<Name>, BTreeSet<Name>) {
        let mut open = free_names_exp(&stm.exp);
        let dims = |ty: &Type| -> Vec<Name> {
            let names = ty.shape().iter().filter_map(|dim| dim.atom()?.var());
            names.collect()
        };
        open.extend(stm.pat.iter().flat_map(|param| dims(&param.ty)));
        let bound: FxHashSet<Name> = stm.pat.iter().map(|param| param.name).collect();
        let (mut scalars, mut arrays) = (BTreeSet::new(), BTreeSet::new());
        let mut certs = BTreeSet::new();
        while let Some(name) = open.pop() {
            match self.types.type_of(name) {
                _ if bound.contains(&name) => {}
                Type::Cert => {
                    certs.insert(name);
                }
                ty @ Type::Array { .. } => {
                    arrays.insert(name);
                    open.extend(dims(ty));
                }
                Type::Prim(_) | Type::Acc { .. } | Type::Mem(_) => {
                    scalars.insert(name);
                }
            }
        }
        (scalars.into_iter().chain(arrays).collect(), certs)
    }

    /// The arrays that an expression consumes.
    fn consumed(&self, exp: &Exp<Segs>) -> FxHashSet<Name> {
        let mut consumed = Consumed { callees: self.callees, found: FxHashSet::default() };
        consumed.exp(exp);
        consumed.found
    }
}

/// The results of a body with one statement. Sizes that the statement binds itself refer to results
/// by position.
fn results(body: &Body<Segs>) -> Vec<FunResult<Segs>> {
    let pat = body.stms.iter().flat_map(|stm| &stm.pat);
    let positions: FxHashMap<Name, u32> = pat.clone().map(|param| param.name).zip(0..).collect();
    let dim = |name: Name| (positions.get(&name)).map_or(Dim::Var(name), |at| Dim::Ext(*at));
    let result =
        |param: &Param<Segs>| FunResult { ty: map_dims(&param.ty, &dim), aliases: Vec::new(), ann: () };
    pat.map(result).collect()
}

/// Removes certificates that hold before the call.
struct Held<'a>(&'a BTreeSet<Name>);

impl VisitMut<Segs> for Held<'_> {
    fn stm(&mut self, stm: &mut Stm<Segs>) {
        stm.aux.certs.retain(|cert| !self.0.contains(cert));
        self.walk_stm(stm);
    }
}

/// Collects the consumed arrays.
struct Consumed<'a> {
    callees: &'a Callees,
    found: FxHashSet<Name>,
}

impl Visit<Segs> for Consumed<'_> {
    fn exp(&mut self, exp: &Exp<Segs>) {
        match exp {
            Exp::Basic(BasicOp::Update { array, .. } | BasicOp::FlatUpdate { array, .. }) => {
                self.found.insert(*array);
            }
            Exp::Apply { fun, args } => {
                let pairs = args.iter().zip(&self.callees.get(*fun).consumed);
                let names = pairs.filter(|(_, consumed)| **consumed);
                self.found.extend(names.filter_map(|(arg, _)| arg.var()));
            }
            Exp::Loop { params, .. } => {
                let consumed = params.iter().filter(|param| param.consumed);
                self.found.extend(consumed.filter_map(|param| param.init.var()));
            }
            Exp::Op(op) => self.found.extend(op.consumed()),
            Exp::Basic(_) | Exp::If { .. } => {}
        }
        self.walk_exp(exp);
    }
}
