//! The fields of operations and annotations, from which their visits follow. Those with a text form
//! of their own are declared with it ([`text`](crate::text)).

use super::{Visit, VisitMut};
use crate::basic::{DimIndex, MsgPart, ReshapeKind};
use crate::mem::{Block, Lmad, MemAnn};
use crate::name::Name;
use crate::poly::Poly;
use crate::soac::{Screma, Soacs};
use crate::syntax::{Atom, Lambda, Level};
use crate::tunable::TunableId;
use crate::types::{Dim, Type};
use prim::{PrimType, ScalarOp, ScalarType};
use smallvec::{Array, SmallVec};
use std::sync::Arc;
use target::memories::MemoryId;

/// A part of operations and annotations.
pub trait Fields<L: Level> {
    /// Visits all parts in scope order.
    fn visit<V: Visit<L> + ?Sized>(&self, v: &mut V);

    /// Visits all parts in scope order, mutably.
    fn visit_mut<V: VisitMut<L> + ?Sized>(&mut self, v: &mut V);
}

/// Implements [`Fields`] for types with a method of the traversals, or without names.
macro_rules! leaves {
    ($($ty:ty $(: $method:ident)?;)*) => {
        $(impl<L: Level> Fields<L> for $ty {
            fn visit<V: Visit<L> + ?Sized>(&self, v: &mut V) {
                let _ = &v;
                $(v.$method(self);)?
            }

            fn visit_mut<V: VisitMut<L> + ?Sized>(&mut self, v: &mut V) {
                let _ = &v;
                $(v.$method(self);)?
            }
        })*
    };
}

leaves! {
    Name: name;
    Atom: atom;
    Dim: dim;
    Type: ty;
    Poly: poly;
    TunableId: tunable;
    Lambda<L>: lambda;
    ReshapeKind;
    PrimType;
    ScalarType;
    MemoryId;
    Arc<str>;
    Arc<[u8]>;
    usize;
    u32;
    i64;
    bool;
    ();
}

macro_rules! lists {
    ($([$($bound:tt)*] $List:ty;)*) => {
        $(impl<L: Level, $($bound)*> Fields<L> for $List {
            fn visit<V: Visit<L> + ?Sized>(&self, v: &mut V) {
                self.iter().for_each(|x| x.visit(v));
            }

            fn visit_mut<V: VisitMut<L> + ?Sized>(&mut self, v: &mut V) {
                self.iter_mut().for_each(|x| x.visit_mut(v));
            }
        })*
    };
}

lists! {
    [T: Fields<L>] Vec<T>;
    [T: Fields<L>] Option<T>;
    [A: Array<Item: Fields<L>>] SmallVec<A>;
}

/// Implements [`Fields`] for an enum, a row for each variant with its fields in scope order, or for
/// a structure. In brackets is the level, if there is only one.
macro_rules! fields {
    ([$Level:ty] $Node:ty: $($rows:tt)*) => {
        impl Fields<$Level> for $Node {
            $crate::walk::fields::fields!(@visits $Level; $($rows)*);
        }
    };
    (@visits $Level:ty; $($rows:tt)*) => {
        fn visit<V: Visit<$Level> + ?Sized>(&self, v: &mut V) {
            $crate::walk::fields::fields!(@rows self v visit; $($rows)*);
        }

        fn visit_mut<V: VisitMut<$Level> + ?Sized>(&mut self, v: &mut V) {
            $crate::walk::fields::fields!(@rows self v visit_mut; $($rows)*);
        }
    };
    (@rows $self:ident $v:ident $visit:ident; { $($x:ident),* }) => {
        let Self { $($x),* } = $self;
        $($x.$visit($v);)*
    };
    (@rows $self:ident $v:ident $visit:ident;
        $($Row:ident $(($($index:tt : $x:ident),*))? $({$($name:ident),*})?;)*) => {
        match $self {
            $(Self::$Row $({ $($index: $x),* })? $({ $($name),* })? => {
                $($($x.$visit($v);)*)?
                $($($name.$visit($v);)*)?
            })*
        }
    };
    ($Node:ty: $($rows:tt)*) => {
        impl<L: Level> Fields<L> for $Node {
            $crate::walk::fields::fields!(@visits L; $($rows)*);
        }
    };
}

impl<L: Level> Fields<L> for (Dim, Atom) {
    fn visit<V: Visit<L> + ?Sized>(&self, v: &mut V) {
        v.dim(&self.0);
        v.atom(&self.1);
    }

    fn visit_mut<V: VisitMut<L> + ?Sized>(&mut self, v: &mut V) {
        v.dim(&mut self.0);
        v.atom(&mut self.1);
    }
}

fields! {
    DimIndex:
    Fix(0: index);
    Slice { start, count, stride };
}

fields! {
    MsgPart:
    Text(0: text);
    Value(0: ty, 1: value);
}

fields!([Soacs] Screma: { width, inputs, map, scan_reduce });

fields! {
    MemAnn:
    None;
    In { block, lmad };
}

fields! {
    Block:
    Var(0: name);
    Ext(0: sibling);
}

fields!(Lmad: { offset, dims });

macro_rules! scalar_op {
    ($visit:ident $V:ident $each:ident $($m:ident)?) => {
        fn $visit<V: $V<L> + ?Sized>(&$($m)? self, v: &mut V) {
            self.$each(|x| v.atom(x));
        }
    };
}

impl<L: Level> Fields<L> for ScalarOp<Atom> {
    scalar_op!(visit Visit each_operand);
    scalar_op!(visit_mut VisitMut each_operand_mut mut);
}

pub(crate) use fields;
