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

use crate::state::{Ad, Result};
use crate::strip_mine::Counted;
use ir::soac::Soacs;
use ir::syntax::{Atom, Aux, BasicOp, DimIndex, Exp, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Substitution, substitute_type};
use ir::{Name, PassError};
use prim::{BinOp, PrimType};

impl Ad<'_> {
    /// Appends a loop whose arrays have the greatest of their sizes in all iterations, and its results. `sizes` has
    /// the indices of its parameters that are sizes.
    pub(crate) fn padded(
        &mut self,
        pat: Vec<Param<Soacs>>,
        aux: Aux,
        counted: Counted,
        sizes: &[usize],
    ) -> Result {
        let Counted { params, var, ty, bound, body } = counted;
        let inits: Vec<Atom> = sizes.iter().map(|at| params[*at].init).collect();
        let form = LoopForm::For { var, ty, bound };
        let stm = Stm { pat, aux, exp: Exp::Loop { params, form, body } };
        let greatest = self.run_ahead(&stm, ("most", &inits), |ad, most, results| {
            let next = |(most, at): (&Name, &usize)| {
                ad.b.binary(BinOp::SMax, PrimType::I64, (*most).into(), results[*at]).into()
            };
            most.iter().zip(sizes).map(next).collect()
        })?;
        let Stm { pat, aux, exp: Exp::Loop { params, form: _, mut body } } = stm else {
            return Err(PassError::bug("a padded loop is no loop"));
        };
        let size_names = sizes.iter().map(|at| params[*at].param.name);
        let greatest: Substitution = size_names.zip(greatest.into_iter().map(Atom::from)).collect();
        // The values of the sizes before the loop, after an iteration, and after the loop.
        let names = || params.iter().map(|p| p.param.name);
        let before: Substitution = names().zip(params.iter().map(|p| p.init)).collect();
        let next: Substitution = names().zip(body.result.iter().copied()).collect();
        let after: Substitution = names().zip(pat.iter().map(|result| result.name.into())).collect();

        // The index of a padded parameter, and its padded type.
        let mut padded = Vec::new();
        let (mut own_params, mut own_pat) = (params.clone(), pat.clone());
        for (at, p) in params.iter().enumerate() {
            let most = with_sizes(&p.param.ty, &greatest);
            if p.param.ty.is_array() && most != p.param.ty {
                let init = self.pad(p.init, &most, &with_sizes(&p.param.ty, &before));
                let param = self.b.param("padded", most.clone());
                own_params[at] = LoopParam { param, init, consumed: false };
                own_pat[at] = self.b.param("padded", most.clone());
                padded.push((at, most));
            }
        }
        let outer = self.b.open();
        for (at, _) in &padded {
            let LoopParam { param, consumed, .. } = &params[*at];
            let mut part = self.part(own_params[*at].param.name, &param.ty);
            if *consumed {
                part = self.b.let_basic("own", BasicOp::Copy(part));
            }
            self.bind(param, part.into());
        }
        self.b.put_back(body.stms);
        for (at, most) in &padded {
            let ty = with_sizes(&params[*at].param.ty, &next);
            body.result[*at] = self.pad(body.result[*at], most, &ty);
        }
        let body = self.b.close(outer, body.result);
        let results: Vec<Name> = own_pat.iter().map(|result| result.name).collect();
        self.strip_mined(own_pat, aux, Counted { params: own_params, var, ty, bound, body });
        for (at, _) in padded {
            let part = self.part(results[at], &with_sizes(&params[at].param.ty, &after));
            self.bind(&pat[at], part.into());
        }
        Ok(())
    }

    /// An array of this type at the beginning of zeros of a padded type.
    fn pad(&mut self, value: Atom, padded: &Type, ty: &Type) -> Atom {
        let zeros = self.zero(padded);
        let array = self.name_of(zeros);
        self.b.let_basic("padded", BasicOp::Update { array, slice: first_elements(ty), value }).into()
    }

    /// The part of a padded array that has this type.
    fn part(&mut self, padded: Name, ty: &Type) -> Name {
        self.b.let_basic("part", BasicOp::Index { array: padded, slice: first_elements(ty) })
    }
}

/// A type under values of its sizes.
fn with_sizes(ty: &Type, sizes: &Substitution) -> Type {
    let mut ty = ty.clone();
    substitute_type(&mut ty, sizes);
    ty
}

/// The first elements of each dimension, as many as a type's sizes.
fn first_elements(ty: &Type) -> Vec<DimIndex> {
    let part = |count: &Dim| DimIndex::Slice { start: Atom::i64(0), count: *count, stride: Atom::i64(1) };
    ty.shape().iter().map(part).collect()
}
