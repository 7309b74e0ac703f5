//! What targets spell differently. All else is the same text for all of them, or a
//! function of the prelude.

use crate::error::{Error, Res};
use imp::{Space, VarType};
use prim::PrimType;

/// How a target spells C.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// What stands before a function that other functions of the text call.
    pub function: &'static str,
    /// What functions take first: where they note what fails.
    pub context: &'static str,
    /// What stands before the type that a pointer to elements of a buffer points to, for
    /// memory of a device and for the scratchpad, if the code is that of kernels.
    pub spaces: Option<[&'static str; 2]>,
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
        context: "br_ctx *ctx",
        spaces: None,
        wide: "LL",
        quotient: None,
        hints: true,
    };

    /// OpenCL C 1.2. What stands in capitals, its prelude defines, and that of another
    /// target for kernels would in other ways.
    pub const OPENCL: Self = Self {
        function: "static ",
        context: "BR_GLOBAL br_ctx *ctx",
        spaces: Some(["BR_GLOBAL ", "BR_LOCAL "]),
        wide: "L",
        quotient: Some("br_quotient"),
        hints: false,
    };

    /// CUDA C++ and HIP, with the same names in their preludes. Addresses say nothing of
    /// their space.
    pub const CUDA: Self = Self { function: "BR_FN ", wide: "LL", ..Self::OPENCL };

    /// What stands before the type of elements in a space.
    pub(crate) const fn space(&self, space: Space) -> &'static str {
        match (self.spaces, space) {
            (Some([device, _]), Space::Device) => device,
            (Some([_, scratchpad]), Space::Scratchpad) => scratchpad,
            (None, _) | (Some(_), Space::Host | Space::Private | Space::Registers) => "",
        }
    }

    /// The type of variables.
    pub(crate) fn spelled(&self, ty: VarType) -> Res<String> {
        match ty {
            VarType::Scalar(ty) => Ok(scalar(ty).to_owned()),
            VarType::Buffer(space) => Ok(format!("{}u8 *", self.space(space))),
            VarType::Vector(..) => Err(Error::bug("a vector in code without lanes")),
        }
    }
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
        PrimType::I8 | PrimType::I16 | PrimType::I32 | PrimType::F16 | PrimType::F32 | PrimType::Bool => {
            "u32"
        }
    }
}
