//! Reverse mode: maps.
//!
//! ```text
//! let ys = map (x <- xs) -> body         let (sums, xs', accs) =
//!                                   =>     map (x <- xs, y' <- ys', acc <- accs) ->
//!                                            body; return sweep of body
//! ```
//!
//! The adjoints of the inputs are results of the map. Contributions to free scalars are summed, those
//! to free arrays go to accumulators.

use super::dense::{self, Contribution, Leaves};
use super::{Adjoint, Adjoints};
use crate::state::{Ad, Result};
use ir::Name;
use ir::remark::DerivativeStep;
use ir::scan_reduce::ScanReduce;
use ir::soac::{Screma, Soac, Soacs};
use ir::syntax::{Atom, BasicOp, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::free_names_lambda;
use prim::{CmpOp, PrimType};
use rustc_hash::FxHashMap;

/// Free names that a scope contributes to, by what becomes of the contributions.
struct FreeNames {
    /// Scalars: results that are summed.
    scalars: Vec<Name>,
    /// Arrays, which get an accumulator around the scope.
    arrays: Vec<(Name, Type)>,
    /// Arrays that have an accumulator already.
    accumulated: Vec<(Name, Name)>,
}

/// The map of a return sweep, by its results.
struct Iteration {
    map: Lambda<Soacs>,
    /// The arrays and the parameters bound to their rows, those of adjoints included.
    all_rows: Vec<(Name, Param<Soacs>)>,
    inputs: Vec<Name>,
    /// Free scalars with contributions, then free arrays to which each iteration adds a whole array:
    /// these results are reduced.
    sums: Vec<Name>,
    /// The positions of inputs with contributions.
    rows: Vec<usize>,
    /// Values of each iteration that sums of elements read.
    leaves: Leaves,
    /// Whole arrays that each iteration adds, which are summed element by element.
    elementwise: Vec<Contribution>,
    /// The statements of an iteration.
    stms: Vec<Stm<Soacs>>,
    /// Names whose accumulators are updated: the accumulator before.
    accs: Vec<(Name, Name)>,
}

impl Ad<'_> {
    pub(super) fn reverse_screma(
        &mut self,
        screma: &Screma,
        pat: &[Param<Soacs>],
        adjoints: &[Option<Atom>],
    ) -> Result {
        let Screma { width, inputs, map, scan_reduce } = screma;
        match (scan_reduce.scans.as_slice(), scan_reduce.reduces.as_slice()) {
            ([], []) => self.reverse_map(*width, inputs, map, adjoints),
            ([], [op]) => self.reverse_reduce((*width, inputs), op, pat, adjoints),
            ([op], []) => self.reverse_scan((*width, inputs), op, pat, adjoints),
            _ => Err(ir::PassError::bug("a combinator was not split before differentiation")),
        }
    }

    /// Adds the contributions of a map, given the adjoints of its results.
    pub(super) fn reverse_map(
        &mut self,
        width: Dim,
        inputs: &[Name],
        map: &Lambda<Soacs>,
        adjoints: &[Option<Atom>],
    ) -> Result {
        if let Some((index, adjoints)) = self.single_iteration(adjoints) {
            return self.reverse_iteration((width, inputs, map), index, &adjoints);
        }
        if map.body.stms.iter().any(|stm| matches!(stm.exp, Exp::Loop { .. } | Exp::Op(_))) {
            self.note(|_| DerivativeStep::RunsAgain);
        }
        let map = self.copy_lambda(map);
        let rows: Vec<(Name, Param<Soacs>)> = inputs
            .iter()
            .zip(&map.params)
            .filter(|(_, param)| !matches!(param.ty, Type::Acc { .. }))
            .map(|(input, param)| (*input, param.clone()))
            .collect();
        let free = free_names_lambda(&map);
        self.reverse_rows(width, &rows, &free, adjoints, |ad, seeds| ad.sweep(&map.body, seeds))
    }

    /// The only iteration of a map with an adjoint that is not zero, if it is known, and its adjoints. Devices compute
    /// all iterations: they have no accumulators of floats.
    fn single_iteration(&self, adjoints: &[Option<Atom>]) -> Option<(Name, Vec<Option<Atom>>)> {
        let mut index = None;
        let mut own = Vec::with_capacity(adjoints.len());
        for adjoint in adjoints {
            let element = match adjoint {
                None => None,
                Some(array) => {
                    let (at, value) = self.single_elements.get(&array.var()?)?;
                    if index.is_some_and(|index| index != *at) {
                        return None;
                    }
                    index = Some(*at);
                    Some(*value)
                }
            };
            own.push(element);
        }
        index.filter(|_| !self.calls.options.has_device).map(|index| (index, own))
    }

    /// Adds the contributions of one iteration of a map, if there is any.
    fn reverse_iteration(
        &mut self,
        (width, inputs, map): (Dim, &[Name], &Lambda<Soacs>),
        index: Name,
        adjoints: &[Option<Atom>],
    ) -> Result {
        let Lambda { params, body, ret } = self.copy_lambda(map);
        let outer = self.b.open();
        for (param, input) in params.into_iter().zip(inputs) {
            let slice = self.b.row_slice(*input, &[index.into()]);
            self.b.let_pat(vec![param], Exp::Basic(BasicOp::Index { array: *input, slice }));
        }
        self.b.put_back(body.stms);
        let then_body = self.b.close(outer, body.result);
        let outer = self.b.open();
        let zeros = ret.iter().map(|ty| self.zero(ty)).collect();
        let else_body = self.b.close(outer, zeros);
        let size = width.atom().unwrap_or(Atom::i64(0));
        let exists = self.b.compare(CmpOp::ULt, PrimType::I64, index.into(), size);
        self.reverse_branch(exists.into(), [&then_body, &else_body], adjoints)
    }

    /// Adds the contributions of a map: `sweep` takes the adjoints of one iteration's results, and
    /// leaves contributions to the rows and to the free names `free` in `self.adjoints`.
    pub(super) fn reverse_rows(
        &mut self,
        width: Dim,
        rows: &[(Name, Param<Soacs>)],
        free: &[Name],
        adjoints: &[Option<Atom>],
        sweep: impl FnOnce(&mut Self, &[Option<Atom>]) -> Result,
    ) -> Result {
        let free = self.free_names(free);
        // The body of a `withacc`, if there are accumulators to add.
        let outer = self.b.open();
        let mut tokens = Vec::new();
        let mut accs = free.accumulated.clone();
        for (name, ty) in &free.arrays {
            let (token, acc) = self.sum_accumulator(ty);
            accs.push((*name, acc.name));
            tokens.push((*name, token, acc));
        }
        let iteration = self.iteration(rows, &free, &accs, adjoints, sweep)?;
        let Iteration {
            map,
            all_rows,
            inputs,
            sums,
            rows: own_rows,
            mut leaves,
            elementwise,
            stms,
            accs: updated,
        } = iteration;
        let reduced = map.ret[..sums.len()].iter();
        let reduces = reduced.map(|ty| self.addition(std::slice::from_ref(ty))).collect();
        let results = if map.ret.is_empty() {
            Vec::new()
        } else {
            let screma = Screma { width, inputs, map, scan_reduce: ScanReduce::reduce(reduces) };
            self.b.let_op("adj", Soac::Screma(screma))
        };
        let used: Vec<(Name, Param<Soacs>, Param<Soacs>)> =
            tokens.into_iter().filter(|(name, ..)| updated.iter().any(|(own, _)| own == name)).collect();
        let n_plain = sums.len() + own_rows.len() + leaves.len();
        let after: FxHashMap<Name, Name> =
            updated.iter().map(|(name, _)| *name).zip(results[n_plain..].iter().copied()).collect();
        let plain: Vec<Name> = results[..n_plain].to_vec();
        let passed: Vec<(Name, Name)> =
            free.accumulated.iter().filter_map(|(name, _)| Some((*name, *after.get(name)?))).collect();
        let (plain, passed) = if used.is_empty() {
            let body = self.b.close(outer, Vec::new());
            self.b.put_back(body.stms);
            (plain, passed)
        } else {
            let accs = used.iter().map(|(name, ..)| Atom::from(after[name]));
            let others = passed.iter().map(|(_, acc)| *acc).chain(plain.iter().copied()).map(Atom::from);
            let result = accs.chain(others).collect();
            let body = self.b.close(outer, result);
            self.around_with_acc(&used, body, passed)
        };
        for (name, acc) in passed {
            self.adjoints.insert(name, Adjoint::Acc(acc));
        }
        for name in sums.iter().chain(elementwise.iter().map(|own| &own.to)) {
            if self.b.types.type_of(*name).is_array() {
                self.note(|ad| DerivativeStep::Sums(ad.hint(*name)));
            }
        }
        for (name, ..) in &used {
            self.note(|ad| DerivativeStep::Accumulates(ad.hint(*name)));
        }
        for (name, sum) in sums.iter().zip(&plain) {
            self.add((*name).into(), (*sum).into());
        }
        for (at, adjoint) in own_rows.iter().zip(&plain[sums.len()..]) {
            self.add(rows[*at].0.into(), (*adjoint).into());
        }
        for (leaf, array) in leaves.values_mut().zip(&plain[sums.len() + own_rows.len()..]) {
            leaf.array = Some(*array);
        }
        let iteration = dense::Iteration { rows: &all_rows, stms: &stms };
        for contribution in elementwise {
            let Some(sum) = self.sum_elements(width, &iteration, contribution, &mut leaves) else {
                return Err(ir::PassError::bug("an element of an adjoint cannot be computed again"));
            };
            self.add(contribution.to.into(), sum);
        }
        Ok(())
    }

    /// Appends the `withacc` around a map. Its results: the arrays, the accumulators that already
    /// existed, and the plain ones.
    fn around_with_acc(
        &mut self,
        used: &[(Name, Param<Soacs>, Param<Soacs>)],
        body: ir::syntax::Body<Soacs>,
        passed: Vec<(Name, Name)>,
    ) -> (Vec<Name>, Vec<(Name, Name)>) {
        let mut inputs = Vec::new();
        for (name, ..) in used {
            let before = self.value_so_far(*name);
            let array = self.name_of(before);
            let ty = self.b.types.type_of(*name).clone();
            inputs.push(self.sum_input(array, &ty));
        }
        let tokens = used.iter().map(|(_, token, _)| token.clone());
        let accs = used.iter().map(|(_, _, acc)| acc.clone());
        let params = tokens.chain(accs).collect();
        let ret = body.result.iter().map(|atom| self.b.type_of(*atom)).collect();
        let lambda = Lambda { params, body, ret };
        let results = self.b.let_op("adj", Soac::WithAcc { inputs, lambda });
        let (arrays, rest) = results.split_at(used.len());
        for ((name, ..), array) in used.iter().zip(arrays) {
            self.adjoints.insert(*name, Adjoint::Value((*array).into()));
        }
        let (accs, plain) = rest.split_at(passed.len());
        let passed = passed.iter().zip(accs).map(|((name, _), acc)| (*name, *acc)).collect();
        (plain.to_vec(), passed)
    }

    /// The active names among some, by what becomes of contributions of a map to them.
    fn free_names(&self, free: &[Name]) -> FreeNames {
        let mut names = FreeNames { scalars: Vec::new(), arrays: Vec::new(), accumulated: Vec::new() };
        for name in free.iter().filter(|name| self.active.contains(name)) {
            match (self.b.types.type_of(*name), self.adjoints.get(name)) {
                (_, Some(Adjoint::Acc(acc))) => names.accumulated.push((*name, *acc)),
                (ty @ Type::Array { .. }, _) => names.arrays.push((*name, ty.clone())),
                (Type::Prim(_), _) => names.scalars.push(*name),
                (Type::Acc { .. } | Type::Cert | Type::Mem(_), _) => {}
            }
        }
        names
    }

    /// The lambda of one iteration.
    fn iteration(
        &mut self,
        rows: &[(Name, Param<Soacs>)],
        free: &FreeNames,
        accs: &[(Name, Name)],
        adjoints: &[Option<Atom>],
        sweep: impl FnOnce(&mut Self, &[Option<Atom>]) -> Result,
    ) -> Result<Iteration> {
        let mut inputs: Vec<Name> = rows.iter().map(|(input, _)| *input).collect();
        let mut params: Vec<Param<Soacs>> = rows.iter().map(|(_, param)| param.clone()).collect();
        let mut seeds = Vec::new();
        for adjoint in adjoints {
            seeds.push(match adjoint {
                None => None,
                Some(adjoint) => {
                    let adjoint = self.name_of(*adjoint);
                    let row = self.b.types.type_of(adjoint).row();
                    let param = self.b.param("adj", row.unwrap_or(Type::BOOL));
                    inputs.push(adjoint);
                    params.push(param.clone());
                    Some(Atom::Var(param.name))
                }
            });
        }
        let own: Vec<(Name, Param<Soacs>)> = accs
            .iter()
            .map(|(name, acc)| {
                let ty = self.b.types.type_of(*acc).clone();
                (*name, self.b.param("acc", ty))
            })
            .collect();
        let mut all_rows: Vec<(Name, Param<Soacs>)> = rows.to_vec();
        all_rows.extend(inputs[rows.len()..].iter().copied().zip(params[rows.len()..].iter().cloned()));
        let scope = self.open_scope();
        self.dense = Some(FxHashMap::default());
        self.adjoints = own.iter().map(|(name, param)| (*name, Adjoint::Acc(param.name))).collect();
        self.lambdas += 1;
        sweep(self, &seeds)?;
        self.lambdas -= 1;
        let mut contributions: Vec<Contribution> =
            self.dense.take().into_iter().flatten().map(|(to, value)| Contribution { to, value }).collect();
        contributions.sort_unstable_by_key(|contribution| contribution.to);
        let mut stms = self.b.take_stms();
        let (mut leaves, mut elementwise, mut arrays) = (Leaves::default(), Vec::new(), Vec::new());
        for contribution in contributions {
            let iteration = dense::Iteration { rows: &all_rows, stms: &stms };
            if self.leaves_of(&iteration, contribution, &mut leaves) {
                elementwise.push(contribution);
            } else {
                arrays.push(contribution);
            }
        }
        let found: Adjoints = std::mem::take(&mut self.adjoints);
        let value = |name: Name| match found.get(&name) {
            Some(Adjoint::Value(value)) => Some(*value),
            Some(Adjoint::Acc(_)) | None => None,
        };
        let mut result = Vec::new();
        let mut sums = Vec::new();
        for name in &free.scalars {
            if let Some(value) = value(*name) {
                sums.push(*name);
                result.push(value);
            }
        }
        result.extend(arrays.iter().map(|contribution| contribution.value));
        let mut own_rows = Vec::new();
        for (at, (_, param)) in rows.iter().enumerate() {
            if let Some(value) = value(param.name) {
                own_rows.push(at);
                result.push(value);
            }
        }
        // Elements are computed again from the statements as they are before leaves are returned.
        let swept = if elementwise.is_empty() { Vec::new() } else { stms.clone() };
        for (name, leaf) in &leaves {
            let Some(own) = leaf.returned(self, &mut stms, *name) else {
                return Err(ir::PassError::bug("a value of an iteration cannot be returned"));
            };
            result.push(own.into());
        }
        self.b.put_back(stms);
        let mut updated = Vec::new();
        for ((name, param), (_, before)) in own.iter().zip(accs) {
            if let Some(Adjoint::Acc(acc)) = found.get(name)
                && *acc != param.name
            {
                updated.push((*name, *before));
                inputs.push(*before);
                params.push(param.clone());
                result.push((*acc).into());
            }
        }
        let ret = result.iter().map(|atom| self.b.type_of(*atom)).collect();
        let body = self.close_scope(scope, result);
        let map = Lambda { params, body, ret };
        sums.extend(arrays.iter().map(|contribution| contribution.to));
        let (rows, stms, accs) = (own_rows, swept, updated);
        Ok(Iteration { map, all_rows, inputs, sums, rows, leaves, elementwise, stms, accs })
    }
}
