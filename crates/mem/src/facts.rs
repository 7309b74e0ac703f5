//! Facts on operations that code generation may use, beyond the operations' meaning.
//!
//! Before and after: level `mems`. No statement is rewritten; some get a fact ([`ir::facts`] lists
//! them), each for one unit of fuel, and segops get a no-op predicate
//! ([`ir::seg::Seg::identity_predicate`]) if it can be derived from their operators.
//!
//! | module | finds |
//! |---|---|
//! | [`independence`] | iterations that may run in any order |
//! | [`scatter`] | iterations that end by writing one scalar to each of some vectors |
//! | [`filter`] | scans that count flags to compute the positions of flagged elements |
//! | [`noop`] | operators that select one of their operands |
//! | [`streamed`] | elements that a reduction reads at its index |
//! | [`partition`] | scans that count several flags, followed by a scatter to the counts |
//! | [`shared_columns`] | elements that loops in all iterations of a map on the CPU read |
//! | [`shared_reads`] | elements that several iterations of a kernel read |
//!
//! Needs: a verified program. Guarantees: the same program except for facts; code generation does
//! no such analysis itself.

mod filter;
mod independence;
mod noop;
mod partition;
mod scatter;
mod shared_columns;
mod shared_reads;
mod streamed;

use ir::facts::FactFlag;
use ir::mem::{MemAnn, MemOp};
use ir::name::Name;
use ir::scan_reduce::ScanReduce;
use ir::seg::{Seg, SegKind, SegOp};
use ir::syntax::{Body, Exp, Function, LoopForm, Param, Program, Stm};
use ir::types::Type;
use ir::walk::{Visit, with_stack};
use ir::{Context, Fuel, Mems, NameTable, version};
use rustc_hash::FxHashMap;

/// Finds the facts of a program; see the module's header.
#[must_use]
pub fn facts(mut program: Program<Mems>, context: &mut Context) -> Program<Mems> {
    let machine = program.levels;
    program.functions = context.over(program.functions, |mut function, own| {
        let has_kernels = version::stack(function.version.as_ref(), machine).has_device();
        of_function(&mut function, has_kernels, &mut own.fuel);
        function
    });
    program
}

fn of_function(function: &mut Function<Mems>, has_kernels: bool, fuel: &mut Fuel) {
    let mut locations = Locations::default();
    for param in &function.params {
        locations.param(&param.param);
    }
    Visit::<Mems>::body(&mut locations, &function.body);
    let mut finder = Finder { locations, names: &mut function.names, has_kernels, fuel };
    finder.body(&mut function.body);
}

/// The locations of arrays, and the accumulators that write without an operator.
#[derive(Default)]
struct Locations {
    arrays: FxHashMap<Name, (Type, MemAnn)>,
    /// The arrays of accumulators without an operator, by token.
    accs: FxHashMap<Name, Vec<Name>>,
}

impl Visit<Mems> for Locations {
    fn param(&mut self, param: &Param<Mems>) {
        if param.ty.is_array() {
            let location = (param.ty.clone(), param.ann.clone());
            self.arrays.insert(param.name, location);
        }
    }

    fn exp(&mut self, exp: &Exp<Mems>) {
        if let Exp::Op(MemOp::Seg(SegOp::WithAcc { inputs, lambda })) = exp {
            for (input, token) in inputs.iter().zip(&lambda.params) {
                if input.op.is_none() {
                    self.accs.insert(token.name, input.arrays.clone());
                }
            }
        }
        self.walk_exp(exp);
    }
}

struct Finder<'a> {
    locations: Locations,
    names: &'a mut NameTable,
    /// True if segops here are kernels.
    has_kernels: bool,
    fuel: &'a mut Fuel,
}

impl Finder<'_> {
    fn body(&mut self, body: &mut Body<Mems>) {
        with_stack(|| {
            for stm in &mut body.stms {
                self.stm(stm);
            }
        });
    }

    fn stm(&mut self, stm: &mut Stm<Mems>) {
        match &mut stm.exp {
            Exp::Basic(_) | Exp::Apply { .. } | Exp::Op(MemOp::Alloc { .. } | MemOp::Transfer { .. }) => {}
            Exp::If { cond: _, then_body, else_body } => {
                self.body(then_body);
                self.body(else_body);
            }
            Exp::Loop { params, form, body } => {
                self.body(body);
                if let LoopForm::For { var, .. } = form
                    && independence::writes_rows(params, *var, body)
                    && self.fuel.take()
                {
                    stm.aux.facts.add(FactFlag::Independent);
                }
            }
            Exp::Op(MemOp::Seg(SegOp::WithAcc { inputs: _, lambda })) => {
                self.body(&mut lambda.body);
            }
            Exp::Op(MemOp::Seg(SegOp::Seg(seg))) => {
                let is_kernel = std::mem::take(&mut self.has_kernels);
                if is_kernel {
                    shared_reads::mark(&stm.pat, &mut stm.aux.facts, seg, &self.locations, self.fuel);
                }
                self.body(&mut seg.body);
                match &mut seg.kind {
                    SegKind::ScanReduce(scan_reduce) => {
                        scan_reduce.lambdas_mut().for_each(|it| self.body(&mut it.body));
                    }
                    SegKind::Hist(ops) => {
                        ops.iter_mut().for_each(|op| self.body(&mut op.op.op.body));
                    }
                    SegKind::FlatMap => {}
                }
                self.seg(seg, &mut stm.aux.facts);
                let is_map = matches!(&seg.kind, SegKind::ScanReduce(it) if it.is_map());
                if is_map
                    && !is_kernel
                    && shared_columns::has_shared_columns(seg, &self.locations)
                    && self.fuel.take()
                {
                    stm.aux.facts.add(FactFlag::SharedColumns);
                }
                self.has_kernels = is_kernel;
            }
        }
    }

    fn seg(&mut self, seg: &mut Seg<Mems>, facts: &mut ir::Facts) {
        // Iterations of a flat map are ordered within their chunk; those of a histogram conflict
        // only in their bins, after the body.
        if matches!(seg.kind, SegKind::FlatMap) {
            return;
        }
        if independence::independent(&seg.body.stms) && self.fuel.take() {
            facts.add(FactFlag::Independent);
        }
        let SegKind::ScanReduce(scan_reduce) = &mut seg.kind else {
            return;
        };
        if scan_reduce.is_map() {
            self.scatter(&mut seg.body);
            return;
        }
        if let Some(post) = &mut scan_reduce.post {
            let packed = self.scatter(&mut post.body);
            if (packed || independence::independent(&post.body.stms)) && self.fuel.take() {
                facts.add(FactFlag::PostScanIndependent);
            }
            if packed {
                self.filter(&seg.body, scan_reduce);
            }
        }
        if noop::has_noop_predicate(scan_reduce) && self.fuel.take() {
            seg.identity_predicate = noop::noop_predicate(scan_reduce, self.names);
        }
        streamed::mark(&seg.space, &mut seg.body, self.fuel);
    }

    /// Marks the update at the end of a body if it can be packed. Returns true if it can.
    fn scatter(&mut self, body: &mut Body<Mems>) -> bool {
        let found = scatter::packs(body, &self.locations) && self.fuel.take();
        if let (true, Some(last)) = (found, body.stms.last_mut()) {
            last.aux.facts.add(FactFlag::Packable);
        }
        found
    }

    fn filter(&mut self, body: &Body<Mems>, scan_reduce: &mut ScanReduce<Mems>) {
        if let Some(partition) = partition::partition(body, scan_reduce)
            && let Some(last) = scan_reduce.post.as_mut().and_then(|post| post.body.stms.last_mut())
            && self.fuel.take()
        {
            last.aux.facts.set_partition(partition);
            return;
        }
        let Some(filter) = filter::filter(body, scan_reduce) else {
            return;
        };
        if let Some(last) = scan_reduce.post.as_mut().and_then(|p| p.body.stms.last_mut())
            && self.fuel.take()
        {
            last.aux.facts.set_filter(filter);
        }
    }
}
