//! Loops that update matrices, in a normal form in which every read of a matrix is an index
//! operation.
//!
//! ```text
//! map n (xs <- xss, p <- ps) {             map n (i <- iota n) {
//!   let f = xs[k]                            let p = ps[i]
//!   map m (j <- iota m, q <- qs) {    =>     let f = xss[i, k]
//!     let x = xss[i, j] ..                   let xs = xss[i, ..]
//!                                            map m (x <- xs, q <- qs) { ..
//! ```
//!
//! A row of an updated matrix is then a function of its index: total operations on scalars, views,
//! and at the end a map, a view, or a branch with these.

use super::{Composer, basic, row_slice};
use analysis::signatures::Signatures;
use analysis::size::is_at_most;
use analysis::total::is_total;
use analysis::{cost, uses};
use ir::build::Builder;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Lambda, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{
    Substitution, Visit, VisitMut, consumed_by, free_names_exp, stm_names, substitute_body, with_stack,
};
use ir::{Name, Soacs};
use prim::{BinOp, PrimType, ScalarOp};
use rustc_hash::{FxHashMap, FxHashSet};
use target::time;

/// The largest number of statements of an iteration.
const MAX_STATEMENTS: usize = 80;

/// The cost of an element's load and store in the L2 cache, where a vector instruction costs as much
/// as a scalar one.
const CACHE_ACCESS: i64 = 3 * time::PLAIN;
/// The cost of a minimum or maximum of floats in vector code.
const FLOAT_MINIMUM: i64 = 5 * time::PLAIN;

/// A counted loop that updates matrices, with its body in normal form.
pub(super) struct MatrixLoop {
    pub(super) params: Vec<LoopParam<Soacs>>,
    pub(super) var: Name,
    pub(super) ty: PrimType,
    pub(super) bound: Atom,
    pub(super) body: Body<Soacs>,
    /// The positions of the parameters that are updated matrices.
    pub(super) matrices: Vec<usize>,
    /// The types of the matrices.
    pub(super) types: Vec<Type>,
    /// True if an element's operations take longer than access to the L2 cache.
    pub(super) is_compute_bound: bool,
}

impl Composer<'_> {
    /// Returns a loop in normal form, if it updates matrices row by row.
    pub(super) fn matrix_loop(&mut self, stm: &Stm<Soacs>) -> Option<MatrixLoop> {
        let Exp::Loop { params, form: LoopForm::For { var, ty, bound }, body } = &stm.exp else {
            return None;
        };
        let few = bound.constant().and_then(prim::Scalar::as_i64).is_some_and(|n| n < 2);
        if few || !stm.aux.attrs.is_empty() || !is_at_most(body, MAX_STATEMENTS) {
            return None;
        }
        let inside = names_bound_in(&stm.exp);
        let varies = |dim: &Dim| matches!(dim, Dim::Var(name) if inside.contains(name));
        if params.iter().any(|param| param.param.ty.shape().iter().any(varies)) {
            return None;
        }
        let used = uses::in_body(body);
        let updates = |at: &usize| {
            let (ty, result) = (&params[*at].param.ty, body.result[*at].var());
            let large = |dim: &Dim| !matches!(dim, Dim::Const(n) if *n < super::MIN_SIZE);
            ty.rank() == 2
                && ty.shape().iter().all(large)
                && result.is_some_and(|result| used.get(&result) == Some(&1))
                && body.stms.iter().any(|stm| {
                    stm.pat.len() == 1
                        && Some(stm.pat[0].name) == result
                        && stm.pat[0].ty == *ty
                        && is_plain_map(stm, ty.shape()[0])
                })
        };
        let matrices: Vec<usize> = (0..params.len()).filter(updates).collect();
        if matrices.is_empty() {
            return None;
        }
        let carried: FxHashSet<Name> = matrices.iter().map(|at| params[*at].param.name).collect();
        let results: FxHashSet<Name> = matrices.iter().filter_map(|at| body.result[*at].var()).collect();
        if self.reads_consumed(body, &carried, &results) {
            return None;
        }
        let mut normal = Body { stms: Vec::with_capacity(body.stms.len()), result: body.result.clone() };
        for stm in &body.stms {
            let mut stm = stm.clone();
            let update = binds(&stm, &results);
            let reads = matches!(&stm.exp, Exp::Op(Soac::Screma(screma))
                if screma.inputs.iter().any(|input| carried.contains(input)));
            if update || reads {
                let read = |input: Name| update || carried.contains(&input);
                let index = self.index_inputs(&mut stm, read, &mut normal.stms)?;
                let mut rows = Rows { carried: &carried, rows: FxHashMap::default() };
                VisitMut::<Soacs>::exp(&mut rows, &mut stm.exp);
                if update {
                    self.update(&mut stm, index, &carried, &mut normal.stms)?;
                }
            }
            normal.stms.push(stm);
        }
        while drop_unused(&mut normal) {}
        if self.contracts && may_contract(&normal, &results) {
            return None;
        }
        let updates = normal.stms.iter().filter(|stm| binds(stm, &results));
        let is_compute_bound = updates.map(element_cost).any(|cost| cost > CACHE_ACCESS);
        let types = matrices.iter().map(|at| params[*at].param.ty.clone()).collect();
        let (params, body) = (params.clone(), normal);
        Some(MatrixLoop {
            params,
            var: *var,
            ty: *ty,
            bound: *bound,
            body,
            matrices,
            types,
            is_compute_bound,
        })
    }

    /// Brings the update of a matrix into normal form.
    fn update(
        &mut self,
        stm: &mut Stm<Soacs>,
        index: Name,
        carried: &FxHashSet<Name>,
        out: &mut Vec<Stm<Soacs>>,
    ) -> Option<()> {
        if let Exp::Op(Soac::Screma(screma)) = &mut stm.exp {
            self.own_elements(&mut screma.map.body, index, carried);
        }
        self.hoist_checks(stm, index, out)?;
        let columns = *stm.pat[0].ty.shape().get(1)?;
        let is_update =
            matches!(&stm.exp, Exp::Op(Soac::Screma(screma)) if is_row(&screma.map.body, columns));
        is_update.then_some(())
    }

    /// Returns true if an array that an update of a matrix reads is consumed in the loop's body: the
    /// reads would move after the consumption.
    fn reads_consumed(
        &self,
        body: &Body<Soacs>,
        carried: &FxHashSet<Name>,
        results: &FxHashSet<Name>,
    ) -> bool {
        let mut consumed = Consumed { signatures: self.signatures, names: Vec::new() };
        Visit::<Soacs>::body(&mut consumed, body);
        let classes: FxHashSet<usize> =
            consumed.names.into_iter().map(|name| self.aliases.class(name)).collect();
        let updates = body.stms.iter().filter(|stm| binds(stm, results));
        let read = updates.flat_map(|stm| free_names_exp(&stm.exp));
        read.chain(carried.iter().copied()).any(|name| classes.contains(&self.aliases.class(name)))
    }

    /// Replaces inputs of a combinator by reads at its index, which is returned.
    fn index_inputs(
        &mut self,
        stm: &mut Stm<Soacs>,
        read: impl Fn(Name) -> bool,
        before: &mut Vec<Stm<Soacs>>,
    ) -> Option<Name> {
        let prov = stm.aux.prov;
        let Exp::Op(Soac::Screma(screma)) = &mut stm.exp else {
            return None;
        };
        let mut b = Builder::new(self.names, &mut self.types);
        b.prov = prov;
        let index: Param<Soacs> = b.param("i", Type::I64);
        let iota = b.iota(screma.width);
        before.append(&mut b.take_stms());
        self.iotas.insert(iota);
        let (mut kept, mut stms) = (Vec::new(), Vec::new());
        let mut indices = Substitution::default();
        for (param, input) in std::mem::take(&mut screma.map.params).into_iter().zip(&screma.inputs) {
            if self.iotas.contains(input) {
                indices.insert(param.name, index.name.into());
            } else if !read(*input) {
                kept.push((param, *input));
            } else {
                let slice = match param.ty.shape() {
                    [] if param.ty.is_prim() => vec![DimIndex::Fix(index.name.into())],
                    [columns] => row_slice(index.name.into(), *columns),
                    _ => return None,
                };
                stms.push(basic(param, Aux::at(prov), BasicOp::Index { array: *input, slice }));
            }
        }
        let name = index.name;
        kept.push((index, iota));
        (screma.map.params, screma.inputs) = kept.into_iter().unzip();
        let body = &mut screma.map.body;
        substitute_body(body, &indices);
        stms.append(&mut body.stms);
        body.stms = stms;
        Some(name)
    }

    /// Turns reads of elements of matrices by the maps over a row's elements at their own index into
    /// inputs.
    fn own_elements(&mut self, body: &mut Body<Soacs>, row: Name, carried: &FxHashSet<Name>) {
        with_stack(|| {
            let mut stms: Vec<Stm<Soacs>> = Vec::with_capacity(body.stms.len());
            for mut stm in std::mem::take(&mut body.stms) {
                if let Exp::If { then_body, else_body, .. } = &mut stm.exp {
                    self.own_elements(then_body, row, carried);
                    self.own_elements(else_body, row, carried);
                }
                if let Exp::Op(Soac::Screma(screma)) = &mut stm.exp {
                    self.own_elements_of(screma, row, carried, &mut stms);
                }
                stms.push(stm);
            }
            body.stms = stms;
        });
    }

    fn own_elements_of(
        &mut self,
        screma: &mut Screma,
        row: Name,
        carried: &FxHashSet<Name>,
        before: &mut Vec<Stm<Soacs>>,
    ) {
        let Some(at) = screma.inputs.iter().position(|input| self.iotas.contains(input)) else {
            return;
        };
        let column = screma.map.params[at].name;
        let own = |op: &BasicOp| {
            let BasicOp::Index { array, slice } = op else {
                return None;
            };
            let indices = [row, column].map(|name| DimIndex::Fix(name.into()));
            (carried.contains(array) && slice[..] == indices).then_some(*array)
        };
        let mut found = OwnElements { own, arrays: Vec::new(), elements: FxHashMap::default() };
        Visit::<Soacs>::body(&mut found, &screma.map.body);
        for array in std::mem::take(&mut found.arrays) {
            let ty = self.types.type_of(array).clone();
            let [_, columns] = *ty.shape() else {
                continue;
            };
            if columns != screma.width || found.elements.contains_key(&array) {
                continue;
            }
            let op = BasicOp::Index { array, slice: row_slice(row.into(), columns) };
            let known = before.iter().find(|stm| matches!(&stm.exp, Exp::Basic(other) if *other == op));
            let mut b = Builder::new(self.names, &mut self.types);
            let view = known.map_or_else(|| b.let_basic("row", op), |stm| stm.pat[0].name);
            let input = screma.inputs.iter().position(|input| *input == view);
            let at = input.unwrap_or_else(|| {
                screma.inputs.push(view);
                screma.map.params.push(b.param("x", ty.elem().map_or(Type::BOOL, Type::Prim)));
                screma.inputs.len() - 1
            });
            let element = screma.map.params[at].name;
            before.append(&mut b.take_stms());
            found.elements.insert(array, element);
        }
        VisitMut::<Soacs>::body(&mut found, &mut screma.map.body);
    }
}

/// Returns true if a statement binds one of these names first.
fn binds(stm: &Stm<Soacs>, names: &FxHashSet<Name>) -> bool {
    stm.pat.first().is_some_and(|param| names.contains(&param.name))
}

/// Removes operations in combinators whose results are not used. Returns true if there were any.
fn drop_unused(body: &mut Body<Soacs>) -> bool {
    struct Drop {
        used: FxHashMap<Name, u32>,
        dropped: bool,
    }
    impl VisitMut<Soacs> for Drop {
        fn body(&mut self, body: &mut Body<Soacs>) {
            let all = body.stms.len();
            body.stms.retain(|stm| match &stm.exp {
                Exp::Basic(BasicOp::Assert { .. }) => true,
                Exp::Basic(_) => stm.pat.iter().any(|param| self.used.contains_key(&param.name)),
                Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => true,
            });
            self.dropped |= body.stms.len() < all;
            self.walk_body(body);
        }
    }
    let mut drop = Drop { used: uses::in_body(body), dropped: false };
    for stm in &mut body.stms {
        VisitMut::<Soacs>::exp(&mut drop, &mut stm.exp);
    }
    drop.dropped
}

/// Returns true if a statement is a map of this width with one result and no attributes.
fn is_plain_map(stm: &Stm<Soacs>, width: Dim) -> bool {
    matches!(&stm.exp, Exp::Op(Soac::Screma(screma))
        if screma.scan_reduce.is_map()
            && screma.width == width
            && screma.map.ret.len() == 1
            && stm.aux.attrs.is_empty())
}

/// Returns true if a body computes a row with this number of columns by total operations; see the module's
/// header.
fn is_row(body: &Body<Soacs>, columns: Dim) -> bool {
    let [Atom::Var(result)] = body.result[..] else {
        return false;
    };
    with_stack(|| {
        body.stms.iter().all(|stm| {
            let last = stm.pat.len() == 1 && stm.pat[0].name == result;
            match &stm.exp {
                Exp::Op(Soac::Screma(screma)) => {
                    let scalars = screma.map.params.iter().map(|param| &param.ty);
                    last && is_plain_map(stm, columns)
                        && scalars.chain(&screma.map.ret).all(Type::is_prim)
                        && is_total_body(&screma.map.body)
                }
                Exp::If { then_body, else_body, .. } if last => {
                    stm.aux.attrs.is_empty() && is_row(then_body, columns) && is_row(else_body, columns)
                }
                Exp::Basic(_) | Exp::If { .. } => is_total_stm(stm),
                Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => false,
            }
        })
    })
}

/// Returns true if statements compute scalars and views and cannot fail.
fn is_total_body(body: &Body<Soacs>) -> bool {
    with_stack(|| body.stms.iter().all(is_total_stm))
}

fn is_total_stm(stm: &Stm<Soacs>) -> bool {
    match &stm.exp {
        Exp::Basic(op) => is_total(op) || matches!(op, BasicOp::Index { .. }),
        Exp::If { then_body, else_body, .. } => {
            stm.pat.iter().all(|param| param.ty.is_prim())
                && is_total_body(then_body)
                && is_total_body(else_body)
        }
        Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => false,
    }
}

/// The cost of the most expensive map over a row's elements, per element: of the operations that
/// are not the same for all elements.
fn element_cost(update: &Stm<Soacs>) -> i64 {
    struct Costs(i64);
    impl Visit<Soacs> for Costs {
        fn lambda(&mut self, lambda: &Lambda<Soacs>) {
            let mut varying: FxHashSet<Name> = lambda.params.iter().map(|param| param.name).collect();
            let mut total = 0;
            for stm in &lambda.body.stms {
                let mut varies = false;
                stm_names(stm, |name| varies |= varying.contains(&name));
                if !varies {
                    continue;
                }
                varying.extend(stm.pat.iter().map(|param| param.name));
                total += match &stm.exp {
                    Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(BinOp::FMin | BinOp::FMax, ..))) => {
                        FLOAT_MINIMUM
                    }
                    Exp::Basic(BasicOp::Index { .. }) => 0,
                    Exp::Op(_) => 0,
                    Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } => {
                        cost::statements(std::slice::from_ref(stm)).total()
                    }
                };
            }
            self.0 = self.0.max(total);
            self.walk_lambda(lambda);
        }
    }
    let mut costs = Costs(0);
    if let Exp::Op(Soac::Screma(screma)) = &update.exp {
        Visit::<Soacs>::body(&mut costs, &screma.map.body);
    }
    costs.0
}

/// Returns true if a product may be contracted with a sum of the next iteration.
fn may_contract(body: &Body<Soacs>, results: &FxHashSet<Name>) -> bool {
    #[derive(Default)]
    struct Rounding {
        products: FxHashSet<Name>,
        returned: Vec<Atom>,
        adds: bool,
    }
    impl Visit<Soacs> for Rounding {
        fn stm(&mut self, stm: &Stm<Soacs>) {
            if let Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(op, ..))) = &stm.exp {
                self.adds |= matches!(op, BinOp::FAdd | BinOp::FSub);
                if *op == BinOp::FMul {
                    self.products.extend(stm.pat.iter().map(|param| param.name));
                }
            }
            self.walk_stm(stm);
        }

        fn body(&mut self, body: &Body<Soacs>) {
            self.returned.extend(&body.result);
            self.walk_body(body);
        }
    }
    let mut all = Rounding::default();
    Visit::<Soacs>::body(&mut all, body);
    let mut updates = Rounding::default();
    for stm in body.stms.iter().filter(|stm| binds(stm, results)) {
        Visit::<Soacs>::stm(&mut updates, stm);
    }
    let is_product = |atom: &Atom| atom.var().is_some_and(|name| updates.products.contains(&name));
    all.adds && updates.returned.iter().any(is_product)
}

/// The names bound inside of an expression.
pub(super) fn names_bound_in(exp: &Exp<Soacs>) -> FxHashSet<Name> {
    struct Bound(FxHashSet<Name>);
    impl Visit<Soacs> for Bound {
        fn binder(&mut self, name: &Name) {
            self.0.insert(*name);
        }
    }
    let mut bound = Bound(FxHashSet::default());
    Visit::<Soacs>::exp(&mut bound, exp);
    bound.0
}

struct Consumed<'a> {
    signatures: &'a Signatures,
    names: Vec<Name>,
}

impl Visit<Soacs> for Consumed<'_> {
    fn exp(&mut self, exp: &Exp<Soacs>) {
        self.names.extend(consumed_by(exp, |fun, i| self.signatures.consumes(fun, i)));
        self.walk_exp(exp);
    }
}

/// Replaces reads of views of rows by reads of the matrix.
struct Rows<'a> {
    carried: &'a FxHashSet<Name>,
    /// The matrix and the index of each row.
    rows: FxHashMap<Name, (Name, Atom)>,
}

impl VisitMut<Soacs> for Rows<'_> {
    fn stm(&mut self, stm: &mut Stm<Soacs>) {
        if let Exp::Basic(BasicOp::Index { array, slice }) = &stm.exp
            && self.carried.contains(array)
            && let [DimIndex::Fix(row), DimIndex::Slice { start, stride, .. }] = slice[..]
            && (start, stride) == (Atom::i64(0), Atom::i64(1))
        {
            self.rows.insert(stm.pat[0].name, (*array, row));
            return;
        }
        self.walk_stm(stm);
    }

    fn basic(&mut self, op: &mut BasicOp) {
        if let BasicOp::Index { array, slice } = op
            && let Some((matrix, row)) = self.rows.get(array)
        {
            *array = *matrix;
            slice.insert(0, DimIndex::Fix(*row));
        }
    }
}

/// Finds the arrays of own elements, and replaces the reads by the elements.
struct OwnElements<F> {
    own: F,
    arrays: Vec<Name>,
    elements: FxHashMap<Name, Name>,
}

impl<F: Fn(&BasicOp) -> Option<Name>> Visit<Soacs> for OwnElements<F> {
    fn basic(&mut self, op: &BasicOp) {
        self.arrays.extend((self.own)(op));
    }
}

impl<F: Fn(&BasicOp) -> Option<Name>> VisitMut<Soacs> for OwnElements<F> {
    fn basic(&mut self, op: &mut BasicOp) {
        if let Some(element) = (self.own)(op).and_then(|array| self.elements.get(&array)) {
            *op = BasicOp::Atom(Atom::Var(*element));
        }
    }
}
