//! Function types: built from parameters and a result, as callers see them.

use crate::infer::{FreeVars, Infer, InferTables, Origin, VarState};
use crate::subst::Subst;
use crate::tast::{ArrowTy, Dim, Pat, PatKind, RetType, Ty, Uniq, VarId};
use std::sync::Arc;
use syntax::span::Span;

impl Infer<'_> {
    /// A declared result for unification with the body: its existential sizes are open. Returns
    /// these too.
    pub(crate) fn open_ret(&mut self, ret: &RetType) -> (Ty, Subst) {
        let mut open = Subst::default();
        for ext in &ret.existential_sizes {
            let name = Arc::clone(&self.tables.var(*ext).name);
            let var = self.tables.new_open(name, Origin::Plain, self.depth);
            open.dims.push((*ext, Dim::Var(var)));
        }
        (open.ty(&ret.ty), open)
    }

    /// A declared result after unification with the body: existential sizes that were determined
    /// are those of the body. Unknown sizes since `mark` are existential.
    pub(crate) fn close_ret(&mut self, mut ret: RetType, open: Subst, mark: usize) -> RetType {
        let mut known = Subst::default();
        for (ext, dim) in open.dims {
            let dim = self.tables.resolve_dim(&dim);
            if self.is_determined(&dim) {
                known.dims.push((ext, dim));
            }
        }
        ret.existential_sizes.retain(|ext| known.dims.iter().all(|(var, _)| var != ext));
        ret.ty = self.tables.resolve(&known.ty(&ret.ty));
        let unknown = self.tables.unknowns_since(&ret.ty, mark);
        ret.existential_sizes.extend(unknown);
        ret
    }

    /// Makes sizes of payloads in a declared result existential if neither the body nor a parameter
    /// determines them, because the payload is never constructed.
    pub(crate) fn close_anonymous(&mut self, params: &[Pat], ret: &mut RetType) {
        ret.ty = self.tables.resolve(&ret.ty);
        let mut of_params = FreeVars::default();
        for pat in params {
            crate::subst::map_ty(&self.tables.resolve(&pat.ty), &mut of_params);
        }
        for var in crate::carried_sizes::only_in_payloads(&ret.ty) {
            let open = matches!(self.tables.var(var).state, VarState::Open(_));
            let own = self.tables.var(var).depth >= self.depth;
            if open && own && !of_params.dims.contains(&var) {
                self.tables.var_mut(var).state = VarState::Unknown;
                self.tables.unknowns += 1;
                ret.existential_sizes.push(var);
            }
        }
    }

    /// Returns true if a size consists of named values, unknown sizes, and open sizes of parameters
    /// or outer scopes.
    fn is_determined(&self, dim: &Dim) -> bool {
        let is_value = |var: &VarId| {
            let data = self.tables.var(*var);
            match data.state {
                VarState::Value | VarState::Unknown => true,
                VarState::Open(_) | VarState::Copy { .. } => data.depth < self.depth,
                VarState::Existential { .. } | VarState::Solved(_) => false,
            }
        };
        *dim != Dim::Any && crate::sizes::variables(dim).iter().all(is_value)
    }

    /// The type of a function as callers see it, and its result: sizes of the result that mention
    /// inner names become existential.
    pub(crate) fn exported_function_type(
        &mut self,
        params: &[Pat],
        mut ret: RetType,
        span: Span,
    ) -> (RetType, Ty) {
        let named = self.tables.named_params(params);
        ret.ty = self.tables.resolve(&ret.ty);
        // A component of a parameter has no name outside.
        let mut inner = Vec::new();
        for (pat, (simple, ..)) in params.iter().zip(&named) {
            if simple.is_none() {
                crate::visit::bound_vars(pat, &mut |id, _| inner.push(id));
            }
        }
        let mentioned = FreeVars::of(&ret.ty).dims;
        if mentioned.iter().any(|v| inner.contains(v)) {
            let mut subst = Subst::default();
            for var in mentioned.iter().filter(|v| inner.contains(v)) {
                let name = Arc::clone(&self.tables.var(*var).name);
                let unknown = self.unknown(name, span);
                if let Dim::Var(new) = unknown {
                    ret.existential_sizes.push(new);
                }
                subst.dims.push((*var, unknown));
            }
            ret.ty = subst.ty(&ret.ty);
        }
        let ty = arrow(&named, ret.clone());
        (ret, ty)
    }
}

impl InferTables {
    /// The inferred result of a function with a body of this type.
    pub(crate) fn inferred_ret(&self, body: &Ty, mark: usize) -> RetType {
        let ty = self.resolve(body);
        RetType { existential_sizes: self.unknowns_since(&ty, mark), ty, unique: Uniq::None }
    }

    /// The parameters of a function, as its type has them.
    pub(crate) fn named_params(&self, params: &[Pat]) -> Vec<(Option<VarId>, Ty, Uniq)> {
        let one = |p: &Pat| (simple_name(p), self.resolve(&p.ty), p.consumes.clone());
        params.iter().map(one).collect()
    }
}

/// The type of a function with these parameters. All types must be resolved.
pub(crate) fn arrow(params: &[(Option<VarId>, Ty, Uniq)], ret: RetType) -> Ty {
    let mut ret = ret;
    for (name, param, consumes) in params.iter().rev() {
        let used = name.filter(|v| FreeVars::of(&ret.ty).dims.contains(v));
        ret = RetType::plain(Ty::Arrow(Arc::new(ArrowTy {
            name: used,
            param: param.clone(),
            consumes: consumes.clone(),
            ret,
        })));
    }
    ret.ty
}

/// The variable of a pattern that is just a name.
pub(crate) fn simple_name(pat: &Pat) -> Option<VarId> {
    match &pat.kind {
        PatKind::Var(id) => Some(*id),
        PatKind::Attr(_, inner) => simple_name(inner),
        _ => None,
    }
}
