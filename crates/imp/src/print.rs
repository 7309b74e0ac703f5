//! The text form of the imperative IR, for people; there is no parser for it.
//!
//! A variable is its hint, an underscore and its number. Operators are written
//! as in every IR (`add.i32(a_1, b_2)`), but `i64` sums and products, which are
//! what indices are made of, stand infix. Vectors have types such as `16 x f32`;
//! operators on them look as on scalars. Tables come first, then functions.

use crate::{
    Access, Arg, Entry, EntryType, EntryValue, Expr, For, Function, How, LaneAccess, LanePositions,
    Program, Region, Stmt, Var,
};
use prim::{BinOp, PrimType, Scalar};
use std::fmt::Write;

/// The program as text.
pub fn print(program: &Program) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "program {:?}", program.source_name);
    for (i, check) in program.checks.iter().enumerate() {
        let _ = writeln!(
            out,
            "check#{i} = {:?} at {:?}",
            check.format, check.location
        );
    }
    for (i, data) in program.data.iter().enumerate() {
        let _ = writeln!(out, "data#{i}: {} = {} bytes", data.elem, data.bytes.len());
    }
    for (i, ty) in program.globals.iter().enumerate() {
        let _ = writeln!(out, "global#{i}: {ty}");
    }
    if let Some(init) = program.init {
        let _ = writeln!(out, "init {}", function_name(program, init.0));
    }
    for entry in &program.entries {
        print_entry(program, entry, &mut out);
    }
    for function in &program.functions {
        out.push('\n');
        Printer {
            program,
            function,
            out: &mut out,
            depth: 1,
        }
        .function();
    }
    out
}

fn function_name(program: &Program, id: u32) -> String {
    match program.functions.get(id as usize) {
        Some(function) => function.name.to_string(),
        None => format!("?fun#{id}"),
    }
}

fn print_entry(program: &Program, entry: &Entry, out: &mut String) {
    let values = |values: &[EntryValue]| {
        let texts: Vec<String> = values.iter().map(entry_value).collect();
        texts.join(", ")
    };
    let _ = writeln!(
        out,
        "entry {}({}) -> ({}) = {}",
        entry.name,
        values(&entry.params),
        values(&entry.results),
        function_name(program, entry.fun.0)
    );
}

fn entry_value(value: &EntryValue) -> String {
    let star = if value.unique { "*" } else { "" };
    let name = if value.name.is_empty() {
        "_"
    } else {
        &value.name
    };
    format!(
        "{name}: {star}{} = {}",
        value.type_name,
        entry_type(&value.ty)
    )
}

fn entry_type(ty: &EntryType) -> String {
    match ty {
        EntryType::Scalar(ty) => ty.to_string(),
        EntryType::Array(ty, rank) => format!("{}{ty}", "[]".repeat(*rank)),
        EntryType::Opaque(parts) => {
            let parts: Vec<String> = parts.iter().map(entry_type).collect();
            format!("({})", parts.join(", "))
        }
    }
}

struct Printer<'a> {
    program: &'a Program,
    function: &'a Function,
    out: &'a mut String,
    depth: usize,
}

impl Printer<'_> {
    fn function(&mut self) {
        let f = self.function;
        let marks = match (f.inline, f.recursive) {
            (false, false) => "",
            (true, false) => "inline ",
            (false, true) => "recursive ",
            (true, true) => "inline recursive ",
        };
        let (params, results) = (self.typed(&f.params), self.typed(&f.results));
        let _ = writeln!(
            self.out,
            "{marks}fun {}({params}) -> ({results}) {{",
            f.name
        );
        if !f.owned.is_empty() {
            let owned = self.vars(&f.owned);
            self.line(&format!("owned {owned}"));
        }
        self.block(&f.body);
        self.out.push_str("}\n");
    }

    fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn var(&self, var: Var) -> String {
        match self.function.vars.get(var.index()) {
            Some(info) => format!("{}_{}", info.hint, var.0),
            None => format!("?_{}", var.0),
        }
    }

    fn vars(&self, vars: &[Var]) -> String {
        let names: Vec<String> = vars.iter().map(|v| self.var(*v)).collect();
        names.join(", ")
    }

    fn typed_var(&self, var: Var) -> String {
        let ty = self
            .function
            .vars
            .get(var.index())
            .map_or_else(|| "?".to_owned(), |info| info.ty.to_string());
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

    fn expr(&self, expr: &Expr) -> String {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.expr_here(expr))
    }

    fn expr_here(&self, expr: &Expr) -> String {
        match expr {
            Expr::Const(value) => constant(*value),
            Expr::Var(v) => self.var(*v),
            Expr::Unary(op, ty, x) => format!("{}.{ty}({})", op.name(), self.expr(x)),
            Expr::Binary(BinOp::Add, PrimType::I64, x, y) => self.infix(x, "+", y),
            Expr::Binary(BinOp::Sub, PrimType::I64, x, y) => self.infix(x, "-", y),
            Expr::Binary(BinOp::Mul, PrimType::I64, x, y) => self.infix(x, "*", y),
            Expr::Binary(op, ty, x, y) => {
                format!("{}.{ty}({}, {})", op.name(), self.expr(x), self.expr(y))
            }
            Expr::Compare(op, ty, x, y) => {
                format!("{}.{ty}({}, {})", op.name(), self.expr(x), self.expr(y))
            }
            Expr::Convert(op, from, to, x) => {
                format!("{}.{from}.{to}({})", op.name(), self.expr(x))
            }
            Expr::Select(ty, c, x, y) => {
                format!(
                    "select.{ty}({}, {}, {})",
                    self.expr(c),
                    self.expr(x),
                    self.expr(y)
                )
            }
            Expr::Fma(ty, x, y, z) => {
                format!(
                    "fma.{ty}({}, {}, {})",
                    self.expr(x),
                    self.expr(y),
                    self.expr(z)
                )
            }
            Expr::Math(fun, ty, args) => format!("{}.{ty}({})", fun.name(), self.exprs(args)),
            Expr::Splat(lanes, x) => format!("splat.{lanes}({})", self.expr(x)),
            Expr::Lanes(ty, lanes) => format!("lanes.{ty}.{lanes}"),
            Expr::Any(mask) => format!("any({})", self.expr(mask)),
            Expr::All(mask) => format!("all({})", self.expr(mask)),
            Expr::FirstLane(mask) => format!("first({})", self.expr(mask)),
            Expr::Extract(x, lane) => format!("extract({}, {})", self.expr(x), self.expr(lane)),
            Expr::Insert(x, lane, value) => {
                format!(
                    "insert({}, {}, {})",
                    self.expr(x),
                    self.expr(lane),
                    self.expr(value)
                )
            }
            Expr::Shift(x, by, value) => {
                format!("shift.{by}({}, {})", self.expr(x), self.expr(value))
            }
        }
    }

    fn infix(&self, x: &Expr, op: &str, y: &Expr) -> String {
        format!("({} {op} {})", self.expr(x), self.expr(y))
    }

    fn access(&self, access: &Access) -> String {
        let Access {
            buffer,
            elem,
            offset,
            dims,
        } = access;
        let mut terms = Vec::new();
        if *offset != Expr::i64(0) || dims.is_empty() {
            terms.push(self.expr(offset));
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
        let LaneAccess {
            buffer,
            elem,
            lanes,
            at,
        } = access;
        let positions = match at {
            LanePositions::Unit(position) => format!("{} ..", self.expr(position)),
            LanePositions::Strided(position, stride) => {
                format!("{} .. by {}", self.expr(position), self.expr(stride))
            }
            LanePositions::Each(positions) => format!("each {}", self.expr(positions)),
        };
        let mask = mask.map_or_else(String::new, |mask| format!(" mask {}", self.expr(mask)));
        format!("{}[{lanes} x {elem}: {positions}]{mask}", self.var(*buffer))
    }

    fn region(&self, region: &Region) -> String {
        let Region {
            buffer,
            offset,
            strides,
        } = region;
        format!(
            "{}[{} strides {}]",
            self.var(*buffer),
            self.expr(offset),
            self.exprs(strides)
        )
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
            Stmt::LoadLanes { var, from, mask } => format!(
                "{} = {}",
                self.typed_var(*var),
                self.lane_access(from, mask.as_ref())
            ),
            Stmt::StoreLanes { to, value, mask } => format!(
                "{} = {}",
                self.lane_access(to, mask.as_ref()),
                self.expr(value)
            ),
            Stmt::Alloc(v, bytes) => format!("{} = alloc {}", self.var(*v), self.expr(bytes)),
            Stmt::Frame {
                buffer,
                elem,
                count,
            } => {
                format!("{} = frame [{count}]{elem}", self.var(*buffer))
            }
            Stmt::Share(v, w) => format!("{} = share {}", self.var(*v), self.var(*w)),
            Stmt::Borrow(v, w) => format!("{} = borrow {}", self.var(*v), self.var(*w)),
            Stmt::Release(v) => format!("release {}", self.var(*v)),
            Stmt::Copy {
                to,
                from,
                elem,
                extents,
            } => format!(
                "copy [{}]{elem} {} <- {}",
                self.exprs(extents),
                self.region(to),
                self.region(from)
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
            Stmt::For(For {
                how,
                var,
                from,
                to,
                body,
            }) => {
                let how = self.how(how);
                let head = format!(
                    "for {} in {} .. {}{how}",
                    self.typed_var(*var),
                    self.expr(from),
                    self.expr(to)
                );
                self.nested(&head, body);
                "}".to_owned()
            }
            Stmt::Call { fun, args, results } => {
                let args: Vec<String> = args
                    .iter()
                    .map(|arg| match arg {
                        Arg::Scalar(e) => self.expr(e),
                        Arg::Buffer(v) => self.var(*v),
                    })
                    .collect();
                let results = self.typed(results);
                let name = function_name(self.program, fun.0);
                format!("({results}) = {name}({})", args.join(", "))
            }
            Stmt::Check {
                cond,
                check,
                values,
            } => {
                let (cond, values) = (self.expr(cond), self.exprs(values));
                format!("check#{} {cond} values ({values})", check.0)
            }
            Stmt::ReadGlobal(v, g) => format!("{} = global#{}", self.typed_var(*v), g.0),
            Stmt::WriteGlobal(g, v) => format!("global#{} = {}", g.0, self.var(*v)),
        };
        self.line(&text);
    }

    fn how(&self, how: &How) -> String {
        match how {
            How::Seq { independent: false } => String::new(),
            How::Seq { independent: true } => " independent".to_owned(),
            How::Lanes(width) => format!(" lanes({width})"),
            How::Tasks(launch) => format!(
                " tasks#{} {:?} at {:?} cost {} owned ({}) locals ({}) distinct ({})",
                launch.id,
                launch.name,
                launch.provenance,
                self.expr(&launch.cost),
                self.vars(&launch.owned),
                self.vars(&launch.locals),
                self.vars(&launch.distinct)
            ),
        }
    }
}

fn constant(value: Scalar) -> String {
    match value {
        Scalar::I8(x) => format!("{x}i8"),
        Scalar::I16(x) => format!("{x}i16"),
        Scalar::I32(x) => format!("{x}i32"),
        Scalar::I64(x) => x.to_string(),
        Scalar::F16(x) => format!("{x:?}f16"),
        Scalar::F32(x) => format!("{x:?}f32"),
        Scalar::F64(x) => format!("{x:?}f64"),
        Scalar::Bool(x) => x.to_string(),
    }
}
