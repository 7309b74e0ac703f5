//! Calls of functions that are not inlined: their derivatives are functions, made when a call needs
//! them. A derivative function runs its function again; nothing is stored for calls.

use crate::copies;
use crate::state::{Ad, Result};
use analysis::signatures::Signatures;
use ir::SrcLoc;
use ir::build::Builder;
use ir::remark::{DerivativeStep, RemarkKind};
use ir::soac::Soacs;
use ir::syntax::{Atom, Aux, Body, Exp, FunParam, FunResult, Function, Param};
use ir::types::{Dim, Type};
use ir::typing::map_dims;
use ir::{Context, FunId, FunName, Name, PassError, TypeEnv};
use rustc_hash::{FxHashMap, FxHashSet};

/// Derivatives of derivatives of functions up to which calls are differentiated.
const MAX_ORDER: u32 = 6;

/// A derivative of a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Key {
    function: FunId,
    reverse: bool,
    /// The parameters that are active.
    active: Vec<bool>,
    /// The results with an adjoint, in reverse mode.
    seeds: Vec<bool>,
}

/// The options of all derivatives of a program.
pub(crate) struct DerivativeOptions {
    /// The bytes of states up to which a loop saves all of them.
    pub tape_limit: i64,
    /// True if the target has a device.
    pub has_device: bool,
    /// True if derivatives may be differentiated.
    pub is_repeated: bool,
}

/// The outcome for a part of a function in its derivative, and where in the source.
pub(crate) type Note = (Vec<SrcLoc>, DerivativeStep);

/// The functions of the program, and derivatives of them.
pub(crate) struct Calls {
    /// The functions; `None` while one is being made.
    pub functions: Vec<Option<Function<Soacs>>>,
    /// The options of all derivatives.
    pub options: DerivativeOptions,
    /// The outcomes for parts of the function being differentiated, if remarks are requested.
    pub notes: Option<Vec<Note>>,
    known: FxHashMap<Key, FunId>,
    pending: Vec<(Key, FunId)>,
    /// How many derivatives lead to a function from one of the program.
    order: Vec<u32>,
    names: FxHashSet<FunName>,
}

impl Calls {
    /// The functions of a program.
    pub fn new(functions: Vec<Function<Soacs>>, options: DerivativeOptions, remarks: bool) -> Self {
        let names = functions.iter().map(|function| function.name.clone()).collect();
        Self {
            order: vec![0; functions.len()],
            functions: functions.into_iter().map(Some).collect(),
            options,
            notes: remarks.then(Vec::new),
            known: FxHashMap::default(),
            pending: Vec::new(),
            names,
        }
    }

    /// Makes the derivatives that calls need, of the functions that exist.
    pub fn make_pending(&mut self, context: &mut Context) -> Result {
        let mut later = Vec::new();
        while let Some((key, id)) = self.pending.pop() {
            if self.functions[key.function.index()].is_none() {
                later.push((key, id));
                continue;
            }
            let function = self.make(&key)?;
            self.report(&function.name, context);
            let function = opt::simplify_function(function, &Signatures::default(), context)?;
            self.functions[id.index()] = Some(function);
            self.pending.append(&mut later);
        }
        self.pending = later;
        Ok(())
    }

    /// Records the notes on a function.
    pub fn report(&mut self, function: &FunName, context: &mut Context) {
        for (spans, step) in self.notes.iter_mut().flat_map(std::mem::take) {
            context.remark(&function.0, spans, RemarkKind::Derivative(step));
        }
    }

    /// The functions, with all derivatives.
    pub fn finish(mut self, context: &mut Context) -> Result<Vec<Function<Soacs>>> {
        self.make_pending(context)?;
        Ok(self.functions.into_iter().flatten().collect())
    }

    /// A function; `None` while it is being made.
    pub fn get(&self, id: FunId) -> Option<&Function<Soacs>> {
        self.functions.get(id.index())?.as_ref()
    }

    fn function(&self, id: FunId) -> Result<&Function<Soacs>> {
        self.get(id).ok_or_else(recursive_derivative)
    }

    fn derivative(&mut self, key: Key) -> Result<FunId> {
        if let Some(id) = self.known.get(&key) {
            return Ok(*id);
        }
        let order = self.order[key.function.index()] + 1;
        if order > MAX_ORDER {
            return Err(recursive_derivative());
        }
        let id = FunId::new(self.functions.len());
        self.functions.push(None);
        self.order.push(order);
        self.known.insert(key.clone(), id);
        self.pending.push((key, id));
        Ok(id)
    }

    fn fresh_name(&mut self, of: &FunName, suffix: &str) -> FunName {
        let mut n = 0u32;
        loop {
            let number = if n == 0 { String::new() } else { format!("_{n}") };
            let name = FunName(format!("{of}.{suffix}{number}").into());
            if self.names.insert(name.clone()) {
                return name;
            }
            n += 1;
        }
    }

    fn make(&mut self, key: &Key) -> Result<Function<Soacs>> {
        let mut function = self.function(key.function)?.clone();
        let name = self.fresh_name(&function.name, if key.reverse { "vjp" } else { "jvp" });
        let mut types = TypeEnv::of_function(&function);
        let mut names = std::mem::take(&mut function.names);
        let provs = std::mem::take(&mut function.provs);
        let body = std::mem::replace(&mut function.body, Body { stms: Vec::new(), result: Vec::new() });
        let mut ad = Ad::new(Builder::new(&mut names, &mut types), &provs, self);
        let active: Vec<Name> = function
            .params
            .iter()
            .zip(&key.active)
            .filter(|(_, active)| **active)
            .map(|(param, _)| param.param.name)
            .collect();
        ad.is_reverse = key.reverse;
        let body = ad.normalised(&active, body)?;
        let outer = ad.b.open();
        let (params, ret, result) = if key.reverse {
            ad.reverse_function(&function, (&body, &active), &key.seeds)?
        } else {
            ad.forward_function(&function, body, &active)?
        };
        let body = ad.b.close(outer, result);
        for param in &mut function.params {
            param.consumed = false;
        }
        function.params.extend(params.into_iter().map(|param| FunParam { param, consumed: false }));
        function.ret = ret;
        function.body = body;
        function.name = name;
        function.names = names;
        function.provs = provs;
        copies::resolve(&mut function, self)?;
        Ok(function)
    }
}

fn recursive_derivative() -> PassError {
    let what = "derivatives of a recursive function that contains derivatives of itself";
    PassError::unsupported(what, Vec::new())
}

type Signature = (Vec<Param<Soacs>>, Vec<FunResult<Soacs>>, Vec<Atom>);

impl Ad<'_> {
    fn reverse_function(
        &mut self,
        function: &Function<Soacs>,
        (body, active): (&Body<Soacs>, &[Name]),
        seeds: &[bool],
    ) -> Result<Signature> {
        let mut params = Vec::new();
        let mut sizes: FxHashMap<u32, Name> = FxHashMap::default();
        let mut own_seeds = Vec::new();
        for (ret, seed) in function.ret.iter().zip(seeds) {
            if !seed {
                own_seeds.push(None);
                continue;
            }
            for dim in ret.ty.shape() {
                if let Dim::Ext(at) = dim
                    && !sizes.contains_key(at)
                {
                    let size = self.b.param("size", Type::I64);
                    sizes.insert(*at, size.name);
                    params.push(size);
                }
            }
            let ty = ir::typing::instantiate(&ret.ty, &|at| sizes.get(&at).map(|name| Dim::Var(*name)));
            let seed = self.b.param("seed", ty);
            own_seeds.push(Some(Atom::Var(seed.name)));
            params.push(seed);
        }
        self.sweep(body, &own_seeds)?;
        let mut ret = Vec::new();
        let mut result = Vec::new();
        for name in active {
            let ty = self.b.types.type_of(*name).clone();
            let adjoint = self.value_so_far(*name);
            result.push(adjoint);
            ret.push(FunResult { ty, aliases: Vec::new(), ann: () });
        }
        Ok((params, ret, result))
    }

    fn forward_function(
        &mut self,
        function: &Function<Soacs>,
        body: Body<Soacs>,
        active: &[Name],
    ) -> Result<Signature> {
        let mut params = Vec::new();
        for name in active {
            let ty = self.b.types.type_of(*name).clone();
            let tangent = self.b.param("tangent", ty);
            self.tangents.insert(*name, tangent.name.into());
            params.push(tangent);
        }
        let mut result = self.forward(body)?;
        let tangents = self.tangent_atoms(&result);
        result.extend(tangents);
        let own = function.ret.iter().map(|ret| FunResult { aliases: Vec::new(), ..ret.clone() });
        let ret: Vec<FunResult<Soacs>> = own.clone().chain(own).collect();
        Ok((params, ret, result))
    }

    /// The call of a function's derivative for its results' adjoints.
    pub(crate) fn reverse_call(
        &mut self,
        fun: FunId,
        args: &[Atom],
        pat: &[Param<Soacs>],
        adjoints: &[Option<Atom>],
    ) -> Result {
        let function = self.calls.function(fun)?;
        let params: Vec<Param<Soacs>> = function.params.iter().map(|param| param.param.clone()).collect();
        let ret: Vec<Type> = function.ret.iter().map(|ret| ret.ty.clone()).collect();
        let active: Vec<bool> = args.iter().map(|arg| self.is_active(*arg)).collect();
        let seeds: Vec<bool> = adjoints.iter().map(Option::is_some).collect();
        let key = Key { function: fun, reverse: true, active: active.clone(), seeds };
        let derivative = self.calls.derivative(key)?;
        let mut all = args.to_vec();
        let mut sizes = FxHashSet::default();
        for (ty, adjoint) in ret.iter().zip(adjoints) {
            let Some(adjoint) = adjoint else {
                continue;
            };
            for dim in ty.shape() {
                if let Dim::Ext(at) = dim
                    && sizes.insert(*at)
                {
                    all.push(pat[*at as usize].name.into());
                }
            }
            all.push(*adjoint);
        }
        let to_arg = |name: Name| {
            let at = params.iter().position(|param| param.name == name);
            at.and_then(|at| Dim::from_atom(args[at])).unwrap_or(Dim::Var(name))
        };
        let own = || params.iter().zip(args).zip(&active).filter(|(_, active)| **active);
        let types: Vec<Type> = own().map(|((param, _), _)| map_dims(&param.ty, &to_arg)).collect();
        let to: Vec<Atom> = own().map(|((_, arg), _)| *arg).collect();
        let results = self.b.call("adj", derivative, all, types);
        for (arg, result) in to.into_iter().zip(results) {
            self.add(arg, result.into());
        }
        Ok(())
    }

    /// The call of a function's derivative for its arguments' tangents, in place of the function's.
    pub(crate) fn forward_call(
        &mut self,
        fun: FunId,
        args: Vec<Atom>,
        mut pat: Vec<Param<Soacs>>,
        aux: Aux,
    ) -> Result {
        let active: Vec<bool> = args.iter().map(|arg| self.is_active(*arg)).collect();
        if !active.contains(&true) {
            self.b.let_with(pat, aux, Exp::Apply { fun, args });
            return Ok(());
        }
        let key = Key { function: fun, reverse: false, active: active.clone(), seeds: Vec::new() };
        let derivative = self.calls.derivative(key)?;
        let mut all = args.clone();
        for (arg, active) in args.iter().zip(&active) {
            if *active {
                let tangent = self.tangent_or_zero(*arg);
                all.push(tangent);
            }
        }
        // The tangent of a size that is a result has its name only here.
        let mut own = Vec::new();
        for param in &pat {
            let hint = format!("{}_t", self.b.names.hint(param.name));
            let tangent = self.b.param(&hint, param.ty.clone());
            self.tangents.insert(param.name, tangent.name.into());
            own.push(tangent);
        }
        pat.extend(own);
        self.b.let_with(pat, aux, Exp::Apply { fun: derivative, args: all });
        Ok(())
    }
}
