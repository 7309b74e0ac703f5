//! Loops whose arrays change their sizes from iteration to iteration.
//!
//! ```text
//! loop (m, xs: [m]) = init for i < n do body
//!   =>  most = the greatest m of the loop, which runs for its sizes alone
//!       loop (m, padded: [most]) = (m, init ++ zeros) for i < n do
//!         let xs = padded[:m] in let (m', xs') = body in (m', xs' ++ zeros)
//! ```
//!
//! A tape has rows of one size, so loops get this form before they get tapes. What follows differentiates
//! it by the rules of slices and updates. Needs a counted loop; afterwards no parameter of the loop is a
//! size in another one's type.

use crate::normalise::tokens_of;
use crate::reverse::without_tokens;
use crate::state::{Ad, Result};
use crate::strip_mine::Counted;
use ir::Name;
use ir::soac::Soacs;
use ir::syntax::{Atom, Aux, BasicOp, DimIndex, Exp, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Substitution, substitute_body, substitute_param};
use prim::{BinOp, PrimType};
use rustc_hash::FxHashMap;

/// The greatest values of sizes, by the loop parameter that is the size.
type Greatest = FxHashMap<Name, Dim>;

impl Ad<'_> {
    /// Appends a loop whose arrays have the greatest of their sizes in all iterations, and its results.
    pub(crate) fn padded(&mut self, pat: Vec<Param<Soacs>>, aux: Aux, counted: Counted) -> Result {
        let greatest = self.greatest_sizes(&pat, &aux, &counted)?;
        self.at(&aux);
        let Counted { params, var, ty, bound, mut body } = counted;
        let inits: Substitution = params.iter().map(|p| (p.param.name, p.init)).collect();
        let nexts: Substitution =
            params.iter().zip(&body.result).map(|(p, next)| (p.param.name, *next)).collect();
        let results: Substitution =
            params.iter().zip(&pat).map(|(p, result)| (p.param.name, result.name.into())).collect();
        let padded: Vec<Option<Type>> = params.iter().map(|p| padded_type(&p.param.ty, &greatest)).collect();
        let (mut own_params, mut own_pat) = (Vec::new(), Vec::new());
        for ((p, padded), result) in params.iter().zip(&padded).zip(&pat) {
            let Some(padded) = padded else {
                own_params.push(p.clone());
                own_pat.push(result.clone());
                continue;
            };
            let init = self.pad(p.init, padded, (&p.param.ty, &inits));
            own_params.push(LoopParam {
                param: self.b.param("padded", padded.clone()),
                init,
                consumed: false,
            });
            own_pat.push(self.b.param("padded", padded.clone()));
        }
        let outer = self.b.open();
        for (p, own) in params.iter().zip(&own_params).filter(|(p, own)| p.param.name != own.param.name) {
            let mut part = self.part(own.param.name, &p.param.ty, &Substitution::default());
            if p.consumed {
                part = self.b.let_basic("own", BasicOp::Copy(part));
            }
            self.bind(&p.param, part.into());
        }
        self.b.put_back(std::mem::take(&mut body.stms));
        let mut next = Vec::new();
        for ((p, padded), value) in params.iter().zip(&padded).zip(&body.result) {
            next.push(match padded {
                None => *value,
                Some(padded) => self.pad(*value, padded, (&p.param.ty, &nexts)),
            });
        }
        let body = self.b.close(outer, next);
        self.strip_mined(own_pat.clone(), aux, Counted { params: own_params, var, ty, bound, body });
        for ((p, own), result) in params.iter().zip(&own_pat).zip(&pat) {
            if own.name != result.name {
                let part = self.part(own.name, &p.param.ty, &results);
                self.bind(result, part.into());
            }
        }
        Ok(())
    }

    /// Appends the loop for its sizes alone, without its accumulators.
    fn greatest_sizes(&mut self, pat: &[Param<Soacs>], aux: &Aux, counted: &Counted) -> Result<Greatest> {
        self.at(aux);
        let Counted { params, var, ty, bound, body } = counted;
        let sizes = counted.sizes();
        let own_var = self.b.param("i", Type::Prim(*ty)).name;
        let mut map = Substitution::default();
        map.insert(*var, own_var.into());
        let mut own = params.clone();
        for p in &mut own {
            let name = self.b.names.fresh_like(p.param.name);
            map.insert(p.param.name, name.into());
            p.param.name = name;
            substitute_param(&mut p.param, &map);
            self.b.types.set(name, p.param.ty.clone());
        }
        let mut copy = body.clone();
        substitute_body(&mut copy, &map);
        let mut copy = self.copy(&copy, &mut Substitution::default());
        let tokens = tokens_of(&own);
        let outer = self.b.open();
        self.b.put_back(std::mem::take(&mut copy.stms));
        for at in &sizes {
            let most = self.b.param("most", Type::I64);
            let next = self.b.binary(BinOp::SMax, PrimType::I64, most.name.into(), copy.result[*at]);
            copy.result.push(next.into());
            own.push(LoopParam { param: most, init: params[*at].init, consumed: false });
        }
        let body = self.b.close(outer, copy.result);
        let mut results = Vec::new();
        let mut renamed = Substitution::default();
        for param in pat {
            let mut result = Param { name: self.b.names.fresh_like(param.name), ..param.clone() };
            substitute_param(&mut result, &renamed);
            renamed.insert(param.name, result.name.into());
            results.push(result);
        }
        let mut greatest = Greatest::default();
        for at in sizes {
            let result = self.b.param("most", Type::I64);
            greatest.insert(params[at].param.name, Dim::Var(result.name));
            results.push(result);
        }
        let form = LoopForm::For { var: own_var, ty: *ty, bound: *bound };
        let exp = Exp::Loop { params: own, form, body };
        self.b.types.add_exp(&exp);
        let whole = Stm { pat: results, aux: aux.clone(), exp };
        if let Some(Stm { pat, aux, exp }) = without_tokens(&whole, &tokens)? {
            self.counting.extend(pat.first().map(|first| first.name));
            self.b.let_with(pat, aux, exp);
        }
        Ok(greatest)
    }

    /// An array at the beginning of zeros of a padded type. `ty` is its type as a loop parameter's, and
    /// `sizes` has the values of the parameters.
    fn pad(&mut self, value: Atom, padded: &Type, (ty, sizes): (&Type, &Substitution)) -> Atom {
        let zeros = self.zero(padded);
        let array = self.name_of(zeros);
        self.b.let_basic("padded", BasicOp::Update { array, slice: slice_of(ty, sizes), value }).into()
    }

    /// The part of a padded array that has a loop parameter's type under these values of the parameters.
    fn part(&mut self, padded: Name, ty: &Type, sizes: &Substitution) -> Name {
        self.b.let_basic("part", BasicOp::Index { array: padded, slice: slice_of(ty, sizes) })
    }
}

/// A type with the greatest sizes; `None` if no size of it changes.
fn padded_type(ty: &Type, greatest: &Greatest) -> Option<Type> {
    let Type::Array { elem, shape } = ty else {
        return None;
    };
    let of = |dim: &Dim| if let Dim::Var(name) = dim { greatest.get(name).copied() } else { None };
    let changes = shape.iter().any(|dim| of(dim).is_some());
    let shape = shape.iter().map(|dim| of(dim).unwrap_or(*dim)).collect();
    changes.then_some(Type::Array { elem: *elem, shape })
}

/// The first elements of each dimension, as many as a type's sizes under a substitution.
fn slice_of(ty: &Type, sizes: &Substitution) -> Vec<DimIndex> {
    let count = |dim: &Dim| match dim {
        Dim::Var(name) => match sizes.get(name) {
            Some(Atom::Var(size)) => Dim::Var(*size),
            Some(Atom::Const(size)) => Dim::Const(size.as_i64().unwrap_or(0)),
            None => *dim,
        },
        Dim::Const(_) | Dim::Ext(_) => *dim,
    };
    let part = |dim| DimIndex::Slice { start: Atom::i64(0), count: count(dim), stride: Atom::i64(1) };
    ty.shape().iter().map(part).collect()
}
