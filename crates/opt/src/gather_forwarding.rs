//! Gather forwarding: elements that a map projects out of rows are read from the rows themselves
//! where several of a row are read together.
//!
//! ```text
//! let (xs, ys) = map n (row <- rows) { in (row[0], row[1]) }
//! let zs = map m (i <- is) {           let zs = map m (i <- is) {
//!   let x = xs[i]                =>      let x = rows[i, 0]
//!   let y = ys[i]                        let y = rows[i, 1]
//!   ..                                   ..
//! ```
//!
//! An element at a data-dependent index costs a cache line. Separate arrays of elements cost one
//! line each, a row costs one or two. The rewrite is therefore made if all reads of such an array
//! are at data-dependent indices, and if some body reads at least half of a row at one index; a
//! column that is searched alone stays a column. The projected arrays are then dead, so data that
//! is in memory already is not stored again.
//!
//! Runs after fusion. Rows that are consumed stay. Guarantees that all values are bit-identical.

use crate::dce;
use analysis::alias::Aliases;
use analysis::signatures::Signatures;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, BasicOp, Body, DimIndex, Exp, Function, Lambda, Stm};
use ir::types::Dim;
use ir::walk::{Visit, VisitMut, used_names, with_stack};
use ir::{Context, Name, PassError, Soacs, TypeEnv};
use rustc_hash::{FxHashMap, FxHashSet};

/// The largest number of statements of a lambda that is analysed as a projection.
const MAX_STATEMENTS: usize = 256;

/// Forwards gathers to the arrays of rows wherever that pays.
pub(crate) fn forward_gathers(
    mut function: Function<Soacs>,
    signatures: &Signatures,
    context: &mut Context,
) -> Result<Function<Soacs>, PassError> {
    let mut found = Projections(FxHashMap::default());
    found.body(&function.body);
    if found.0.is_empty() {
        return Ok(function);
    }
    let types = TypeEnv::of_function(&function);
    let aliases = Aliases::of(&function, &types, signatures);
    let mut projections = found.0;
    projections.retain(|name, projection| !aliases.consumed(*name) && !aliases.consumed(projection.rows));
    let mut reads = GatherUses {
        projections: &projections,
        types: &types,
        uses: FxHashMap::default(),
        indices: FxHashSet::default(),
        scattered: FxHashSet::default(),
        together: FxHashSet::default(),
    };
    reads.body(&function.body);
    let GatherUses { uses, together, .. } = reads;
    projections.retain(|name, _| together.contains(name) && uses.get(name) == Some(&0));
    if projections.is_empty() || !context.fuel.take() {
        return Ok(function);
    }
    VisitMut::<Soacs>::body(&mut Rewrite(&projections), &mut function.body);
    dce::remove(&mut function, &mut context.fuel);
    Ok(function)
}

/// The origin of a projected array's elements.
struct Projection {
    /// The array of rows.
    rows: Name,
    /// The number of leading dimensions that the two arrays share.
    shared_dims: usize,
    /// The constant index within a row.
    row_index: Vec<Atom>,
}

/// The projected arrays, by name.
struct Projections(FxHashMap<Name, Projection>);

impl Visit<Soacs> for Projections {
    fn stm(&mut self, stm: &Stm<Soacs>) {
        if let Exp::Op(Soac::Screma(screma)) = &stm.exp
            && screma.scan_reduce.is_map()
        {
            for (param, result) in stm.pat.iter().zip(&screma.map.body.result) {
                if let Some((input, depth, at)) = projected(&screma.map, *result)
                    && let Some(&rows) = screma.inputs.get(input)
                {
                    self.0.insert(param.name, Projection { rows, shared_dims: depth, row_index: at });
                }
            }
        }
        with_stack(|| self.walk_stm(stm));
    }
}

/// If a lambda's result is an element of one of its parameters: returns the parameter's position,
/// the depth and the index within its rows.
fn projected(lambda: &Lambda<Soacs>, result: Atom) -> Option<(usize, usize, Vec<Atom>)> {
    let stms = &lambda.body.stms;
    let name = result.var().filter(|_| stms.len() <= MAX_STATEMENTS)?;
    let own = |stm: &&Stm<Soacs>| stm.pat.iter().any(|param| param.name == name);
    let stm = stms.iter().find(own).filter(|stm| stm.aux.certs.is_empty())?;
    let parameter = |array: Name| lambda.params.iter().position(|param| param.name == array);
    match &stm.exp {
        Exp::Basic(BasicOp::Index { array, slice }) => {
            let constant = |at: &DimIndex| match at {
                DimIndex::Fix(at @ Atom::Const(_)) => Some(*at),
                DimIndex::Fix(Atom::Var(_)) | DimIndex::Slice { .. } => None,
            };
            let at: Option<Vec<Atom>> = slice.iter().map(constant).collect();
            Some((parameter(*array)?, 1, at?))
        }
        Exp::Op(Soac::Screma(Screma { inputs, map, scan_reduce, .. })) if scan_reduce.is_map() => {
            let position = stm.pat.iter().position(|param| param.name == name)?;
            let result = map.body.result.get(position)?;
            let (input, depth, at) = with_stack(|| projected(map, *result))?;
            Some((parameter(*inputs.get(input)?)?, depth + 1, at))
        }
        Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => None,
    }
}

/// The uses of projected arrays.
struct GatherUses<'a> {
    projections: &'a FxHashMap<Name, Projection>,
    types: &'a TypeEnv,
    /// The number of uses that are not reads at data-dependent indices.
    uses: FxHashMap<Name, u64>,
    /// Arrays of consecutive indices (iotas).
    indices: FxHashSet<Name>,
    /// Scalars loaded from memory, computed from such, or carried by a loop.
    scattered: FxHashSet<Name>,
    /// Arrays that some body reads together with others for at least half of a row.
    together: FxHashSet<Name>,
}

impl GatherUses<'_> {
    /// If a statement reads a projected array at a data-dependent index: returns the array, its
    /// origin and the index.
    fn read(&self, stm: &Stm<Soacs>) -> Option<(Name, &Projection, Vec<Atom>)> {
        let Exp::Basic(BasicOp::Index { array, slice }) = &stm.exp else {
            return None;
        };
        let projection = self.projections.get(array)?;
        let mut fixed = Vec::with_capacity(projection.shared_dims);
        for at in slice.get(..projection.shared_dims)? {
            match at {
                DimIndex::Fix(at) => fixed.push(*at),
                DimIndex::Slice { .. } => return None,
            }
        }
        let is_scattered = |at: &Atom| at.var().is_some_and(|name| self.scattered.contains(&name));
        fixed.iter().any(is_scattered).then_some((*array, projection, fixed))
    }

    /// The number of elements of a row, if it is known.
    fn elements(&self, projection: &Projection) -> Option<u64> {
        let shape = self.types.get(projection.rows)?.shape();
        let row = shape.get(projection.shared_dims..projection.shared_dims + projection.row_index.len())?;
        row.iter().try_fold(1u64, |all, dim| match dim {
            Dim::Const(n) => all.checked_mul(n.unsigned_abs()),
            Dim::Var(_) | Dim::Ext(_) => None,
        })
    }

    /// Adds the arrays that a body itself reads together.
    fn note(&mut self, body: &Body<Soacs>) {
        let mut reads: FxHashMap<(Name, Vec<Atom>), (Option<u64>, FxHashSet<Name>)> = FxHashMap::default();
        for stm in &body.stms {
            if let Some((array, projection, at)) = self.read(stm) {
                let known = reads.entry((projection.rows, at));
                let (_, arrays) = known.or_insert_with(|| (self.elements(projection), FxHashSet::default()));
                arrays.insert(array);
            }
        }
        for (elements, arrays) in reads.into_values() {
            let n = arrays.len() as u64;
            if n > 1 && elements.is_some_and(|all| 2 * n >= all) {
                self.together.extend(arrays);
            }
        }
    }

    fn mark_scattered(&mut self, stm: &Stm<Soacs>) {
        let names = stm.pat.iter().filter(|param| param.ty.is_prim());
        self.scattered.extend(names.map(|param| param.name));
    }
}

impl Visit<Soacs> for GatherUses<'_> {
    fn name(&mut self, name: &Name) {
        if self.projections.contains_key(name) {
            *self.uses.entry(*name).or_default() += 1;
        }
    }

    fn body(&mut self, body: &Body<Soacs>) {
        with_stack(|| self.walk_body(body));
        self.note(body);
    }

    fn stm(&mut self, stm: &Stm<Soacs>) {
        match &stm.exp {
            Exp::Basic(BasicOp::Iota { .. }) => {
                self.indices.extend(stm.pat.iter().map(|param| param.name));
            }
            Exp::Basic(BasicOp::Index { .. }) | Exp::Apply { .. } => self.mark_scattered(stm),
            Exp::Basic(_) => {
                let mut any = false;
                used_names(&stm.exp, |name| any |= self.scattered.contains(&name));
                if any {
                    self.mark_scattered(stm);
                }
            }
            Exp::Loop { params, .. } => {
                let own = params.iter().map(|param| &param.param);
                let own = own.filter(|param| param.ty.is_prim());
                self.scattered.extend(own.map(|param| param.name));
                self.mark_scattered(stm);
            }
            Exp::If { .. } => self.mark_scattered(stm),
            Exp::Op(Soac::Screma(screma)) => {
                let inputs = screma.map.params.iter().zip(&screma.inputs);
                let read = inputs.filter(|(_, input)| !self.indices.contains(input));
                let read: Vec<Name> = read.map(|(param, _)| param.name).collect();
                self.scattered.extend(read);
            }
            Exp::Op(_) => {}
        }
        let read = self.read(stm).map(|(array, ..)| array);
        self.walk_stm(stm);
        if let Some(uses) = read.and_then(|array| self.uses.get_mut(&array)) {
            *uses -= 1;
        }
    }
}

/// Rewrites reads of projected arrays to reads of the rows.
struct Rewrite<'a>(&'a FxHashMap<Name, Projection>);

impl VisitMut<Soacs> for Rewrite<'_> {
    fn body(&mut self, body: &mut Body<Soacs>) {
        with_stack(|| self.walk_body(body));
    }

    fn basic(&mut self, op: &mut BasicOp) {
        if let BasicOp::Index { array, slice } = op
            && let Some(projection) = self.0.get(array)
        {
            *array = projection.rows;
            let at = projection.row_index.iter().map(|at| DimIndex::Fix(*at));
            slice.splice(projection.shared_dims..projection.shared_dims, at);
        }
    }
}
