//! Generation of one function.

use crate::cpu::CpuSchedule;
use crate::emitter::Emitter;
use crate::gpu::DeviceSchedule;
use crate::mems::Function;
use crate::nests::NestContext;
use crate::program_tables::ProgramTables;
use crate::schedule::{Generator, Schedule};
use crate::{ProgramContext, Result, var_type};
use imp::{CodePlacement, FunId, Function as ImpFunction, Stmt, Var};
use ir::remark::RemarkKind;
use ir::syntax::Attr;
use ir::{Context, PassError, version};
use std::rc::Rc;
use std::sync::Arc;

/// Generates a function, and its part of the program's tables.
pub(crate) fn generate(
    (fun, function): (FunId, &Function),
    recursive: bool,
    shared: &ProgramContext<'_>,
    context: &mut Context,
) -> Result<(ImpFunction, ProgramTables)> {
    let mut emitter = Emitter::new(function, shared);
    let (params, results, mut emitter) = if version::stack(function.version.as_ref(), shared.machine)
        .has_device()
    {
        let fuel = std::mem::take(&mut context.fuel);
        let (params, results, emitter, schedule) = code(emitter, DeviceSchedule::new(shared.device, fuel))?;
        context.fuel = schedule.fuel;
        (params, results, emitter)
    } else {
        emitter.nests = (shared.profile || shared.remarks).then(|| {
            let entries = shared.entries.iter().filter(|entry| entry.fun == fun);
            Rc::new(NestContext::of(function, entries.map(|entry| &entry.signature)))
        });
        let (params, results, emitter, _) = code(emitter, CpuSchedule::default())?;
        (params, results, emitter)
    };
    let frame = emitter.frames.pop().unwrap_or_default();
    let body = emitter.close();
    if !emitter.lists.is_empty() {
        return Err(PassError::bug("a list of statements is not closed"));
    }
    let has = |attr| function.attrs.has(&attr);
    let inline = !recursive && !has(Attr::NoInline) && (has(Attr::Inline) || small(&body));
    if context.options.remarks {
        for (var, prov) in emitter.counters {
            let hint = emitter.vars.get(var.index()).map_or("?", |info| &*info.hint);
            let counter = Arc::from(format!("{hint}_{}", var.0));
            let spans = function.provs.stack(prov);
            context.remark(&function.name.0, spans, RemarkKind::Loop { counter });
        }
        for (work, prov) in emitter.nest_works {
            context.remark(&function.name.0, function.provs.stack(prov), RemarkKind::NestWork(work));
        }
    }
    let made = ImpFunction {
        name: function.name.0.clone(),
        params,
        results,
        owned: frame.owned,
        distinct: Vec::new(),
        vars: emitter.vars,
        body,
        code: if inline { CodePlacement::Inline } else { CodePlacement::OneModule },
        recursive,
    };
    Ok((made, emitter.tables))
}

/// Generates the body; returns the variables of parameters and results.
fn code<S: Schedule>(emitter: Emitter<'_>, schedule: S) -> Result<(Vec<Var>, Vec<Var>, Emitter<'_>, S)> {
    let function = emitter.function;
    let mut g = Generator::new(emitter, schedule);
    let params = function.params.iter().filter_map(|param| g.bind_borrowed(&param.param)).collect();
    let atoms = g.body(&function.body)?;
    let mut results = Vec::new();
    for (atom, result) in atoms.iter().zip(&function.ret) {
        if let Some(ty) = var_type(&result.ty) {
            results.push(g.transfer(*atom, ty, "result")?);
        }
    }
    let (emitter, schedule) = g.into_parts();
    Ok((params, results, emitter, schedule))
}

/// Returns true if a body is short straight-line code.
fn small(body: &[Stmt]) -> bool {
    body.len() <= 80
        && body.iter().all(|stmt| match stmt {
            Stmt::While(..) | Stmt::For(_) | Stmt::Call { .. } | Stmt::Device(_) => false,
            Stmt::If(_, a, b) => small(a) && small(b),
            imp::element_stmt!() | imp::resource_stmt!() | Stmt::Copy { .. } | Stmt::Check { .. } => true,
        })
}
