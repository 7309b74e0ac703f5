//! The scalar types of the source language and of the core IR.

use std::fmt;
use std::str::FromStr;

macro_rules! named_types {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal, $size:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $name { $($(#[$vmeta])* $variant,)* }

        impl $name {
            /// Every type, in the order of the declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The spelling in source text and in every text form of the IR.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The size of one element in an array, in bytes.
            pub const fn size(self) -> u64 {
                match self { $(Self::$variant => $size,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $name {
            type Err = ();
            fn from_str(text: &str) -> Result<Self, ()> {
                match text { $($text => Ok(Self::$variant),)* _ => Err(()) }
            }
        }
    };
}

named_types! {
    /// A scalar type of the source language.
    ScalarType {
        /// Signed 8-bit integer.
        I8 = "i8", 1;
        /// Signed 16-bit integer.
        I16 = "i16", 2;
        /// Signed 32-bit integer.
        I32 = "i32", 4;
        /// Signed 64-bit integer, the type of sizes and indices.
        I64 = "i64", 8;
        /// Unsigned 8-bit integer.
        U8 = "u8", 1;
        /// Unsigned 16-bit integer.
        U16 = "u16", 2;
        /// Unsigned 32-bit integer.
        U32 = "u32", 4;
        /// Unsigned 64-bit integer.
        U64 = "u64", 8;
        /// IEEE 754 binary16.
        F16 = "f16", 2;
        /// IEEE 754 binary32.
        F32 = "f32", 4;
        /// IEEE 754 binary64.
        F64 = "f64", 8;
        /// Truth value, one byte that is 0 or 1.
        Bool = "bool", 1;
    }
}

named_types! {
    /// A scalar type of the core IR; signedness is a property of operators.
    PrimType {
        /// 8-bit integer.
        I8 = "i8", 1;
        /// 16-bit integer.
        I16 = "i16", 2;
        /// 32-bit integer.
        I32 = "i32", 4;
        /// 64-bit integer.
        I64 = "i64", 8;
        /// IEEE 754 binary16.
        F16 = "f16", 2;
        /// IEEE 754 binary32.
        F32 = "f32", 4;
        /// IEEE 754 binary64.
        F64 = "f64", 8;
        /// Truth value, one byte that is 0 or 1.
        Bool = "bool", 1;
    }
}

impl ScalarType {
    /// The core type that carries values of this source type.
    pub const fn prim(self) -> PrimType {
        match self {
            Self::I8 | Self::U8 => PrimType::I8,
            Self::I16 | Self::U16 => PrimType::I16,
            Self::I32 | Self::U32 => PrimType::I32,
            Self::I64 | Self::U64 => PrimType::I64,
            Self::F16 => PrimType::F16,
            Self::F32 => PrimType::F32,
            Self::F64 => PrimType::F64,
            Self::Bool => PrimType::Bool,
        }
    }

    /// Returns true if this is a signed integer type.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// Returns true if this is an unsigned integer type.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    /// Returns true if this is an integer type of either sign.
    pub const fn is_int(self) -> bool {
        self.is_signed() || self.is_unsigned()
    }

    /// Returns true if this is a floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }
}

impl PrimType {
    /// Returns true if this is an integer type.
    pub const fn is_int(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// Returns true if this is a floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// Width in bits (a `bool` counts as 8).
    pub const fn bits(self) -> u32 {
        self.size() as u32 * 8
    }

    /// The integer type of the same width as a float or integer type; `i8` for `bool`.
    #[must_use]
    pub const fn as_int(self) -> Self {
        match self {
            Self::I8 | Self::Bool => Self::I8,
            Self::I16 | Self::F16 => Self::I16,
            Self::I32 | Self::F32 => Self::I32,
            Self::I64 | Self::F64 => Self::I64,
        }
    }
}
