//! Where the body of a function goes that is called: into the caller, or into a
//! core function; and what is passed to the latter besides arguments.

use crate::closure::Captured;
use crate::signature::gives_function;
use crate::value::{Env, FunKind, FunVal, Inst, Value};
use crate::{Lower, Res};
use check::tast::Def;
use ir::syntax::Attr;
use std::rc::Rc;
use std::sync::Arc;

/// Prelude functions up to this size are evaluated in place.
const SMALL: usize = 120;
/// Other functions up to this size are evaluated in place.
const TINY: usize = 12;

/// Where the body of a function goes that is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// To the caller; or to a core function, where copies come to too much.
    Caller {
        /// Whether it can go to a core function.
        or_own: bool,
    },
    /// To a core function.
    Own,
}

impl Lower<'_> {
    /// Where a call's body goes.
    pub(crate) fn place_of(&mut self, def: &Arc<Def>, inst: &Inst, args: &[Value]) -> Place {
        if args.iter().any(Value::has_acc) || gives_function(&def.ret.ty, inst) {
            return Place::Caller { or_own: false };
        }
        let either = Place::Caller { or_own: true };
        if !self.defs.contains_key(&def.var) {
            return either;
        }
        let recursive = self.weight(def).recursive;
        let takes_functions =
            args.iter().any(Value::has_fun) || inst.types.iter().any(|(_, ty)| ty.has_fun());
        if takes_functions {
            return if recursive { Place::Own } else { either };
        }
        // A library function is a part of the caller's expression.
        let asked = self.f.attrs();
        let asked = |attr| !def.is_prelude && asked.has(&attr);
        if recursive || asked(Attr::NoInline) {
            return Place::Own;
        }
        let own = self.attributes(&def.attrs);
        if own.has(&Attr::NoInline) && !asked(Attr::Inline) {
            return Place::Own;
        }
        let limit = if def.is_prelude { SMALL } else { TINY };
        if own.has(&Attr::Inline) || asked(Attr::Inline) || self.weight(def).nodes <= limit {
            either
        } else {
            Place::Own
        }
    }

    /// What a call passes to a core function besides its plain arguments: what a
    /// local function and the functions among the arguments capture.
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

    /// A local function as a value.
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
