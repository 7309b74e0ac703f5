//! Convolutions in one to three dimensions, with channels, and stencils with borders.

use super::Gen;
use super::scalars::{FoldOp, convert, literal, tame};
use super::sizes::{Dim, Values};
use prim::ScalarType::{self, Bool, F32, F64, I16, I32, U8};

/// The dimensions that a convolution folds over, each with its counter.
struct Window {
    dims: Vec<Dim>,
    names: Vec<String>,
}

/// The shape of a convolution.
struct Convolution {
    stride: i64,
    outputs: Vec<Dim>,
    windows: Vec<Dim>,
    channels: Option<Dim>,
    /// True if channels are the last dimension of arrays; otherwise they are before the positions.
    channels_last: bool,
    filters: Option<Dim>,
    images: Option<Dim>,
}

impl Convolution {
    /// The dimensions of the result.
    fn space(&self) -> Vec<Dim> {
        self.images.into_iter().chain(self.filters).chain(self.outputs.iter().copied()).collect()
    }

    /// Dimensions or indices: an outer one, if any, and positions with the channel.
    fn arranged<T>(&self, outer: Option<T>, positions: Vec<T>, channel: Option<T>) -> Vec<T> {
        let (first, last) = if self.channels_last { (None, channel) } else { (channel, None) };
        outer.into_iter().chain(first).chain(positions).chain(last).collect()
    }

    /// The index in the input of an output's position and the window's.
    fn position(&self, output: &str, window: &str) -> String {
        if self.stride == 1 {
            format!("{output} + {window}")
        } else {
            format!("{} * {output} + {window}", self.stride)
        }
    }
}

impl Gen<'_> {
    /// A new shape of a convolution.
    fn convolution(&mut self) -> Convolution {
        let rank = 1 + self.c.below(3);
        let convolution = Convolution {
            stride: 1 + i64::from(self.c.once_in(4)),
            outputs: (0..rank).map(|_| self.size()).collect(),
            windows: (0..rank).map(|_| self.window()).collect(),
            channels: (self.c.below(3) < 2).then(|| self.fold_size()),
            channels_last: self.c.once_in(2),
            filters: (self.c.below(3) < 2).then(|| self.size()),
            images: (self.c.once_in(4) && rank < 3).then(|| self.size()),
        };
        let folded = convolution.channels.into_iter().chain(convolution.windows.iter().copied());
        self.work.push(convolution.space().into_iter().chain(folded).collect());
        convolution
    }

    /// An entry point: a convolution.
    pub(super) fn convolution_entry(&mut self) {
        let ty = self.result_type();
        let shape = self.convolution();
        let sizes: Vec<(Dim, Dim)> =
            shape.outputs.iter().copied().zip(shape.windows.iter().copied()).collect();
        let padded: Vec<Dim> = sizes.into_iter().map(|(n, w)| self.padded(n, shape.stride, w)).collect();
        let (from, kernel_type) = (self.source_type(ty), self.source_type(ty));
        let x = self.array(&shape.arranged(shape.images, padded, shape.channels), from);
        let w =
            self.array(&shape.arranged(shape.filters, shape.windows.clone(), shape.channels), kernel_type);
        let space = shape.space();
        let names: Vec<String> = space.iter().map(|_| self.fresh("ix")).collect();
        let window_names: Vec<String> = shape.windows.iter().map(|_| self.fresh("p")).collect();
        let channel = shape.channels.map(|_| self.fresh("c"));
        let (outer, positions) = names.split_at(space.len() - shape.outputs.len());
        let image = shape.images.and(outer.first()).cloned();
        let filter = shape.filters.and(outer.last()).cloned();
        let at = positions.iter().zip(&window_names).map(|(i, p)| shape.position(i, p)).collect();
        let x_at = shape.arranged(image, at, channel.clone());
        let w_at = shape.arranged(filter, window_names.clone(), channel.clone());
        let op = self.fold_op(ty);
        let x_value = convert(&format!("{x}[{}]", x_at.join(", ")), from, ty);
        let w_value = convert(&format!("{w}[{}]", w_at.join(", ")), kernel_type, ty);
        let element = self.element(ty, op);
        let value = if element.reads_twice() {
            format!("(let xe = {x_value} let we = {w_value} in {})", element.apply(ty, "xe", "we"))
        } else {
            element.apply(ty, &x_value, &w_value)
        };
        let mut window = Window { dims: shape.windows, names: window_names };
        if let (Some(dim), Some(channel)) = (shape.channels, channel) {
            let at = if self.c.once_in(2) { window.dims.len() } else { 0 };
            window.dims.insert(at, dim);
            window.names.insert(at, channel);
        }
        let fold = self.window_fold(&window, &value, op, ty);
        let fold = self.epilogue(&fold, ty, None);
        let text = self.nested(&space, &names, &fold);
        self.consumed(&text, &space, ty);
    }

    /// A fold over a window: nested loops, or nested reductions.
    fn window_fold(&mut self, window: &Window, value: &str, op: FoldOp, ty: ScalarType) -> String {
        let neutral = op.neutral(ty);
        let pairs = window.dims.iter().zip(&window.names).rev();
        match self.c.below(6) {
            0..=2 => {
                let acc = self.fresh("acc");
                let inner = op.apply(ty, &acc, value);
                let loops = pairs.fold(inner, |body, (dim, name)| {
                    format!("(loop {acc} for {name} < {} do {body})", self.dim(*dim))
                });
                format!("(let {acc} = {neutral} in {loops})")
            }
            3 | 4 => pairs.fold(value.to_owned(), |body, (dim, name)| {
                let section = op.section(ty);
                format!("(reduce {section} {neutral} (map (\\{name} -> {body}) (iota {})))", self.dim(*dim))
            }),
            _ => {
                let array = pairs.fold(value.to_owned(), |body, (dim, name)| {
                    format!("(tabulate {} (\\{name} -> {body}))", self.dim(*dim))
                });
                let flat = (1..window.dims.len()).fold(array, |array, _| format!("(flatten {array})"));
                format!("(reduce {} {neutral} {flat})", op.section(ty))
            }
        }
    }

    /// An entry point: steps of a stencil.
    pub(super) fn stencil_entry(&mut self) {
        match self.c.below(4) {
            0 => self.rotated_entry(),
            1 => self.life_entry(),
            _ => self.neighbours_entry(),
        }
    }

    /// A stencil by rotations of the whole array.
    fn rotated_entry(&mut self) {
        let ty = self.c.pick(&[I32, F32, F64, U8, I16]).copied().unwrap_or(I32);
        let rank = 1 + self.c.below(2);
        let dims: Vec<Dim> = (0..rank).map(|_| self.size()).collect();
        let start = self.array(&dims, ty);
        let [x, t, a, b, c] = self.fresh_all(["x", "t", "a", "b", "c"]);
        let (left, right) = if rank == 2 && self.c.once_in(2) {
            (format!("(map (rotate 1) {x})"), format!("(map (rotate (-1)) {x})"))
        } else {
            (format!("(rotate 1 {x})"), format!("(rotate (-1) {x})"))
        };
        let value = tame(&format!("({a} + {b} - {c})"), ty);
        let function = format!("(\\{a} {b} {c} -> {value})");
        let function = if rank == 2 { format!("(map3 {function})") } else { function };
        let steps = self.pick_text(&["2", "1", "3"]);
        let text = format!("(loop {x} = {start} for {t} < {steps} do map3 {function} {left} {x} {right})");
        self.consumed(&text, &dims, ty);
    }

    /// The Game of Life: sums of eight neighbours.
    fn life_entry(&mut self) {
        let ty = self.c.pick(&[U8, I32, I16]).copied().unwrap_or(U8);
        let dims = [self.size(), self.size()];
        let start = self.array(&dims, ty);
        let [x, t, i, j, s, p, q] = self.fresh_all(["x", "t", "ix", "j", "s", "p", "q"]);
        let (h, w) = (self.dim(dims[0]), self.dim(dims[1]));
        let sum = if self.c.once_in(2) {
            let cell = format!("{x}[({i} + {p} + {h} - 1) % {h}, ({j} + {q} + {w} - 1) % {w}]");
            format!("(loop {s} = {} for {p} < 3 do loop {s} for {q} < 3 do {s} + {cell})", literal(ty, 0))
        } else {
            let row = |di: &str| {
                let at = |dj: &str| format!("{x}[({i} + {di}) % {h}, ({j} + {dj}) % {w}]");
                format!("{} + {} + {}", at(&format!("{w} - 1")), at("0"), at("1"))
            };
            format!("({} + {} + {})", row(&format!("{h} - 1")), row("0"), row("1"))
        };
        let [one, three, four] = [1, 3, 4].map(|n| literal(ty, n));
        let cell = format!(
            "let {s} = {sum} - {x}[{i}, {j}] in \
             if {s} == {three} || ({s} + {x}[{i}, {j}] == {four}) then {one} else {}",
            literal(ty, 0)
        );
        let next = self.nested(&dims, &[i, j], &cell);
        let steps = self.pick_text(&["2", "1", "4"]);
        self.result(format!("(loop {x} = {start} for {t} < {steps} do {next})"), &dims, ty);
    }

    /// A stencil whose borders are treated by conditions or by bounded indices.
    fn neighbours_entry(&mut self) {
        let ty = self.c.pick(&[I32, F32, F64, U8, I16]).copied().unwrap_or(I32);
        let rank = 1 + self.c.below(3);
        let dims: Vec<Dim> = (0..rank).map(|_| self.size()).collect();
        self.work.push(dims.clone());
        let start = self.array(&dims, ty);
        let names: Vec<String> = dims.iter().map(|_| self.fresh("ix")).collect();
        let [x, t] = self.fresh_all(["x", "t"]);
        let by_condition = self.c.once_in(2);
        let (mut terms, mut inside) = (Vec::new(), Vec::new());
        for (at, (name, dim)) in names.iter().zip(&dims).enumerate() {
            let size = self.dim(*dim);
            inside.push(format!("{name} > 0 && {name} < {size} - 1"));
            for step in ["- 1", "+ 1"] {
                let neighbour = if by_condition {
                    format!("{name} {step}")
                } else {
                    format!("i64.max 0 (i64.min ({size} - 1) ({name} {step}))")
                };
                let mut index = names.clone();
                index[at] = neighbour;
                terms.push(format!("{x}[{}]", index.join(", ")));
            }
        }
        let centre = format!("{x}[{}]", names.join(", "));
        let value = tame(&format!("({} - {centre})", terms.join(" + ")), ty);
        let cell = if by_condition {
            format!("if {} then {value} else {centre}", inside.join(" && "))
        } else {
            value
        };
        let next = self.nested(&dims, &names, &cell);
        let steps = self.pick_text(&["2", "1", "3"]);
        let text = format!("(loop {x} = {start} for {t} < {steps} do {next})");
        self.consumed(&text, &dims, ty);
        if self.c.once_in(4) && ty != Bool {
            let other = self.param(&dims, ty, Values::Small);
            self.result(other, &dims, ty);
        }
    }
}
