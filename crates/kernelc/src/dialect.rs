//! What targets spell differently. All else is the same text for all of them, or a
//! function of the prelude.

use prim::PrimType;

/// How a target spells C.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// What stands before a function that other functions of the text call.
    pub function: &'static str,
    /// What stands before the type that a pointer to elements of a buffer points to: the
    /// space that buffers lie in, where the target has several.
    pub space: &'static str,
    /// What a literal of 64 bits ends in.
    pub wide: &'static str,
    /// The function for quotients of floats, where `/` does not round them correctly.
    pub quotient: Option<&'static str>,
    /// Whether loops may be marked as independent.
    pub hints: bool,
}

impl Dialect {
    /// C11.
    pub const PORTABLE: Self = Self {
        function: "static ",
        space: "",
        wide: "LL",
        quotient: None,
        hints: true,
    };
}

/// The type of scalars in variables.
pub(crate) const fn scalar(ty: PrimType) -> &'static str {
    ty.name()
}

/// The unsigned type of as many bits.
pub(crate) const fn unsigned(ty: PrimType) -> &'static str {
    match ty {
        PrimType::I8 | PrimType::Bool => "u8",
        PrimType::I16 | PrimType::F16 => "u16",
        PrimType::I32 | PrimType::F32 => "u32",
        PrimType::I64 | PrimType::F64 => "u64",
    }
}

/// The unsigned type that arithmetic on integers of a type is done in: none that C would
/// widen to a signed one.
pub(crate) const fn arithmetic(ty: PrimType) -> &'static str {
    match ty {
        PrimType::I64 | PrimType::F64 => "u64",
        PrimType::I8
        | PrimType::I16
        | PrimType::I32
        | PrimType::F16
        | PrimType::F32
        | PrimType::Bool => "u32",
    }
}
