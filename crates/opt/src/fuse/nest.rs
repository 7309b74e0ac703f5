//! Nests of maps, and changes of their index spaces.
//!
//! ```text
//! map n (xs <- xss) ->                 one level over n, one over m;
//!   map m (x <- xs, y <- ys) -> f x y  x: xss at levels 0 and 1, y: ys at level 1
//! ```
//!
//! A nest records, for each value that its innermost body reads, the array and the levels that
//! index it. Levels can therefore be permuted, split or sliced by views of the arrays (`views`);
//! then the maps are rebuilt.

use analysis::uses::EachUse;
use analysis::{cost, thresholds};
use ir::scan_reduce::ScanReduce;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::Visit;
use ir::{Name, NameTable, Soacs, TypeEnv};
use rustc_hash::{FxHashMap, FxHashSet};

/// A nest of maps, each the last statement of the one around it. The other statements compute a few
/// scalars and are moved into the innermost map.
pub(super) struct Nest {
    /// The widths, outermost first.
    pub(super) levels: Vec<Dim>,
    /// The auxiliary data of the maps' statements, except for the outermost.
    inner: Vec<Aux>,
    /// The array reads of the innermost body.
    pub(super) reads: Vec<Read>,
    /// The innermost body.
    pub(super) body: Body<Soacs>,
    ret: Vec<Type>,
}

/// A read of an element, or a row, of an array.
pub(super) struct Read {
    /// The parameter of the innermost body.
    pub(super) param: Param<Soacs>,
    /// The array, bound outside of the nest.
    pub(super) array: Name,
    /// The levels that index its outer dimensions, ascending.
    pub(super) levels: Vec<usize>,
}

impl Nest {
    /// Returns a map as a nest of this depth, or `None` if it is not one.
    pub(super) fn of(screma: &Screma, depth: usize) -> Option<Self> {
        let mut found: FxHashMap<Name, Read> = FxHashMap::default();
        let mut order: Vec<Name> = Vec::new();
        let mut nest = Self {
            levels: Vec::new(),
            inner: Vec::new(),
            reads: Vec::new(),
            body: Body { stms: Vec::new(), result: Vec::new() },
            ret: Vec::new(),
        };
        let mut screma = screma;
        let mut first: Vec<Stm<Soacs>> = Vec::new();
        loop {
            let level = nest.levels.len();
            let accs = screma.map.params.iter().map(|param| &param.ty);
            let mut accs = accs.chain(&screma.map.ret);
            if !screma.scan_reduce.is_map() || accs.any(|ty| matches!(ty, Type::Acc { .. })) {
                return None;
            }
            nest.levels.push(screma.width);
            for (param, input) in screma.map.params.iter().zip(&screma.inputs) {
                let (array, mut levels) =
                    found.get(input).map_or((*input, Vec::new()), |read| (read.array, read.levels.clone()));
                levels.push(level);
                order.push(param.name);
                let param = param.clone();
                let read = Read { param, array, levels };
                found.insert(order[order.len() - 1], read);
            }
            let body = &screma.map.body;
            if level + 1 == depth {
                nest.body = body.clone();
                nest.body.stms.splice(0..0, first);
                nest.ret.clone_from(&screma.map.ret);
                break;
            }
            let (stm, before) = body.stms.split_last()?;
            if !is_prelude(before) {
                return None;
            }
            first.extend_from_slice(before);
            let same = |(atom, param): (&Atom, &Param<Soacs>)| *atom == Atom::Var(param.name);
            let all = body.result.len() == stm.pat.len();
            let Exp::Op(Soac::Screma(inner)) = &stm.exp else {
                return None;
            };
            if !all || !body.result.iter().zip(&stm.pat).all(same) {
                return None;
            }
            nest.inner.push(stm.aux.clone());
            screma = inner;
        }
        // A width bound in the nest varies between iterations.
        let varies = |dim: &Dim| matches!(dim, Dim::Var(name) if found.contains_key(name));
        if nest.levels.iter().any(varies) {
            return None;
        }
        let mut used = FxHashSet::default();
        Visit::<Soacs>::body(&mut EachUse(|name| used.extend([name])), &nest.body);
        let reads = order.into_iter().filter(|name| used.contains(name));
        nest.reads = reads.filter_map(|name| found.remove(&name)).collect();
        Some(nest)
    }

    /// Returns a map that returns rows of arrays unchanged, as a nest of depth two, or `None` if it
    /// is not one.
    pub(super) fn of_rows(
        screma: &Screma,
        width: Dim,
        names: &mut NameTable,
        types: &mut TypeEnv,
    ) -> Option<Self> {
        if !screma.map.body.stms.is_empty() || !screma.scan_reduce.is_map() {
            return None;
        }
        let (mut reads, mut ret) = (Vec::new(), Vec::new());
        for (atom, row) in screma.map.body.result.iter().zip(&screma.map.ret) {
            let name = atom.var()?;
            let at = screma.map.params.iter().position(|p| p.name == name)?;
            let ty = row.row().filter(|_| row.shape().first() == Some(&width))?;
            ret.push(ty.clone());
            reads.push(Read {
                param: fresh("x", ty, names, types),
                array: screma.inputs[at],
                levels: vec![0, 1],
            });
        }
        let result = reads.iter().map(|read| Atom::Var(read.param.name)).collect();
        Some(Self {
            levels: vec![screma.width, width],
            inner: Vec::new(),
            body: Body { stms: Vec::new(), result },
            reads,
            ret,
        })
    }

    /// Sets the auxiliary data of the inner maps, and the type of the results.
    pub(super) fn set_inner(&mut self, inner: Vec<Aux>, ret: Type) {
        self.inner = inner;
        self.ret = vec![ret];
    }

    /// Builds the maps over the current levels. Results get the names of `pat`, whose types are
    /// set. `None` if a level reads no array.
    pub(super) fn build(
        self,
        mut pat: Vec<Param<Soacs>>,
        aux: Aux,
        names: &mut NameTable,
        types: &mut TypeEnv,
    ) -> Option<Stm<Soacs>> {
        let depth = self.levels.len();
        let arrays_of = |ty: &Type, levels: &[usize]| {
            levels.iter().rev().fold(ty.clone(), |ty, level| ty.array_of(self.levels[*level]))
        };
        let mut inputs: Vec<Vec<(Param<Soacs>, Name)>> = vec![Vec::new(); depth];
        for read in self.reads {
            let mut source = read.array;
            let last = read.levels.len() - 1;
            for (i, level) in read.levels.iter().enumerate() {
                let param = if i == last {
                    read.param.clone()
                } else {
                    let ty = arrays_of(&read.param.ty, &read.levels[i + 1..]);
                    fresh("row", ty, names, types)
                };
                let name = param.name;
                inputs[*level].push((param, source));
                source = name;
            }
        }
        if inputs.iter().any(Vec::is_empty) {
            return None;
        }
        let all: Vec<usize> = (0..depth).collect();
        for (param, ty) in pat.iter_mut().zip(&self.ret) {
            param.ty = arrays_of(ty, &all);
            types.set(param.name, param.ty.clone());
        }
        let mut body = self.body;
        let mut ret = self.ret.clone();
        let mut made: Option<Stm<Soacs>> = None;
        for (level, inputs) in inputs.into_iter().enumerate().rev() {
            if let Some(stm) = made.take() {
                ret = stm.pat.iter().map(|param| param.ty.clone()).collect();
                let result = stm.pat.iter().map(|param| Atom::Var(param.name)).collect();
                let stms = vec![stm];
                body = Body { stms, result };
            }
            let (params, inputs) = inputs.into_iter().unzip();
            let bound: Vec<Param<Soacs>> = if level == 0 {
                std::mem::take(&mut pat)
            } else {
                let results = ret.iter().map(|ty| ty.array_of(self.levels[level]));
                results.map(|ty| fresh("row", ty, names, types)).collect()
            };
            let own = level.checked_sub(1).and_then(|at| self.inner.get(at));
            let aux = own.map_or_else(|| aux.clone(), Clone::clone);
            let map = Lambda {
                params,
                body: std::mem::replace(&mut body, Body { stms: Vec::new(), result: Vec::new() }),
                ret: std::mem::take(&mut ret),
            };
            made = Some(Stm {
                pat: bound,
                aux,
                exp: Exp::Op(Soac::Screma(Screma {
                    width: self.levels[level],
                    inputs,
                    map,
                    scan_reduce: ScanReduce::default(),
                })),
            });
        }
        made
    }
}

/// Returns true if statements compute a few scalars without reading memory.
pub(super) fn is_prelude(stms: &[Stm<Soacs>]) -> bool {
    let is_scalar = |stm: &Stm<Soacs>| {
        stm.pat.iter().all(|param| param.ty.is_prim())
            && matches!(&stm.exp, Exp::Basic(op) if !matches!(op, BasicOp::Index { .. }))
    };
    stms.iter().all(is_scalar) && cost::statements(stms).total() <= thresholds::NEST_PRELUDE
}

/// Creates a parameter with a fresh name.
pub(super) fn fresh(hint: &str, ty: Type, names: &mut NameTable, types: &mut TypeEnv) -> Param<Soacs> {
    let name = names.fresh(hint);
    types.set(name, ty.clone());
    Param { name, ty, ann: () }
}
