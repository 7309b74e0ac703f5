//! The printer.

use crate::{
    Access, Arg, CodePlacement, CopyPlan, Expr, For, Function, LaneAccess, LanePositions, Launch, LoopMode,
    MaskedOff, Program, Region, SharedBuffer, Slots, Stmt, Tile, Var, VarType,
};
use ir::text::{is_identifier, is_plain_hint, quote, show_entry_point, show_opaque_types, show_scalar};
use prim::{BinOp, PrimType, Scalar, ScalarOp};
use std::cell::Cell;
use std::fmt::Write;

/// The number of bytes of constant data in a line.
const DATA_LINE: usize = 64;

/// Prints a program.
pub fn print(program: &Program) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "imp file {}", quote(&program.source_name));
    for (i, check) in program.checks.iter().enumerate() {
        let (format, location) = (quote(&check.format), quote(&check.location));
        let _ = writeln!(out, "check#{i} = {format} at {location}");
    }
    for (i, data) in program.data.iter().enumerate() {
        let _ = write!(out, "data#{i}: {} =", data.elem);
        for line in data.bytes.chunks(DATA_LINE) {
            out.push_str(if data.bytes.len() > DATA_LINE { "\n  \"" } else { " \"" });
            for byte in line {
                let _ = write!(out, "{byte:02x}");
            }
            out.push('"');
        }
        out.push('\n');
    }
    for (i, ty) in program.globals.iter().enumerate() {
        let _ = writeln!(out, "global#{i}: {ty}");
    }
    for (i, tunable) in program.tunables.iter().enumerate() {
        let (name, class) = (quote(&tunable.name), tunable.class.name());
        let _ = writeln!(out, "tunable#{i}: {class} = {name} {}", tunable.default);
    }
    if let Some(init) = program.init {
        let _ = writeln!(out, "init {}", function_name(program, init.0));
    }
    out.push_str(&show_opaque_types(&program.opaques));
    for entry in &program.entries {
        out.push_str(&show_entry_point(&entry.signature, &function_name(program, entry.fun.0)));
    }
    for function in &program.functions {
        out.push('\n');
        let mut printer = Printer::new(program, function);
        let head = printer.head();
        printer.block(&function.body);
        let vars = printer.other_vars();
        let _ = writeln!(out, "{head}{vars}{}}}", printer.out);
    }
    out
}

/// The first line of a statement.
pub(crate) fn show_stmt(program: &Program, function: &Function, stmt: &Stmt) -> String {
    let mut printer = Printer::new(program, function);
    printer.depth = 0;
    // The nested blocks are not shown.
    match stmt {
        Stmt::If(cond, _, _) => printer.line(&format!("if {}", printer.expr(cond))),
        Stmt::While(cond, _) => printer.line(&format!("while {}", printer.var(*cond))),
        Stmt::For(f) => printer.stmt(&Stmt::For(For {
            body: Vec::new(),
            mode: f.mode.clone(),
            from: f.from.clone(),
            to: f.to.clone(),
            var: f.var,
        })),
        crate::leaf_stmt!() => printer.stmt(stmt),
    }
    printer.out.lines().next().unwrap_or_default().to_owned()
}

fn function_name(program: &Program, id: u32) -> String {
    match program.functions.get(id as usize) {
        // A function named `fun` would look like the head of another.
        Some(function) if is_identifier(&function.name) && &*function.name != "fun" => {
            function.name.to_string()
        }
        Some(function) => quote(&function.name),
        None => format!("?fun#{id}"),
    }
}

/// The part of a variable's declaration that the text has shown.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Shown {
    Nowhere,
    Name,
    Type,
}

pub(super) struct Printer<'a> {
    program: &'a Program,
    function: &'a Function,
    shown: Vec<Cell<Shown>>,
    /// Scalar arguments of calls that appeared before their type.
    early: Vec<Var>,
    out: String,
    depth: usize,
}

impl<'a> Printer<'a> {
    fn new(program: &'a Program, function: &'a Function) -> Self {
        Self {
            program,
            function,
            shown: vec![Cell::new(Shown::Nowhere); function.vars.len()],
            early: Vec::new(),
            out: String::new(),
            depth: 1,
        }
    }

    /// The first line of a function, its owned and its distinct variables.
    fn head(&self) -> String {
        let f = self.function;
        let mark = |set, text| if set { text } else { "" };
        let marks = [
            match f.code {
                CodePlacement::OneModule => "",
                CodePlacement::Inline => "inline ",
                CodePlacement::NoInline => "noinline ",
                CodePlacement::EachModule => "each ",
            },
            mark(f.recursive, "recursive "),
        ];
        let marks = marks.concat();
        let name =
            if is_identifier(&f.name) && &*f.name != "fun" { f.name.to_string() } else { quote(&f.name) };
        let (params, results) = (self.typed(&f.params), self.typed(&f.results));
        let mut head = format!("{marks}fun {name}({params}) -> ({results}) {{\n");
        if !f.owned.is_empty() {
            let _ = writeln!(head, "  owned {}", self.vars(&f.owned));
        }
        if !f.distinct.is_empty() {
            let _ = writeln!(head, "  distinct {}", self.vars(&f.distinct));
        }
        head
    }

    /// The variables whose type the text so far does not give.
    fn other_vars(&self) -> String {
        let other = |(shown, info): (&Cell<Shown>, &crate::VarInfo)| match info.ty {
            VarType::HOST => shown.get() < Shown::Name,
            VarType::Scalar(_) | VarType::Vector(..) | VarType::Buffer(_) => shown.get() < Shown::Type,
        };
        let pairs = self.shown.iter().zip(&self.function.vars);
        let others = (0..).zip(pairs).filter(|(_, pair)| other(*pair));
        let mut vars: Vec<Var> = others.map(|(i, _)| Var(i)).collect();
        vars.extend(&self.early);
        vars.sort_unstable();
        vars.dedup();
        if vars.is_empty() { String::new() } else { format!("  vars {}\n", self.typed(&vars)) }
    }

    fn show(&self, var: Var, shown: Shown) {
        if let Some(cell) = self.shown.get(var.index())
            && cell.get() < shown
        {
            cell.set(shown);
        }
    }

    fn line(&mut self, text: &str) {
        for _ in 0..self.depth.min(ir::text::MAX_INDENT) {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn var(&self, var: Var) -> String {
        self.show(var, Shown::Name);
        match self.function.vars.get(var.index()) {
            Some(info) if is_plain_hint(&info.hint) => format!("{}_{}", info.hint, var.0),
            Some(info) => format!("{}_{}", quote(&info.hint), var.0),
            None => format!("?_{}", var.0),
        }
    }

    fn vars(&self, vars: &[Var]) -> String {
        let names: Vec<String> = vars.iter().map(|v| self.var(*v)).collect();
        names.join(", ")
    }

    pub(super) fn typed_var(&self, var: Var) -> String {
        self.show(var, Shown::Type);
        let ty =
            self.function.vars.get(var.index()).map_or_else(|| "?".to_owned(), |info| info.ty.to_string());
        format!("{}: {ty}", self.var(var))
    }

    fn typed(&self, vars: &[Var]) -> String {
        let names: Vec<String> = vars.iter().map(|v| self.typed_var(*v)).collect();
        names.join(", ")
    }

    fn exprs(&self, exprs: &[Expr]) -> String {
        let texts: Vec<String> = exprs.iter().map(|e| self.expr(e)).collect();
        texts.join(", ")
    }

    pub(super) fn expr(&self, expr: &Expr) -> String {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.expr_here(expr))
    }

    fn expr_here(&self, expr: &Expr) -> String {
        match expr {
            Expr::Const(value) => constant(*value),
            Expr::Var(v) => self.var(*v),
            Expr::Tunable(id) => format!("tunable#{}", id.0),
            Expr::LogsComparisons => "logging".to_owned(),
            Expr::Scalar(ScalarOp::Binary(BinOp::Add, PrimType::I64, x, y)) => self.infix(x, "+", y),
            Expr::Scalar(ScalarOp::Binary(BinOp::Sub, PrimType::I64, x, y)) => self.infix(x, "-", y),
            Expr::Scalar(ScalarOp::Binary(BinOp::Mul, PrimType::I64, x, y)) => self.infix(x, "*", y),
            Expr::Scalar(op) => {
                let operands: Vec<String> = op.operands().into_iter().map(|x| self.expr(x)).collect();
                format!("{}({})", op.spelling(), operands.join(", "))
            }
            Expr::SplitSqrt(x) => format!("shared_sqrt({})", self.expr(x)),
            Expr::NewtonQuotient(x, y) => {
                format!("shared_div({}, {})", self.expr(x), self.expr(y))
            }
            Expr::Splat(lanes, x) => format!("splat.{lanes}({})", self.expr(x)),
            Expr::LaneIds(ty, lanes) => format!("lanes.{ty}.{lanes}"),
            Expr::Any(mask) => format!("any({})", self.expr(mask)),
            Expr::All(mask) => format!("all({})", self.expr(mask)),
            Expr::FirstLane(mask) => format!("first({})", self.expr(mask)),
            Expr::Count(mask) => format!("count({})", self.expr(mask)),
            Expr::Pack(x, mask) => format!("pack({}, {})", self.expr(x), self.expr(mask)),
            Expr::Extract(x, lane) => format!("extract({}, {})", self.expr(x), self.expr(lane)),
            Expr::Insert(x, lane, value) => {
                format!("insert({}, {}, {})", self.expr(x), self.expr(lane), self.expr(value))
            }
            Expr::Shift(x, by, value) => {
                format!("shift.{by}({}, {})", self.expr(x), self.expr(value))
            }
        }
    }

    fn infix(&self, x: &Expr, op: &str, y: &Expr) -> String {
        format!("({} {op} {})", self.expr(x), self.expr(y))
    }

    pub(super) fn access(&self, access: &Access) -> String {
        let Access { buffer, elem, offset, dims } = access;
        let mut terms = Vec::new();
        if *offset != Expr::i64(0) || dims.is_empty() {
            terms.push(format!("at {}", self.expr(offset)));
        }
        for (index, stride) in dims {
            terms.push(if *stride == Expr::i64(1) {
                self.expr(index)
            } else {
                format!("{} * {}", self.expr(index), self.expr(stride))
            });
        }
        format!("{}[{elem}: {}]", self.var(*buffer), terms.join(" + "))
    }

    fn lane_access(&self, access: &LaneAccess, mask: Option<&Expr>) -> String {
        let LaneAccess { buffer, elem, lanes, at, masked_off: off } = access;
        let positions = match at {
            LanePositions::Unit(position) => format!("{} ..", self.expr(position)),
            LanePositions::SmallStride(position, stride) => {
                format!("{} .. near {stride}", self.expr(position))
            }
            LanePositions::Strided(position, stride) => {
                format!("{} .. by {}", self.expr(position), self.expr(stride))
            }
            LanePositions::Gather(positions) => format!("each {}", self.expr(positions)),
        };
        let mask = mask.map_or_else(String::new, |mask| format!(" mask {}", self.expr(mask)));
        let off = match off {
            MaskedOff::Skip => "",
            MaskedOff::Dummy => " elsewhere",
        };
        format!("{}[{lanes} x {elem}: {positions}]{mask}{off}", self.var(*buffer))
    }

    fn region(&self, region: &Region) -> String {
        let Region { buffer, offset, strides } = region;
        format!("{}[{} strides {}]", self.var(*buffer), self.expr(offset), self.exprs(strides))
    }

    fn block(&mut self, stmts: &[Stmt]) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            for stmt in stmts {
                self.stmt(stmt);
            }
        });
    }

    fn nested(&mut self, head: &str, stmts: &[Stmt]) {
        self.line(&format!("{head} {{"));
        self.depth += 1;
        self.block(stmts);
        self.depth -= 1;
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let text = match stmt {
            Stmt::Set(v, e) => format!("{} = {}", self.typed_var(*v), self.expr(e)),
            Stmt::Load(v, a) => format!("{} = {}", self.typed_var(*v), self.access(a)),
            Stmt::Store(a, e) => format!("{} = {}", self.access(a), self.expr(e)),
            Stmt::LoadLanes { var, from, mask } => {
                format!("{} = {}", self.typed_var(*var), self.lane_access(from, mask.as_ref()))
            }
            Stmt::StoreLanes { to, value, mask } => {
                format!("{} = {}", self.lane_access(to, mask.as_ref()), self.expr(value))
            }
            Stmt::Alloc(v, bytes, location) => {
                let location = location.map_or(String::new(), |at| format!(" at check#{}", at.0));
                format!("{} = alloc {}{location}", self.var(*v), self.expr(bytes))
            }
            Stmt::Frame { buffer, elem, count } => {
                format!("{} = frame [{count}]{elem}", self.var(*buffer))
            }
            Stmt::Share(v, w) => format!("{} = share {}", self.var(*v), self.var(*w)),
            Stmt::Borrow(v, w) => format!("{} = borrow {}", self.var(*v), self.var(*w)),
            Stmt::Release(v) => format!("release {}", self.var(*v)),
            Stmt::Slots(Slots::New(v, count, location)) => {
                let location = location.map_or(String::new(), |at| format!(" at check#{}", at.0));
                format!("{} = slots {}{location}", self.var(*v), self.expr(count))
            }
            Stmt::Slots(Slots::Put { slots, at, block }) => {
                let (slots, block) = (self.var(*slots), self.var(*block));
                format!("keep {slots} {} {block}", self.expr(at))
            }
            Stmt::Slots(Slots::Get { var, slots, at }) => {
                let (var, slots) = (self.var(*var), self.var(*slots));
                format!("{var} = kept {slots} {}", self.expr(at))
            }
            Stmt::Copy { to, from, elem, extents, plan } => format!(
                "copy [{}]{elem} {} <- {} {}",
                self.exprs(extents),
                self.region(to),
                self.region(from),
                copy_plan(*plan)
            ),
            Stmt::ConstData(v, data) => format!("{} = data#{}", self.var(*v), data.0),
            Stmt::If(cond, yes, no) => {
                let cond = self.expr(cond);
                self.nested(&format!("if {cond}"), yes);
                if !no.is_empty() {
                    self.nested("} else", no);
                }
                "}".to_owned()
            }
            Stmt::While(cond, body) => {
                let cond = self.var(*cond);
                self.nested(&format!("while {cond}"), body);
                "}".to_owned()
            }
            Stmt::For(For { mode: how, var, from, to, body }) => {
                let how = self.how(how);
                let head =
                    format!("for {} in {} .. {}{how}", self.typed_var(*var), self.expr(from), self.expr(to));
                self.nested(&head, body);
                "}".to_owned()
            }
            Stmt::Call { fun, args, results, location } => {
                self.early.extend(args.iter().filter_map(|arg| match arg {
                    Arg::Scalar(Expr::Var(v)) => {
                        let shown = self.shown.get(v.index())?;
                        (shown.get() < Shown::Type).then_some(*v)
                    }
                    Arg::Scalar(_) | Arg::Buffer(_) => None,
                }));
                let args: Vec<String> = args
                    .iter()
                    .map(|arg| match arg {
                        Arg::Scalar(e) => self.expr(e),
                        Arg::Buffer(v) => self.var(*v),
                    })
                    .collect();
                let results = self.typed(results);
                let name = function_name(self.program, fun.0);
                let location = location.map_or(String::new(), |check| format!(" at check#{}", check.0));
                format!("({results}) = {name}({}){location}", args.join(", "))
            }
            Stmt::RecordComparison(tunable, size) => {
                format!("compared tunable#{} with {}", tunable.0, self.expr(size))
            }
            Stmt::Check { cond, check, values } => {
                let (cond, values) = (self.expr(cond), self.exprs(values));
                format!("check#{} {cond} values ({values})", check.0)
            }
            Stmt::ReadGlobal(v, g) => format!("{} = global#{}", self.typed_var(*v), g.0),
            Stmt::Device(op) => self.device_op(op),
            Stmt::WriteGlobal(g, v) => format!("global#{} = {}", g.0, self.var(*v)),
        };
        self.line(&text);
    }

    fn how(&self, how: &LoopMode) -> String {
        match how {
            LoopMode::Seq { independent: false } => String::new(),
            LoopMode::Seq { independent: true } => " independent".to_owned(),
            LoopMode::Scheduled => " scheduled".to_owned(),
            LoopMode::Lanes(width) => format!(" lanes({width})"),
            LoopMode::Tasks(launch) => self.launch("tasks", launch),
            LoopMode::Grid(launch) => self.launch("grid", launch),
            LoopMode::Threads(locals) => format!(" block locals ({})", self.vars(locals)),
        }
    }

    fn launch(&self, what: &str, launch: &Launch) -> String {
        format!(
            " {what}#{} {} at {} cost {}{} owned ({}) locals ({}) captures ({}) distinct ({}){}{}",
            launch.id,
            quote(&launch.name),
            quote(&launch.provenance),
            self.expr(&launch.cost),
            launch.slices.as_ref().map_or_else(String::new, |slices| {
                let end = self.typed_var(slices.end);
                let few = if slices.merge_adjacent { " few" } else { "" };
                format!(" slices {} to {end}{few}", self.expr(&slices.count))
            }),
            self.vars(&launch.owned),
            self.vars(&launch.locals),
            self.vars(&launch.captures),
            self.vars(&launch.distinct),
            match launch.scattered.as_slice() {
                [] => String::new(),
                scattered => format!(" scattered ({})", self.vars(scattered)),
            },
            self.shared_buffers(&launch.shared_buffers)
        )
    }

    fn shared_buffers(&self, buffers: &[SharedBuffer]) -> String {
        if buffers.is_empty() {
            return String::new();
        }
        let buffers = buffers.iter().map(|SharedBuffer { buffer, bytes }| {
            let buffer = self.typed_var(*buffer);
            format!("{buffer} of {}", self.expr(bytes))
        });
        let buffers: Vec<String> = buffers.collect();
        format!(" shared ({})", buffers.join(", "))
    }
}

fn copy_plan(plan: CopyPlan) -> String {
    match plan {
        CopyPlan::Memory => "as memory".to_owned(),
        CopyPlan::InRegister(side) => format!("in registers {side}"),
        CopyPlan::Elements => "one by one".to_owned(),
        CopyPlan::Dynamic(None) => "by strides".to_owned(),
        CopyPlan::Dynamic(Some(Tile { extent: side, pitch })) => {
            format!("by strides tiles {side} pitch {pitch}")
        }
    }
}

fn constant(value: Scalar) -> String {
    match value {
        Scalar::I64(x) => x.to_string(),
        other @ (Scalar::I8(_)
        | Scalar::I16(_)
        | Scalar::I32(_)
        | Scalar::F16(_)
        | Scalar::F32(_)
        | Scalar::F64(_)
        | Scalar::Bool(_)) => show_scalar(other),
    }
}
