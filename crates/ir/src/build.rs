//! The builder, with which passes construct IR.
//!
//! A [`Builder`] holds the function's [`NameTable`] and the types of its names ([`TypeEnv`]), and
//! collects statements. Each method that adds a statement binds it to a fresh name, records its
//! type, attaches the builder's current provenance, certificates and attributes, and returns the
//! name.
//!
//! ```text
//! let mut names = NameTable::new();
//! let mut types = TypeEnv::new();
//! let mut b: Builder<'_, Soacs> = Builder::new(&mut names, &mut types);
//! b.prov = prov;                                 // for all that follows
//! let n1 = b.add_i64(n.into(), Atom::i64(1));    // an Atom, folded if it can be
//! let is = b.let_basic("is", BasicOp::Iota { .. }); // typed by itself
//! let ys = b.map("ys", width, &[xs], |b, x| {    // lambda bodies by closure
//!     vec![b.binary(BinOp::FMul, PrimType::F32, x[0].into(), two).into()]
//! });
//! let r = b.if_("r", cond, vec![Type::I64], |_| vec![x], |_| vec![y]);
//! let body = b.finish(vec![ys[0].into()]);
//! ```
//!
//! - Nested bodies are built with [`Builder::body`] and the methods based on it ([`Builder::if_`],
//!   [`Builder::for_loop`], [`Builder::lambda`]): inside the closure, statements go to the nested
//!   body.
//! - Where results include sizes, the types passed to the builder use [`Dim::Ext`](crate::Dim::Ext)
//!   with the position of the result; the builder replaces it by the pattern's names.
//! - Certificates: [`Builder::with_certs`] attaches them to every statement built inside.
//! - Only `i64` additions of 0, multiplications by 1, and sums and products of constants are
//!   folded, as these are frequent in sizes. The simplifier folds all else.
//! - An operand without a known type is a bug of the pass: the builder panics.

use crate::facts::Facts;
use crate::name::{FunId, Name, NameTable, Prov};
use crate::scan_reduce::ScanReduce;
use crate::soac::{Operator, Screma, Soac, Soacs};
use crate::syntax::{
    Atom, Attrs, Aux, BasicOp, Body, DimIndex, Exp, Lambda, Level, LoopForm, LoopParam, MsgPart, Param, Stm,
};
use crate::types::{Dim, Shape, Type};
use crate::typing::{TypeEnv, basic_type, exp_types, fresh_pattern, instantiate};
use crate::walk::{LevelOp, Substitution, substitute_body};
use prim::{BinOp, CmpOp, ConvOp, PrimType, Scalar, ScalarOp, UnOp};
use smallvec::SmallVec;

/// A loop parameter to be built. In its type, [`Dim::Ext`] refers to earlier ones.
#[derive(Clone, PartialEq, Debug)]
pub struct LoopInit {
    /// Hint for the name.
    pub hint: String,
    /// Type.
    pub ty: Type,
    /// Value in the first iteration.
    pub init: Atom,
    /// True if the loop may update it in place.
    pub consumed: bool,
}

/// The statements and settings that a builder resumes after a nested body.
#[must_use]
pub struct Outer<L: Level> {
    stms: Vec<Stm<L>>,
    prov: Prov,
    certs: SmallVec<[Name; 2]>,
    attrs: Attrs,
}

/// Collects statements; see the module documentation.
pub struct Builder<'a, L: Level> {
    /// The function's names.
    pub names: &'a mut NameTable,
    /// Their types.
    pub types: &'a mut TypeEnv,
    /// Provenance of subsequent statements.
    pub prov: Prov,
    /// Certificates of subsequent statements.
    pub certs: SmallVec<[Name; 2]>,
    /// Attributes of subsequent statements.
    pub attrs: Attrs,
    stms: Vec<Stm<L>>,
}

impl<'a, L: Level> Builder<'a, L> {
    /// A builder without statements.
    pub fn new(names: &'a mut NameTable, types: &'a mut TypeEnv) -> Self {
        Self {
            names,
            types,
            prov: Prov::NONE,
            certs: SmallVec::new(),
            attrs: Attrs::default(),
            stms: Vec::new(),
        }
    }

    /// Returns the collected statements as a body with these results.
    pub fn finish(self, result: Vec<Atom>) -> Body<L> {
        Body { stms: self.stms, result }
    }

    /// Appends statements that the builder has had before, whose types it knows.
    pub fn put_back(&mut self, stms: Vec<Stm<L>>) {
        self.stms.extend(stms);
    }

    /// Returns the collected statements and removes them from the builder.
    pub fn take_stms(&mut self) -> Vec<Stm<L>> {
        std::mem::take(&mut self.stms)
    }

    /// Appends a finished statement and records all types in it, at any depth.
    pub fn push(&mut self, stm: Stm<L>) {
        self.types.add_params(&stm.pat);
        self.types.add_exp(&stm.exp);
        self.stms.push(stm);
    }

    /// Appends finished statements.
    pub fn extend(&mut self, stms: impl IntoIterator<Item = Stm<L>>) {
        for stm in stms {
            self.push(stm);
        }
    }

    /// The auxiliary information of subsequent statements.
    pub fn aux(&self) -> Aux {
        Aux { certs: self.certs.clone(), attrs: self.attrs.clone(), prov: self.prov, facts: Facts::default() }
    }

    /// Appends a lambda's statements with operands in place of its parameters; returns its results.
    pub fn inline(&mut self, lambda: Lambda<L>, args: impl IntoIterator<Item = Atom>) -> Vec<Atom> {
        let Lambda { params, mut body, ret: _ } = lambda;
        let map: Substitution = params.into_iter().map(|param| param.name).zip(args).collect();
        substitute_body(&mut body, &map);
        self.extend(body.stms);
        body.result
    }

    /// Runs `f` with these certificates added to each statement.
    pub fn with_certs<R>(&mut self, certs: &[Name], f: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.certs.clone();
        for cert in certs {
            if !self.certs.contains(cert) {
                self.certs.push(*cert);
            }
        }
        let result = f(self);
        self.certs = before;
        result
    }

    /// The type of an operand.
    pub fn type_of(&self, atom: Atom) -> Type {
        self.types.type_of_atom(atom)
    }

    /// A fresh parameter, with its type recorded.
    pub fn param(&mut self, hint: &str, ty: Type) -> Param<L> {
        let name = self.names.fresh(hint);
        self.types.set(name, ty.clone());
        Param { name, ty, ann: L::Ann::default() }
    }

    /// `let pat = exp` for a finished pattern.
    pub fn let_pat(&mut self, pat: Vec<Param<L>>, exp: Exp<L>) {
        self.let_with(pat, self.aux(), exp);
    }

    /// `let pat = exp` with this auxiliary information.
    pub fn let_with(&mut self, pat: Vec<Param<L>>, aux: Aux, exp: Exp<L>) {
        self.types.add_params(&pat);
        self.stms.push(Stm { pat, aux, exp });
    }

    /// Binds the only result of an expression, given its type.
    pub fn bind(&mut self, hint: &str, ty: Type, exp: Exp<L>) -> Name {
        let param = self.param(hint, ty);
        let name = param.name;
        self.let_pat(vec![param], exp);
        name
    }

    /// Binds the results of an expression, given their types.
    pub fn bind_all(
        &mut self,
        results: impl IntoIterator<Item = (impl AsRef<str>, Type)>,
        exp: Exp<L>,
    ) -> Vec<Name> {
        let pat = fresh_pattern(self.names, results);
        let names = pat.iter().map(|param| param.name).collect();
        self.let_pat(pat, exp);
        names
    }

    /// Binds the only result of an expression whose type can be inferred: not of a conditional or
    /// call.
    pub fn let_exp(&mut self, hint: &str, exp: Exp<L>) -> Name {
        let types = exp_types(&exp, &|name| self.types.type_of(name).clone());
        match types.as_deref() {
            Some([ty]) => self.bind(hint, ty.clone(), exp),
            _ => panic!("let_exp requires an expression with one result whose type can be inferred"),
        }
    }

    /// Binds the results of an operation or loop, all with the same hint.
    #[allow(clippy::expect_used, reason = "the caller guarantees that the result types can be inferred")]
    pub fn let_exps(&mut self, hint: &str, exp: Exp<L>) -> Vec<Name> {
        let types = exp_types(&exp, &|name| self.types.type_of(name).clone())
            .expect("let_exps requires an expression other than a conditional or a call");
        self.bind_all(types.into_iter().map(|ty| (hint, ty)), exp)
    }

    /// Binds a basic operation.
    pub fn let_basic(&mut self, hint: &str, op: BasicOp) -> Name {
        let ty = basic_type(&op, &|name| self.types.type_of(name).clone());
        self.bind(hint, ty, Exp::Basic(op))
    }

    /// Binds an operation of the level.
    pub fn let_op(&mut self, hint: &str, op: L::Op) -> Vec<Name> {
        let types = op.result_types(&|name| self.types.type_of(name).clone());
        self.bind_all(types.into_iter().map(|ty| (hint, ty)), Exp::Op(op))
    }

    /// `x op y`.
    pub fn binary(&mut self, op: BinOp, ty: PrimType, x: Atom, y: Atom) -> Name {
        self.let_basic(op.name(), BasicOp::Scalar(ScalarOp::Binary(op, ty, x, y)))
    }

    /// `op x`.
    pub fn unary(&mut self, op: UnOp, ty: PrimType, x: Atom) -> Name {
        self.let_basic(op.name(), BasicOp::Scalar(ScalarOp::Unary(op, ty, x)))
    }

    /// `x op y`, a comparison.
    pub fn compare(&mut self, op: CmpOp, ty: PrimType, x: Atom, y: Atom) -> Name {
        self.let_basic(op.name(), BasicOp::Scalar(ScalarOp::Compare(op, ty, x, y)))
    }

    /// Converts `arg`; returns it unchanged where the conversion is from a type to itself.
    pub fn convert(&mut self, op: ConvOp, from: PrimType, to: PrimType, arg: Atom) -> Atom {
        if op.is_identity(from, to) {
            return arg;
        }
        self.let_basic("conv", BasicOp::convert(op, from, to, arg)).into()
    }

    /// One of two scalars, by the condition.
    pub fn select(&mut self, ty: PrimType, cond: Atom, if_true: Atom, if_false: Atom) -> Name {
        self.let_basic("sel", BasicOp::select(ty, cond, if_true, if_false))
    }

    /// `x + y` on sizes.
    pub fn add_i64(&mut self, x: Atom, y: Atom) -> Atom {
        match (x, y) {
            (Atom::Const(Scalar::I64(0)), other) | (other, Atom::Const(Scalar::I64(0))) => other,
            (Atom::Const(Scalar::I64(a)), Atom::Const(Scalar::I64(b))) => Atom::i64(a.wrapping_add(b)),
            _ => self.binary(BinOp::Add, PrimType::I64, x, y).into(),
        }
    }

    /// `x - y` on sizes.
    pub fn sub_i64(&mut self, x: Atom, y: Atom) -> Atom {
        match (x, y) {
            (other, Atom::Const(Scalar::I64(0))) => other,
            (Atom::Const(Scalar::I64(a)), Atom::Const(Scalar::I64(b))) => Atom::i64(a.wrapping_sub(b)),
            _ => self.binary(BinOp::Sub, PrimType::I64, x, y).into(),
        }
    }

    /// `x * y` on sizes.
    pub fn mul_i64(&mut self, x: Atom, y: Atom) -> Atom {
        match (x, y) {
            (Atom::Const(Scalar::I64(1)), other) | (other, Atom::Const(Scalar::I64(1))) => other,
            (Atom::Const(Scalar::I64(a)), Atom::Const(Scalar::I64(b))) => Atom::i64(a.wrapping_mul(b)),
            _ => self.binary(BinOp::Mul, PrimType::I64, x, y).into(),
        }
    }

    /// The product of sizes.
    pub fn product(&mut self, dims: &[Dim]) -> Atom {
        dims.iter().filter_map(|dim| dim.atom()).fold(Atom::i64(1), |x, y| self.mul_i64(x, y))
    }

    /// The dimension of an `i64` operand.
    #[allow(clippy::expect_used, reason = "the caller guarantees that the atom is an i64")]
    pub fn dim(atom: Atom) -> Dim {
        Dim::from_atom(atom).expect("a size must be an i64")
    }

    /// A check; statements that depend on it list the certificate.
    pub fn assert(&mut self, cond: Atom, msg: Vec<MsgPart>) -> Name {
        self.let_basic("cert", BasicOp::Assert { cond, msg })
    }

    /// The element or row at these indices (of the outermost dimensions).
    pub fn index(&mut self, hint: &str, array: Name, indices: &[Atom]) -> Name {
        let slice = self.row_slice(array, indices);
        self.let_basic(hint, BasicOp::Index { array, slice })
    }

    /// The array with the element or row at these indices replaced; consumes the array.
    pub fn update(&mut self, hint: &str, array: Name, indices: &[Atom], value: Atom) -> Name {
        let slice = self.row_slice(array, indices);
        self.let_basic(hint, BasicOp::Update { array, slice, value })
    }

    /// The slice with these indices of the outermost dimensions and all of the others.
    pub fn row_slice(&self, array: Name, indices: &[Atom]) -> Vec<DimIndex> {
        self.outer_slice(array, indices.iter().map(|i| DimIndex::Fix(*i)))
    }

    /// The slice with `count` rows from `start` on.
    pub fn rows_slice(&self, array: Name, start: Atom, count: Dim) -> Vec<DimIndex> {
        self.outer_slice(array, [DimIndex::Slice { start, count, stride: Atom::i64(1) }].into_iter())
    }

    fn outer_slice(&self, array: Name, outer: impl ExactSizeIterator<Item = DimIndex>) -> Vec<DimIndex> {
        let whole = |dim: &Dim| DimIndex::Slice { start: Atom::i64(0), count: *dim, stride: Atom::i64(1) };
        let inner = self.types.type_of(array).shape().iter().skip(outer.len());
        outer.chain(inner.map(whole)).collect()
    }

    /// The value repeated over new outer dimensions.
    pub fn replicate(&mut self, hint: &str, shape: &[Dim], value: Atom) -> Name {
        self.let_basic(hint, BasicOp::Replicate { shape: Shape::from_slice(shape), value })
    }

    /// `0 .. count` as `i64`.
    pub fn iota(&mut self, count: Dim) -> Name {
        self.let_basic("iota", BasicOp::indices(count))
    }

    /// A body built by the closure, which returns its results.
    pub fn body(&mut self, f: impl FnOnce(&mut Self) -> Vec<Atom>) -> Body<L> {
        let outer = self.open();
        let result = f(self);
        self.close(outer, result)
    }

    /// Begins a nested body: subsequent statements go to it. For code that a closure cannot express;
    /// otherwise [`Builder::body`].
    pub fn open(&mut self) -> Outer<L> {
        Outer {
            stms: std::mem::take(&mut self.stms),
            prov: self.prov,
            certs: std::mem::take(&mut self.certs),
            attrs: std::mem::take(&mut self.attrs),
        }
    }

    /// Ends the nested body that began when `outer` was returned.
    pub fn close(&mut self, outer: Outer<L>, result: Vec<Atom>) -> Body<L> {
        let Outer { stms, prov, certs, attrs } = outer;
        (self.prov, self.certs, self.attrs) = (prov, certs, attrs);
        Body { stms: std::mem::replace(&mut self.stms, stms), result }
    }

    /// A conditional with results of these types.
    pub fn if_(
        &mut self,
        hint: &str,
        cond: Atom,
        types: Vec<Type>,
        then_body: impl FnOnce(&mut Self) -> Vec<Atom>,
        else_body: impl FnOnce(&mut Self) -> Vec<Atom>,
    ) -> Vec<Name> {
        let then_body = self.body(then_body);
        let else_body = self.body(else_body);
        let exp = Exp::If { cond, then_body, else_body };
        self.bind_all(types.into_iter().map(|ty| (hint, ty)), exp)
    }

    /// A call with results of these types.
    pub fn call(&mut self, hint: &str, fun: FunId, args: Vec<Atom>, types: Vec<Type>) -> Vec<Name> {
        let exp = Exp::Apply { fun, args };
        self.bind_all(types.into_iter().map(|ty| (hint, ty)), exp)
    }

    /// `for i < bound`: the closure takes the counter and the parameters, and returns the
    /// parameters' next values.
    pub fn for_loop(
        &mut self,
        ty: PrimType,
        bound: Atom,
        inits: Vec<LoopInit>,
        f: impl FnOnce(&mut Self, Name, &[Name]) -> Vec<Atom>,
    ) -> Vec<Name> {
        let var = self.names.fresh("i");
        self.types.set(var, Type::Prim(ty));
        self.loop_(LoopForm::For { var, ty, bound }, inits, |b, params| f(b, var, params))
    }

    /// A loop that iterates as long as the first parameter (a `bool`) is true: the closure takes
    /// the parameters and returns their next values.
    #[allow(clippy::expect_used, reason = "the caller passes the condition of a while loop")]
    pub fn while_loop(
        &mut self,
        inits: Vec<LoopInit>,
        f: impl FnOnce(&mut Self, &[Name]) -> Vec<Atom>,
    ) -> Vec<Name> {
        let params = self.loop_params(inits);
        let cond = params.first().expect("a while loop has a condition").param.name;
        self.finish_loop(LoopForm::While { cond }, params, f)
    }

    /// A loop of any form. A `while` form must name one of the loop's own parameters: use
    /// [`Builder::while_loop`] for it.
    pub fn loop_(
        &mut self,
        form: LoopForm,
        inits: Vec<LoopInit>,
        f: impl FnOnce(&mut Self, &[Name]) -> Vec<Atom>,
    ) -> Vec<Name> {
        let params = self.loop_params(inits);
        self.finish_loop(form, params, f)
    }

    fn loop_params(&mut self, inits: Vec<LoopInit>) -> Vec<LoopParam<L>> {
        let mut params: Vec<LoopParam<L>> = Vec::with_capacity(inits.len());
        for LoopInit { hint, ty, init, consumed } in inits {
            let earlier = |i: u32| params.get(i as usize).map(|p| Dim::Var(p.param.name));
            let ty = instantiate(&ty, &earlier);
            params.push(LoopParam { param: self.param(&hint, ty), init, consumed });
        }
        params
    }

    fn finish_loop(
        &mut self,
        form: LoopForm,
        params: Vec<LoopParam<L>>,
        f: impl FnOnce(&mut Self, &[Name]) -> Vec<Atom>,
    ) -> Vec<Name> {
        let names: Vec<Name> = params.iter().map(|p| p.param.name).collect();
        let hints: Vec<String> = names.iter().map(|n| self.names.hint(*n).to_string()).collect();
        let body = self.body(|b| f(b, &names));
        let exp = Exp::Loop { params, form, body };
        let types = exp_types(&exp, &|name| self.types.type_of(name).clone()).unwrap_or_default();
        self.bind_all(hints.into_iter().zip(types), exp)
    }

    /// A lambda with parameters of these types; the result types are inferred from the closure's
    /// results.
    pub fn lambda(
        &mut self,
        params: impl IntoIterator<Item = (impl AsRef<str>, Type)>,
        f: impl FnOnce(&mut Self, &[Name]) -> Vec<Atom>,
    ) -> Lambda<L> {
        let params: Vec<Param<L>> = fresh_pattern(self.names, params);
        self.types.add_params(&params);
        let names: Vec<Name> = params.iter().map(|param| param.name).collect();
        let body = self.body(|b| f(b, &names));
        let ret = body.result.iter().map(|atom| self.type_of(*atom)).collect();
        Lambda { params, body, ret }
    }

    /// The lambda of a binary scalar operator.
    pub fn binary_lambda(&mut self, op: BinOp, ty: PrimType) -> Lambda<L> {
        let params = [("x", Type::Prim(ty)), ("y", Type::Prim(ty))];
        self.lambda(params, |b, p| vec![b.binary(op, ty, p[0].into(), p[1].into()).into()])
    }

    /// The identity lambda on values of these types.
    pub fn identity_lambda(&mut self, types: &[Type]) -> Lambda<L> {
        self.lambda(types.iter().map(|ty| ("x", ty.clone())), |_, params| {
            params.iter().map(|name| Atom::Var(*name)).collect()
        })
    }
}

impl Builder<'_, Soacs> {
    /// The types of the arrays' rows (an accumulator is its own row).
    #[allow(clippy::expect_used, reason = "the caller guarantees arrays and accumulators")]
    pub fn row_types(&self, arrays: &[Name]) -> Vec<Type> {
        let row =
            |array: &Name| self.types.type_of(*array).row().expect("a row requires an array or accumulator");
        arrays.iter().map(row).collect()
    }

    /// Maps the closure over arrays of one width.
    pub fn map(
        &mut self,
        hint: &str,
        width: Dim,
        inputs: &[Name],
        f: impl FnOnce(&mut Self, &[Name]) -> Vec<Atom>,
    ) -> Vec<Name> {
        let rows = self.row_types(inputs);
        let map = self.lambda(rows.into_iter().map(|ty| ("x", ty)), f);
        self.screma(hint, width, inputs, map, Vec::new(), Vec::new())
    }

    /// Reduces arrays of one width.
    pub fn reduce(&mut self, hint: &str, width: Dim, inputs: &[Name], op: Operator<Soacs>) -> Vec<Name> {
        let rows = self.row_types(inputs);
        let map = self.identity_lambda(&rows);
        self.screma(hint, width, inputs, map, Vec::new(), vec![op])
    }

    /// Scans arrays of one width.
    pub fn scan(&mut self, hint: &str, width: Dim, inputs: &[Name], op: Operator<Soacs>) -> Vec<Name> {
        let rows = self.row_types(inputs);
        let map = self.identity_lambda(&rows);
        self.screma(hint, width, inputs, map, vec![op], Vec::new())
    }

    /// A [`Screma`] without a post lambda.
    pub fn screma(
        &mut self,
        hint: &str,
        width: Dim,
        inputs: &[Name],
        map: Lambda<Soacs>,
        scans: Vec<Operator<Soacs>>,
        reduces: Vec<Operator<Soacs>>,
    ) -> Vec<Name> {
        let inputs = inputs.to_vec();
        self.let_op(
            hint,
            Soac::Screma(Screma {
                width,
                inputs,
                map,
                scan_reduce: ScanReduce { scans, reduces, post: None },
            }),
        )
    }
}
