//! Declarations of functions, and calls. A call instantiates the sizes that the function leaves
//! unknown.

use super::exp::{Builtin, Cond, Exp, Name};
use super::model::Def;
use super::scope::{Binding, Fun, Gen};
use super::types::{Id, Kind, Size, Ty};

/// A parameter under construction.
struct Param {
    name: Name,
    ty: Ty,
    /// The size whose value the parameter is.
    int: Option<Id>,
}

impl Gen<'_> {
    /// A call of a function whose result has this type up to sizes.
    pub fn calling(&mut self, goal: &Ty, fuel: u32) -> Option<(Exp, Ty)> {
        let fits = |fun: &usize| {
            let fun = &self.funs[*fun];
            fun.ret.same_shape(goal) && fun.params.iter().all(|ty| self.nameable(ty) && !self.has_met(ty))
        };
        let fine: Vec<usize> = self.callable().into_iter().filter(fits).collect();
        let fun = *self.c.pick(&fine)?;
        let fun = self.funs[fun].clone();
        let mut known: Vec<(Id, Size)> = Vec::new();
        let mut args = Vec::new();
        for (ty, int) in fun.params.iter().zip(&fun.ints) {
            if let Some(id) = int {
                let (e, size) = self.count(fuel);
                known.push((*id, size));
                args.push(e);
                continue;
            }
            let given = |id: Id| known.iter().find(|(other, _)| *other == id);
            let given = ty.sizes().first().and_then(|size| match size {
                Size::Var(id) => given(*id).map(|(_, size)| size.clone()),
                _ => None,
            });
            let (e, found) = match given {
                // The argument must have the size of another one.
                Some(size) if ty.same_shape(&Ty::rank(1)) => {
                    (self.exact(&size, fuel)?, Ty::Array(vec![size]))
                }
                Some(_) => return None,
                None => {
                    let (e, found) = self.synth(ty, fuel);
                    (e, self.close(&found))
                }
            };
            for (size, found) in ty.sizes().iter().zip(found.sizes()) {
                if let Size::Var(id) = size {
                    known.push((*id, found));
                }
            }
            args.push(e);
        }
        let ty = fun.ret.map_sizes(&mut |size| {
            size.map_vars(&mut |id| {
                if let Some((_, size)) = known.iter().find(|(other, _)| *other == id) {
                    return size.clone();
                }
                if id < fun.first_fresh_size {
                    return Size::Var(id);
                }
                let size = self.fresh();
                known.push((id, size.clone()));
                size
            })
        });
        let e = if fun.local { Exp::Local(fun.path, args) } else { Exp::Call(fun.def, fun.path, args) };
        Some((e, ty))
    }

    /// Returns true if an anonymous size in a parameter's type was unified with another one.
    fn has_met(&self, ty: &Ty) -> bool {
        let mut sizes = ty.sizes().into_iter();
        sizes.any(|size| matches!(size, Size::Var(id) if self.unified.contains(&id)))
    }

    /// A local function, then an expression of this type.
    pub fn local_function(&mut self, goal: &Ty, fuel: u32) -> (Exp, Ty) {
        let f = self.name(&[], &[goal]);
        let result = if self.c.once_in(3) { goal.clone() } else { self.goal(1) };
        let keyword = "let";
        let fun = self.declare(keyword, &f, &result, fuel, true);
        let def = self.funs[fun].def;
        let (rest, ty) = self.scoped(|g| {
            g.push(&f, Binding::Fun(fun));
            match g.calling(goal, fuel) {
                Some(made) if g.c.once_in(2) => made,
                _ => g.synth(goal, fuel),
            }
        });
        (Exp::LetFun(def, f, Box::new(rest)), ty)
    }

    /// Declares a function with a result of this type up to sizes; returns its number.
    pub fn declare(&mut self, keyword: &str, name: &Name, result: &Ty, fuel: u32, local: bool) -> usize {
        let start = self.fresh_id();
        let mark = self.scope.len();
        let recursive = !local && self.c.once_in(3);
        let (sizes, params) = self.params(recursive, result);
        for (size, id) in &sizes {
            self.push(size, Binding::Size(*id));
        }
        // Types of parameters are made before the parameters are in scope.
        let mut head = String::new();
        let texts: Vec<String> = params.iter().map(|param| self.param_text(param)).collect();
        for (size, _) in &sizes {
            head.push_str(&format!(" [{size}]"));
        }
        for (param, text) in params.iter().zip(&texts) {
            head.push_str(&format!(" ({}: {text})", param.name));
        }
        for param in &params {
            match param.int {
                Some(id) => self.push(&param.name, Binding::Size(id)),
                None => self.bind(&param.name, param.ty.clone()),
            }
        }
        let def = self.defs.len();
        let mut bound = Vec::new();
        for (size, id) in &sizes {
            let of = |ty: &Ty| ty.sizes().iter().position(|s| *s == Size::Var(*id));
            let found = params.iter().enumerate().find_map(|(at, p)| Some((at, of(&p.ty)?)));
            let (param, dim) = found.unwrap_or((0, 0));
            bound.push((size.clone(), param, dim));
        }
        // The number is allocated before the body, which may declare functions, too.
        self.defs.push(Def {
            sizes: bound,
            params: params.iter().map(|param| param.name.clone()).collect(),
            body: Exp::Int(0),
            text: String::new(),
        });
        let (mut body, mut ty) = if recursive && !result.boxed_payload() {
            self.recursion(def, name, &params, result, fuel)
        } else {
            self.bare_result(result, fuel)
        };
        let boxed = ty.boxed_payload();
        if boxed && ty.sizes().contains(&Size::Open) {
            // A use could not infer the sizes.
            (body, ty) = self.synth(&Ty::rank(1), fuel);
        }
        // Payloads that no branch has get the declared sizes.
        let absent = ty.sizes().contains(&Size::Open);
        if absent {
            ty = self.close(&ty);
        }
        // With a declared result, recursive calls would have the same anonymous sizes.
        let anonymous = params.iter().any(|param| {
            let mut sizes = param.ty.sizes().into_iter();
            sizes.any(|size| matches!(size, Size::Var(id) if self.anonymous_sizes.contains(&id)))
        });
        let declared = if (recursive && anonymous) || boxed {
            String::new()
        } else if absent {
            let text = self.existential(&ty).filter(|_| self.c.once_in(2));
            let text = text.or_else(|| self.anonymous(&ty));
            text.map_or(String::new(), |text| format!(" : {text}"))
        } else {
            self.declared(&ty, recursive)
        };
        self.scope.truncate(mark);
        let text = {
            let defs = &self.defs;
            let body = body.text(&|fun| defs[fun].text.clone());
            format!("{keyword} {name}{head}{declared} =\n  {body}")
        };
        self.defs[def].body = body;
        self.defs[def].text = text;
        self.funs.push(Fun {
            path: name.clone(),
            local,
            ints: params.iter().map(|param| param.int).collect(),
            params: params.into_iter().map(|param| param.ty).collect(),
            ret: ty,
            first_fresh_size: start,
            def,
        });
        self.funs.len() - 1
    }

    /// A body whose constructors may lack a type annotation: the function declares the type.
    fn bare_result(&mut self, result: &Ty, fuel: u32) -> (Exp, Ty) {
        let bare = matches!(result, Ty::Sum(_)) && self.c.once_in(2);
        if !bare {
            return self.synth(result, fuel);
        }
        let before = self.next;
        let (e, ty) = self.unannotated(result, fuel);
        let open = ty.sizes().contains(&Size::Open);
        // Some constructors may be missing, so the type must be given.
        if !open || self.next > before {
            return self.synth(result, fuel);
        }
        (e, ty)
    }

    /// Size parameters, and parameters with distinct names.
    fn params(&mut self, recursive: bool, result: &Ty) -> (Vec<(Name, Id)>, Vec<Param>) {
        let mut ids = Vec::new();
        let mut tys: Vec<(Ty, Option<Id>)> = Vec::new();
        for _ in 0..self.c.below(3) {
            let id = self.fresh_id();
            ids.push(id);
            tys.push((self.carrier(id), None));
            // Another parameter of the same size.
            if self.c.once_in(3) {
                tys.push((Ty::Array(vec![Size::Var(id)]), None));
            }
        }
        for _ in 0..self.c.below(3) {
            let goal = self.goal(1);
            let ty = self.unknown(&goal);
            let found = ty.sizes().into_iter().filter_map(|size| match size {
                Size::Var(id) => Some(id),
                _ => None,
            });
            if ty.determines_sizes() && self.c.once_in(2) {
                ids.extend(found);
            } else {
                self.anonymous_sizes.extend(found);
            }
            tys.push((ty, None));
        }
        if recursive {
            // The recursion depth: not negative, and small.
            let id = self.fresh_id();
            tys.insert(0, (Ty::Int, Some(id)));
        } else if tys.is_empty() || self.c.once_in(4) {
            let id = self.c.once_in(2).then(|| self.fresh_id());
            tys.push((Ty::Int, id));
        }
        let goals: Vec<Ty> = tys.iter().map(|(ty, _)| ty.clone()).collect();
        let goals: Vec<&Ty> = goals.iter().chain([result]).collect();
        let mut used: Vec<Name> = Vec::new();
        let mut sizes = Vec::new();
        for id in ids {
            let name = self.name(&used, &goals);
            used.push(name.clone());
            sizes.push((name, id));
        }
        let mut params = Vec::new();
        for (ty, int) in tys {
            let name = self.name(&used, &goals);
            used.push(name.clone());
            params.push(Param { name, ty, int });
        }
        (sizes, params)
    }

    /// A type with this size.
    fn carrier(&mut self, id: Id) -> Ty {
        let size = Size::Var(id);
        let vectors: Vec<Name> =
            self.modules().into_iter().filter(|(_, kind)| *kind == Kind::Vec).map(|(path, _)| path).collect();
        match self.c.below(4) {
            0 | 1 => match self.c.pick(&vectors) {
                Some(path) => Ty::Abstract(path.clone(), Kind::Vec, vec![size]),
                None => Ty::Array(vec![size]),
            },
            2 => {
                let other = self.fresh_id();
                self.anonymous_sizes.insert(other);
                Ty::Array(vec![size, Size::Var(other)])
            }
            _ => Ty::Array(vec![size]),
        }
    }

    fn param_text(&mut self, param: &Param) -> String {
        let text = self.named(&param.ty).unwrap_or_default();
        // An abbreviation has sizes of its own.
        let named = self.named_sizes();
        let own = param.ty.sizes().iter().all(|size| match size {
            Size::Var(id) => named.iter().all(|(_, other)| other != id),
            _ => false,
        });
        if own { self.abbreviated(&param.ty, text) } else { text }
    }

    /// The declaration of the result type.
    fn declared(&mut self, ty: &Ty, recursive: bool) -> String {
        let text = match self.c.below(6) {
            0 | 1 => None,
            2 => self.anonymous(ty),
            3 => self.named(ty),
            4 => {
                let text = self.anonymous(ty);
                text.map(|text| self.abbreviated_result(ty, text))
            }
            _ if recursive => self.anonymous(ty),
            _ => self.existential(ty),
        };
        text.map_or(String::new(), |text| format!(" : {text}"))
    }

    /// The name of an abbreviation for a result type, or its text.
    fn abbreviated_result(&mut self, ty: &Ty, text: String) -> String {
        let sizes = ty.sizes();
        let equal = sizes.windows(2).all(|pair| pair[0] == pair[1]);
        let found = self.abbreviations.iter().find(|a| a.equal && equal && a.ty.same_shape(ty));
        match found.map(|a| a.name) {
            Some(name) if self.c.once_in(2) => name.to_owned(),
            _ => self.abbreviated(ty, text),
        }
    }

    /// The type with existential names for its unnamed sizes: `?[k1].[k1]i64`.
    fn existential(&self, ty: &Ty) -> Option<String> {
        if ty.has_boxes() {
            // A box need not have its contents' sizes.
            return self.anonymous(ty);
        }
        let mut names: Vec<Size> = Vec::new();
        let text = self.type_text(ty, &mut |size| {
            if let Some(text) = self.size_text(size) {
                return text;
            }
            let at = names.iter().position(|other| other == size).unwrap_or_else(|| {
                names.push(size.clone());
                names.len() - 1
            });
            format!("l{at}")
        })?;
        let names: String = (0..names.len()).map(|at| format!("[l{at}]")).collect();
        Some(if names.is_empty() { text } else { format!("?{names}.{text}") })
    }

    /// A body with a recursive call that decreases the first parameter.
    fn recursion(&mut self, def: usize, name: &Name, params: &[Param], result: &Ty, fuel: u32) -> (Exp, Ty) {
        let depth = Exp::Var(params[0].name.clone());
        let (base, ty) = self.synth(result, fuel);
        if params.iter().any(|param| self.has_met(&param.ty)) {
            return (base, ty);
        }
        // The result of the recursive call has unknown sizes, and so has the function's.
        let less = Exp::prim(Builtin::Sub, vec![depth.clone(), Exp::Int(1)]);
        let mut args = vec![less];
        let mut known: Vec<(Size, Size)> = Vec::new();
        for param in &params[1..] {
            let first = param.ty.sizes().first().cloned();
            let given = known.iter().find(|(size, _)| Some(size) == first.as_ref());
            let given = given.map(|(_, size)| size.clone());
            let (e, ty) = match given.map(|size| (self.exact(&size, fuel), size)) {
                Some((Some(e), size)) => (e, Ty::Array(vec![size])),
                // The only arrays of the required shared size are parameters.
                Some((None, _)) => return self.synth(result, fuel),
                None => {
                    let (e, ty) = self.synth(&param.ty, fuel);
                    (e, self.close(&ty))
                }
            };
            known.extend(param.ty.sizes().into_iter().zip(ty.sizes()));
            args.push(e);
        }
        let call = Exp::Call(def, name.clone(), args);
        let stop = Cond { left: depth, op: "<=", right: Exp::Int(0) };
        let choice = Exp::If(Box::new(stop), Box::new(base), Box::new(call));
        (choice, self.unknown(result))
    }
}
