//! The built-in names, which exist before any file is read: scalar types, operators, and the
//! members of the module `intrinsics`.

use crate::env::{Entry, Env, Module, ModuleExports, NamedType, Scheme, Target, ValueEntry};
use crate::intrinsics::{self, ArrayFun, Intrinsic};
use crate::tast::{OverloadedOp as Op, Ty};
use prim::ScalarType;
use rustc_hash::FxHashMap;
use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;
use syntax::symbol::{Interner, Symbol};

/// The path of the source file that the signatures of [`ArrayFun`] form.
pub(crate) const SIGNATURES: &str = "/intrinsics";

/// The signatures of all array functions, as source text.
pub(crate) fn signatures() -> String {
    let mut text = String::from("module type intrinsics = {\ntype~ acc 't\n");
    for fun in ArrayFun::ALL {
        let _ = writeln!(text, "val {} {}", fun.name(), fun.signature());
    }
    text.push_str("}\n");
    text
}

/// The module `intrinsics`, the built-in operators, and the prelude's exports.
pub(crate) struct Builtins<'a> {
    /// Members of the built-in module that have signatures, and scalar members used so far.
    funs: FxHashMap<Symbol, Rc<ValueEntry>>,
    /// Types of the built-in module.
    types: FxHashMap<Symbol, Rc<NamedType>>,
    /// The built-in operators, whether shadowed or not.
    operators: FxHashMap<Symbol, Entry<'a>>,
    /// The exports of the prelude, visible in every program; `None` until the prelude is checked.
    pub(crate) prelude: Option<Rc<ModuleExports<'a>>>,
}

impl<'a> Builtins<'a> {
    /// Binds the scalar types, the built-in operators and the module `intrinsics` in the outermost
    /// scope.
    pub(crate) fn bind(interner: &Interner, env: &mut Env<'a>) -> Self {
        let mut builtins = Self {
            funs: FxHashMap::default(),
            types: FxHashMap::default(),
            operators: FxHashMap::default(),
            prelude: None,
        };
        let operators = [
            ("+", Op::Add),
            ("-", Op::Sub),
            ("*", Op::Mul),
            ("/", Op::Div),
            ("%", Op::Mod),
            ("//", Op::Quot),
            ("%%", Op::Rem),
            ("**", Op::Pow),
            ("&", Op::And),
            ("|", Op::Or),
            ("^", Op::Xor),
            ("<<", Op::Shl),
            (">>", Op::Shr),
            (">>>", Op::LShr),
            ("<", Op::Lt),
            ("<=", Op::Le),
            (">", Op::Gt),
            (">=", Op::Ge),
        ];
        let operators = operators
            .map(|(text, op)| (text, Entry::Operator(op)))
            .into_iter()
            .chain([("==", false), ("!=", true)].map(|(t, negate)| (t, Entry::Equality { negate })))
            .chain([("&&", true), ("||", false)].map(|(t, and)| (t, Entry::Logical { and })));
        for (text, entry) in operators {
            let symbol = interner.intern(text);
            builtins.operators.insert(symbol, entry.clone());
            env.bind_term(symbol, entry);
        }
        let intrinsics = interner.intern("intrinsics");
        env.bind_term(intrinsics, Entry::Module(Module::Intrinsics, None));
        for ty in ScalarType::ALL {
            let abbr = NamedType::plain(Ty::Scalar(*ty));
            env.bind_type(interner.intern(ty.name()), Rc::new(abbr));
        }
        builtins
    }

    /// Adds a type of the built-in module.
    pub(crate) fn add_type(&mut self, name: Symbol, abbr: Rc<NamedType>) {
        self.types.insert(name, abbr);
    }

    /// Adds a function of the built-in module, with its signature.
    pub(crate) fn add_fun(&mut self, name: Symbol, fun: ArrayFun, scheme: Scheme) {
        let target = Target::Intrinsic(Intrinsic::Array(fun));
        self.funs.insert(name, Rc::new(value(target, scheme)));
    }

    /// A type of the built-in module.
    pub(crate) fn ty(&self, name: Symbol) -> Option<Rc<NamedType>> {
        self.types.get(&name).cloned()
    }

    /// A member of the built-in module, by its symbol and the symbol's text.
    pub(crate) fn term(&mut self, name: Symbol, text: &str) -> Option<Entry<'a>> {
        if let Some(entry) = self.funs.get(&name) {
            return Some(Entry::Value(Rc::clone(entry)));
        }
        if let Some(operator) = self.operators.get(&name) {
            return Some(operator.clone());
        }
        let (intrinsic, ty) = intrinsics::scalar(text)?;
        let entry = Rc::new(value(Target::Intrinsic(intrinsic), Scheme::mono(ty)));
        self.funs.insert(name, Rc::clone(&entry));
        Some(Entry::Value(entry))
    }
}

fn value(target: Target, scheme: Scheme) -> ValueEntry {
    ValueEntry { target, scheme: Arc::new(scheme), instance_args: None, span: None }
}
