//! The fields of statements and expressions, each declared once in a row of a table.
//!
//! A row names a node's fields in execution order (operands before what is set, a value before the
//! location that it is stored to) with the role of each variable, and then the node's text. From
//! the rows follow the visits of [`Fields`], which [`walk`](crate::walk) and
//! [`rename`](crate::rename) refine, and printer and parser ([`text`](crate::text)):
//!
//! ```text
//! Share(1: from as Reads, 0: var as Sets) = var "share" [from];      // ys_2 = share xs_1
//! ```
//!
//! `var` before the word is the variable that the statement sets; `_` in its place means that the
//! statement begins with the word. Rows in `others` have text that no word begins.

mod expr;
mod stmt;

pub use expr::{each_operand, each_part_mut};

use crate::syntax::{CheckId, Expr, Stmt, Var};

macro_rules! field {
    ($(#[$meta:meta])* $Field:ident, $($m:ident)?) => {
        $(#[$meta])*
        pub enum $Field<'s> {
            /// A variable that the statement reads.
            Reads(&'s $($m)? Var),
            /// A variable that the statement sets.
            Sets(&'s $($m)? Var),
            /// An owned variable whose reference the statement takes: it is read and set.
            Takes(&'s $($m)? Var),
            /// A variable in a list of a loop's mode.
            Lists(&'s $($m)? Var),
            /// An expression.
            Expr(&'s $($m)? Expr),
            /// Nested statements.
            Block(&'s $($m)? Vec<Stmt>),
            /// The check whose message or location a failure reports.
            Check(&'s $($m)? CheckId),
        }
    };
}

field! {
    /// A field of a statement.
    Field,
}

field! {
    /// As [`Field`], mutable.
    FieldMut, mut
}

/// The fields of a node.
pub trait Fields {
    /// Calls `f` on the fields, in execution order.
    fn visit<'s>(&'s self, f: &mut impl FnMut(Field<'s>));

    /// As [`Self::visit`], mutable.
    fn visit_mut<'s>(&'s mut self, f: &mut impl FnMut(FieldMut<'s>));
}

macro_rules! containers {
    ($($T:ident: $Container:ty, |$x:ident| $items:expr, $items_mut:expr;)*) => {
        $(impl<$T: Fields> Fields for $Container {
            fn visit<'s>(&'s self, f: &mut impl FnMut(Field<'s>)) {
                let $x = self;
                $items.for_each(|x| x.visit(f));
            }

            fn visit_mut<'s>(&'s mut self, f: &mut impl FnMut(FieldMut<'s>)) {
                let $x = self;
                $items_mut.for_each(|x| x.visit_mut(f));
            }
        })*
    };
}

containers! {
    T: Vec<T>, |x| x.iter(), x.iter_mut();
    T: Option<T>, |x| x.iter(), x.iter_mut();
    T: Box<T>, |x| std::iter::once(&**x), std::iter::once(&mut **x);
    T: (T, T), |x| [&x.0, &x.1].into_iter(), [&mut x.0, &mut x.1].into_iter();
}

/// Implements [`Fields`] for types that are a field, or that have none.
macro_rules! leaves {
    ($($ty:ty $(as $Field:ident)?;)*) => {
        $(impl Fields for $ty {
            fn visit<'s>(&'s self, f: &mut impl FnMut(Field<'s>)) {
                let _ = &f;
                $(f(Field::$Field(self));)?
            }

            fn visit_mut<'s>(&'s mut self, f: &mut impl FnMut(FieldMut<'s>)) {
                let _ = &f;
                $(f(FieldMut::$Field(self));)?
            }
        })*
    };
}

leaves! {
    Expr as Expr;
    CheckId as Check;
    crate::DataId;
    crate::FunId;
    crate::GlobalId;
    crate::TunableId;
    crate::MaskedOff;
    prim::BinOp;
    prim::PrimType;
    std::sync::Arc<str>;
    bool;
    u32;
    u64;
    i64;
}

/// One or more variables.
pub(crate) trait Vars {
    /// The variables.
    fn vars(&self) -> &[Var];

    /// As [`Self::vars`], mutable.
    fn vars_mut(&mut self) -> &mut [Var];
}

impl Vars for Var {
    fn vars(&self) -> &[Var] {
        std::slice::from_ref(self)
    }

    fn vars_mut(&mut self) -> &mut [Var] {
        std::slice::from_mut(self)
    }
}

impl Vars for Option<Var> {
    fn vars(&self) -> &[Var] {
        self.as_slice()
    }

    fn vars_mut(&mut self) -> &mut [Var] {
        self.as_mut_slice()
    }
}

impl Vars for Vec<Var> {
    fn vars(&self) -> &[Var] {
        self
    }

    fn vars_mut(&mut self) -> &mut [Var] {
        self
    }
}

/// Implements [`Fields`] for an enum, a row for each variant, or for a structure.
macro_rules! fields {
    ($Node:ident: $($rows:tt)*) => {
        impl Fields for $Node {
            fn visit<'s>(&'s self, f: &mut impl FnMut(Field<'s>)) {
                fields!(@rows self f visit Field vars; $($rows)*);
            }

            fn visit_mut<'s>(&'s mut self, f: &mut impl FnMut(FieldMut<'s>)) {
                fields!(@rows self f visit_mut FieldMut vars_mut; $($rows)*);
            }
        }
    };
    (@rows $self:ident $f:ident $visit:ident $Field:ident $vars:ident;
        { $($x:ident $(as $role:ident)?),* }) => {
        let Self { $($x),* } = $self;
        $(fields!(@field $f $visit $Field $vars $x $($role)?);)*
    };
    (@rows $self:ident $f:ident $visit:ident $Field:ident $vars:ident;
        $($Row:ident
            $(($($index:tt : $x:ident $(as $role:ident)?),*))?
            $({$($name:ident $(as $name_role:ident)?),*})?;)*) => {
        match $self {
            $(Self::$Row $({ $($index: $x),* })? $({ $($name),* })? => {
                $($(fields!(@field $f $visit $Field $vars $x $($role)?);)*)?
                $($(fields!(@field $f $visit $Field $vars $name $($name_role)?);)*)?
            })*
        }
    };
    (@field $f:ident $visit:ident $Field:ident $vars:ident $x:ident) => {
        $x.$visit($f);
    };
    (@field $f:ident $visit:ident $Field:ident $vars:ident $x:ident Block) => {
        $f($Field::Block($x));
    };
    (@field $f:ident $visit:ident $Field:ident $vars:ident $x:ident $role:ident) => {
        for var in $x.$vars() {
            $f($Field::$role(var));
        }
    };
}

/// Declares the fields and the text of a structure.
macro_rules! structure {
    ($p:ident, $Node:ident { $($x:ident $(as $role:ident)?),* } = [$($entry:tt)*]) => {
        fields!($Node: { $($x $(as $role)?),* });

        impl Part for $Node {
            fn print_part(&self, $p: &mut Printer<'_>) {
                let Self { $($x),* } = self;
                ir::text_row!(print $p ~ $($entry)*);
            }

            fn parse_part($p: &mut Parser<'_>) -> Result<Self> {
                ir::text_row!(parse $p $($entry)*);
                Ok(Self { $($x),* })
            }
        }
    };
}

/// Declares the fields and the text of an enum's variants.
macro_rules! variants {
    (
        $p:ident, $Node:ident;
        others {
            $($Other:ident
                $(($($other_index:tt : $y:ident $(as $other_role:ident)?),*))?
                $({$($other_name:ident $(as $other_name_role:ident)?),*})?
                = [$($other_entry:tt)*];)*
        }
        $($Row:ident
            $(($($index:tt : $x:ident $(as $role:ident)?),*))?
            $({$($name:ident $(as $name_role:ident)?),*})?
            = $target:tt $word:literal [$($entry:tt)*];)*
    ) => {
        fields!($Node:
            $($Other
                $(($($other_index: $y $(as $other_role)?),*))?
                $({$($other_name $(as $other_name_role)?),*})?;)*
            $($Row
                $(($($index: $x $(as $role)?),*))?
                $({$($name $(as $name_role)?),*})?;)*
        );

        impl Rows for $Node {
            fn print_row(&self, $p: &mut Printer<'_>) {
                #[allow(unused_variables, reason = "other fields have no text of their own")]
                match self {
                    $(Self::$Other $({ $($other_index: $y),* })? $({ $($other_name),* })? => {
                        ir::text_row!(print $p ~ $($other_entry)*);
                    })*
                    $(Self::$Row $({ $($index: $x),* })? $({ $($name),* })? => {
                        variants!(@print $p $target);
                        $p.put($word);
                        ir::text_row!(print $p $($entry)*);
                    })*
                }
            }

            fn parse_row($p: &mut Parser<'_>, target: Option<Var>) -> Result<Option<Self>> {
                let Some(word) = $p.peek_ident() else {
                    return Ok(None);
                };
                Ok(Some(match (word, target) {
                    $(($word, variants!(@target $target)) => {
                        $p.ident()?;
                        ir::text_row!(parse $p $($entry)*);
                        Self::$Row $({ $($index: $x),* })? $({ $($name),* })?
                    })*
                    _ => return Ok(None),
                }))
            }
        }
    };
    (@print $p:ident _) => {};
    (@print $p:ident $target:ident) => {
        $target.print_part($p);
        $p.put(" = ");
    };
    (@target _) => { None };
    (@target $target:ident) => { Some($target) };
}

use {fields, structure, variants};
