//! Fused multiply-adds: a product whose only use is one sum or difference in the same body is
//! computed with it, rounded once.
//!
//! ```text
//! let p = fmul a b                   let s = fma a b c
//! let s = fadd p c
//!
//! let s = fsub p c                   let m = fneg c, let s = fma a b m
//! let s = fsub c p                   let m = fneg a, let s = fma m b c
//! ```
//!
//! This is the only rule that changes floating-point rounding (design contract 2); `--fp=strict`
//! skips it. Of two products in a sum the first is fused. The pass runs before flattening and once
//! more after it: reductions inside a segop are loops by then, and the operator is next to the
//! product that it adds. Needs nothing. Guarantees that nothing else changes.

use analysis::signatures::Signatures;
use analysis::uses::Uses;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Function, Level, Param, Stm};
use ir::types::Type;
use ir::walk::{VisitMut, with_stack};
use ir::{Context, Fuel, Name, NameTable, PassError};
use prim::{BinOp, PrimType, ScalarOp, UnOp};
use rustc_hash::FxHashMap;

/// Fuses products with the sums that use them.
pub(crate) fn fuse_products<L: Level>(
    mut function: Function<L>,
    _: &Signatures,
    context: &mut Context,
) -> Result<Function<L>, PassError> {
    if context.options.strict_fp {
        return Ok(function);
    }
    let mut pass =
        Products { uses: Uses::of(&function), names: &mut function.names, fuel: &mut context.fuel };
    VisitMut::<L>::body(&mut pass, &mut function.body);
    Ok(function)
}

struct Products<'a> {
    uses: Uses,
    names: &'a mut NameTable,
    fuel: &'a mut Fuel,
}

impl<L: Level> VisitMut<L> for Products<'_> {
    fn body(&mut self, body: &mut Body<L>) {
        with_stack(|| self.in_body(body));
    }
}

impl Products<'_> {
    fn in_body<L: Level>(&mut self, body: &mut Body<L>) {
        // Products of this body that are used once: their positions and factors.
        let mut products: FxHashMap<Name, (usize, Atom, Atom)> = FxHashMap::default();
        let stms = std::mem::take(&mut body.stms);
        let mut out: Vec<Option<Stm<L>>> = Vec::with_capacity(stms.len());
        for mut stm in stms {
            match &stm.exp {
                Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(BinOp::FMul, ty, a, b))) => {
                    if let [only] = stm.pat.as_slice()
                        && fusable(*ty)
                        && stm.aux.certs.is_empty()
                        && self.uses.get(only.name) == Some(1)
                    {
                        products.insert(only.name, (out.len(), *a, *b));
                    }
                }
                Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(op @ (BinOp::FAdd | BinOp::FSub), ty, x, y))) => {
                    let (op, ty, x, y) = (*op, *ty, *x, *y);
                    let product = |atom: Atom| products.get(&atom.var()?).copied();
                    let (first, second) = (product(x), product(y));
                    if (first.is_some() || second.is_some()) && self.fuel.take() {
                        let exp = match (op, first, second) {
                            (BinOp::FAdd, Some((at, a, b)), _) => {
                                out[at] = None;
                                BasicOp::fma(ty, a, b, y)
                            }
                            (BinOp::FAdd, None, Some((at, a, b))) => {
                                out[at] = None;
                                BasicOp::fma(ty, a, b, x)
                            }
                            (_, Some((at, a, b)), _) => {
                                out[at] = None;
                                let minus = self.negated(ty, y, &stm.aux, &mut out);
                                BasicOp::fma(ty, a, b, minus)
                            }
                            (_, None, Some((at, a, b))) => {
                                out[at] = None;
                                let minus = self.negated(ty, a, &stm.aux, &mut out);
                                BasicOp::fma(ty, minus, b, x)
                            }
                            (_, None, None) => BasicOp::binary(op, ty, x, y),
                        };
                        stm.exp = Exp::Basic(exp);
                    }
                }
                Exp::Basic(_) => {}
                Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => {
                    VisitMut::<L>::exp(self, &mut stm.exp);
                }
            }
            out.push(Some(stm));
        }
        body.stms = out.into_iter().flatten().collect();
    }

    fn negated<L: Level>(&mut self, ty: PrimType, x: Atom, aux: &Aux, out: &mut Vec<Option<Stm<L>>>) -> Atom {
        if let Atom::Const(value) = x
            && let Some(minus) = prim::eval::unary(UnOp::FNeg, value)
        {
            return Atom::Const(minus);
        }
        let name = self.names.fresh("minus");
        let pat = vec![Param { name, ty: Type::Prim(ty), ann: L::Ann::default() }];
        out.push(Some(Stm {
            pat,
            aux: Aux::at(aux.prov),
            exp: Exp::Basic(BasicOp::unary(UnOp::FNeg, ty, x)),
        }));
        Atom::Var(name)
    }
}

/// Most machines have no such instruction for half precision.
fn fusable(ty: PrimType) -> bool {
    matches!(ty, PrimType::F32 | PrimType::F64)
}
