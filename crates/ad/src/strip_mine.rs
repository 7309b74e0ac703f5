//! Strip-mining: a loop with the attribute `stripmine(N)` becomes `N` nested loops, and one that saves arrays two.
//!
//! ```text
//! loop ps = init for i < n do body
//!   =>  loop ps = init for j < ceil (n / r) do                    r * r >= n, if N = 2
//!         loop ps for k < min r (n - j * r) do
//!           let i = j * r + k in body
//! ```
//!
//! The reverse derivative of each loop saves the values of its parameters, those of inner loops for one iteration of the
//! outer one at a time. So a tape has about `N r` states in place of `n`, and each iteration runs up to `N` times more.
//!
//! A loop without the attribute that saves arrays, outside of other scopes, is a loop over segments
//! ([`crate::reverse`]): there is one segment unless all states take more than [`ir::Options::tape_limit`].

use crate::reverse::reads_of;
use crate::state::Ad;
use ir::Name;
use ir::facts::Facts;
use ir::soac::Soacs;
use ir::syntax::{Atom, Attr, Aux, Body, Exp, LoopForm, LoopParam, Param};
use ir::types::{Dim, Type};
use prim::{BinOp, CmpOp, ConvOp, PrimType, Scalar, UnOp};

/// The greatest number of nested loops.
const MAX_DEPTH: u32 = 16;

/// A counted loop.
pub(crate) struct Counted {
    pub params: Vec<LoopParam<Soacs>>,
    pub var: Name,
    pub ty: PrimType,
    pub bound: Atom,
    pub body: Body<Soacs>,
}

impl Counted {
    /// The indices of parameters that are sizes of others: the arrays' sizes differ between iterations.
    pub fn sizes(&self) -> Vec<usize> {
        let dims: Vec<&Dim> = self.params.iter().flat_map(|p| p.param.ty.shape()).collect();
        let is_size = |at: &usize| dims.contains(&&Dim::Var(self.params[*at].param.name));
        (0..self.params.len()).filter(is_size).collect()
    }

    /// The types of arrays of variable sizes whose values a tape has. None if there are accumulators.
    fn saved_arrays(&self) -> Vec<Type> {
        if self.params.iter().any(|p| matches!(p.param.ty, Type::Acc { .. })) {
            return Vec::new();
        }
        let types = self.params.iter().map(|p| &p.param.ty).zip(reads_of(&self.params, self.var, &self.body));
        let is_variable = |dim: &Dim| matches!(dim, Dim::Var(_));
        let saved = types.filter(|(ty, reads)| reads.is_none() && ty.shape().iter().any(is_variable));
        saved.map(|(ty, _)| ty.clone()).collect()
    }
}

/// The nest that is being built.
struct Nest<'a> {
    counted: &'a Counted,
    aux: Aux,
    /// The number of iterations of the original loop.
    total: Atom,
    /// The greatest number of iterations of an inner loop.
    root: Atom,
    /// The numbers of original iterations in an iteration of each loop, innermost first.
    sizes: Vec<Atom>,
}

impl Ad<'_> {
    /// Appends a counted loop: strip-mined if it has the attribute, and as a loop over segments if it may be and saves
    /// arrays. All arrays have one size in all iterations ([`crate::padding`]).
    pub(crate) fn strip_mined(&mut self, pat: Vec<Param<Soacs>>, aux: Aux, counted: Counted) {
        let depth = aux.attrs.iter().find_map(|attr| {
            if let Attr::StripMine(depth) = attr { Some((*depth).min(MAX_DEPTH)) } else { None }
        });
        let saved = if depth.is_none() && self.splits_loops { counted.saved_arrays() } else { Vec::new() };
        let depth = depth.or((!saved.is_empty()).then_some(2));
        let Some(depth) = depth.filter(|depth| *depth > 1) else {
            let Counted { params, var, ty, bound, body } = counted;
            let exp = Exp::Loop { params, form: LoopForm::For { var, ty, bound }, body };
            return self.b.let_with(pat, aux, exp);
        };
        self.at(&aux);
        let aux = Aux { facts: Facts::default(), ..aux };
        let total = self.iterations(counted.ty, counted.bound).atom().unwrap_or(Atom::i64(0));
        let mut root = self.root(total, depth);
        if !saved.is_empty() {
            root = self.segment_length(total, root, &saved);
        }
        let mut sizes = vec![Atom::i64(1)];
        for _ in 1..depth {
            let size = sizes.last().copied().unwrap_or(root);
            sizes.push(self.b.mul_i64(size, root));
        }
        let nest = Nest { counted: &counted, aux, total, root, sizes };
        let inits = counted.params.iter().map(|p| p.init).collect();
        let results = self.mined_level(&nest, nest.sizes.len() - 1, Atom::i64(0), inits);
        if let (false, Some(first)) = (saved.is_empty(), results.first()) {
            let length = root.constant().and_then(Scalar::as_i64).map(Dim::Const);
            self.segment_lengths.insert(*first, length.or(root.var().map(Dim::Var)).unwrap_or(Dim::Const(1)));
        }
        for (param, result) in pat.iter().zip(results) {
            self.bind(param, result.into());
        }
    }

    /// The number of iterations in a segment: all, unless their states take more than the limit of tapes.
    fn segment_length(&mut self, total: Atom, root: Atom, saved: &[Type]) -> Atom {
        let mut state = Atom::i64(0);
        for ty in saved {
            let bytes = ty.elem().map_or(1, PrimType::size);
            let mut size = Atom::i64(bytes.cast_signed());
            for dim in ty.shape() {
                size = self.b.mul_i64(size, dim.atom().unwrap_or(Atom::i64(1)));
            }
            state = self.b.add_i64(state, size);
        }
        let all = self.b.binary(BinOp::SMax, PrimType::I64, total, Atom::i64(1));
        let most =
            self.b.binary(BinOp::SDiv, PrimType::I64, Atom::i64(self.calls.options.tape_limit), all.into());
        let fits = self.b.compare(CmpOp::SLe, PrimType::I64, state, most.into());
        self.b.select(PrimType::I64, fits.into(), all.into(), root).into()
    }

    /// The least power of two whose `depth`-th power is no less than a number; 1 for numbers below 1.
    fn root(&mut self, total: Atom, depth: u32) -> Atom {
        let int = PrimType::I64;
        let some = self.b.binary(BinOp::SMax, int, total, Atom::i64(1));
        let below = self.b.sub_i64(some.into(), Atom::i64(1));
        let zeros = self.b.unary(UnOp::Clz, int, below);
        let bits = self.b.sub_i64(Atom::i64(63 + i64::from(depth)), zeros.into());
        let bits = self.b.binary(BinOp::UDiv, int, bits, Atom::i64(depth.into()));
        self.b.binary(BinOp::Shl, int, Atom::i64(1), bits.into()).into()
    }

    /// Appends the loops from a level of the nest inwards, from an original iteration on.
    fn mined_level(&mut self, nest: &Nest<'_>, level: usize, start: Atom, inits: Vec<Atom>) -> Vec<Name> {
        let Counted { params, var, ty, body, .. } = nest.counted;
        let size = nest.sizes[level];
        let left = self.b.sub_i64(nest.total, start);
        let most = self.b.sub_i64(size, Atom::i64(1));
        let padded = self.b.add_i64(left, most);
        let mut bound = self.b.binary(BinOp::SDiv, PrimType::I64, padded, size).into();
        if level + 1 < nest.sizes.len() {
            bound = self.b.binary(BinOp::SMin, PrimType::I64, bound, nest.root).into();
        }
        let counter = self.b.param("i", Type::I64).name;
        let is_innermost = level == 0;
        let own: Vec<LoopParam<Soacs>> = params
            .iter()
            .zip(inits)
            .map(|(p, init)| {
                let mut fresh = || Param { name: self.b.names.fresh_like(p.param.name), ..p.param.clone() };
                let param = if is_innermost { p.param.clone() } else { fresh() };
                LoopParam { param, init, consumed: p.consumed }
            })
            .collect();
        let outer = self.b.open();
        for p in &own {
            self.b.types.set(p.param.name, p.param.ty.clone());
        }
        let offset = self.b.mul_i64(counter.into(), size);
        let at = self.b.add_i64(start, offset);
        let result = if is_innermost {
            let own = self.b.convert(ConvOp::SExt, PrimType::I64, *ty, at);
            self.bind(&Param { name: *var, ty: Type::Prim(*ty), ann: () }, own);
            self.b.put_back(body.stms.clone());
            body.result.clone()
        } else {
            let inits = own.iter().map(|p| p.param.name.into()).collect();
            self.mined_level(nest, level - 1, at, inits).into_iter().map(Atom::from).collect()
        };
        let body = self.b.close(outer, result);
        let results: Vec<Param<Soacs>> =
            params.iter().map(|p| self.b.param("mined", p.param.ty.clone())).collect();
        let names = results.iter().map(|param| param.name).collect();
        let form = LoopForm::For { var: counter, ty: PrimType::I64, bound };
        self.b.let_with(results, nest.aux.clone(), Exp::Loop { params: own, form, body });
        names
    }
}
