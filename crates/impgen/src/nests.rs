//! Parallel nests: their work in optimisation remarks, and the statements that measure them.
//!
//! ```text
//! nest begins
//! <segop>
//! counted "main.segmap#0" as <operations>, <bytes>, ..     only in programs for profiles
//! ```

use crate::Result;
use crate::mems::{Function, Param, Seg};
use crate::schedule::{Generator, Schedule};
use analysis::work::{Count, DataDependence, Nests, Operations, Traffic, Work};
use imp::build::{max, min};
use imp::{Check, Expr, Signature, Stmt, VarType};
use ir::PassError;
use ir::name::Name;
use ir::poly::Poly;
use ir::remark::{Bound, NestWork};
use ir::syntax::{Aux, BasicOp};
use ir::types::Dim;
use prim::{ConvOp, PrimType};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use target::levels::LevelId;
use target::time::OPERATIONS_PER_BYTE;

/// The context of the nests of a function.
pub(crate) struct NestContext {
    nests: Nests,
    /// The sizes that have names in the source.
    names: FxHashMap<Name, Arc<str>>,
    /// The values of sizes that are constants or have the name of an earlier one.
    values: FxHashMap<Name, Poly>,
}

impl NestContext {
    /// The context of a function, which implements the entry points of these signatures.
    pub(crate) fn of<'s>(function: &Function, entries: impl Iterator<Item = &'s Signature>) -> Self {
        let mut context =
            Self { nests: Nests::of(function), names: FxHashMap::default(), values: FxHashMap::default() };
        for entry in entries {
            let params = entry.params.iter().filter(|param| param.type_name.starts_with('['));
            let arrays = function.params.iter().filter(|param| param.param.ty.is_array());
            // A record, or an array of tuples, is several arrays.
            if params.clone().count() != arrays.clone().count() {
                continue;
            }
            for (array, param) in arrays.zip(params) {
                let sizes = param.type_name.split('[').skip(1).map(|dim| dim.split(']').next().unwrap_or(""));
                for (at, (dim, size)) in array.param.ty.shape().iter().zip(sizes).enumerate() {
                    if let Dim::Var(name) = dim {
                        match (size, at) {
                            ("", 0) => context.name(*name, &format!("(length {})", param.name)),
                            ("", _) => {}
                            (size, _) if size.contains(|c: char| !c.is_alphanumeric() && c != '_') => {
                                context.name(*name, &format!("({size})"));
                            }
                            (size, _) => context.name(*name, size),
                        }
                    }
                }
            }
        }
        context
    }

    fn name(&mut self, name: Name, size: &str) {
        if let Ok(value) = size.parse() {
            self.values.insert(name, Poly::constant(value));
            return;
        }
        let known = self.names.iter().filter(|(other, known)| &***known == size && **other != name);
        if let Some(first) = known.map(|(other, _)| *other).min() {
            self.values.insert(name, Poly::var(first));
        }
        self.names.entry(name).or_insert_with(|| size.into());
    }
}

impl<S: Schedule> Generator<'_, S> {
    /// Generates a segop; if it is not part of a task, also what its nest needs.
    pub(crate) fn segop(&mut self, pat: &[Param], aux: &Aux, seg: &Seg) -> Result {
        let nests = self.nests.clone().filter(|_| !self.in_task() && seg.level != LevelId::Lanes);
        let Some(nests) = nests else {
            return S::seg(self, pat, aux, seg);
        };
        let work = nests.nests.work(pat, seg);
        if self.shared.remarks {
            let described = self.describe(&nests, &work);
            self.nest_works.push((described, aux.prov));
        }
        if !self.shared.profile {
            return S::seg(self, pat, aux, seg);
        }
        self.measured(seg.keyword(), aux, &work, |g| S::seg(g, pat, aux, seg))
    }

    /// Generates a basic operation; if it copies or fills an array outside of tasks, it is measured, too.
    pub(crate) fn basic_op(&mut self, pat: &Param, aux: &Aux, op: &BasicOp) -> Result {
        let nests = self.nests.clone().filter(|_| self.shared.profile && !self.in_task());
        match nests.and_then(|nests| nests.nests.copying(pat, op)) {
            Some((name, work)) => self.measured(name, aux, &work, |g| g.basic(pat, aux, op)),
            None => self.basic(pat, aux, op),
        }
    }

    /// Generates code that is measured as a nest.
    fn measured(
        &mut self,
        operation: &str,
        aux: &Aux,
        work: &Work,
        f: impl FnOnce(&mut Self) -> Result,
    ) -> Result {
        self.emit(Stmt::BeginNest);
        let number = self.tables.nest();
        f(self)?;
        let format = format!("{}.{operation}#{number}", self.function.name).into();
        let location = self.provenance(aux.prov);
        let nest = self.tables.check(Check { format, location });
        let counts = self.counts(work);
        self.emit(Stmt::EndNest { nest, counts });
        Ok(())
    }

    /// The counts of a nest, in the order of [`imp::NEST_COUNTS`]. One that depends on a size without a variable
    /// is 0, and there may be more operations.
    fn counts(&self, work: &Work) -> Vec<Expr> {
        let Work { operations: Operations { single, double, integer }, read, written, dependence } = work;
        let operations = [single, double, integer].map(|count| self.count(count));
        let traffic = [read, written]
            .map(|all| all.iter().try_fold(Expr::i64(0), |sum, traffic| Ok(sum + self.traffic(traffic)?)));
        let mut at_least = dependence.loops;
        let values = operations.into_iter().chain(traffic).map(|value: Result<Expr>| {
            at_least |= value.is_err();
            value.unwrap_or_else(|_| Expr::i64(0))
        });
        let mut counts: Vec<Expr> = values.collect();
        counts.push(Expr::i64(i64::from(at_least) + 2 * i64::from(dependence.branches)));
        counts
    }

    fn traffic(&self, traffic: &Traffic) -> Result<Expr> {
        let all = self.size(&traffic.all)?;
        Ok(match &traffic.touched {
            Some(touched) if *touched != Count::from(traffic.all.clone()) => min(all, self.count(touched)?),
            Some(_) | None => all,
        })
    }

    fn count(&self, count: &Count) -> Result<Expr> {
        let value = self.size(count.poly())?;
        Ok(if count.divisor() == 1 { value } else { value / count.divisor() })
    }

    /// The value of a polynomial over sizes of any integer type, at least 0.
    fn size(&self, poly: &Poly) -> Result<Expr> {
        let mut sum = Expr::i64(0);
        for (monomial, coefficient) in poly.terms() {
            let mut product = Expr::i64(*coefficient);
            for &name in monomial {
                product = self.integer(name)? * product;
            }
            sum = sum + product;
        }
        Ok(if sum.as_const().is_some() { sum } else { max(sum, 0) })
    }

    /// The value of an integer as an `i64`.
    fn integer(&self, name: Name) -> Result<Expr> {
        let var = self.var(name)?;
        match self.type_of(var) {
            Some(VarType::Scalar(PrimType::I64)) => Ok(var.into()),
            Some(VarType::Scalar(ty)) if ty.is_int() => {
                Ok(Expr::convert(ConvOp::SExt, ty, PrimType::I64, var.into()))
            }
            _ => Err(PassError::bug("a size is not an integer")),
        }
    }

    /// The work for an optimisation remark.
    fn describe(&self, nests: &NestContext, work: &Work) -> NestWork {
        let work =
            work.substituted(|name| nests.values.get(&name).cloned().unwrap_or_else(|| Poly::var(name)));
        let hints = &self.function.names;
        let names = work.names();
        let texts = names.iter().map(|name| {
            let hint = hints.hint(*name);
            let is_same =
                |other: &&Name| nests.names.get(other).unwrap_or_else(|| hints.hint(**other)) == hint;
            let unnamed = || match names.iter().filter(is_same).count() {
                1 => hint.clone(),
                _ => format!("{hint}_{}", name.0).into(),
            };
            (*name, nests.names.get(name).cloned().unwrap_or_else(unnamed))
        });
        let texts: FxHashMap<Name, Arc<str>> = texts.collect();
        let text = |count: &Count| count.text(|name| texts.get(&name).map_or("?", |text| &**text));
        let bytes = |all: &[Traffic]| {
            let mut sum = Count::default();
            let mut parts = Vec::new();
            for traffic in all {
                match (traffic.least(), &traffic.touched) {
                    (Some(least), _) => sum = sum.add(&least),
                    (None, touched) => {
                        let touched = touched.as_ref().map_or_else(String::new, text);
                        parts.push(format!("min({}, {touched})", text(&Count::from(traffic.all.clone()))));
                    }
                }
            }
            if !sum.is_zero() || parts.is_empty() {
                parts.insert(0, text(&sum));
            }
            parts.join(" + ")
        };
        let Operations { single, double, integer } = &work.operations;
        NestWork {
            single: text(single).into(),
            double: text(double).into(),
            integer: text(integer).into(),
            read: bytes(&work.read).into(),
            written: bytes(&work.written).into(),
            more: work.dependence.loops,
            less: work.dependence.branches,
            bound: bound(&work),
        }
    }
}

/// The resource that bounds a nest's time from below, if that does not depend on data. Operations on 64 bits take twice
/// the time of others.
fn bound(work: &Work) -> Option<Bound> {
    let Operations { single, double, integer } = &work.operations;
    let arithmetic = single.add(double).add(double).add(integer);
    let bytes = work
        .read
        .iter()
        .chain(&work.written)
        .map(|traffic| traffic.least().unwrap_or_else(|| Count::from(traffic.all.clone())));
    let bytes = bytes.fold(Count::default(), |sum, each| sum.add(&each));
    let ((degree, operations), (of_bytes, bytes)) = (arithmetic.leading(), bytes.leading());
    let DataDependence { loops, branches } = work.dependence;
    // There may be more operations with the one, and less with the other.
    if degree > of_bytes {
        (!branches).then_some(Bound::Sizes)
    } else if degree == of_bytes && operations > bytes * OPERATIONS_PER_BYTE {
        (!branches).then_some(Bound::Arithmetic)
    } else {
        (!loops).then_some(Bound::Memory)
    }
}
