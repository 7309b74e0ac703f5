//! The parser of statements.

use super::parse::{FunctionParser, Result, function_id};
use crate::{
    Access, Arg, CheckId, CopyPlan, DataId, DeviceOp, Expr, For, GlobalId, LaneAccess, LanePositions, Launch,
    LoopMode, MAX_LANES, MaskedOff, Region, SharedBuffer, Slices, Slots, Stmt, Tile, Var,
};

impl FunctionParser<'_, '_> {
    /// Parses statements and the closing brace.
    pub(super) fn block(&mut self) -> Result<Vec<Stmt>> {
        self.deeper(|f| {
            let mut stmts = Vec::new();
            while !f.p.take("}") {
                stmts.push(f.stmt()?);
            }
            Ok(stmts)
        })
    }

    fn braces(&mut self) -> Result<Vec<Stmt>> {
        self.p.punct("{")?;
        self.block()
    }

    fn stmt(&mut self) -> Result<Stmt> {
        if let Some(var) = self.take_var()? {
            return if self.p.peek(":") {
                self.type_of(var)?;
                self.p.punct("=")?;
                self.value(var)
            } else if self.p.peek("[") {
                self.store(var)
            } else {
                self.p.punct("=")?;
                self.buffer(var)
            };
        }
        if self.p.peek("(") {
            return self.call();
        }
        let Some(word) = self.p.peek_ident() else {
            return self.p.expected("a statement or `}`");
        };
        match word {
            "release" => {
                self.p.ident()?;
                Ok(Stmt::Release(self.var()?))
            }
            "keep" => {
                self.p.ident()?;
                let (slots, at, block) = (self.var()?, self.expr()?, self.var()?);
                Ok(Stmt::Slots(Slots::Put { slots, at, block }))
            }
            "copy" => {
                self.p.ident()?;
                self.copy()
            }
            "if" => {
                self.p.ident()?;
                let cond = self.expr()?;
                let yes = self.braces()?;
                let no = if self.p.take_keyword("else") { self.braces()? } else { Vec::new() };
                Ok(Stmt::If(cond, yes, no))
            }
            "while" => {
                self.p.ident()?;
                let cond = self.var()?;
                Ok(Stmt::While(cond, self.braces()?))
            }
            "for" => {
                self.p.ident()?;
                self.for_loop()
            }
            "compared" => {
                self.p.ident()?;
                let tunable = self.tunable()?;
                self.p.keyword("with")?;
                Ok(Stmt::RecordComparison(tunable, self.expr()?))
            }
            "check" => {
                self.p.ident()?;
                let check = CheckId(self.id()?);
                let cond = self.expr()?;
                self.p.keyword("values")?;
                Ok(Stmt::Check { cond, check, values: self.exprs()? })
            }
            "barrier" => {
                self.p.ident()?;
                if self.p.peek_ident() != Some("of") {
                    return Ok(Stmt::Device(DeviceOp::Barrier));
                }
                self.p.ident()?;
                Ok(Stmt::Device(DeviceOp::SubgroupBarrier(self.p.integer()?)))
            }
            "atomic" => {
                self.p.ident()?;
                self.atomic()
            }
            "swap" => {
                self.p.ident()?;
                self.swap()
            }
            "signal" => {
                self.p.ident()?;
                self.signal()
            }
            "await" => {
                self.p.ident()?;
                self.await_()
            }
            "global" => {
                self.p.ident()?;
                let global = GlobalId(self.id()?);
                self.p.punct("=")?;
                Ok(Stmt::WriteGlobal(global, self.var()?))
            }
            _ => self.p.expected("a statement"),
        }
    }

    /// `#n`.
    fn id(&mut self) -> Result<u32> {
        self.p.punct("#")?;
        self.p.integer()
    }

    /// Parses the value of a variable with a type.
    fn value(&mut self, var: Var) -> Result<Stmt> {
        if self.p.take_keyword("global") {
            return Ok(Stmt::ReadGlobal(var, GlobalId(self.id()?)));
        }
        let expr = self.expr()?;
        if let Expr::Var(buffer) = expr
            && self.p.peek("[")
        {
            Ok(match self.element(buffer)? {
                Element::One(access) => Stmt::Load(var, access),
                Element::Lanes(from, mask) => Stmt::LoadLanes { var, from, mask },
            })
        } else {
            Ok(Stmt::Set(var, expr))
        }
    }

    fn store(&mut self, buffer: Var) -> Result<Stmt> {
        let element = self.element(buffer)?;
        self.p.punct("=")?;
        let value = self.expr()?;
        Ok(match element {
            Element::One(access) => Stmt::Store(access, value),
            Element::Lanes(to, mask) => Stmt::StoreLanes { to, value, mask },
        })
    }

    /// Parses the source span of a failure, if there is one.
    fn location(&mut self) -> Result<Option<CheckId>> {
        if self.p.peek_ident() != Some("at") {
            return Ok(None);
        }
        self.p.ident()?;
        self.p.keyword("check")?;
        Ok(Some(CheckId(self.id()?)))
    }

    /// Parses the value of a buffer variable.
    fn buffer(&mut self, var: Var) -> Result<Stmt> {
        match self.p.peek_ident() {
            Some("alloc") => {
                self.p.ident()?;
                let bytes = self.expr()?;
                Ok(Stmt::Alloc(var, bytes, self.location()?))
            }
            Some("slots") => {
                self.p.ident()?;
                let count = self.expr()?;
                Ok(Stmt::Slots(Slots::New(var, count, self.location()?)))
            }
            Some("kept") => {
                self.p.ident()?;
                let (slots, at) = (self.var()?, self.expr()?);
                Ok(Stmt::Slots(Slots::Get { var, slots, at }))
            }
            Some("frame") => {
                self.p.ident()?;
                self.p.punct("[")?;
                let count = self.p.integer()?;
                self.p.punct("]")?;
                Ok(Stmt::Frame { buffer: var, elem: self.p.prim()?, count })
            }
            Some("share") => {
                self.p.ident()?;
                Ok(Stmt::Share(var, self.var()?))
            }
            Some("borrow") => {
                self.p.ident()?;
                Ok(Stmt::Borrow(var, self.var()?))
            }
            Some("data") => {
                self.p.ident()?;
                Ok(Stmt::ConstData(var, DataId(self.id()?)))
            }
            _ => self.p.expected("`alloc`, `frame`, `share`, `borrow` or `data`"),
        }
    }

    fn element(&mut self, buffer: Var) -> Result<Element> {
        self.p.punct("[")?;
        if let Some(lanes) = self.p.take_integer::<u32>() {
            if lanes > MAX_LANES {
                return self.p.error(format!("a vector has at most {MAX_LANES} lanes"));
            }
            self.p.keyword("x")?;
            let elem = self.p.prim()?;
            self.p.punct(":")?;
            let at = self.positions()?;
            self.p.punct("]")?;
            let mask = if self.p.take_keyword("mask") { Some(self.expr()?) } else { None };
            let off = if self.p.take_keyword("elsewhere") { MaskedOff::Dummy } else { MaskedOff::Skip };
            let access = LaneAccess { buffer, elem, lanes, at, masked_off: off };
            return Ok(Element::Lanes(access, mask));
        }
        let elem = self.p.prim()?;
        self.p.punct(":")?;
        let (mut offset, mut dims) = (Expr::i64(0), Vec::new());
        let mut more = true;
        if self.p.take_keyword("at") {
            offset = self.expr()?;
            more = self.p.take("+");
        }
        while more {
            let index = self.expr()?;
            let stride = if self.p.take("*") { self.expr()? } else { Expr::i64(1) };
            dims.push((index, stride));
            more = self.p.take("+");
        }
        self.p.punct("]")?;
        Ok(Element::One(Access { buffer, elem, offset, dims }))
    }

    /// Parses an element with its buffer.
    pub(super) fn one_element(&mut self) -> Result<Access> {
        let buffer = self.var()?;
        match self.element(buffer)? {
            Element::One(access) => Ok(access),
            Element::Lanes(..) => self.p.error("expected a single element"),
        }
    }

    fn positions(&mut self) -> Result<LanePositions> {
        if self.p.take_keyword("each") {
            return Ok(LanePositions::Gather(self.expr()?));
        }
        let first = self.expr()?;
        self.p.punct("..")?;
        Ok(if self.p.take_keyword("near") {
            LanePositions::SmallStride(first, self.p.integer()?)
        } else if self.p.take_keyword("by") {
            LanePositions::Strided(first, self.expr()?)
        } else {
            LanePositions::Unit(first)
        })
    }

    fn copy(&mut self) -> Result<Stmt> {
        self.p.punct("[")?;
        let extents = self.exprs_until("]")?;
        let elem = self.p.prim()?;
        let to = self.region()?;
        self.p.punct("<-")?;
        Ok(Stmt::Copy { to, from: self.region()?, elem, extents, plan: self.plan()? })
    }

    fn plan(&mut self) -> Result<CopyPlan> {
        if self.p.take_keyword("as") {
            self.p.keyword("memory")?;
            return Ok(CopyPlan::Memory);
        }
        if self.p.take_keyword("in") {
            self.p.keyword("registers")?;
            return Ok(CopyPlan::InRegister(self.p.integer()?));
        }
        if self.p.take_keyword("one") {
            self.p.keyword("by")?;
            self.p.keyword("one")?;
            return Ok(CopyPlan::Elements);
        }
        self.p.keyword("by")?;
        self.p.keyword("strides")?;
        if !self.p.take_keyword("tiles") {
            return Ok(CopyPlan::Dynamic(None));
        }
        let side = self.p.integer()?;
        self.p.keyword("pitch")?;
        let pitch = self.p.integer()?;
        Ok(CopyPlan::Dynamic(Some(Tile { extent: side, pitch })))
    }

    fn region(&mut self) -> Result<Region> {
        let buffer = self.var()?;
        self.p.punct("[")?;
        let offset = self.expr()?;
        self.p.keyword("strides")?;
        Ok(Region { buffer, offset, strides: self.exprs_until("]")? })
    }

    fn for_loop(&mut self) -> Result<Stmt> {
        let var = self.typed_var()?;
        self.p.keyword("in")?;
        let from = self.expr()?;
        self.p.punct("..")?;
        let to = self.expr()?;
        let how = match self.p.peek_ident() {
            Some("independent") => {
                self.p.ident()?;
                LoopMode::Seq { independent: true }
            }
            Some("scheduled") => {
                self.p.ident()?;
                LoopMode::Scheduled
            }
            Some("lanes") => {
                self.p.ident()?;
                self.p.punct("(")?;
                let width = self.p.integer()?;
                self.p.punct(")")?;
                LoopMode::Lanes(width)
            }
            Some("grid") => {
                self.p.ident()?;
                LoopMode::Grid(self.launch()?)
            }
            Some("block") => {
                self.p.ident()?;
                self.p.keyword("locals")?;
                LoopMode::Threads(self.vars()?)
            }
            Some("tasks") => {
                self.p.ident()?;
                LoopMode::Tasks(self.launch()?)
            }
            _ => LoopMode::Seq { independent: false },
        };
        Ok(Stmt::For(For { mode: how, var, from, to, body: self.braces()? }))
    }

    fn launch(&mut self) -> Result<Launch> {
        let id = self.id()?;
        let name = self.p.string()?;
        self.p.keyword("at")?;
        let provenance = self.p.string()?;
        self.p.keyword("cost")?;
        let cost = self.expr()?;
        let mut slices = None;
        if self.p.take_keyword("slices") {
            let count = self.expr()?;
            self.p.keyword("to")?;
            let end = self.typed_var()?;
            let few = self.p.take_keyword("few");
            slices = Some(Box::new(Slices { count, end, merge_adjacent: few }));
        }
        self.p.keyword("owned")?;
        let owned = self.vars()?;
        self.p.keyword("locals")?;
        let locals = self.vars()?;
        self.p.keyword("captures")?;
        let captures = self.vars()?;
        self.p.keyword("distinct")?;
        let distinct = self.vars()?;
        let scattered = if self.p.take_keyword("scattered") { self.vars()? } else { Vec::new() };
        let mut shared_buffers = Vec::new();
        if self.p.take_keyword("shared") {
            shared_buffers = self.list(|f| {
                let buffer = f.typed_var()?;
                f.p.keyword("of")?;
                let bytes = f.expr()?;
                Ok(SharedBuffer { buffer, bytes })
            })?;
        }
        Ok(Launch {
            id,
            name,
            provenance,
            cost,
            slices,
            owned,
            locals,
            captures,
            distinct,
            scattered,
            shared_buffers,
        })
    }

    fn call(&mut self) -> Result<Stmt> {
        let results = self.typed_vars()?;
        self.p.punct("=")?;
        let fun = function_id(self.p, self.functions)?;
        // Types of all variables are known only at the end of the function; a variable that is
        // passed has got its value, and its type, before.
        let args = self.list(|f| {
            Ok({
                let expr = f.expr()?;
                if let Expr::Var(var) = expr
                    && f.is_buffer(var)
                {
                    Arg::Buffer(var)
                } else {
                    Arg::Scalar(expr)
                }
            })
        })?;
        let location = if self.p.take_keyword("at") {
            self.p.keyword("check")?;
            Some(CheckId(self.id()?))
        } else {
            None
        };
        Ok(Stmt::Call { fun, args, results, location })
    }
}

/// The accesses in brackets behind a buffer: one element, or one per lane with a mask.
enum Element {
    One(Access),
    Lanes(LaneAccess, Option<Expr>),
}
