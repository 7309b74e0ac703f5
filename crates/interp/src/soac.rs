//! The built-in functions on arrays.

use crate::array::{gather_blocks, out_of_memory};
use crate::build::{Rows, extend, extend_with, fits, reserve};
use crate::derivative::Mode;
use crate::failure::{Failure, Res};
use crate::indexed::{
    Arguments, bin_value, bucket, flat_index, flat_update, reshaped, rows_at, scatter, set_bin,
};
use crate::machine::{Args, Machine, truth};
use crate::shape::{push_shape, shapes_differ};
use crate::value::{Accumulator, Array, Data, Dims, Parts, RunType, RunValue};
use check::intrinsics::ArrayFun;
use std::cell::RefCell;
use std::rc::Rc;
use syntax::span::Span;

impl Machine<'_> {
    /// A built-in function on arrays, applied to all of its arguments.
    pub fn array_fun(
        &mut self,
        fun: ArrayFun,
        types: &[Rc<RunType>],
        args: Args,
        span: Span,
    ) -> Res<RunValue> {
        let mut given = Arguments::new(args);
        let given = &mut given;
        match fun {
            ArrayFun::Map => {
                let (f, xs) = (given.next()?, given.array()?);
                let claim = types.get(1).cloned();
                let mut rows = Rows::new(xs.len());
                for i in 0..xs.len() {
                    let pushed = rows.push(self.apply1(&f, xs.row(i))?);
                    self.row_result(pushed, None, span)?;
                }
                Ok(rows.finish(|| claim.unwrap_or_else(|| Rc::new(RunType::Unknown))))
            }
            ArrayFun::Reduce | ArrayFun::ReduceComm => {
                let (op, mut value, xs) = (given.next()?, given.next()?, given.array()?);
                for i in 0..xs.len() {
                    let next = self.apply2(&op, value.clone(), xs.row(i))?;
                    same_shape(&value, &next, span)?;
                    value = next;
                }
                Ok(value)
            }
            ArrayFun::Scan => {
                let (op, mut value, xs) = (given.next()?, given.next()?, given.array()?);
                let mut rows = Rows::new(xs.len());
                for i in 0..xs.len() {
                    let next = self.apply2(&op, value.clone(), xs.row(i))?;
                    same_shape(&value, &next, span)?;
                    value = next;
                    let pushed = rows.push(value.clone());
                    self.row_result(pushed, None, span)?;
                }
                Ok(rows.finish(|| xs.row_type()))
            }
            ArrayFun::Hist | ArrayFun::Hist2d | ArrayFun::Hist3d => {
                let (dest, op, _) = (given.array()?, given.next()?, given.next()?);
                self.hist(dest, &op, &*given.array()?, &*given.array()?)
            }
            ArrayFun::Scatter | ArrayFun::Scatter2d | ArrayFun::Scatter3d => {
                let (dest, is, vs) = (given.array()?, given.array()?, given.array()?);
                scatter(dest, &is, &vs, span)
            }
            ArrayFun::Filter => {
                let (p, xs) = (given.next()?, given.array()?);
                let keep = self.flags(&p, &xs)?;
                let order = indices_of(&keep, true);
                Ok(rows_at(&xs, &order))
            }
            ArrayFun::Partition => {
                let (p, xs) = (given.next()?, given.array()?);
                let keep = self.flags(&p, &xs)?;
                let mut order = indices_of(&keep, true);
                let count = order.len() as i64;
                order.extend(indices_of(&keep, false));
                Ok(RunValue::pair(RunValue::i64(count), rows_at(&xs, &order)))
            }
            ArrayFun::FlatMap => {
                let (f, xs) = (given.next()?, given.array()?);
                self.flat_map(&f, &xs, types, span)
            }
            ArrayFun::Flatten => {
                let xs = given.array()?;
                let [n, m, rest @ ..] = xs.shape.as_slice() else {
                    return Err(Failure::bug("`flatten` of a vector"));
                };
                let mut shape = Dims::from_slice(&[n * m]);
                shape.extend_from_slice(rest);
                Ok(reshaped(xs, shape))
            }
            ArrayFun::Unflatten => {
                let (n, m, xs) = (given.i64()?, given.i64()?, given.array()?);
                let size = xs.shape[0];
                if n < 0 || m < 0 || n.checked_mul(m) != Some(size) {
                    let mut text = String::from("Cannot unflatten array of shape ");
                    push_shape(&[size], &mut text);
                    text.push_str(" to array of shape ");
                    push_shape(&[n, m], &mut text);
                    text.push('.');
                    return Err(Failure::at(span, text));
                }
                let mut shape = Dims::from_slice(&[n, m]);
                shape.extend_from_slice(&xs.shape[1..]);
                Ok(reshaped(xs, shape))
            }
            ArrayFun::Concat => concat(given.array()?, &*given.array()?, span),
            ArrayFun::Rotate => {
                let (r, xs) = (given.i64()?, given.array()?);
                let n = xs.len() as i64;
                let order: Vec<usize> = (0..n).map(|i| (i + r).rem_euclid(n) as usize).collect();
                Ok(rows_at(&xs, &order))
            }
            ArrayFun::Transpose => transpose(&*given.array()?),
            ArrayFun::Replicate => replicate(given.i64()?, given.next()?, span),
            ArrayFun::Iota => {
                let n = given.i64()?;
                if n < 0 {
                    let text = format!("Range 0..1..<{n} is invalid.");
                    return Err(Failure::at(span, text));
                }
                if !fits(n, 8) {
                    return Err(out_of_memory(span));
                }
                Ok(RunValue::vector(Data::I64((0..n).collect())))
            }
            ArrayFun::Zip => {
                let (xs, ys) = (given.array()?, given.array()?);
                if xs.len() != ys.len() {
                    let ty = RunType::Array(xs.len() as i64, ys.row_type());
                    return Err(shapes_differ(&ys.shape, &ty, span));
                }
                let ty = || Rc::new(RunType::Tuple(vec![xs.row_type(), ys.row_type()]));
                let mut pairs = Data::Other(Vec::new(), ty());
                reserve(&mut pairs, xs.len()).map_err(|_| out_of_memory(span))?;
                if let Data::Other(pairs, _) = &mut pairs {
                    pairs.extend((0..xs.len()).map(|i| RunValue::pair(xs.row(i), ys.row(i))));
                }
                Ok(RunValue::vector(pairs))
            }
            ArrayFun::Unzip => self.unzip(&*given.array()?, types, span),
            ArrayFun::Manifest
            | ArrayFun::Copy
            | ArrayFun::Opaque
            | ArrayFun::Break
            | ArrayFun::Trace
            | ArrayFun::Scratch => given.next(),
            ArrayFun::WithVjp => self.with_vjp(given, types, span),
            ArrayFun::FlatIndex2d => flat_index(given, 2, span),
            ArrayFun::FlatIndex3d => flat_index(given, 3, span),
            ArrayFun::FlatIndex4d => flat_index(given, 4, span),
            ArrayFun::FlatUpdate2d => flat_update(given, 2, span),
            ArrayFun::FlatUpdate3d => flat_update(given, 3, span),
            ArrayFun::FlatUpdate4d => flat_update(given, 4, span),
            ArrayFun::ScatterStream => {
                let (dest, f, bs) = (given.next()?, given.next()?, given.array()?);
                self.stream(dest, None, &f, &bs)
            }
            ArrayFun::HistStream => {
                let (dest, op, _) = (given.next()?, given.next()?, given.next()?);
                let (f, bs) = (given.next()?, given.array()?);
                self.stream(dest, Some(op), &f, &bs)
            }
            ArrayFun::AccWrite => {
                let (acc, i, v) = (given.next()?, given.i64()?, given.next()?);
                self.acc_write(acc, i, v)
            }
            ArrayFun::Jvp2 => self.derivative(Mode::Forward, given, types, span),
            ArrayFun::Vjp2 => self.derivative(Mode::Reverse, given, types, span),
            ArrayFun::Jmp2 => self.derivative_of_seeds(Mode::Forward, given, types, span),
            ArrayFun::Mjp2 => self.derivative_of_seeds(Mode::Reverse, given, types, span),
        }
    }

    fn flags(&mut self, p: &RunValue, xs: &Array) -> Res<Vec<bool>> {
        (0..xs.len()).map(|i| truth(&self.apply1(p, xs.row(i))?)).collect()
    }

    fn hist(&mut self, dest: Rc<Array>, op: &RunValue, is: &Array, vs: &Array) -> Res<RunValue> {
        let mut dest = dest;
        for i in 0..is.len().min(vs.len()) {
            let Some(bucket) = bucket(&dest, &is.row(i)) else {
                continue;
            };
            let new = self.apply2(op, bin_value(&dest, &bucket), vs.row(i))?;
            set_bin(Rc::make_mut(&mut dest), &bucket, new)?;
        }
        Ok(RunValue::Array(dest))
    }

    fn flat_map(&mut self, f: &RunValue, xs: &Array, types: &[Rc<RunType>], span: Span) -> Res<RunValue> {
        let (mut sizes, mut offsets, mut starts) = (Vec::new(), Vec::new(), Vec::new());
        let mut data: Option<Array> = None;
        let mut uniform = Rows::new(xs.len());
        let mut total = 0i64;
        for i in 0..xs.len() {
            let RunValue::Tuple(parts) = self.apply1(f, xs.row(i))? else {
                return Err(Failure::bug("a `flatmap` function whose result is not an array and a value"));
            };
            let [RunValue::Array(part), rest] = parts.as_slice() else {
                return Err(Failure::bug("a `flatmap` function whose result is not an array and a value"));
            };
            let pushed = uniform.push(rest.clone());
            self.row_result(pushed, None, span)?;
            let n = part.len() as i64;
            sizes.push(n);
            offsets.push(total);
            starts.extend((0..n).map(|j| j == 0));
            total += n;
            data = Some(match data {
                None => (**part).clone(),
                Some(mut all) => {
                    append(&mut all, part, span)?;
                    all
                }
            });
        }
        let claim = |at: usize| {
            let ty = types.get(at).cloned();
            ty.unwrap_or_else(|| Rc::new(RunType::Unknown))
        };
        let data = data.unwrap_or_else(|| Array::empty_of(&claim(1)));
        Ok(RunValue::Tuple(Rc::new(Parts::from_iter([
            RunValue::vector(Data::I64(sizes)),
            RunValue::vector(Data::Bool(starts)),
            RunValue::vector(Data::I64(offsets)),
            RunValue::Array(Rc::new(data)),
            uniform.finish(|| claim(2)),
        ]))))
    }

    fn unzip(&mut self, xs: &Array, types: &[Rc<RunType>], span: Span) -> Res<RunValue> {
        let mut sides = [Rows::new(xs.len()), Rows::new(xs.len())];
        for i in 0..xs.len() {
            let RunValue::Tuple(pair) = xs.row(i) else {
                return Err(Failure::bug("`unzip` of elements that are not pairs"));
            };
            for (side, part) in sides.iter_mut().zip(pair.iter()) {
                let pushed = side.push(part.clone());
                self.row_result(pushed, None, span)?;
            }
        }
        // The type recorded in an empty array is more precise than the type arguments.
        let known = match &xs.data {
            Data::Other(_, ty) => match &**ty {
                RunType::Tuple(parts) => parts.clone(),
                _ => types.to_vec(),
            },
            _ => types.to_vec(),
        };
        let claim = |at: usize| {
            let ty = known.get(at).cloned();
            ty.unwrap_or_else(|| Rc::new(RunType::Unknown))
        };
        let [left, right] = sides;
        Ok(RunValue::pair(left.finish(|| claim(0)), right.finish(|| claim(1))))
    }

    fn stream(&mut self, dest: RunValue, op: Option<RunValue>, f: &RunValue, bs: &Array) -> Res<RunValue> {
        let state = Rc::new(Accumulator { array: RefCell::new(dest), op });
        for i in 0..bs.len() {
            self.apply2(f, RunValue::Acc(Rc::clone(&state)), bs.row(i))?;
        }
        Ok(state.array.take())
    }

    fn acc_write(&mut self, acc: RunValue, i: i64, v: RunValue) -> Res<RunValue> {
        let RunValue::Acc(state) = &acc else {
            return Err(Failure::bug("an update of a value that is not an accumulator"));
        };
        // The operator cannot access the accumulator, so the array can be taken out meanwhile.
        let RunValue::Array(mut array) = state.array.take() else {
            return Err(Failure::bug("a nested update of an accumulator"));
        };
        if let Some(bucket) = bucket(&array, &RunValue::i64(i)) {
            let new = match &state.op {
                Some(op) => self.apply2(op, bin_value(&array, &bucket), v)?,
                None => v,
            };
            set_bin(Rc::make_mut(&mut array), &bucket, new)?;
        }
        state.array.replace(RunValue::Array(array));
        Ok(acc)
    }
}

/// The indices of the flags with this value.
fn indices_of(flags: &[bool], value: bool) -> Vec<usize> {
    let pairs = flags.iter().enumerate();
    pairs.filter(|(_, flag)| **flag == value).map(|(i, _)| i).collect()
}

/// Fails unless an operator's result has the shape of its operand.
fn same_shape(before: &RunValue, after: &RunValue, span: Span) -> Res<()> {
    if let (RunValue::Array(before), RunValue::Array(after)) = (before, after)
        && before.shape != after.shape
    {
        let dims = before.shape.iter().rev();
        let ty = dims.fold(before.data.elem(), |ty, dim| Rc::new(RunType::Array(*dim, ty)));
        return Err(shapes_differ(&after.shape, &ty, span));
    }
    Ok(())
}

fn append(xs: &mut Array, ys: &Array, span: Span) -> Res<()> {
    if xs.shape[1..] != ys.shape[1..] {
        let ty = RunType::Array(ys.shape[0], xs.row_type());
        return Err(shapes_differ(&ys.shape, &ty, span));
    }
    xs.shape[0] += ys.shape[0];
    extend(&mut xs.data, &ys.data).map_err(|_| out_of_memory(span))
}

fn concat(xs: Rc<Array>, ys: &Array, span: Span) -> Res<RunValue> {
    let mut xs = Rc::try_unwrap(xs).unwrap_or_else(|xs| (*xs).clone());
    append(&mut xs, ys, span)?;
    Ok(RunValue::Array(Rc::new(xs)))
}

fn transpose(xs: &Array) -> Res<RunValue> {
    let [n, m, rest @ ..] = xs.shape.as_slice() else {
        return Err(Failure::bug("`transpose` of a vector"));
    };
    let (n, m) = (*n as usize, *m as usize);
    let block: i64 = rest.iter().product();
    let block = block as usize;
    let mut shape = Dims::from_slice(&[m as i64, n as i64]);
    shape.extend_from_slice(rest);
    if xs.data.is_empty() {
        return Ok(RunValue::array(shape, xs.data.clone()));
    }
    let starts: Vec<usize> = (0..m).flat_map(|j| (0..n).map(move |i| (i * m + j) * block)).collect();
    Ok(RunValue::array(shape, gather_blocks(&xs.data, &starts, block)))
}

/// An array of `n` copies.
pub fn replicate(n: i64, x: RunValue, span: Span) -> Res<RunValue> {
    if n < 0 {
        let text = format!("Negative size {n} in replicate.");
        return Err(Failure::at(span, text));
    }
    let one = match x {
        RunValue::Array(array) => Rc::try_unwrap(array).unwrap_or_else(|array| (*array).clone()),
        x => {
            let mut row = Rows::new(1);
            row.push(x).map_err(|_| out_of_memory(span))?;
            match row.finish(|| Rc::new(RunType::Unknown)) {
                RunValue::Array(row) => {
                    let row = Rc::try_unwrap(row).unwrap_or_else(|row| (*row).clone());
                    Array { shape: Dims::new(), data: row.data }
                }
                _ => return Err(Failure::bug("a value that is not an array")),
            }
        }
    };
    let mut shape = Dims::from_slice(&[n]);
    shape.extend_from_slice(&one.shape);
    let mut data = one.data.range(0, 0);
    let total = (one.data.len() as i64).checked_mul(n);
    let total = total.and_then(|total| usize::try_from(total).ok());
    total
        .and_then(|total| reserve(&mut data, total).ok())
        .and_then(|()| extend_with(&mut data, n as usize, &one.data).ok())
        .ok_or_else(|| out_of_memory(span))?;
    Ok(RunValue::array(shape, data))
}
