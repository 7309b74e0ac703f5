//! Spelling differences between the target languages. All else is the same text for all targets, or
//! a function of the prelude.

use crate::error::{Error, Res};
use imp::{MemoryId, VarType};
use prim::PrimType;

/// The spelling of C for a target.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// Prefix of a function that other functions of the text call.
    pub function_prefix: &'static str,
    /// The first parameter of functions: the context, in which failures are recorded.
    pub context_param: &'static str,
    /// Prefixes of a buffer pointer's target type, for device memory and shared memory; `None`
    /// outside of kernels.
    pub address_spaces: Option<[&'static str; 2]>,
    /// Suffix of 64-bit literals.
    pub suffix_64: &'static str,
    /// The function for quotients of floats, where `/` does not round them correctly.
    pub float_division: Option<&'static str>,
    /// True if loops may be marked as independent.
    pub independent_loop_hints: bool,
}

impl Dialect {
    /// C11.
    pub const PORTABLE: Self = Self {
        function_prefix: "static ",
        context_param: "br_ctx *ctx",
        address_spaces: None,
        suffix_64: "LL",
        float_division: None,
        independent_loop_hints: true,
    };

    /// OpenCL C 1.2. Upper-case macros are defined by each target's prelude.
    pub const OPENCL: Self = Self {
        function_prefix: "static ",
        context_param: "BR_GLOBAL br_ctx *ctx",
        address_spaces: Some(["BR_GLOBAL ", "BR_LOCAL "]),
        suffix_64: "L",
        float_division: Some("br_quotient"),
        independent_loop_hints: false,
    };

    /// CUDA C++ and HIP, whose preludes define the same names. Pointer types do not carry address
    /// spaces.
    pub const CUDA: Self = Self { function_prefix: "BR_FN ", suffix_64: "LL", ..Self::OPENCL };

    /// Prefix of the target type of pointers into a memory.
    pub(crate) const fn qualifier(&self, memory: MemoryId) -> &'static str {
        match (self.address_spaces, memory) {
            (Some([device, _]), MemoryId::Device) => device,
            (Some([_, shared]), MemoryId::Shared) => shared,
            (None, _) | (Some(_), MemoryId::Host | MemoryId::Private | MemoryId::Registers) => "",
        }
    }

    /// The C type of variables.
    pub(crate) fn spelled(&self, ty: VarType) -> Res<String> {
        match ty {
            VarType::Scalar(ty) => Ok(scalar(ty).to_owned()),
            VarType::Buffer(memory) => Ok(format!("{}u8 *", self.qualifier(memory))),
            VarType::Vector(..) => Err(Error::bug("the back end does not support vectors")),
        }
    }
}

/// The C type of scalars in variables.
pub(crate) const fn scalar(ty: PrimType) -> &'static str {
    ty.name()
}

/// The unsigned type of the same width.
pub(crate) const fn unsigned(ty: PrimType) -> &'static str {
    match ty {
        PrimType::I8 | PrimType::Bool => "u8",
        PrimType::I16 | PrimType::F16 => "u16",
        PrimType::I32 | PrimType::F32 => "u32",
        PrimType::I64 | PrimType::F64 => "u64",
    }
}

/// The unsigned type in which integer arithmetic of a type is computed: one that C does not promote
/// to a signed type.
pub(crate) const fn arithmetic(ty: PrimType) -> &'static str {
    match ty {
        PrimType::I64 | PrimType::F64 => "u64",
        PrimType::I8 | PrimType::I16 | PrimType::I32 | PrimType::F16 | PrimType::F32 | PrimType::Bool => {
            "u32"
        }
    }
}
