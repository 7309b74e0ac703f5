//! What a function's variables hold: in a call, in a block of a kernel, in one thread.
//!
//! A thread has only what is its own, and reads the rest where its block left it; so does
//! a block what its kernel found. Beginning one costs as much as it has variables, not as
//! the function has.

use super::expr::{Slot, Tunables, Values};
use super::memory::Pointer;
use super::races::Label;
use super::{Result, bug};
use crate::{Function, Space, Var, VarType};
use std::rc::Rc;

/// The place of what is not one's own.
const OUTSIDE: u32 = u32::MAX;

/// What variables hold.
#[derive(Clone)]
pub(super) struct Variables {
    own: Vec<Slot>,
    /// Where they are not all that there are.
    around: Option<Around>,
}

/// What a block or a thread finds.
#[derive(Clone)]
struct Around {
    /// Where among its own a variable stands, or [`OUTSIDE`].
    places: Rc<[u32]>,
    variables: Rc<Variables>,
}

impl Variables {
    pub(super) fn get(&self, var: Var) -> Option<&Slot> {
        let mut variables = self;
        while let Some(around) = &variables.around {
            match *around.places.get(var.index())? {
                OUTSIDE => variables = &around.variables,
                place => return variables.own.get(place as usize),
            }
        }
        variables.own.get(var.index())
    }

    /// To change it: what is one's own.
    fn get_mut(&mut self, var: Var) -> Option<&mut Slot> {
        let place = match &self.around {
            None => var.index(),
            Some(around) => match *around.places.get(var.index())? {
                OUTSIDE => return None,
                place => place as usize,
            },
        };
        self.own.get_mut(place)
    }
}

/// One call, one block of a kernel's, or one thread.
pub(super) struct Frame<'p> {
    pub(super) function: &'p Function,
    variables: Variables,
    tunables: Rc<Tunables>,
    /// Blocks of the frame, and whose they are.
    pub(super) blocks: Vec<(Var, Pointer)>,
}

impl<'p> Frame<'p> {
    /// A call before anything is set.
    pub(super) fn new(function: &'p Function, tunables: &Rc<Tunables>) -> Result<Self> {
        let own = function.vars.iter().map(|info| unset(info.ty)).collect();
        let mut frame = Self {
            function,
            variables: Variables { own, around: None },
            tunables: Rc::clone(tunables),
            blocks: Vec::new(),
        };
        frame.clear(&function.owned, &[])?;
        Ok(frame)
    }

    pub(super) fn values(&self) -> Values<'_> {
        Values { variables: &self.variables, tunables: &self.tunables }
    }

    pub(super) fn set(&mut self, var: Var, slot: Slot) -> Result<()> {
        *self.slot(var)? = slot;
        Ok(())
    }

    /// Where the value of a variable stands that may be changed.
    pub(super) fn slot(&mut self, var: Var) -> Result<&mut Slot> {
        let exists = var.index() < self.function.vars.len();
        match self.variables.get_mut(var) {
            Some(slot) => Ok(slot),
            None if exists => {
                bug(format!("variable {} is set by a block or a thread, and is not its own", var.0))
            }
            None => bug(format!("variable {} does not exist", var.0)),
        }
    }

    /// What a variable is called.
    pub(super) fn label(&self, var: Var) -> Label {
        let info = self.function.vars.get(var.index());
        Label::Var(info.map_or_else(|| "".into(), |info| info.hint.clone()), var.0)
    }

    /// Where blocks of a variable lie.
    pub(super) fn space(&self, var: Var) -> Space {
        let info = self.function.vars.get(var.index());
        info.and_then(|info| info.ty.space()).unwrap_or(Space::Host)
    }

    pub(super) fn is_vector(&self, var: Var) -> bool {
        let info = self.function.vars.get(var.index());
        matches!(info.map(|info| info.ty), Some(VarType::Vector(..)))
    }

    /// Owned variables have no block, others nothing at all.
    pub(super) fn clear(&mut self, owned: &[Var], others: &[Var]) -> Result<()> {
        for var in owned {
            self.set(*var, Slot::Buffer(None))?;
        }
        for var in others {
            let slot = unset(self.ty(*var));
            self.set(*var, slot)?;
        }
        Ok(())
    }

    fn ty(&self, var: Var) -> VarType {
        let info = self.function.vars.get(var.index());
        info.map_or(VarType::HOST, |info| info.ty)
    }
}

/// Which variables a block or a thread has for itself.
pub(super) struct Own {
    places: Rc<[u32]>,
    unset: Vec<Slot>,
}

impl Own {
    /// Given all of them.
    pub(super) fn new(function: &Function, vars: impl Iterator<Item = Var>) -> Result<Self> {
        let mut places = vec![OUTSIDE; function.vars.len()];
        let mut slots = Vec::new();
        for var in vars {
            let (place, info) = (places.get_mut(var.index()), function.vars.get(var.index()));
            let (Some(place), Some(info)) = (place, info) else {
                return bug(format!("variable {} does not exist", var.0));
            };
            *place = slots.len() as u32;
            slots.push(unset(info.ty));
        }
        Ok(Self { places: places.into(), unset: slots })
    }
}

/// What the blocks of a kernel have in common, or the threads of a block.
pub(super) struct Common<'p> {
    function: &'p Function,
    variables: Rc<Variables>,
    tunables: Rc<Tunables>,
}

impl<'p> Common<'p> {
    /// What a kernel finds.
    pub(super) fn of_kernel(frame: &Frame<'p>) -> Self {
        Self {
            function: frame.function,
            variables: Rc::new(frame.variables.clone()),
            tunables: Rc::clone(&frame.tunables),
        }
    }

    /// What a block leaves to its threads. The blocks of its frame are the caller's.
    pub(super) fn of_block(frame: Frame<'p>) -> (Self, Vec<(Var, Pointer)>) {
        let common =
            Self { function: frame.function, variables: Rc::new(frame.variables), tunables: frame.tunables };
        (common, frame.blocks)
    }

    /// A block or a thread before anything of its own is set.
    pub(super) fn frame(&self, own: &Own) -> Frame<'p> {
        Frame {
            function: self.function,
            variables: Variables {
                own: own.unset.clone(),
                around: Some(Around {
                    places: Rc::clone(&own.places),
                    variables: Rc::clone(&self.variables),
                }),
            },
            tunables: Rc::clone(&self.tunables),
            blocks: Vec::new(),
        }
    }
}

/// What a variable holds before it is set.
fn unset(ty: VarType) -> Slot {
    match ty {
        VarType::Scalar(_) | VarType::Buffer(_) => Slot::Unset,
        VarType::Vector(_, lanes) => Slot::Vector(vec![None; lanes as usize]),
    }
}
