//! The rows of a matrix that is not stored: their elements, whole rows, columns, and maps over
//! their elements.
//!
//! A row in normal form ([`normal`](super::normal)) ends with a map, a view or a branch:
//!
//! ```text
//! if i == k then ps else map m (x <- xss[i, ..]) f
//!   element j:   if i == k then ps[j] else f xss[i, j]
//!   map g:       if i == k then map m (p <- ps) g else map m (x <- xss[i, ..]) (g . f)
//! ```

use super::{Composer, basic, row_slice};
use crate::simplify::add_certs;
use crate::splice;
use ir::build::Builder;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Substitution, refresh_body, stm_names, substitute_body, with_stack};
use ir::{Name, Prov, Soacs};
use prim::{BinOp, PrimType};
use rustc_hash::FxHashSet;

/// The map that computes a matrix, in normal form.
#[derive(Clone)]
pub(super) struct Producer {
    /// The index of a row.
    pub(super) index: Name,
    /// The computation of the row.
    pub(super) body: Body<Soacs>,
    /// The map's auxiliary data.
    pub(super) aux: Aux,
    /// The type of the matrix.
    pub(super) ty: Type,
}

impl Producer {
    /// Returns the producer that a statement is, if it is a map over row indices.
    pub(super) fn of(stm: &Stm<Soacs>) -> Option<Self> {
        let (Exp::Op(Soac::Screma(Screma { map, .. })), [param]) = (&stm.exp, stm.pat.as_slice()) else {
            return None;
        };
        let [index] = map.params.as_slice() else {
            return None;
        };
        let (body, aux, ty) = (map.body.clone(), stm.aux.clone(), param.ty.clone());
        Some(Self { index: index.name, body, aux, ty })
    }

    /// The numbers of rows and columns.
    pub(super) fn sizes(&self) -> Option<[Dim; 2]> {
        self.ty.shape().try_into().ok()
    }
}

impl Composer<'_> {
    /// Copies the computation of a row.
    pub(super) fn row(&mut self, of: &Producer, row: Atom) -> Body<Soacs> {
        let mut map = Substitution::from_iter([(of.index, row)]);
        let copy = refresh_body(&of.body, self.names, &mut map);
        let mut stms = Vec::with_capacity(copy.stms.len());
        splice::statements(copy.stms, &of.aux, &mut stms);
        let copy = Body { stms, result: copy.result };
        self.types.add_body(&copy);
        copy
    }

    /// Copies the computation of an element.
    pub(super) fn element(&mut self, of: &Producer, row: Atom, column: Atom) -> Option<Body<Soacs>> {
        let row = self.row(of, row);
        self.element_of(row, column)
    }

    /// Turns the computation of a row into that of one of its elements.
    fn element_of(&mut self, row: Body<Soacs>, column: Atom) -> Option<Body<Soacs>> {
        let (mut stms, last, array) = split(row)?;
        let read = |composer: &mut Self, array: Name, prov: Prov, stms: &mut Vec<Stm<Soacs>>| {
            let mut b = Builder::new(composer.names, &mut composer.types);
            b.prov = prov;
            let element = b.index("x", array, &[column]);
            stms.append(&mut b.take_stms());
            Atom::Var(element)
        };
        let Some(last) = last else {
            let element = read(self, array, Prov::NONE, &mut stms);
            return Some(Body { stms, result: vec![element] });
        };
        let prov = last.aux.prov;
        let result = match last.exp {
            Exp::Basic(_) => {
                stms.push(last);
                read(self, array, prov, &mut stms)
            }
            Exp::If { cond, then_body, else_body } => {
                let branches =
                    with_stack(|| [then_body, else_body].map(|branch| self.element_of(branch, column)));
                let [Some(then_body), Some(else_body)] = branches else {
                    return None;
                };
                let element = self.fresh_param("x", Type::Prim(last.pat[0].ty.elem()?));
                let name = element.name;
                let exp = Exp::If { cond, then_body, else_body };
                stms.push(Stm { pat: vec![element], aux: last.aux, exp });
                name.into()
            }
            Exp::Op(Soac::Screma(screma)) => {
                let Screma { inputs, map, .. } = screma;
                let mut elements = Substitution::default();
                let mut own = Vec::new();
                for (param, input) in map.params.iter().zip(inputs) {
                    elements.insert(param.name, read(self, input, prov, &mut own));
                }
                let mut body = map.body;
                substitute_body(&mut body, &elements);
                own.append(&mut body.stms);
                splice::statements(own, &last.aux, &mut stms);
                body.result[0]
            }
            Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => return None,
        };
        Some(Body { stms, result: vec![result] })
    }

    /// Emits a whole row and returns its name.
    pub(super) fn stored_row(&mut self, of: &Producer, row: Atom, out: &mut Vec<Stm<Soacs>>) -> Option<Name> {
        let [rows, columns] = of.sizes()?;
        let row = self.clamped(row, rows, of.aux.prov, out);
        self.stored(of, "row", columns, |column| [row, column], out)
    }

    /// Emits a whole column and returns its name.
    pub(super) fn stored_column(
        &mut self,
        of: &Producer,
        column: Atom,
        out: &mut Vec<Stm<Soacs>>,
    ) -> Option<Name> {
        let [rows, columns] = of.sizes()?;
        let column = self.clamped(column, columns, of.aux.prov, out);
        self.stored(of, "column", rows, |row| [row, column], out)
    }

    /// Emits an array of this size of elements, whose indices are those of `at`.
    fn stored(
        &mut self,
        of: &Producer,
        hint: &str,
        size: Dim,
        at: impl Fn(Atom) -> [Atom; 2],
        out: &mut Vec<Stm<Soacs>>,
    ) -> Option<Name> {
        let index = self.fresh_param("i", Type::I64);
        let [row, column] = at(index.name.into());
        let body = self.element(of, row, column)?;
        let mut b = Builder::new(self.names, &mut self.types);
        b.prov = of.aux.prov;
        let iota = b.iota(size);
        let map = Lambda { params: vec![index], body, ret: vec![Type::Prim(of.ty.elem()?)] };
        let made = b.let_op(hint, Soac::Screma(Screma::map(size, vec![iota], map)));
        out.append(&mut b.take_stms());
        made.first().copied()
    }

    /// Emits an index as the nearest valid one.
    fn clamped(&mut self, index: Atom, size: Dim, prov: Prov, out: &mut Vec<Stm<Soacs>>) -> Atom {
        let Some(size) = size.atom() else {
            return index;
        };
        let mut b = Builder::new(self.names, &mut self.types);
        b.prov = prov;
        let last = b.sub_i64(size, Atom::i64(1));
        let index = b.binary(BinOp::SMin, PrimType::I64, index, last);
        let index = b.binary(BinOp::SMax, PrimType::I64, index.into(), Atom::i64(0));
        out.append(&mut b.take_stms());
        index.into()
    }

    /// Replaces the read of a row of a matrix at an index that is bound inside of a map by its
    /// computation, fused into the maps over its elements. The read may be in branches.
    /// The caller checks that no use of the matrix is left.
    pub(super) fn fuse_row(
        &mut self,
        body: &mut Body<Soacs>,
        matrix: Name,
        of: &Producer,
        inside: &FxHashSet<Name>,
    ) -> Option<()> {
        let [_, columns] = of.sizes()?;
        let row_of = |stm: &Stm<Soacs>| {
            let Exp::Basic(BasicOp::Index { array, slice }) = &stm.exp else {
                return None;
            };
            let [DimIndex::Fix(row), _] = slice[..] else {
                return None;
            };
            let varies = row.var().is_some_and(|name| inside.contains(&name));
            (*array == matrix && varies && *slice == row_slice(row, columns)).then_some(row)
        };
        let mut fused = false;
        while let Some((at, row)) =
            body.stms.iter().enumerate().find_map(|(at, stm)| Some((at, row_of(stm)?)))
        {
            let Stm { pat, aux, .. } = body.stms.remove(at);
            let view = pat[0].name;
            if uses(body, view) {
                if fused {
                    return None;
                }
                self.fuse_into(body, view, of, row, &aux)?;
                fused = true;
            }
            if uses(body, view) {
                return None;
            }
        }
        if fused {
            return Some(());
        }
        for stm in &mut body.stms {
            if let Exp::If { then_body, else_body, .. } = &mut stm.exp {
                with_stack(|| {
                    self.fuse_row(then_body, matrix, of, inside)?;
                    self.fuse_row(else_body, matrix, of, inside)
                })?;
            }
        }
        Some(())
    }

    /// Computes the row `view` where a body's last map, or its result, uses it.
    fn fuse_into(
        &mut self,
        body: &mut Body<Soacs>,
        view: Name,
        of: &Producer,
        row: Atom,
        aux: &Aux,
    ) -> Option<()> {
        if body.result[0] == Atom::Var(view) {
            let mut row = self.row(of, row);
            splice::statements(row.stms, aux, &mut body.stms);
            body.result[0] = row.result.pop()?;
            return Some(());
        }
        let at = body.stms.iter().position(|stm| body.result[0] == Atom::Var(stm.pat[0].name));
        let Some(at) = at else {
            return Some(());
        };
        let reads = match &mut body.stms[at].exp {
            Exp::If { then_body, else_body, .. } => {
                return with_stack(|| {
                    self.fuse_into(then_body, view, of, row, aux)?;
                    self.fuse_into(else_body, view, of, row, aux)
                });
            }
            Exp::Op(Soac::Screma(screma)) => screma.inputs.iter().filter(|input| **input == view).count(),
            Exp::Basic(_) | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => 0,
        };
        if reads == 0 {
            return Some(());
        }
        let consumer = body.stms.remove(at);
        let row = self.row(of, row);
        let fused = self.map_of(row, &consumer, view)?;
        splice::statements(fused.stms, aux, &mut body.stms);
        body.result = fused.result;
        Some(())
    }

    /// Turns the computation of a row into that of a map over its elements: `consumer` with the row
    /// for its input `view`.
    fn map_of(&mut self, row: Body<Soacs>, consumer: &Stm<Soacs>, view: Name) -> Option<Body<Soacs>> {
        let (mut stms, last, array) = split(row)?;
        let made = match last {
            Some(Stm { aux, exp: Exp::If { cond, then_body, else_body }, .. }) => {
                let branches =
                    with_stack(|| [then_body, else_body].map(|branch| self.map_of(branch, consumer, view)));
                let [Some(then_body), Some(else_body)] = branches else {
                    return None;
                };
                let pat = vec![self.fresh(&consumer.pat[0])];
                Stm { pat, aux, exp: Exp::If { cond, then_body, else_body } }
            }
            Some(Stm { aux, exp: Exp::Op(Soac::Screma(producer)), .. }) => {
                let mut made = self.copy_of(consumer, &Substitution::default())?;
                add_certs(&mut made.aux.certs, &aux.certs);
                let Exp::Op(Soac::Screma(screma)) = &mut made.exp else {
                    return None;
                };
                fuse_maps(producer, screma, view);
                made
            }
            other => {
                stms.extend(other);
                self.copy_of(consumer, &Substitution::from_iter([(view, array.into())]))?
            }
        };
        let result = vec![made.pat[0].name.into()];
        stms.push(made);
        Some(Body { stms, result })
    }

    /// Copies a statement with fresh names.
    fn copy_of(&mut self, stm: &Stm<Soacs>, map: &Substitution) -> Option<Stm<Soacs>> {
        let body = Body { stms: vec![stm.clone()], result: Vec::new() };
        let mut copy = refresh_body(&body, self.names, &mut map.clone());
        self.types.add_body(&copy);
        copy.stms.pop()
    }

    fn fresh_param(&mut self, hint: &str, ty: Type) -> Param<Soacs> {
        Builder::new(self.names, &mut self.types).param(hint, ty)
    }
}

/// Returns true if a body uses a name.
fn uses(body: &Body<Soacs>, name: Name) -> bool {
    let mut found = body.result.contains(&name.into());
    for stm in &body.stms {
        stm_names(stm, |used| found |= used == name);
    }
    found
}

/// Splits a row's computation into the statements before the last, the statement that binds the row
/// (`None` if the row is another array) and the row's name.
fn split(row: Body<Soacs>) -> Option<(Vec<Stm<Soacs>>, Option<Stm<Soacs>>, Name)> {
    let Body { mut stms, result } = row;
    let [Atom::Var(array)] = result[..] else {
        return None;
    };
    let at = stms.iter().position(|stm| stm.pat[0].name == array);
    let last = at.map(|at| stms.remove(at));
    Some((stms, last, array))
}

/// Fuses a map into another that reads its result as the input `view`.
fn fuse_maps(producer: Screma, consumer: &mut Screma, view: Name) {
    let Screma { inputs: mut all_inputs, map, .. } = producer;
    let (mut all_params, mut body) = (map.params, map.body);
    let mut elements = Substitution::default();
    let params = std::mem::take(&mut consumer.map.params);
    for (param, input) in params.into_iter().zip(std::mem::take(&mut consumer.inputs)) {
        if input == view {
            elements.insert(param.name, body.result[0]);
        } else {
            all_params.push(param);
            all_inputs.push(input);
        }
    }
    substitute_body(&mut consumer.map.body, &elements);
    body.stms.append(&mut consumer.map.body.stms);
    consumer.map.body.stms = body.stms;
    (consumer.map.params, consumer.inputs) = (all_params, all_inputs);
}

/// The statement that binds a name to a value.
pub(super) fn bind(pat: Param<Soacs>, prov: Prov, value: Atom) -> Stm<Soacs> {
    basic(pat, Aux::at(prov), BasicOp::Atom(value))
}
