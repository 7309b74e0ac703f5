//! Inlining decisions: the body of a called function is evaluated in the caller, or becomes a core
//! function; and the captured values that a core function is passed.

use crate::closure::Captured;
use crate::signature::returns_function;
use crate::value::{Env, FunKind, FunVal, Inst, Value};
use crate::{Lower, Res};
use check::tast::Def;
use ir::syntax::Attr;
use std::rc::Rc;
use std::sync::Arc;

/// Prelude functions up to this number of nodes are inlined.
const MAX_PRELUDE_NODES: usize = 120;
/// Other functions up to this number of nodes are inlined.
const MAX_INLINE_NODES: usize = 12;

/// The core function that the body of a called function becomes part of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum InlineDecision {
    /// The caller; or a core function, if inlining makes the program too large.
    Inline {
        /// True if it can become a core function.
        or_function: bool,
    },
    /// A core function.
    Function,
}

impl Lower<'_> {
    /// The inlining decision for a call.
    pub(crate) fn inline_decision(&mut self, def: &Arc<Def>, inst: &Inst, args: &[Value]) -> InlineDecision {
        if self.definitions.in_definition
            || args.iter().any(Value::has_acc)
            || returns_function(&def.ret.ty, inst)
        {
            return InlineDecision::Inline { or_function: false };
        }
        let either = InlineDecision::Inline { or_function: true };
        if !self.defs.contains_key(&def.var) {
            return either;
        }
        let recursive = self.definition_size(def).recursive;
        let takes_functions =
            args.iter().any(Value::has_fun) || inst.types.iter().any(|(_, ty)| ty.has_fun());
        if takes_functions {
            return if recursive { InlineDecision::Function } else { either };
        }
        // A library function is a part of the caller's expression.
        let requested = self.f.attrs();
        let requested = |attr| !def.is_prelude && requested.has(&attr);
        if recursive || requested(Attr::NoInline) {
            return InlineDecision::Function;
        }
        let attributes = self.attributes(&def.attrs);
        if attributes.has(&Attr::NoInline) && !requested(Attr::Inline) {
            return InlineDecision::Function;
        }
        let limit = if def.is_prelude { MAX_PRELUDE_NODES } else { MAX_INLINE_NODES };
        if attributes.has(&Attr::Inline)
            || requested(Attr::Inline)
            || self.definition_size(def).nodes <= limit
        {
            either
        } else {
            InlineDecision::Function
        }
    }

    /// The values that a call passes to a core function besides its plain arguments: the captures
    /// of a local function and of functions among the arguments.
    pub(crate) fn captures(
        &mut self,
        def: &Arc<Def>,
        env: &Rc<Env>,
        inst: &Rc<Inst>,
        args: &[Value],
    ) -> Res<Captured> {
        let mut captured = Captured::default();
        let local = self.local(def, env, inst);
        if local.is_none() && !args.iter().any(Value::has_fun) {
            return Ok(captured);
        }
        for arg in args.iter().filter(|arg| !arg.has_fun()) {
            captured.sizes_of(&arg.ty());
        }
        for value in local.iter().chain(args.iter().filter(|arg| arg.has_fun())) {
            self.capture(value, &mut captured)?;
        }
        Ok(captured)
    }

    /// A local function as a value; `None` for a global one.
    pub(crate) fn local(&self, def: &Arc<Def>, env: &Rc<Env>, inst: &Rc<Inst>) -> Option<Value> {
        let local = !self.defs.contains_key(&def.var);
        local.then(|| {
            Value::Fun(Rc::new(FunVal {
                kind: FunKind::Def(Arc::clone(def), Rc::clone(env), Rc::clone(inst)),
                args: Vec::new(),
            }))
        })
    }
}
