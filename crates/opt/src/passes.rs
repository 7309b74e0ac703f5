//! The pipelines, as data: the passes of each level, in execution order.
//!
//! The driver runs the passes one by one (to time, dump and verify after each) or all of them by
//! [`run`].

use crate::level::OptLevel;
use crate::{
    compose, fma, fuse, gather_forwarding, inline, lookup_tables, loop_fusion, math, migrate, packed_reads,
    simplify, sink, unroll_and_jam,
};
use analysis::signatures::Signatures;
use ir::syntax::Function;
use ir::{Context, Level, PassError, Program, Segs, Soacs};

/// One pass of a pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Pass<L: Level> {
    /// The pass's name on the command line, in logs and in dumps.
    pub name: &'static str,
    /// One-line description of the pass.
    pub description: &'static str,
    /// Transforms a program.
    pub run: fn(Program<L>, &mut Context) -> Result<Program<L>, PassError>,
}

/// The passes over second-order combinators, before flattening.
pub const SOACS: &[Pass<Soacs>] = &[
    Pass {
        name: "math-definitions",
        description: "simplify and contract the definitions of mathematical functions",
        run: math::simplify_definitions,
    },
    Pass {
        name: "prepare",
        description: "simplify functions before inlining",
        run: |program, context| per_function(program, context, simplify::before_inlining),
    },
    Pass {
        name: "inline",
        description: "inline calls where that pays; remove functions that no entry point reaches",
        run: inline::inline,
    },
    Pass {
        name: "simplify",
        description: "fold constants, share common expressions, hoist invariants, remove dead code",
        run: simplify_program,
    },
    Pass {
        name: "fuse",
        description: "fuse combinators; simplify the fused ones",
        run: |program, context| per_function(program, context, fuse::fuse),
    },
    Pass {
        name: "gather-forwarding",
        description: "gather forwarding: read elements projected out of rows from the rows themselves",
        run: |program, context| per_function(program, context, gather_forwarding::forward_gathers),
    },
    Pass {
        name: "fma",
        description: "contract multiplications and additions to fused multiply-adds",
        run: |program, context| per_function(program, context, fma::fuse_products),
    },
    Pass {
        name: "compose",
        description: "run several iterations of a loop at once, without storing the matrices in between",
        run: |program, context| per_function(program, context, compose::compose),
    },
    Pass {
        name: "lookup-tables",
        description: "lookup tables: compute values that depend on an inner index only once, before the outer map",
        run: |program, context| per_function(program, context, lookup_tables::precompute),
    },
    Pass {
        name: "packed-reads",
        description: "packed reads: copy elements that are not contiguous and are read many times",
        run: |program, context| per_function(program, context, packed_reads::pack),
    },
];

/// The passes over segmented operations, after flattening.
pub const SEGS: &[Pass<Segs>] = &[
    Pass {
        name: "fuse-loops",
        description: "sequential loop fusion: merge a loop with the one that reads its latest element",
        run: |program, context| per_function(program, context, loop_fusion::fuse_loops),
    },
    Pass {
        name: "simplify",
        description: "fold constants, share common expressions, hoist invariants, remove dead code",
        run: simplify_program,
    },
    Pass {
        name: "expand-math",
        description: "replace mathematical functions by their definitions",
        run: math::expand,
    },
    Pass {
        name: "fma",
        description: "contract multiplications and additions that loop fusion brought together",
        run: |program, context| per_function(program, context, fma::fuse_products),
    },
    Pass {
        name: "unroll-and-jam",
        description: "unroll and jam: merge reductions of consecutive iterations of a loop",
        run: |program, context| per_function(program, context, unroll_and_jam::unroll_and_jam),
    },
    Pass {
        name: "sink",
        description: "sink reads into the only branch arm that uses them, on machines that wait for memory",
        run: |program, context| per_function(program, context, sink::sink),
    },
    Pass {
        name: "migrate",
        description: "keep scalars on the device where that avoids reading them back",
        run: migrate::migrate,
    },
];

/// Runs passes one after another.
pub fn run<L: Level>(
    passes: &[Pass<L>],
    program: Program<L>,
    context: &mut Context,
) -> Result<Program<L>, PassError> {
    passes.iter().try_fold(program, |program, pass| (pass.run)(program, context))
}

fn simplify_program<L: OptLevel>(
    program: Program<L>,
    context: &mut Context,
) -> Result<Program<L>, PassError> {
    per_function(program, context, simplify::simplify)
}

/// Runs a pass over each function separately.
pub(crate) fn per_function<L: Level>(
    mut program: Program<L>,
    context: &mut Context,
    pass: fn(Function<L>, &Signatures, &mut Context) -> Result<Function<L>, PassError>,
) -> Result<Program<L>, PassError> {
    let signatures = Signatures::of(&program);
    program.functions = context.each(program.functions, |function, own| pass(function, &signatures, own))?;
    Ok(program)
}
