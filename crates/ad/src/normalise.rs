//! The form of programs that the rules of differentiation take: every combinator is a map, one scan
//! or one reduction; operators are applied to components that depend on each other; operators that
//! are maps have been interchanged with their reduction or scan (rule G4); all loops are counted.
//!
//! Fusion joins again what is split here.

use crate::state::{Ad, Result};
use ir::Name;
use ir::operator_map::{element_operator, operator_map};
use ir::soac::{HistOp, Operator, Screma, Soac, Soacs};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Lambda, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Substitution, free_names, substitute_body, with_stack};
use prim::PrimType;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

impl Ad<'_> {
    /// The body in that form.
    pub fn normalise(&mut self, body: Body<Soacs>) -> Result<Body<Soacs>> {
        let outer = self.b.open();
        for stm in body.stms {
            with_stack(|| self.normalise_stm(stm))?;
        }
        Ok(self.b.close(outer, body.result))
    }

    fn normalise_lambda(&mut self, lambda: &mut Lambda<Soacs>) -> Result {
        let body = std::mem::replace(&mut lambda.body, Body { stms: Vec::new(), result: Vec::new() });
        lambda.body = self.normalise(body)?;
        Ok(())
    }

    fn normalise_stm(&mut self, stm: Stm<Soacs>) -> Result {
        let Stm { pat, aux, exp } = stm;
        match exp {
            Exp::Basic(_) | Exp::Apply { .. } => self.b.push(Stm { pat, aux, exp }),
            Exp::If { cond, then_body, else_body } => {
                let then_body = self.normalise(then_body)?;
                let else_body = self.normalise(else_body)?;
                self.b.push(Stm { pat, aux, exp: Exp::If { cond, then_body, else_body } });
            }
            Exp::Loop { params, form, body } => {
                let body = self.normalise(body)?;
                match form {
                    LoopForm::For { .. } => {
                        self.b.push(Stm { pat, aux, exp: Exp::Loop { params, form, body } });
                    }
                    LoopForm::While { cond } => self.counted(pat, aux, (params, cond, body)),
                }
            }
            Exp::Op(op) => self.normalise_op(pat, aux, op)?,
        }
        Ok(())
    }

    fn normalise_op(&mut self, pat: Vec<Param<Soacs>>, aux: Aux, mut op: Soac) -> Result {
        match &mut op {
            Soac::Screma(screma) => {
                self.normalise_lambda(&mut screma.map)?;
                for lambda in screma.scan_reduce.lambdas_mut() {
                    self.normalise_lambda(lambda)?;
                }
                let screma = screma.clone();
                return self.split(pat, aux, screma);
            }
            Soac::Hist { map, ops, .. } => {
                self.normalise_lambda(map)?;
                for op in ops {
                    self.normalise_lambda(&mut op.op.op)?;
                }
                return self.split_histograms(&pat, &aux, op);
            }
            Soac::WithAcc { inputs, lambda } => {
                for op in inputs.iter_mut().filter_map(|input| input.op.as_mut()) {
                    self.normalise_lambda(&mut op.op)?;
                }
                self.normalise_lambda(lambda)?;
            }
            Soac::Stream { lambda, .. } | Soac::FlatMap { lambda, .. } => self.normalise_lambda(lambda)?,
            Soac::WithVjp { lambda, adjoint, .. } => {
                self.normalise_lambda(lambda)?;
                self.normalise_lambda(adjoint)?;
            }
            Soac::Jvp { .. } | Soac::Vjp { .. } => {}
        }
        self.b.push(Stm { pat, aux, exp: Exp::Op(op) });
        Ok(())
    }

    /// Appends a combinator as maps, scans and reductions.
    fn split(&mut self, pat: Vec<Param<Soacs>>, aux: Aux, screma: Screma) -> Result {
        let Screma { width, inputs, map, scan_reduce } = screma;
        if scan_reduce.is_map() {
            self.b.push(Stm {
                pat,
                aux,
                exp: Exp::Op(Soac::Screma(Screma { width, inputs, map, scan_reduce })),
            });
            return Ok(());
        }
        let values: Vec<Name> = if map.is_identity() {
            inputs
        } else {
            let types = map.ret.iter().map(|ty| ty.array_of(width));
            let results: Vec<Param<Soacs>> = types.map(|ty| self.b.param("x", ty)).collect();
            let names = results.iter().map(|param| param.name).collect();
            let exp = Exp::Op(Soac::Screma(Screma::map(width, inputs, map)));
            self.b.let_with(results, aux.clone(), exp);
            names
        };
        let (reduced, elements) = scan_reduce.results(&pat);
        let groups = scan_reduce.values(&values);
        let mut at = 0;
        for op in &scan_reduce.reduces {
            let k = op.neutral.len();
            let (own, inputs) = (&reduced[at..at + k], &groups.reduced[at..at + k]);
            self.components(own, &aux, (width, inputs), op, false)?;
            at += k;
        }
        let mut scanned: Vec<Param<Soacs>> = Vec::new();
        at = 0;
        for op in &scan_reduce.scans {
            let k = op.neutral.len();
            let own: Vec<Param<Soacs>> = match &scan_reduce.post {
                None => elements[at..at + k].to_vec(),
                Some(_) => {
                    let types: Vec<Type> = op.op.ret.iter().map(|ty| ty.array_of(width)).collect();
                    types.into_iter().map(|ty| self.b.param("x", ty)).collect()
                }
            };
            self.components(&own, &aux, (width, &groups.scanned[at..at + k]), op, true)?;
            scanned.extend(own);
            at += k;
        }
        match scan_reduce.post {
            Some(post) => {
                let inputs = scanned.iter().map(|param| param.name).chain(groups.mapped.iter().copied());
                let map = Screma::map(width, inputs.collect(), post);
                self.b.let_with(elements.to_vec(), aux, Exp::Op(Soac::Screma(map)));
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
    fn components(
        &mut self,
        pat: &[Param<Soacs>],
        aux: &Aux,
        (width, inputs): (Dim, &[Name]),
        op: &Operator<Soacs>,
        scan: bool,
    ) -> Result {
        for group in groups(op) {
            let own = part(op, &group);
            let own = if group.len() == op.neutral.len() { own } else { self.fresh_operator(&own) };
            let pick = |names: &[Name]| -> Vec<Name> { group.iter().map(|at| names[*at]).collect() };
            let pat: Vec<Param<Soacs>> = group.iter().map(|at| pat[*at].clone()).collect();
            let inputs = pick(inputs);
            match operator_map(&own) {
                Some((rows, _)) => self.columns(pat, aux, (width, rows), &inputs, &own, scan)?,
                None => self.one(pat, aux, (width, inputs), own, scan),
            }
        }
        Ok(())
    }

    fn fresh_operator(&mut self, op: &Operator<Soacs>) -> Operator<Soacs> {
        Operator { op: self.copy_lambda(&op.op), neutral: op.neutral.clone(), comm: op.comm }
    }

    fn one(
        &mut self,
        pat: Vec<Param<Soacs>>,
        aux: &Aux,
        (width, inputs): (Dim, Vec<Name>),
        op: Operator<Soacs>,
        scan: bool,
    ) {
        let map = self.b.identity_lambda(&op.op.ret.clone());
        let (scans, reduces) = if scan { (vec![op], Vec::new()) } else { (Vec::new(), vec![op]) };
        let scan_reduce = ir::scan_reduce::ScanReduce { scans, reduces, post: None };
        let exp = Exp::Op(Soac::Screma(Screma { width, inputs, map, scan_reduce }));
        self.b.types.add_exp(&exp);
        self.b.let_with(pat, aux.clone(), exp);
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
        let columns: Vec<Name> = inputs.iter().map(|input| self.transposed(*input)).collect();
        let mut params: Vec<Param<Soacs>> = Vec::new();
        let row_types = self.b.row_types(&columns);
        for ty in row_types {
            params.push(self.b.param("column", ty));
        }
        let mut neutral = Vec::new();
        let mut all = Vec::new();
        for ne in &op.neutral {
            let ne = self.name_of(*ne);
            let ty = self.b.row_types(&[ne])[0].clone();
            let param = self.b.param("ne", ty);
            neutral.push(Atom::Var(param.name));
            params.push(param);
            all.push(ne);
        }
        let (names, types) = (&mut *self.b.names, &mut *self.b.types);
        let mut fresh = |hint: &str, ty: Type| {
            let name = names.fresh(hint);
            types.set(name, ty.clone());
            Param { name, ty, ann: () }
        };
        let Some(element) = element_operator(op, &mut fresh) else {
            return Err(ir::PassError::bug("an operator that is a map has no operator on elements"));
        };
        let element = self.copy_lambda(&element);
        let ret = element.ret.clone();
        let element = Operator { op: element, neutral, comm: op.comm };
        let outer = self.b.open();
        let own: Vec<Name> = params[..columns.len()].iter().map(|param| param.name).collect();
        let result_types: Vec<Type> =
            ret.iter().map(|ty| if scan { ty.array_of(width) } else { ty.clone() }).collect();
        let results: Vec<Param<Soacs>> =
            result_types.iter().map(|ty| self.b.param("x", ty.clone())).collect();
        let result = results.iter().map(|param| Atom::Var(param.name)).collect();
        self.components(&results, &Aux::at(aux.prov), (width, &own), &element, scan)?;
        let body = self.b.close(outer, result);
        let map = Lambda { params, body, ret: result_types };
        let all: Vec<Name> = columns.into_iter().chain(all).collect();
        let exp = Exp::Op(Soac::Screma(Screma::map(rows, all, map)));
        if !scan {
            self.b.types.add_exp(&exp);
            self.b.let_with(pat, aux.clone(), exp);
            return Ok(());
        }
        self.b.types.add_exp(&exp);
        let transposed = self.b.let_exps("x", exp);
        for (param, name) in pat.into_iter().zip(transposed) {
            let rank = self.b.types.type_of(name).rank();
            let exp = Exp::Basic(BasicOp::Rearrange { perm: swapped(rank), array: name });
            self.b.let_with(vec![param], aux.clone(), exp);
        }
        Ok(())
    }

    /// Appends histograms of arrays of indices and values, one for each group of components.
    fn split_histograms(&mut self, pat: &[Param<Soacs>], aux: &Aux, op: Soac) -> Result {
        let Soac::Hist { width, inputs, map, ops } = op else {
            return Ok(());
        };
        let values: Vec<Name> = if map.is_identity() {
            inputs
        } else {
            let types = map.ret.iter().map(|ty| ty.array_of(width));
            let results: Vec<Param<Soacs>> = types.map(|ty| self.b.param("x", ty)).collect();
            let names = results.iter().map(|param| param.name).collect();
            let exp = Exp::Op(Soac::Screma(Screma::map(width, inputs, map)));
            self.b.let_with(results, aux.clone(), exp);
            names
        };
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
            for group in groups(&op.op) {
                let own = part(&op.op, &group);
                let own = if group.len() == k { own } else { self.fresh_operator(&own) };
                let own = HistOp {
                    shape: op.shape.clone(),
                    destinations: group.iter().map(|at| op.destinations[*at]).collect(),
                    op: own,
                };
                let own_values: Vec<Name> = group.iter().map(|at| own_values[*at]).collect();
                let pat = group.iter().map(|at| own_results[*at].clone()).collect();
                self.histogram(pat, aux, (width, own_indices), &own_values, own);
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
    ) {
        if let (Some((rows, _)), false) = (operator_map(&op.op), crate::reverse::is_sum(&op.op.op)) {
            self.column_histograms(pat, aux, (width, indices), (rows, values), &op);
            return;
        }
        let mut types = vec![Type::I64; indices.len()];
        types.extend(op.op.op.ret.iter().cloned());
        let map = self.b.identity_lambda(&types);
        let inputs = indices.iter().chain(values).copied().collect();
        let exp = Exp::Op(Soac::Hist { width, inputs, map, ops: vec![op] });
        self.b.types.add_exp(&exp);
        self.b.let_with(pat, aux.clone(), exp);
    }

    fn column_histograms(
        &mut self,
        pat: Vec<Param<Soacs>>,
        aux: &Aux,
        (width, indices): (Dim, &[Name]),
        (rows, values): (Dim, &[Name]),
        op: &HistOp<Soacs>,
    ) {
        let outer_rank = op.shape.len();
        let columns: Vec<Name> = values.iter().map(|own| self.transposed(*own)).collect();
        let mut all = columns.clone();
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
        let params: Vec<Param<Soacs>> =
            self.b.row_types(&all).into_iter().map(|ty| self.b.param("x", ty)).collect();
        let names: Vec<Name> = params.iter().map(|param| param.name).collect();
        let k = columns.len();
        let (table, types) = (&mut *self.b.names, &mut *self.b.types);
        let mut fresh = |hint: &str, ty: Type| {
            let name = table.fresh(hint);
            types.set(name, ty.clone());
            Param { name, ty, ann: () }
        };
        let Some(element) = element_operator(&op.op, &mut fresh) else {
            return;
        };
        let element = self.copy_lambda(&element);
        let neutral = names[2 * k..].iter().map(|name| Atom::Var(*name)).collect();
        let element = Operator { op: element, neutral, comm: op.op.comm };
        let outer = self.b.open();
        let mut destinations = Vec::new();
        for name in &names[k..2 * k] {
            destinations.push(self.b.let_basic("bins", BasicOp::Copy(*name)));
        }
        let results: Vec<Param<Soacs>> = destinations
            .iter()
            .map(|name| {
                let ty = self.b.types.type_of(*name).clone();
                self.b.param("bins", ty)
            })
            .collect();
        let ret: Vec<Type> = results.iter().map(|param| param.ty.clone()).collect();
        let result = results.iter().map(|param| Atom::Var(param.name)).collect();
        let own = HistOp { shape: op.shape.clone(), destinations, op: element };
        self.histogram(results, &Aux::at(aux.prov), (width, indices), &names[..k], own);
        let body = self.b.close(outer, result);
        let map = Lambda { params, body, ret };
        let maps = self.b.let_op("bins", Soac::Screma(Screma::map(rows, all, map)));
        for (param, name) in pat.into_iter().zip(maps) {
            let rank = self.b.types.type_of(name).rank();
            let back = (1..=outer_rank).chain(std::iter::once(0));
            let perm = back.chain(outer_rank + 1..rank).collect();
            let exp = Exp::Basic(BasicOp::Rearrange { perm, array: name });
            self.b.let_with(vec![param], aux.clone(), exp);
        }
    }

    /// The array with its outer two dimensions swapped.
    pub fn transposed(&mut self, array: Name) -> Name {
        let rank = self.b.types.type_of(array).rank();
        self.b.let_basic("columns", BasicOp::Rearrange { perm: swapped(rank), array })
    }

    /// Appends a `while` loop as a loop that counts its iterations, and a counted one.
    fn counted(
        &mut self,
        pat: Vec<Param<Soacs>>,
        aux: Aux,
        (params, cond, body): (Vec<LoopParam<Soacs>>, Name, Body<Soacs>),
    ) {
        let mut map = Substitution::default();
        let mut counting = params.clone();
        for p in &mut counting {
            let own = self.b.names.fresh_like(p.param.name);
            map.insert(p.param.name, own.into());
            p.param.name = own;
            ir::walk::substitute_param(&mut p.param, &map);
            self.b.types.set(own, p.param.ty.clone());
        }
        let count = self.b.param("count", Type::I64);
        let mut copy = body.clone();
        substitute_body(&mut copy, &map);
        let mut copy = self.copy(&copy, &mut Substitution::default());
        let outer = self.b.open();
        let next = self.b.add_i64(count.name.into(), Atom::i64(1));
        copy.stms.extend(self.b.close(outer, Vec::new()).stms);
        copy.result.push(next);
        let own_cond = map.get(&cond).and_then(|atom| atom.var()).unwrap_or(cond);
        let result = self.b.param("count", Type::I64);
        let mut results = Vec::new();
        let mut renamed = Substitution::default();
        for param in &pat {
            let mut own = param.clone();
            own.name = self.b.names.fresh_like(param.name);
            ir::walk::substitute_param(&mut own, &renamed);
            renamed.insert(param.name, own.name.into());
            results.push(own);
        }
        results.push(result.clone());
        counting.push(LoopParam { param: count, init: Atom::i64(0), consumed: false });
        let form = LoopForm::While { cond: own_cond };
        let exp = Exp::Loop { params: counting, form, body: copy };
        self.b.types.add_exp(&exp);
        self.b.let_with(results, aux.clone(), exp);
        let var = self.b.names.fresh("i");
        self.b.types.set(var, Type::I64);
        let form = LoopForm::For { var, ty: PrimType::I64, bound: result.name.into() };
        let exp = Exp::Loop { params, form, body };
        self.b.types.add_exp(&exp);
        self.b.let_with(pat, aux, exp);
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
    let body = slice(&lambda.body, &[result]);
    let free = free_names(&body);
    let params = lambda.params.iter().enumerate();
    params.filter(|(_, param)| free.contains(&param.name)).map(|(at, _)| at).collect()
}

/// The body with some of its results, and the statements that these need.
fn slice(body: &Body<Soacs>, results: &[usize]) -> Body<Soacs> {
    let result: Vec<Atom> = results.iter().map(|at| body.result[*at]).collect();
    let mut needed: FxHashSet<Name> = result.iter().filter_map(|atom| atom.var()).collect();
    let mut stms: Vec<Stm<Soacs>> = Vec::new();
    for stm in body.stms.iter().rev() {
        if stm.pat.iter().any(|param| needed.contains(&param.name)) {
            let alone = Body { stms: vec![stm.clone()], result: Vec::new() };
            needed.extend(free_names(&alone));
            stms.push(stm.clone());
        }
    }
    stms.reverse();
    Body { stms, result }
}

/// The operator on some of its components.
fn part(op: &Operator<Soacs>, group: &[usize]) -> Operator<Soacs> {
    let n = op.neutral.len();
    let both = group.iter().copied().chain(group.iter().map(|at| at + n));
    let lambda = Lambda {
        params: both.map(|at| op.op.params[at].clone()).collect(),
        body: slice(&op.op.body, group),
        ret: group.iter().map(|at| op.op.ret[*at].clone()).collect(),
    };
    Operator { op: lambda, neutral: group.iter().map(|at| op.neutral[*at]).collect(), comm: op.comm }
}

/// `size - 1`.
pub(crate) fn minus_one(b: &mut ir::build::Builder<'_, Soacs>, size: Atom) -> Atom {
    b.sub_i64(size, Atom::i64(1))
}
