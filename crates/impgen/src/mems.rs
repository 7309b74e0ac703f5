//! The syntax of the memory level.

use ir::Mems;

pub(crate) type AccInput = ir::soac::AccInput<Mems>;
pub(crate) type Body = ir::syntax::Body<Mems>;
pub(crate) type Function = ir::syntax::Function<Mems>;
pub(crate) type HistOp = ir::soac::HistOp<Mems>;
pub(crate) type Lambda = ir::syntax::Lambda<Mems>;
pub(crate) type LoopParam = ir::syntax::LoopParam<Mems>;
pub(crate) type Operator = ir::soac::Operator<Mems>;
pub(crate) type Param = ir::syntax::Param<Mems>;
pub(crate) type ScanReduce = ir::scan_reduce::ScanReduce<Mems>;
pub(crate) type Seg = ir::seg::Seg<Mems>;
pub(crate) type Stm = ir::syntax::Stm<Mems>;
