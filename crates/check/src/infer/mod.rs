mod generalise; pub(crate) mod print; mod tables; pub(crate) mod unify; pub(crate) mod zonk;
pub(crate) use tables::*;
