//! The form of programs that the rules of differentiation take: every combinator is a map, one scan
//! or one reduction; operators are applied to components that depend on each other; operators that
//! are maps have been interchanged with their reduction or scan (rule G4); in reverse mode, active loops
//! are counted, and their arrays have one size in all iterations; active accumulators have sums or no
//! operator ([`crate::recorded_updates`]).
//!
//! Fusion joins again what is split here.

use crate::recorded_updates::has_sums;
use crate::state::{Ad, Result};
use crate::strip_mine::Counted;
use ir::operator_map::{element_operator, operator_map};
use ir::remark::DerivativeStep;
use ir::scan_reduce::ScanReduce;
use ir::soac::{HistOp, Operator, Screma, Soac, Soacs};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Lambda, LoopForm, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{stm_names, with_stack};
use ir::{Name, PassError};
use prim::PrimType;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

impl Ad<'_> {
    /// A body in that form, in which the names that depend on these are active.
    pub fn normalised(&mut self, by: &[Name], body: Body<Soacs>) -> Result<Body<Soacs>> {
        self.active.extend(by);
        self.mark_body(&body);
        let body = self.normalise(body)?;
        self.active.clear();
        self.active.extend(by);
        self.mark_body(&body);
        Ok(body)
    }

    /// The body in that form.
    fn normalise(&mut self, body: Body<Soacs>) -> Result<Body<Soacs>> {
        let outer = self.b.open();
        for stm in body.stms {
            with_stack(|| self.normalise_stm(stm))?;
        }
        Ok(self.b.close(outer, body.result))
    }

    /// A body inside of a statement in that form.
    fn normalise_inside(&mut self, body: Body<Soacs>) -> Result<Body<Soacs>> {
        let splits_loops = std::mem::take(&mut self.splits_loops);
        let body = self.normalise(body);
        self.splits_loops = splits_loops;
        body
    }

    fn normalise_lambda(&mut self, lambda: &mut Lambda<Soacs>) -> Result {
        let body = std::mem::replace(&mut lambda.body, Body { stms: Vec::new(), result: Vec::new() });
        lambda.body = self.normalise_inside(body)?;
        Ok(())
    }

    fn normalise_stm(&mut self, stm: Stm<Soacs>) -> Result {
        let Stm { pat, aux, exp } = stm;
        match exp {
            Exp::Basic(_) | Exp::Apply { .. } => self.b.let_with(pat, aux, exp),
            Exp::If { cond, then_body, else_body } => {
                let then_body = self.normalise_inside(then_body)?;
                let else_body = self.normalise_inside(else_body)?;
                self.b.let_with(pat, aux, Exp::If { cond, then_body, else_body });
            }
            Exp::Loop { params, form, body } => {
                let body = self.normalise_inside(body)?;
                let exp = Exp::Loop { params, form, body };
                if self.is_reverse && pat.iter().any(|result| self.active.contains(&result.name)) {
                    self.taped(Stm { pat, aux, exp })?;
                } else {
                    self.b.let_with(pat, aux, exp);
                }
            }
            Exp::Op(op) => self.normalise_op(pat, aux, op)?,
        }
        Ok(())
    }

    fn normalise_op(&mut self, pat: Vec<Param<Soacs>>, aux: Aux, mut op: Soac) -> Result {
        self.normalise_lambdas(&mut op)?;
        match op {
            Soac::Screma(screma) if !screma.scan_reduce.is_map() => self.split(&pat, &aux, screma),
            Soac::Hist { width, inputs, map, ops } => {
                let values = self.mapped(width, inputs, map, &aux);
                self.split_histograms(&pat, &aux, (width, &values), ops)
            }
            Soac::WithAcc { inputs, lambda }
                if self.is_reverse
                    && !inputs.iter().all(has_sums)
                    && pat.iter().any(|result| self.active.contains(&result.name)) =>
            {
                self.recorded(pat, &aux, (inputs, lambda))
            }
            Soac::Screma(_)
            | Soac::WithAcc { .. }
            | Soac::Stream { .. }
            | Soac::FlatMap { .. }
            | ir::derivative_op!() => {
                self.b.let_with(pat, aux, Exp::Op(op));
                Ok(())
            }
        }
    }

    fn normalise_lambdas(&mut self, op: &mut Soac) -> Result {
        match op {
            Soac::Screma(Screma { width: _, inputs: _, map, scan_reduce }) => {
                self.normalise_lambda(map)?;
                scan_reduce.lambdas_mut().try_for_each(|lambda| self.normalise_lambda(lambda))
            }
            Soac::Hist { map, ops, .. } => {
                self.normalise_lambda(map)?;
                ops.iter_mut().try_for_each(|op| self.normalise_lambda(&mut op.op.op))
            }
            Soac::WithAcc { inputs, lambda } => {
                let mut operators = inputs.iter_mut().filter_map(|input| input.op.as_mut());
                operators.try_for_each(|op| self.normalise_lambda(&mut op.op))?;
                self.normalise_lambda(lambda)
            }
            Soac::Stream { lambda, .. } | Soac::FlatMap { lambda, .. } => self.normalise_lambda(lambda),
            Soac::WithVjp { lambda, adjoint, .. } => {
                self.normalise_lambda(lambda)?;
                self.normalise_lambda(adjoint)
            }
            Soac::Jvp { .. } | Soac::Vjp { .. } => Ok(()),
        }
    }

    /// The arrays of a map's results: its inputs if it is the identity.
    fn mapped(&mut self, width: Dim, inputs: Vec<Name>, map: Lambda<Soacs>, aux: &Aux) -> Vec<Name> {
        if map.is_identity() {
            return inputs;
        }
        let types = map.ret.iter().map(|ty| ty.array_of(width));
        let results: Vec<Param<Soacs>> = types.map(|ty| self.b.param("x", ty)).collect();
        let names = results.iter().map(|param| param.name).collect();
        self.b.let_with(results, aux.clone(), Exp::Op(Soac::Screma(Screma::map(width, inputs, map))));
        names
    }

    /// Appends a combinator as maps, scans and reductions.
    fn split(&mut self, pat: &[Param<Soacs>], aux: &Aux, screma: Screma) -> Result {
        let Screma { width, inputs, map, scan_reduce } = screma;
        let values = self.mapped(width, inputs, map, aux);
        let (reduced, elements) = scan_reduce.results(pat);
        let groups = scan_reduce.values(&values);
        let mut at = 0;
        for op in &scan_reduce.reduces {
            let own = at..at + op.neutral.len();
            at = own.end;
            self.components(&reduced[own.clone()], aux, (width, &groups.reduced[own]), op, false)?;
        }
        let mut scanned: Vec<Param<Soacs>> = Vec::new();
        for op in &scan_reduce.scans {
            let own = scanned.len()..scanned.len() + op.neutral.len();
            let results: Vec<Param<Soacs>> = match &scan_reduce.post {
                None => elements[own.clone()].to_vec(),
                Some(_) => {
                    let types: Vec<Type> = op.op.ret.iter().map(|ty| ty.array_of(width)).collect();
                    types.into_iter().map(|ty| self.b.param("x", ty)).collect()
                }
            };
            self.components(&results, aux, (width, &groups.scanned[own]), op, true)?;
            scanned.extend(results);
        }
        match scan_reduce.post {
            Some(post) => {
                let inputs = scanned.iter().map(|param| param.name).chain(groups.mapped.iter().copied());
                let map = Screma::map(width, inputs.collect(), post);
                self.b.let_with(elements.to_vec(), aux.clone(), Exp::Op(Soac::Screma(map)));
            }
            None => {
                for (param, value) in elements[scanned.len()..].iter().zip(groups.mapped) {
                    let exp = Exp::Basic(BasicOp::Atom((*value).into()));
                    self.b.let_with(vec![param.clone()], aux.clone(), exp);
                }
            }
        }
        Ok(())
    }

    /// Appends a scan or reduction as several, one for each group of components that depend on each
    /// other.
    pub(crate) fn components(
        &mut self,
        pat: &[Param<Soacs>],
        aux: &Aux,
        (width, inputs): (Dim, &[Name]),
        op: &Operator<Soacs>,
        scan: bool,
    ) -> Result {
        for (group, own) in self.groups(op) {
            let pat: Vec<Param<Soacs>> = group.iter().map(|at| pat[*at].clone()).collect();
            let inputs: Vec<Name> = group.iter().map(|at| inputs[*at]).collect();
            let rule = !scan && crate::reverse::has_rule_for_arrays(&own, self.calls.options.is_repeated);
            match operator_map(&own).filter(|_| !rule) {
                Some((rows, _)) => self.columns(pat, aux, (width, rows), &inputs, &own, scan)?,
                None => self.one(pat, aux, (width, inputs), own, scan),
            }
        }
        Ok(())
    }

    /// The components that depend on each other, and the operator on these.
    fn groups(&mut self, op: &Operator<Soacs>) -> Vec<(Vec<usize>, Operator<Soacs>)> {
        let groups = groups(op);
        if groups.len() == 1 {
            return groups.into_iter().map(|group| (group, op.clone())).collect();
        }
        groups
            .into_iter()
            .map(|group| {
                let own = part(op, &group);
                (group, self.copy_operator(&own))
            })
            .collect()
    }

    fn one(
        &mut self,
        pat: Vec<Param<Soacs>>,
        aux: &Aux,
        (width, inputs): (Dim, Vec<Name>),
        op: Operator<Soacs>,
        scan: bool,
    ) {
        let map = self.b.identity_lambda(&op.op.ret);
        let scan_reduce = if scan { ScanReduce::scan(vec![op]) } else { ScanReduce::reduce(vec![op]) };
        let screma = Screma { width, inputs, map, scan_reduce };
        self.b.let_with(pat, aux.clone(), Exp::Op(Soac::Screma(screma)));
    }

    /// Rule G4: a scan or reduction whose operator is a map, as a map of scans or reductions.
    fn columns(
        &mut self,
        pat: Vec<Param<Soacs>>,
        aux: &Aux,
        (width, rows): (Dim, Dim),
        inputs: &[Name],
        op: &Operator<Soacs>,
        scan: bool,
    ) -> Result {
        let mut all: Vec<Name> = inputs.iter().map(|input| self.transposed(*input)).collect();
        for ne in &op.neutral {
            all.push(self.name_of(*ne));
        }
        let results = self.try_map("x", rows, &all, |ad, x| {
            let (columns, neutral) = x.split_at(inputs.len());
            let element = ad.element_operator(op, neutral)?;
            let types = element.op.ret.iter();
            let types: Vec<Type> =
                types.map(|ty| if scan { ty.array_of(width) } else { ty.clone() }).collect();
            let results: Vec<Param<Soacs>> = types.into_iter().map(|ty| ad.b.param("x", ty)).collect();
            ad.components(&results, &Aux::at(aux.prov), (width, columns), &element, scan)?;
            Ok(results.iter().map(|param| param.name.into()).collect())
        })?;
        for (param, name) in pat.into_iter().zip(results) {
            let rank = self.b.types.type_of(name).rank();
            let op = if scan {
                BasicOp::Rearrange { perm: swapped(rank), array: name }
            } else {
                BasicOp::Atom(name.into())
            };
            self.b.let_with(vec![param], aux.clone(), Exp::Basic(op));
        }
        Ok(())
    }

    /// The operator on elements of an operator that is a map, with these neutral elements.
    fn element_operator(&mut self, op: &Operator<Soacs>, neutral: &[Name]) -> Result<Operator<Soacs>> {
        let (names, types) = (&mut *self.b.names, &mut *self.b.types);
        let mut fresh = |hint: &str, ty: Type| {
            let name = names.fresh(hint);
            types.set(name, ty.clone());
            Param { name, ty, ann: () }
        };
        let element = element_operator(op, &mut fresh)
            .ok_or_else(|| PassError::bug("an operator that is a map has no operator on elements"))?;
        let neutral = neutral.iter().map(|name| Atom::Var(*name)).collect();
        Ok(Operator { op: self.copy_lambda(&element), neutral, comm: op.comm })
    }

    /// Appends histograms of arrays of indices and values, one for each group of components.
    pub(crate) fn split_histograms(
        &mut self,
        pat: &[Param<Soacs>],
        aux: &Aux,
        (width, values): (Dim, &[Name]),
        ops: Vec<HistOp<Soacs>>,
    ) -> Result {
        let n_indices: usize = ops.iter().map(|op| op.shape.len()).sum();
        let (mut indices, mut values) = values.split_at(n_indices);
        let mut results = pat;
        for op in ops {
            let (own_indices, rest) = indices.split_at(op.shape.len());
            indices = rest;
            let k = op.op.neutral.len();
            let (own_values, rest) = values.split_at(k);
            values = rest;
            let (own_results, rest) = results.split_at(k);
            results = rest;
            for (group, own) in self.groups(&op.op) {
                let own = HistOp {
                    shape: op.shape.clone(),
                    destinations: group.iter().map(|at| op.destinations[*at]).collect(),
                    op: own,
                };
                let own_values: Vec<Name> = group.iter().map(|at| own_values[*at]).collect();
                let pat = group.iter().map(|at| own_results[*at].clone()).collect();
                self.histogram(pat, aux, (width, own_indices), &own_values, own)?;
            }
        }
        Ok(())
    }

    /// Appends one histogram; if its operator is a map other than of sums, a map of histograms.
    fn histogram(
        &mut self,
        pat: Vec<Param<Soacs>>,
        aux: &Aux,
        (width, indices): (Dim, &[Name]),
        values: &[Name],
        op: HistOp<Soacs>,
    ) -> Result {
        if let (Some((rows, _)), false) = (operator_map(&op.op), crate::reverse::is_sum(&op.op.op)) {
            return self.column_histograms(pat, aux, (width, indices), (rows, values), &op);
        }
        let mut types = vec![Type::I64; indices.len()];
        types.extend(op.op.op.ret.iter().cloned());
        let map = self.b.identity_lambda(&types);
        let inputs = indices.iter().chain(values).copied().collect();
        let exp = Exp::Op(Soac::Hist { width, inputs, map, ops: vec![op] });
        self.b.let_with(pat, aux.clone(), exp);
        Ok(())
    }

    fn column_histograms(
        &mut self,
        pat: Vec<Param<Soacs>>,
        aux: &Aux,
        (width, indices): (Dim, &[Name]),
        (rows, values): (Dim, &[Name]),
        op: &HistOp<Soacs>,
    ) -> Result {
        let outer_rank = op.shape.len();
        let mut all: Vec<Name> = values.iter().map(|own| self.transposed(*own)).collect();
        for destination in &op.destinations {
            let rank = self.b.types.type_of(*destination).rank();
            // The dimension after those of the bins comes first.
            let first = std::iter::once(outer_rank).chain(0..outer_rank);
            let perm = first.chain(outer_rank + 1..rank).collect();
            let moved = BasicOp::Rearrange { perm, array: *destination };
            all.push(self.b.let_basic("bins", moved));
        }
        for ne in &op.op.neutral {
            all.push(self.name_of(*ne));
        }
        let k = values.len();
        let maps = self.try_map("bins", rows, &all, |ad, x| {
            let element = ad.element_operator(&op.op, &x[2 * k..])?;
            let bins = x[k..2 * k].iter().map(|name| ad.b.let_basic("bins", BasicOp::Copy(*name)));
            let destinations: Vec<Name> = bins.collect();
            let mut results = Vec::new();
            for name in &destinations {
                let ty = ad.b.types.type_of(*name).clone();
                results.push(ad.b.param("bins", ty));
            }
            let result = results.iter().map(|param| param.name.into()).collect();
            let own = HistOp { shape: op.shape.clone(), destinations, op: element };
            ad.histogram(results, &Aux::at(aux.prov), (width, indices), &x[..k], own)?;
            Ok(result)
        })?;
        for (param, name) in pat.into_iter().zip(maps) {
            let rank = self.b.types.type_of(name).rank();
            let back = (1..=outer_rank).chain(std::iter::once(0));
            let perm = back.chain(outer_rank + 1..rank).collect();
            let exp = Exp::Basic(BasicOp::Rearrange { perm, array: name });
            self.b.let_with(vec![param], aux.clone(), exp);
        }
        Ok(())
    }

    /// The array with its outer two dimensions swapped.
    pub fn transposed(&mut self, array: Name) -> Name {
        let rank = self.b.types.type_of(array).rank();
        self.b.let_basic("columns", BasicOp::Rearrange { perm: swapped(rank), array })
    }

    /// Appends a loop with a tape: counted, with arrays of one size in all iterations.
    fn taped(&mut self, stm: Stm<Soacs>) -> Result {
        let Stm { pat, aux, exp: Exp::Loop { params, form: LoopForm::For { var, ty, bound }, body } } = stm
        else {
            return self.counted(stm);
        };
        let counted = Counted { params, var, ty, bound, body };
        let sizes = counted.sizes();
        if !sizes.is_empty() {
            return self.padded(pat, aux, counted, &sizes);
        }
        self.strip_mined(pat, aux, counted);
        Ok(())
    }

    /// Appends a `while` loop as a loop that counts its iterations, and a counted one.
    fn counted(&mut self, stm: Stm<Soacs>) -> Result {
        let count = self.run_ahead(&stm, ("count", &[Atom::i64(0)]), |ad, counts, _| {
            counts.iter().map(|count| ad.b.add_i64((*count).into(), Atom::i64(1))).collect()
        })?;
        self.note(|_| DerivativeStep::CountsIterations);
        let (Stm { pat, aux, exp: Exp::Loop { params, form: _, body } }, [count]) = (stm, count.as_slice())
        else {
            return Err(PassError::bug("a loop was not counted"));
        };
        let var = self.b.param("i", Type::I64).name;
        let form = LoopForm::For { var, ty: PrimType::I64, bound: (*count).into() };
        self.taped(Stm { pat, aux, exp: Exp::Loop { params, form, body } })
    }
}

/// The permutation of dimensions that swaps the outer two.
pub(crate) fn swapped(rank: usize) -> SmallVec<[usize; 3]> {
    let mut perm: SmallVec<[usize; 3]> = (0..rank).collect();
    if rank > 1 {
        perm.swap(0, 1);
    }
    perm
}

/// The components of an operator in groups that depend on each other.
fn groups(op: &Operator<Soacs>) -> Vec<Vec<usize>> {
    let n = op.neutral.len();
    let needs: Vec<Vec<usize>> =
        (0..n).map(|at| parameters_of(&op.op, at).into_iter().map(|param| param % n).collect()).collect();
    let mut group: Vec<usize> = (0..n).collect();
    loop {
        let before = group.clone();
        for (at, others) in needs.iter().enumerate() {
            for other in others {
                let least = group[at].min(group[*other]);
                group[at] = least;
                group[*other] = least;
            }
        }
        if group == before {
            break;
        }
    }
    let mut found: Vec<Vec<usize>> = Vec::new();
    for at in 0..n {
        match found.iter_mut().find(|own| group[own[0]] == group[at]) {
            Some(own) => own.push(at),
            None => found.push(vec![at]),
        }
    }
    found
}

/// The positions of the parameters on which a result of a lambda depends.
fn parameters_of(lambda: &Lambda<Soacs>, result: usize) -> Vec<usize> {
    let (_, needed) = needed(&lambda.body, &[result]);
    let params = lambda.params.iter().enumerate();
    params.filter(|(_, param)| needed.contains(&param.name)).map(|(at, _)| at).collect()
}

/// The statements of a body that some of its results need, and the names that these use.
fn needed<'a>(body: &'a Body<Soacs>, results: &[usize]) -> (Vec<&'a Stm<Soacs>>, FxHashSet<Name>) {
    let mut needed: FxHashSet<Name> = results.iter().filter_map(|at| body.result[*at].var()).collect();
    let mut stms = Vec::new();
    for stm in body.stms.iter().rev() {
        if stm.pat.iter().any(|param| needed.contains(&param.name)) {
            stm_names(stm, |name| {
                needed.insert(name);
            });
            stms.push(stm);
        }
    }
    stms.reverse();
    (stms, needed)
}

/// The operator on some of its components.
fn part(op: &Operator<Soacs>, group: &[usize]) -> Operator<Soacs> {
    let n = op.neutral.len();
    let both = group.iter().copied().chain(group.iter().map(|at| at + n));
    let lambda = Lambda {
        params: both.map(|at| op.op.params[at].clone()).collect(),
        body: Body {
            stms: needed(&op.op.body, group).0.into_iter().cloned().collect(),
            result: group.iter().map(|at| op.op.body.result[*at]).collect(),
        },
        ret: group.iter().map(|at| op.op.ret[*at].clone()).collect(),
    };
    Operator { op: lambda, neutral: group.iter().map(|at| op.neutral[*at]).collect(), comm: op.comm }
}
