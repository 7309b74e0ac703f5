//! The context of a function being flattened, and what is the same inside and
//! outside of segops: statements, branches, loops, lambdas.

use crate::functions::{Parallel, Place};
use crate::{parallel, sequential};
use ir::name::{Name, NameTable, ProvTable, SrcLoc};
use ir::syntax::{
    Atom, Aux, BasicOp, Body, DimIndex, Exp, Lambda, LoopForm, LoopParam, Param, Stm,
};
use ir::types::{Dim, Type};
use ir::{PassError, Segs, Soacs};

/// A function being flattened.
pub(crate) struct Ctx<'a> {
    names: NameTable,
    types: Vec<Option<Type>>,
    provs: &'a ProvTable,
    parallel: &'a Parallel,
}

impl<'a> Ctx<'a> {
    pub(crate) fn new(names: NameTable, provs: &'a ProvTable, parallel: &'a Parallel) -> Self {
        let types = vec![None; names.len()];
        Self {
            names,
            types,
            provs,
            parallel,
        }
    }

    pub(crate) fn into_names(self) -> NameTable {
        self.names
    }

    /// The places of a statement, for errors.
    pub(crate) fn stack(&self, aux: &Aux) -> Vec<SrcLoc> {
        self.provs.stack(aux.prov)
    }

    /// The type of a name that was bound before.
    pub(crate) fn type_of(&self, name: Name) -> Result<Type, PassError> {
        self.types
            .get(name.index())
            .cloned()
            .flatten()
            .ok_or_else(|| PassError::bug(format!("{name:?} is used before it is bound")))
    }

    /// A fresh name with its type.
    pub(crate) fn fresh(&mut self, hint: &str, ty: Type) -> Param<Segs> {
        let name = self.names.fresh(hint);
        self.types.resize(self.names.len(), None);
        self.types[name.index()] = Some(ty.clone());
        Param { name, ty, ann: () }
    }

    /// A fresh name for a combinator's parameter or pattern element.
    pub(crate) fn fresh_soac(&mut self, hint: &str, ty: Type) -> Param<Soacs> {
        let Param { name, ty, ann } = self.fresh(hint, ty);
        Param { name, ty, ann }
    }

    /// A bound name at the level of segops, its type noted.
    pub(crate) fn param(&mut self, param: Param<Soacs>) -> Param<Segs> {
        let Param { name, ty, ann: () } = param;
        self.types[name.index()] = Some(ty.clone());
        Param { name, ty, ann: () }
    }

    pub(crate) fn params(&mut self, params: Vec<Param<Soacs>>) -> Vec<Param<Segs>> {
        params.into_iter().map(|p| self.param(p)).collect()
    }

    /// A body whose combinators become segops or loops.
    pub(crate) fn body(
        &mut self,
        body: Body<Soacs>,
        place: Place,
    ) -> Result<Body<Segs>, PassError> {
        let mut stms = Vec::with_capacity(body.stms.len());
        self.stms(body.stms, place, &mut stms)?;
        Ok(Body {
            stms,
            result: body.result,
        })
    }

    /// Appends the statements to `out`.
    pub(crate) fn stms(
        &mut self,
        stms: Vec<Stm<Soacs>>,
        place: Place,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            for stm in stms {
                self.stm(stm, place, out)?;
            }
            Ok(())
        })
    }

    fn stm(
        &mut self,
        stm: Stm<Soacs>,
        place: Place,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let Stm { pat, aux, exp } = stm;
        let exp = match exp {
            Exp::Basic(op) => Exp::Basic(op),
            Exp::If {
                cond,
                then_body,
                else_body,
            } => Exp::If {
                cond,
                then_body: self.body(then_body, place)?,
                else_body: self.body(else_body, place)?,
            },
            Exp::Loop { params, form, body } => {
                let params = params
                    .into_iter()
                    .map(|p| LoopParam {
                        param: self.param(p.param),
                        init: p.init,
                        consumed: p.consumed,
                    })
                    .collect();
                if let LoopForm::For { var, ty, bound: _ } = form {
                    self.types[var.index()] = Some(Type::Prim(ty));
                }
                Exp::Loop {
                    params,
                    form,
                    body: self.body(body, place)?,
                }
            }
            Exp::Apply { fun, args } => Exp::Apply {
                fun: self.parallel.callee(&fun, place),
                args,
            },
            Exp::Op(soac) => {
                return match place {
                    Place::Outside => parallel::soac(self, pat, aux, soac, out),
                    Place::Inside => sequential::soac(self, pat, aux, soac, out),
                };
            }
        };
        let pat = self.params(pat);
        out.push(Stm { pat, aux, exp });
        Ok(())
    }

    /// A lambda whose body runs inside.
    pub(crate) fn lambda_inside(
        &mut self,
        lambda: Lambda<Soacs>,
    ) -> Result<Lambda<Segs>, PassError> {
        let params = self.params(lambda.params);
        let body = self.body(lambda.body, Place::Inside)?;
        Ok(Lambda {
            params,
            body,
            ret: lambda.ret,
        })
    }

    /// Statements that bind a map lambda's parameters to one row of the inputs
    /// (accumulators: to `acc_values`, in order, or the input itself).
    pub(crate) fn bind_rows(
        &mut self,
        params: Vec<Param<Soacs>>,
        inputs: &[Name],
        index: Name,
        aux: &Aux,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        for (param, &input) in params.into_iter().zip(inputs) {
            let param = self.param(param);
            let exp = match self.type_of(input)? {
                ty @ Type::Array { .. } => index_row(input, &ty, Atom::Var(index)),
                Type::Acc { .. } => BasicOp::Atom(Atom::Var(input)),
                Type::Prim(_) | Type::Cert | Type::Mem(_) => {
                    return Err(PassError::bug("a combinator's input is no array"));
                }
            };
            out.push(Stm {
                pat: vec![param],
                aux: Aux::at(aux.prov),
                exp: Exp::Basic(exp),
            });
        }
        Ok(())
    }

    /// Inlines a lambda: its parameters get the arguments, its statements are
    /// appended, its results returned.
    pub(crate) fn inline(
        &mut self,
        lambda: Lambda<Soacs>,
        args: impl IntoIterator<Item = Atom>,
        place: Place,
        aux: &Aux,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<Vec<Atom>, PassError> {
        for (param, arg) in lambda.params.into_iter().zip(args) {
            let param = self.param(param);
            let exp = Exp::Basic(BasicOp::Atom(arg));
            out.push(Stm {
                pat: vec![param],
                aux: Aux::at(aux.prov),
                exp,
            });
        }
        self.stms(lambda.body.stms, place, out)?;
        Ok(lambda.body.result)
    }
}

/// The row of an array at an index of its outermost dimension.
pub(crate) fn index_row(array: Name, ty: &Type, index: Atom) -> BasicOp {
    BasicOp::Index {
        array,
        slice: row_slice(ty, index),
    }
}

/// The slice that is the row at an index of the outermost dimension.
pub(crate) fn row_slice(ty: &Type, index: Atom) -> Vec<DimIndex> {
    let full = |&count: &Dim| DimIndex::Slice {
        start: Atom::i64(0),
        count,
        stride: Atom::i64(1),
    };
    std::iter::once(DimIndex::Fix(index))
        .chain(ty.shape().iter().skip(1).map(full))
        .collect()
}
