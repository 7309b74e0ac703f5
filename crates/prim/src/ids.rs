//! Dense ids: newtypes of the indices into tables, each declared with `dense_ids!`.

/// Declares dense ids: `/// A variable. pub struct Var;`.
#[macro_export]
macro_rules! dense_ids {
    ($($(#[$meta:meta])* $vis:vis struct $Id:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        $vis struct $Id($vis u32);

        impl $Id {
            /// The id of the table's entry at an index, which is below 2^32.
            #[inline]
            $vis const fn new(index: usize) -> Self {
                assert!(index <= u32::MAX as usize, "a table has fewer than 2^32 entries");
                Self(index as u32)
            }

            /// The index into tables.
            #[inline]
            $vis const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}
