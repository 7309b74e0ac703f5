//! The variables of a call, of a thread block, or of a thread.
//!
//! A thread stores only its own variables, and reads others from its block; so does a block from
//! its kernel's frame. Creating one takes time linear in its own variables, not in those of the
//! function.

use super::expr::{Slot, Tunables, Values};
use super::memory::Pointer;
use super::races::Label;
use super::{Result, bug};
use crate::{Function, Space, Var, VarType};
use std::rc::Rc;

/// The index of a variable that is not one's own.
const ENCLOSING: u32 = u32::MAX;

/// The values of variables.
#[derive(Clone)]
pub(super) struct Variables {
    own: Vec<Slot>,
    /// The enclosing variables, in a block or a thread.
    around: Option<Enclosing>,
}

/// The enclosing variables of a block or a thread.
#[derive(Clone)]
struct Enclosing {
    /// The index of each variable among the own ones, or [`ENCLOSING`].
    places: Rc<[u32]>,
    variables: Rc<Variables>,
}

impl Variables {
    pub(super) fn get(&self, var: Var) -> Option<&Slot> {
        let mut variables = self;
        while let Some(around) = &variables.around {
            match *around.places.get(var.index())? {
                ENCLOSING => variables = &around.variables,
                place => return variables.own.get(place as usize),
            }
        }
        variables.own.get(var.index())
    }

    /// The slot of an own variable, mutable.
    fn get_mut(&mut self, var: Var) -> Option<&mut Slot> {
        let place = match &self.around {
            None => var.index(),
            Some(around) => match *around.places.get(var.index())? {
                ENCLOSING => return None,
                place => place as usize,
            },
        };
        self.own.get_mut(place)
    }
}

/// A call, a thread block, or a thread.
pub(super) struct Frame<'p> {
    pub(super) function: &'p Function,
    variables: Variables,
    tunables: Rc<Tunables>,
    /// The blocks of the frame, with their variables.
    pub(super) blocks: Vec<(Var, Pointer)>,
}

impl<'p> Frame<'p> {
    /// A call before any variable is set.
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

    /// The slot of a variable that may be changed.
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

    /// The printed name of a variable.
    pub(super) fn label(&self, var: Var) -> Label {
        let info = self.function.vars.get(var.index());
        Label::Var(info.map_or_else(|| "".into(), |info| info.hint.clone()), var.0)
    }

    /// The space of a variable's blocks.
    pub(super) fn space(&self, var: Var) -> Space {
        let info = self.function.vars.get(var.index());
        info.and_then(|info| info.ty.space()).unwrap_or(Space::Host)
    }

    pub(super) fn is_vector(&self, var: Var) -> bool {
        let info = self.function.vars.get(var.index());
        matches!(info.map(|info| info.ty), Some(VarType::Vector(..)))
    }

    /// Sets owned variables to null, and unsets others.
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

/// The own variables of a block or a thread.
pub(super) struct OwnVariables {
    places: Rc<[u32]>,
    unset: Vec<Slot>,
}

impl OwnVariables {
    pub(super) fn new(function: &Function, vars: impl Iterator<Item = Var>) -> Result<Self> {
        let mut places = vec![ENCLOSING; function.vars.len()];
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

/// The enclosing variables of the blocks of a kernel, or of the threads of a block.
pub(super) struct EnclosingFrame<'p> {
    function: &'p Function,
    variables: Rc<Variables>,
    tunables: Rc<Tunables>,
}

impl<'p> EnclosingFrame<'p> {
    /// The frame that launches a kernel.
    pub(super) fn of_kernel(frame: &Frame<'p>) -> Self {
        Self {
            function: frame.function,
            variables: Rc::new(frame.variables.clone()),
            tunables: Rc::clone(&frame.tunables),
        }
    }

    /// A thread block's frame, and its blocks of memory, which the caller has to end.
    pub(super) fn of_block(frame: Frame<'p>) -> (Self, Vec<(Var, Pointer)>) {
        let common =
            Self { function: frame.function, variables: Rc::new(frame.variables), tunables: frame.tunables };
        (common, frame.blocks)
    }

    /// A block or a thread before any of its own variables is set.
    pub(super) fn frame(&self, own: &OwnVariables) -> Frame<'p> {
        Frame {
            function: self.function,
            variables: Variables {
                own: own.unset.clone(),
                around: Some(Enclosing {
                    places: Rc::clone(&own.places),
                    variables: Rc::clone(&self.variables),
                }),
            },
            tunables: Rc::clone(&self.tunables),
            blocks: Vec::new(),
        }
    }
}

/// The contents of a variable before it is set.
fn unset(ty: VarType) -> Slot {
    match ty {
        VarType::Scalar(_) | VarType::Buffer(_) => Slot::Unset,
        VarType::Vector(_, lanes) => Slot::Vector(vec![None; lanes as usize]),
    }
}
