//! Numbers, arrays and values of abstract types.

use super::exp::{Builtin, Exp, Form, Name, Op, Step, Test};
use super::scope::Gen;
use super::types::{Kind, Size, Ty};

impl Gen<'_> {
    /// True if large expressions are no longer allowed.
    pub fn is_limited(&self, fuel: u32) -> bool {
        fuel == 0 || self.c.count() > self.limit
    }

    /// An integer expression.
    pub fn int(&mut self, fuel: u32) -> Exp {
        if self.is_limited(fuel) || self.c.once_in(4) {
            let known = self.known(&|ty| *ty == Ty::Int);
            let at = self.c.below(known.len() * 2 + 1);
            return match at.checked_sub(1).and_then(|at| known.get(at / 2)) {
                Some((e, _)) => e.clone(),
                None => Exp::Int(self.c.below(8) as i64),
            };
        }
        match self.c.below(10) {
            0 => {
                let prim = [Builtin::Add, Builtin::Sub, Builtin::Mul][self.c.below(3)].clone();
                Exp::prim(prim, vec![self.int(fuel - 1), self.int(fuel - 1)])
            }
            1 => Exp::prim(Builtin::Length, vec![self.array(fuel - 1).0]),
            2 => Exp::prim(Builtin::Len, vec![self.array(fuel - 1).0]),
            3 => Exp::prim(Builtin::Sum, vec![self.array(fuel - 1).0]),
            4 => Exp::prim(Builtin::Dims, vec![self.matrix(fuel - 1).0]),
            5 | 6 => {
                let goal = self.goal(1);
                let (e, ty) = self.synth(&goal, fuel - 1);
                self.checksum(e, &ty)
            }
            _ => self.control(&Ty::Int, fuel - 1).0,
        }
    }

    /// A non-negative number, and the size of an array with this many elements.
    pub fn count(&mut self, fuel: u32) -> (Exp, Size) {
        let named = self.named_sizes();
        match self.c.below(6) {
            0 | 1 => {
                let n = [2, 1, 3, 0, 4][self.c.below(5)];
                (Exp::Int(n), Size::Const(n))
            }
            2 | 3 if !named.is_empty() => {
                let (name, id) = named[self.c.below(named.len())].clone();
                (Exp::Var(name), Size::Var(id))
            }
            4 if fuel > 0 => {
                let e = Exp::prim(Builtin::Length, vec![self.array(fuel - 1).0]);
                (e, self.fresh())
            }
            _ => {
                let e = self.int(fuel.saturating_sub(1));
                (Exp::prim(Builtin::Mod(5), vec![e]), self.fresh())
            }
        }
    }

    /// A function of one element.
    fn function(&mut self) -> Step {
        let k = 1 + self.c.below(4) as i64;
        match self.c.below(3) {
            0 => Step::Plus(k),
            1 => Step::Times(self.name(&[], &[]), k),
            _ => match self.captured() {
                Some((x, y)) => Step::PlusVar(x, y),
                None => Step::Plus(k),
            },
        }
    }

    fn predicate(&mut self) -> Test {
        match self.c.below(3) {
            0 => Test::Above([0, 1, 3][self.c.below(3)]),
            1 => Test::Even(self.name(&[], &[])),
            _ => match self.captured() {
                Some((x, y)) => Test::BelowVar(x, y),
                None => Test::Above(2),
            },
        }
    }

    /// A variable, and another name.
    fn captured(&mut self) -> Option<(Name, Name)> {
        let known = self.known(&|ty| *ty == Ty::Int);
        let names: Vec<Name> = known
            .into_iter()
            .filter_map(|(e, _)| match e {
                Exp::Var(name) => Some(name),
                _ => None,
            })
            .collect();
        let y = self.c.pick(&names).cloned()?;
        Some((self.name(std::slice::from_ref(&y), &[]), y))
    }

    fn form(&mut self) -> Form {
        [Form::Plain, Form::Plain, Form::Pipe, Form::Back, Form::App][self.c.below(5)]
    }

    /// A small array.
    fn literal(&mut self) -> (Exp, Size) {
        let n = 1 + self.c.below(3);
        let elements = (0..n).map(|_| self.c.below(6) as i64).collect();
        (Exp::Array(elements), Size::Const(n as i64))
    }

    /// An array of one dimension, and its size.
    pub fn array(&mut self, fuel: u32) -> (Exp, Size) {
        let (e, ty) = self.synth(&Ty::rank(1), fuel);
        let size = ty.sizes().into_iter().next();
        (e, size.unwrap_or(Size::Open))
    }

    fn matrix(&mut self, fuel: u32) -> (Exp, Size, Size) {
        let (e, ty) = self.synth(&Ty::rank(2), fuel);
        let mut sizes = ty.sizes().into_iter();
        let mut size = || sizes.next().unwrap_or(Size::Open);
        (e, size(), size())
    }

    /// An array from a built-in operation.
    pub fn own_array(&mut self, fuel: u32) -> (Exp, Size) {
        if self.is_limited(fuel) {
            return self.literal();
        }
        let fuel = fuel - 1;
        let form = self.form();
        let one = |prim: Builtin, e: Exp| Exp::Prim(prim, in_order(form, &e), vec![e]);
        match self.c.below(18) {
            0 => self.literal(),
            1 => {
                let (e, size) = self.count(fuel);
                (Exp::prim(Builtin::Iota, vec![e]), size)
            }
            2 => {
                let (e, size) = self.count(fuel);
                let x = self.int(fuel);
                (Exp::prim(Builtin::Replicate, vec![e, x]), size)
            }
            3 | 4 => {
                let step = self.function();
                let (e, size) = self.array(fuel);
                (one(Builtin::Map(step), e), size)
            }
            5..=7 => {
                let test = self.predicate();
                let (e, _) = self.array(fuel);
                let prim = if self.c.once_in(4) {
                    Builtin::Side(test, self.c.once_in(2))
                } else {
                    Builtin::Filter(test)
                };
                (one(prim, e), self.fresh())
            }
            8 | 9 => {
                let ((a, n), (b, m)) = (self.array(fuel), self.array(fuel));
                (Exp::prim(Builtin::Concat, vec![a, b]), n.plus(&m))
            }
            10 | 11 => {
                let known = self.known(&|ty| ty.same_shape(&Ty::rank(1)));
                let Some((a, ty)) = self.c.pick(&known).cloned() else {
                    return self.literal();
                };
                let size = ty.sizes()[0].clone();
                let b = self.exact(&size, fuel).unwrap_or_else(|| a.clone());
                let prim = if self.c.once_in(2) { Builtin::Map2 } else { Builtin::Zipped };
                let args = if self.c.once_in(2) { vec![a, b] } else { vec![b, a] };
                let form = args.last().map_or(form, |e| in_order(form, e));
                (Exp::Prim(prim, form, args), size)
            }
            12 => {
                let (e, size) = self.array(fuel);
                let prim = if self.c.once_in(2) { Builtin::Reverse } else { Builtin::Scan };
                (one(prim, e), size)
            }
            13 => {
                let (e, _) = self.array(fuel);
                let prim = if self.c.once_in(2) { Builtin::Half } else { Builtin::Rest };
                (one(prim, e), self.fresh())
            }
            14 => {
                let (n, size) = self.count(fuel);
                let (e, _) = self.array(fuel);
                (Exp::prim(Builtin::Resize, vec![n, e]), size)
            }
            // Arrays inside have sizes of their own for each element.
            16 => {
                let (xs, size) = self.array(fuel);
                let x = self.name(&[], &[]);
                let body = self.scoped(|g| {
                    g.bind(&x, Ty::Int);
                    g.int(fuel)
                });
                (Exp::Each(x, Box::new(body), Box::new(xs)), size)
            }
            15 => {
                let (e, n, m) = self.matrix(fuel);
                match self.c.below(3) {
                    0 => (one(Builtin::Flatten, e), self.fresh()),
                    1 => (one(Builtin::RowSums, e), n),
                    _ => (Exp::prim(Builtin::ColumnSums, vec![e]), m),
                }
            }
            _ => {
                let modules = self.modules();
                let Some((path, kind)) = self.c.pick(&modules).cloned() else {
                    return self.literal();
                };
                let goal = Ty::Abstract(path.clone(), kind, vec![Size::Open; kind.rank()]);
                let (e, ty) = self.synth(&goal, fuel);
                let first = ty.sizes().into_iter().next();
                match kind {
                    Kind::Vec => (self.module_op(Op::To, &path, vec![e]), first.unwrap_or(Size::Open)),
                    Kind::Mat => (self.module_op(Op::Sums, &path, vec![e]), first.unwrap_or(Size::Open)),
                    Kind::Bag => (self.module_op(Op::To, &path, vec![e]), self.fresh()),
                }
            }
        }
    }

    /// An operation of a module.
    pub fn module_op(&mut self, op: Op, path: &Name, args: Vec<Exp>) -> Exp {
        // Names that the module declares would hide variables.
        let opened = self.c.once_in(6) && args.iter().all(|e| matches!(e, Exp::Var(_)));
        Exp::Op(op, path.clone(), opened, args)
    }

    /// A matrix from a built-in operation, and its sizes.
    pub fn own_matrix(&mut self, fuel: u32) -> (Exp, Size, Size) {
        if self.is_limited(fuel) {
            let (row, m) = self.literal();
            return (Exp::prim(Builtin::Replicate, vec![Exp::Int(2), row]), Size::Const(2), m);
        }
        let fuel = fuel - 1;
        let form = self.form();
        match self.c.below(7) {
            0 => {
                let ((n, size), (row, m)) = (self.count(fuel), self.array(fuel));
                (Exp::prim(Builtin::Replicate, vec![n, row]), size, m)
            }
            1 | 2 => {
                let ((a, n), (b, m)) = (self.array(fuel), self.array(fuel));
                (Exp::prim(Builtin::Outer, vec![a, b]), n, m)
            }
            3 => {
                let (e, n, m) = self.matrix(fuel);
                (Exp::Prim(Builtin::Transpose, in_order(form, &e), vec![e]), m, n)
            }
            4 => {
                let (e, n) = self.array(fuel);
                let prim = Builtin::Pairs(self.name(&[], &[]));
                (Exp::Prim(prim, in_order(form, &e), vec![e]), n, Size::Const(2))
            }
            5 => {
                let (e, _, m) = self.matrix(fuel);
                let prim = Builtin::KeepRows(self.name(&[], &[]), self.c.below(6) as i64);
                (Exp::Prim(prim, in_order(form, &e), vec![e]), self.fresh(), m)
            }
            _ => {
                let modules = self.modules();
                let of = |(_, kind): &&(Name, Kind)| *kind == Kind::Mat;
                let Some((path, kind)) = modules.iter().find(of).cloned() else {
                    let (row, m) = self.array(fuel);
                    let two = Exp::Int(2);
                    return (Exp::prim(Builtin::Replicate, vec![two, row]), Size::Const(2), m);
                };
                let goal = Ty::Abstract(path.clone(), kind, vec![Size::Open; 2]);
                let (e, ty) = self.synth(&goal, fuel);
                let sizes = ty.sizes();
                (self.module_op(Op::To, &path, vec![e]), sizes[0].clone(), sizes[1].clone())
            }
        }
    }

    /// An array of exactly this size, if possible.
    pub fn exact(&mut self, size: &Size, fuel: u32) -> Option<Exp> {
        let same = Ty::Array(vec![size.clone()]);
        let known = self.known(&|ty| *ty == same);
        let text = self.size_text(size);
        let way = self.c.below(5);
        if way < 2 || text.is_none() {
            let (mut e, _) = self.c.pick(&known).cloned()?;
            if self.c.once_in(2) {
                let (step, form) = (self.function(), self.form());
                e = Exp::Prim(Builtin::Map(step), form, vec![e]);
            }
            return Some(e);
        }
        let text = text?;
        let number = match size {
            Size::Const(n) => Exp::Int(*n),
            _ if text.contains('+') => Exp::Var(format!("({text})").into()),
            _ => Exp::Var(text.as_str().into()),
        };
        // A sum has no value in the model.
        if matches!(size, Size::Sum(..)) {
            return self.c.pick(&known).map(|(e, _)| e.clone());
        }
        Some(match way {
            2 => Exp::prim(Builtin::Iota, vec![number]),
            3 => {
                let (e, _) = self.array(fuel.saturating_sub(1));
                Exp::prim(Builtin::Resize, vec![number, e])
            }
            // Coerced if it has the required length.
            _ => {
                let (e, _) = self.array(fuel.saturating_sub(1));
                let x = self.name(&[text.as_str().into()], &[]);
                let cond = super::exp::Cond {
                    left: Exp::prim(Builtin::Length, vec![Exp::Var(x.clone())]),
                    op: "==",
                    right: number.clone(),
                };
                let coerced = Exp::Typed(Box::new(Exp::Var(x.clone())), true, format!("[{text}]i64"));
                let other = Exp::prim(Builtin::Replicate, vec![number, Exp::Int(7)]);
                let choice = Exp::If(Box::new(cond), Box::new(coerced), Box::new(other));
                Exp::Let(super::exp::Pat::Name(x, None), Box::new(e), Box::new(choice))
            }
        })
    }

    /// A value of an abstract type.
    pub fn own_abstract(&mut self, path: &Name, kind: Kind, fuel: u32) -> (Exp, Ty) {
        let ty = |sizes: Vec<Size>| Ty::Abstract(path.clone(), kind, sizes);
        let goal = ty(vec![Size::Open; kind.rank()]);
        if !self.module_visible(path) {
            // Only variables have the type here.
            let known = self.known(&|ty| ty.same_shape(&goal));
            return self.c.pick(&known).cloned().unwrap_or((Exp::Int(0), goal));
        }
        let choice = if self.is_limited(fuel) { 0 } else { self.c.below(7) };
        let fuel = fuel.saturating_sub(1);
        match (choice, kind) {
            (0..=2, Kind::Mat) => {
                let (e, n, m) = self.own_matrix(fuel);
                (self.module_op(Op::Of, path, vec![e]), ty(vec![n, m]))
            }
            (0..=2, _) => {
                let (e, n) = self.own_array(fuel);
                let sizes = if kind == Kind::Bag { Vec::new() } else { vec![n] };
                (self.module_op(Op::Of, path, vec![e]), ty(sizes))
            }
            (3, _) => {
                let counts: Vec<(Exp, Size)> = (0..kind.rank().max(1)).map(|_| self.count(fuel)).collect();
                let (args, mut sizes): (Vec<Exp>, Vec<Size>) = counts.into_iter().unzip();
                sizes.truncate(kind.rank());
                (self.module_op(Op::Make, path, args), ty(sizes))
            }
            (4, Kind::Mat) => {
                let (e, found) = self.synth(&goal, fuel);
                let sizes = found.sizes();
                let sizes = vec![sizes[1].clone(), sizes[0].clone()];
                (self.module_op(Op::Flip, path, vec![e]), ty(sizes))
            }
            (4 | 5, Kind::Vec | Kind::Bag) => {
                let ((a, x), (b, y)) = (self.synth(&goal, fuel), self.synth(&goal, fuel));
                let sizes = x.sizes().iter().zip(y.sizes()).map(|(x, y)| x.plus(&y)).collect();
                (self.module_op(Op::Cat, path, vec![a, b]), ty(sizes))
            }
            (5, Kind::Mat) => {
                let known = self.known(&|ty| ty.same_shape(&goal));
                let Some((e, found)) = self.c.pick(&known).cloned() else {
                    return self.synth(&goal, fuel);
                };
                let sizes = found.sizes();
                let (more, size) = if self.c.once_in(2) {
                    let k = self.c.below(9) as i64;
                    (self.module_op(Op::Pick(k), path, vec![e.clone()]), self.fresh())
                } else {
                    (e.clone(), sizes[0].clone())
                };
                let sizes = vec![sizes[0].plus(&size), sizes[1].clone()];
                (self.module_op(Op::Cat, path, vec![e, more]), ty(sizes))
            }
            _ => {
                let known = self.known(&|ty| ty.same_shape(&goal));
                if kind != Kind::Bag
                    && self.c.once_in(3)
                    && let Some((e, found)) = self.c.pick(&known).cloned()
                {
                    let same: Vec<(Exp, Ty)> = known.into_iter().filter(|(_, ty)| *ty == found).collect();
                    let other = self.c.pick(&same).map_or_else(|| e.clone(), |(e, _)| e.clone());
                    return (self.module_op(Op::Both, path, vec![e, other]), found);
                }
                let (e, found) = self.synth(&goal, fuel);
                let k = self.c.below(5) as i64;
                let mut sizes = found.sizes();
                if let Some(first) = sizes.first_mut() {
                    *first = self.fresh();
                }
                (self.module_op(Op::Pick(k), path, vec![e]), ty(sizes))
            }
        }
    }

    /// A number that distinguishes values of a type, computed from elements and sizes.
    pub fn checksum(&mut self, e: Exp, ty: &Ty) -> Exp {
        let add = |a: Exp, b: Exp| Exp::prim(Builtin::Add, vec![a, b]);
        match ty {
            Ty::Int => e,
            // An expression that is used twice is bound to a name.
            _ if !is_path(&e) => {
                let x = self.name(&[], &[ty]);
                let digest = self.scoped(|g| {
                    g.bind(&x, ty.clone());
                    g.checksum(Exp::Var(x.clone()), ty)
                });
                Exp::Let(super::exp::Pat::Name(x, None), Box::new(e), Box::new(digest))
            }
            Ty::Array(sizes) if sizes.len() == 1 => {
                let len = if self.c.once_in(3) { Builtin::Length } else { Builtin::Len };
                let len = Exp::prim(len, vec![e.clone()]);
                let len = Exp::prim(Builtin::Mul, vec![len, Exp::Int(1000)]);
                add(len, Exp::prim(Builtin::Sum, vec![e]))
            }
            Ty::Array(_) => {
                let dims = Exp::prim(Builtin::Dims, vec![e.clone()]);
                let flat = Exp::prim(Builtin::Flatten, vec![e]);
                add(dims, Exp::prim(Builtin::Sum, vec![flat]))
            }
            Ty::Abstract(path, ..) if self.module_visible(path) => {
                let len = self.module_op(Op::Len, path, vec![e.clone()]);
                let len = Exp::prim(Builtin::Mul, vec![len, Exp::Int(1000)]);
                let sum = self.module_op(Op::Sum, path, vec![e]);
                add(len, sum)
            }
            Ty::Abstract(..) => Exp::Int(1),
            Ty::Boxed(ty) => {
                let inner = Exp::Boxed("get", Box::new(e));
                self.checksum(inner, ty)
            }
            Ty::Tuple(_) | Ty::Record(_) => {
                let parts: Vec<(Name, Ty)> = match ty {
                    Ty::Tuple(tys) => {
                        let tys = tys.iter().enumerate();
                        tys.map(|(at, ty)| (at.to_string().into(), ty.clone())).collect()
                    }
                    Ty::Record(fields) => {
                        fields.iter().map(|(name, ty)| ((*name).into(), ty.clone())).collect()
                    }
                    _ => Vec::new(),
                };
                let mut total = Exp::Int(0);
                for (at, (name, ty)) in parts.into_iter().enumerate() {
                    let part = Exp::Field(Box::new(e.clone()), name, at);
                    let part = self.checksum(part, &ty);
                    let before = Exp::prim(Builtin::Mul, vec![total, Exp::Int(3)]);
                    total = add(before, part);
                }
                total
            }
            Ty::Sum(cases) => {
                let mut made = Vec::new();
                for (at, (constr, payload)) in cases.iter().enumerate() {
                    let mut names: Vec<Name> = Vec::new();
                    for _ in payload {
                        let tys: Vec<&Ty> = payload.iter().collect();
                        names.push(self.name(&names, &tys));
                    }
                    let body = self.scoped(|g| {
                        for (name, ty) in names.iter().zip(payload) {
                            g.bind(name, ty.clone());
                        }
                        let mut total = Exp::Int(at as i64 + 1);
                        for (name, ty) in names.iter().zip(payload) {
                            let part = g.checksum(Exp::Var(name.clone()), ty);
                            let before = Exp::prim(Builtin::Mul, vec![total, Exp::Int(5)]);
                            total = add(before, part);
                        }
                        total
                    });
                    made.push((at, *constr, names, body));
                }
                Exp::Match(Box::new(e), made)
            }
        }
    }
}

/// Returns true if an expression is a variable or a part of one.
fn is_path(e: &Exp) -> bool {
    match e {
        Exp::Var(_) => true,
        Exp::Field(e, ..) => is_path(e),
        _ => false,
    }
}

/// The form, unless the function may need the sizes of this argument before it is evaluated: a left
/// operand is evaluated before the right one.
fn in_order(form: Form, e: &Exp) -> Form {
    if form == Form::Back && !is_path(e) { Form::Plain } else { form }
}
