//! The names of the function that is being flattened: types, provenance, and what is known of the
//! arrays and accumulators that they stand for.

use crate::{Pat, Result, Stms};
use ir::mem::{Lmad, view};
use ir::name::{Name, NameTable, Prov, ProvTable};
use ir::scan_reduce::ScanReduce;
use ir::soac::Screma;
use ir::syntax::{Atom, Aux, BasicOp, DimIndex, Exp, Lambda, Level, LoopForm, Param, ReshapeKind, Stm};
use ir::types::{Dim, Shape, Type};
use ir::typing::TypeEnv;
use ir::walk::{Substitution, binders, refresh_lambda};
use ir::{Builder, PassError, Segs, Soacs};
use rustc_hash::{FxHashMap, FxHashSet};

/// The names of a function.
pub(crate) struct Names<'a> {
    pub(crate) table: NameTable,
    pub(crate) types: TypeEnv,
    pub(crate) provs: &'a ProvTable,
    /// Names that operators of segops bind; they are not fresh in the segop.
    in_operators: FxHashSet<Name>,
    /// The index function of each view within the array it views, as far as it is known here.
    views: FxHashMap<Name, Lmad>,
    /// Arrays of consecutive numbers.
    iotas: FxHashSet<Name>,
    /// Tokens of accumulators with an operator.
    with_operator: FxHashSet<Name>,
    /// Arrays that repeat one value: the repeated dimensions and the value.
    pub(crate) replicates: FxHashMap<Name, (Shape, Atom)>,
    /// Results of scans that only sequential reductions read ([`crate::decomp::summed`]).
    pub(crate) summed: FxHashSet<Name>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(table: NameTable, types: TypeEnv, provs: &'a ProvTable) -> Self {
        Self {
            table,
            types,
            provs,
            in_operators: FxHashSet::default(),
            views: FxHashMap::default(),
            iotas: FxHashSet::default(),
            with_operator: FxHashSet::default(),
            replicates: FxHashMap::default(),
            summed: FxHashSet::default(),
        }
    }

    /// The next fresh name.
    pub(crate) fn next(&self) -> Name {
        Name::new(self.table.len())
    }

    /// Records that a lambda is an operator of a segop.
    pub(crate) fn note_operator(&mut self, lambda: &Lambda<Soacs>) {
        self.in_operators.extend(lambda.params.iter().map(|param| param.name));
        self.in_operators.extend(binders(&lambda.body));
    }

    /// Returns true if an operator of a segop binds a name.
    pub(crate) fn is_in_operator(&self, name: Name) -> bool {
        self.in_operators.contains(&name)
    }

    /// Records that accumulators of this token have an operator.
    pub(crate) fn note_token(&mut self, token: Name) {
        self.with_operator.insert(token);
    }

    /// Returns true if any of these types is an accumulator with an operator.
    pub(crate) fn has_acc_with_operator(&self, types: &[Type]) -> bool {
        types.iter().any(|ty| matches!(ty, Type::Acc { token, .. } if self.with_operator.contains(token)))
    }

    /// Returns true if an array is known to have consecutive numbers.
    pub(crate) fn is_iota(&self, array: Name) -> bool {
        self.iotas.contains(&array)
    }

    /// Records consecutive numbers, and the index function of a view; an array of unknown layout is taken to be
    /// row-major.
    pub(crate) fn note_view(&mut self, param: &Param<Soacs>, op: &BasicOp) {
        if matches!(op, BasicOp::Iota { stride, .. } if *stride == Atom::i64(1)) {
            self.iotas.insert(param.name);
        }
        let lies = |array| {
            self.views.get(&array).cloned().or_else(|| Some(Lmad::row_major(self.types.get(array)?.shape())))
        };
        if param.ty.is_array()
            && let Some((_, lmad)) = view(op, param.ty.shape(), lies)
        {
            self.views.insert(param.name, lmad);
        }
    }

    /// Returns true if an array is known not to be contiguous in the innermost dimension.
    pub(crate) fn is_strided(&self, array: Name) -> bool {
        let innermost = self.views.get(&array).and_then(|lmad| lmad.dims.last());
        innermost.is_some_and(|dim| dim.stride.as_constant() != Some(1))
    }

    /// The type of a name.
    ///
    /// # Errors
    /// The name is not bound yet.
    pub(crate) fn type_of(&self, name: Name) -> Result<Type> {
        let known = self.types.get(name).cloned();
        known.ok_or_else(|| PassError::bug(format!("{name:?} is used before it is bound")))
    }

    /// The type of an operand.
    pub(crate) fn atom_type(&self, atom: Atom) -> Result<Type> {
        match atom {
            Atom::Var(name) => self.type_of(name),
            Atom::Const(value) => Ok(Type::Prim(value.ty())),
        }
    }

    /// A fresh name with this type.
    pub(crate) fn fresh(&mut self, hint: &str, ty: Type) -> Param<Soacs> {
        let name = self.table.fresh(hint);
        self.types.set(name, ty.clone());
        Param { name, ty, ann: () }
    }

    /// A fresh name with the hint of another, and this type.
    pub(crate) fn fresh_like(&mut self, name: Name, ty: Type) -> Param<Soacs> {
        let name = self.table.fresh_like(name);
        self.types.set(name, ty.clone());
        Param { name, ty, ann: () }
    }

    /// A fresh name for the same value with a type of its own.
    pub(crate) fn fresh_copy(&mut self, param: &Param<Soacs>) -> Param<Soacs> {
        let copy = self.fresh_like(param.name, param.ty.clone());
        if self.iotas.contains(&param.name) {
            self.iotas.insert(copy.name);
        }
        if self.summed.contains(&param.name) {
            self.summed.insert(copy.name);
        }
        if let Some(lmad) = self.views.get(&param.name) {
            self.views.insert(copy.name, lmad.clone());
        }
        copy
    }

    /// A fresh name for each parameter, with the same type.
    pub(crate) fn fresh_pattern(&mut self, params: &[Param<Soacs>]) -> Pat {
        params.iter().map(|param| self.fresh_like(param.name, param.ty.clone())).collect()
    }

    /// Fresh names for values of these types.
    pub(crate) fn fresh_all(&mut self, hint: &str, types: &[Type]) -> Pat {
        types.iter().map(|ty| self.fresh(hint, ty.clone())).collect()
    }

    /// A builder whose statements have this provenance.
    pub(crate) fn builder<L: Level<Ann = ()>>(&mut self, prov: Prov) -> Builder<'_, L> {
        let mut builder = Builder::new(&mut self.table, &mut self.types);
        builder.prov = prov;
        builder
    }

    /// Appends the statements that `make` builds, with this provenance.
    pub(crate) fn build<L: Level<Ann = ()>, T>(
        &mut self,
        prov: Prov,
        out: &mut Stms<L>,
        make: impl FnOnce(&mut Builder<'_, L>) -> T,
    ) -> T {
        let mut builder = self.builder(prov);
        let made = make(&mut builder);
        out.extend(builder.take_stms());
        made
    }

    /// A copy of a lambda with fresh names.
    pub(crate) fn copy_lambda(&mut self, lambda: &Lambda<Soacs>) -> Lambda<Soacs> {
        let copy = refresh_lambda(lambda, &mut self.table, &mut Substitution::default());
        self.add_lambda(&copy);
        copy
    }

    /// Records the types of the names that a lambda binds.
    pub(crate) fn add_lambda(&mut self, lambda: &Lambda<Soacs>) {
        self.types.add_params(&lambda.params);
        self.types.add_body(&lambda.body);
    }

    /// A copy of scans and reductions with fresh names.
    pub(crate) fn copy_scan_reduce(&mut self, scan_reduce: &ScanReduce<Soacs>) -> ScanReduce<Soacs> {
        let copy = scan_reduce.refreshed(&mut self.table);
        copy.lambdas().for_each(|lambda| self.add_lambda(lambda));
        copy
    }

    /// A copy of a screma whose lambdas have fresh names.
    pub(crate) fn copy_screma(&mut self, s: &Screma) -> Screma {
        Screma {
            width: s.width,
            inputs: s.inputs.clone(),
            map: self.copy_lambda(&s.map),
            scan_reduce: self.copy_scan_reduce(&s.scan_reduce),
        }
    }

    /// Records the type of a loop's counter.
    pub(crate) fn note_counter(&mut self, form: LoopForm) {
        if let LoopForm::For { var, ty, bound: _ } = form {
            self.types.set(var, Type::Prim(ty));
        }
    }

    /// The parameter at level `segs`; records its type.
    pub(crate) fn param(&mut self, param: Param<Soacs>) -> Param<Segs> {
        let Param { name, ty, ann: () } = param;
        self.types.set(name, ty.clone());
        Param { name, ty, ann: () }
    }

    /// The parameters at level `segs`; records their types.
    pub(crate) fn params(&mut self, params: Pat) -> Vec<Param<Segs>> {
        params.into_iter().map(|param| self.param(param)).collect()
    }

    /// Binds a fresh name of this type to the result of an operation.
    pub(crate) fn bind_fresh<L: Level<Ann = ()>>(
        &mut self,
        (hint, ty): (&str, Type),
        op: BasicOp,
        prov: Prov,
        out: &mut Stms<L>,
    ) -> Name {
        let Param { name, ty, ann: () } = self.fresh(hint, ty);
        out.push(basic(Param { name, ty, ann: () }, op, prov));
        name
    }
}

/// A statement that binds the result of a basic operation.
pub(crate) fn basic<L: Level>(param: Param<L>, op: BasicOp, prov: Prov) -> Stm<L> {
    Stm { pat: vec![param], aux: Aux::at(prov), exp: Exp::Basic(op) }
}

/// The names as operands.
pub(crate) fn atoms<L: Level>(params: &[Param<L>]) -> Vec<Atom> {
    params.iter().map(|param| param.name.into()).collect()
}

/// The slice that selects the part at these indices of the outermost dimensions.
pub(crate) fn part_slice(ty: &Type, indices: &[Atom]) -> Vec<DimIndex> {
    let fixed = indices.iter().copied().map(DimIndex::Fix);
    fixed.chain(whole(ty.shape().get(indices.len()..).unwrap_or_default())).collect()
}

/// The slice that selects `count` rows from `start` on.
pub(crate) fn rows_slice(ty: &Type, start: Atom, count: Dim) -> Vec<DimIndex> {
    let rows = DimIndex::Slice { start, count, stride: Atom::i64(1) };
    std::iter::once(rows).chain(whole(ty.shape().get(1..).unwrap_or_default())).collect()
}

/// Reads the part of an array, of type `ty`, at these indices of the outer dimensions.
pub(crate) fn read_part(array: Name, indices: &[Atom], ty: &Type) -> BasicOp {
    let fixed = indices.iter().copied().map(DimIndex::Fix);
    BasicOp::Index { array, slice: fixed.chain(whole(ty.shape())).collect() }
}

/// The slices that select whole dimensions.
fn whole(dims: &[Dim]) -> impl Iterator<Item = DimIndex> + '_ {
    dims.iter().map(|&count| DimIndex::Slice { start: Atom::i64(0), count, stride: Atom::i64(1) })
}

/// The same array with other dimensions.
pub(crate) fn reshape(dims: &[Dim], array: Name) -> BasicOp {
    BasicOp::Reshape { kind: ReshapeKind::Arbitrary, shape: dims.iter().copied().collect(), array }
}

/// The parameters of a `withacc` for arrays with these elements: the token, and the accumulator.
pub(crate) fn accumulator<L: Level<Ann = ()>>(
    builder: &mut Builder<'_, L>,
    elems: Vec<Type>,
    shape: &Shape,
) -> [Param<L>; 2] {
    let token = builder.param("token", Type::Cert);
    let ty = Type::Acc { token: token.name, shape: shape.clone(), elems };
    let acc = builder.param("acc", ty);
    [token, acc]
}
