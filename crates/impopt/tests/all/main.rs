//! The tests of the passes on the imperative IR, as one program: linking one takes as long as
//! linking one of many.

mod merge;
mod pipeline;
mod roots;
mod simplify;
mod split;
mod tail;
mod tunables;
