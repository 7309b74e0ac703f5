//! Rules for combinators and segops, which also walk their bodies.

pub(crate) mod accs;
pub(crate) mod concat_maps;
pub(crate) mod expand_rows;
pub(crate) mod expand_small;
pub(crate) mod scatter;
pub(crate) mod seg;
pub(crate) mod soac;
pub(crate) mod uniform_map;
pub(crate) mod uniform_scans;
