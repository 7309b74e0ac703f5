//! Styles: the look of each implementation, text, and the legend.

use super::axis::Scale;
use super::{Area, problem};
use plotters::chart::ChartContext;
use plotters::prelude::*;
use plotters::series::DashedLineSeries;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Anchors of text to the right of its position and to the left.
pub const LEFT: Pos = Pos { h_pos: HPos::Left, v_pos: VPos::Center };
pub const RIGHT: Pos = Pos { h_pos: HPos::Right, v_pos: VPos::Center };

/// The style of an implementation.
#[derive(Clone, Copy)]
pub struct Style {
    /// The colour.
    pub colour: RGBColor,
    marker: Marker,
    /// The lengths of dashes and gaps in pixels; `None` for a solid line.
    dashes: Option<(i32, i32)>,
    /// The distance in pixels of the white lines across a bar, if it is hatched.
    hatch: Option<f64>,
}

#[derive(Clone, Copy)]
enum Marker {
    Circle,
    Square,
    Triangle,
    Down,
    Diamond,
    Cross,
}

/// The implementations in the order of legends, and their styles.
const STYLES: [(&str, Style); 12] = [
    ("bindrune", look(BLUE_, Marker::Circle, None, None)),
    ("AIF", look(VERMILION, Marker::Square, None, None)),
    ("each path once", look(BLUE_, Marker::Circle, None, None)),
    ("IF", look(BLUE_, Marker::Circle, Some((10, 4)), None)),
    ("MF", look(YELLOW_, Marker::Triangle, Some((4, 4)), Some(5.0))),
    ("full", look(PURPLE, Marker::Down, Some((12, 6)), Some(9.0))),
    ("no redomap", look(VERMILION, Marker::Triangle, Some((4, 4)), None)),
    ("built in", look(BLACK_, Marker::Square, None, None)),
    ("C", look(BLACK_, Marker::Cross, None, None)),
    ("futhark c", look(SKY, Marker::Down, Some((14, 4)), Some(7.0))),
    ("futhark multicore", look(GREEN_, Marker::Diamond, Some((7, 3)), Some(11.0))),
    ("futhark ispc", look(PURPLE, Marker::Square, Some((2, 3)), Some(3.0))),
];
/// The same for algorithms.
const OTHERS: [(&str, Style); 6] = [
    ("tree", look(VERMILION, Marker::Triangle, Some((4, 4)), None)),
    ("strided", look(SKY, Marker::Diamond, Some((7, 3)), None)),
    ("chunked", look(GREEN_, Marker::Down, Some((14, 4)), None)),
    ("in Futhark", look(BLUE_, Marker::Circle, Some((10, 4)), None)),
    ("blind, all paths", look(VERMILION, Marker::Square, None, Some(7.0))),
    ("blind, as good", look(SKY, Marker::Diamond, None, Some(4.0))),
];

/// The same for metrics of the compiler.
const METRICS: [(&str, Style); 7] = [
    ("code", look(BLACK_, Marker::Square, None, None)),
    ("test code", look(GREEN_, Marker::Diamond, Some((7, 3)), None)),
    ("check", look(SKY, Marker::Down, Some((14, 4)), None)),
    ("middle end", look(VERMILION, Marker::Square, Some((4, 4)), None)),
    ("tier check", look(YELLOW_, Marker::Triangle, Some((4, 4)), None)),
    ("tier test", look(PURPLE, Marker::Down, Some((12, 6)), None)),
    ("tier all", look(BLACK_, Marker::Cross, None, None)),
];

const BLACK_: RGBColor = RGBColor(0, 0, 0);
const BLUE_: RGBColor = RGBColor(0, 114, 178);
const VERMILION: RGBColor = RGBColor(213, 94, 0);
const YELLOW_: RGBColor = RGBColor(230, 159, 0);
const SKY: RGBColor = RGBColor(86, 180, 233);
const GREEN_: RGBColor = RGBColor(0, 158, 115);
const PURPLE: RGBColor = RGBColor(204, 121, 167);

const fn look(colour: RGBColor, marker: Marker, dashes: Option<(i32, i32)>, hatch: Option<f64>) -> Style {
    Style { colour, marker, dashes, hatch }
}

/// The position of a name in legends.
pub fn rank(name: &str) -> usize {
    let known = STYLES.iter().chain(&OTHERS).chain(&METRICS);
    known.take_while(|(other, _)| *other != name).count()
}

impl Style {
    /// The style of an implementation; grey for unknown names.
    pub fn of(name: &str) -> Self {
        let found = STYLES.iter().chain(&OTHERS).chain(&METRICS).find(|(other, _)| *other == name);
        found.map_or(look(RGBColor(110, 110, 110), Marker::Cross, None, None), |(_, look)| *look)
    }

    /// Draws a line through positions of a chart.
    pub fn line(
        self,
        chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<Scale, Scale>>,
        positions: &[(f64, f64)],
    ) -> Result<(), String> {
        let stroke = self.colour.stroke_width(2);
        let drawn = match self.dashes {
            None => chart.draw_series(LineSeries::new(positions.iter().copied(), stroke)).map(drop),
            Some((dash, gap)) => {
                let series = DashedLineSeries::new(positions.iter().copied(), dash, gap, stroke);
                chart.draw_series(series).map(drop)
            }
        };
        drawn.map_err(problem)
    }

    /// Draws a marker.
    pub fn marker<CT: CoordTranslate>(
        self,
        area: &DrawingArea<SVGBackend<'_>, CT>,
        position: CT::From,
    ) -> Result<(), String>
    where
        CT::From: Clone,
    {
        let style = self.colour.filled();
        let corners: &[(i32, i32)] = match self.marker {
            Marker::Circle => {
                let circle = EmptyElement::at(position) + Circle::new((0, 0), 4, style);
                return area.draw(&circle).map_err(problem);
            }
            Marker::Cross => {
                let stroke = self.colour.stroke_width(2);
                let cross = EmptyElement::at(position)
                    + PathElement::new([(-4, -4), (4, 4)], stroke)
                    + PathElement::new([(-4, 4), (4, -4)], stroke);
                return area.draw(&cross).map_err(problem);
            }
            Marker::Square => &[(-4, -4), (4, -4), (4, 4), (-4, 4)],
            Marker::Triangle => &[(-5, 4), (5, 4), (0, -5)],
            Marker::Down => &[(-5, -4), (5, -4), (0, 5)],
            Marker::Diamond => &[(-5, 0), (0, -5), (5, 0), (0, 5)],
        };
        let polygon = EmptyElement::at(position) + Polygon::new(corners.to_vec(), style);
        area.draw(&polygon).map_err(problem)
    }

    /// Draws a bar between two corners, with white lines across if it is hatched.
    pub fn bar(
        self,
        chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<Scale, Scale>>,
        corners: [(f64, f64); 2],
    ) -> Result<(), String> {
        let area = chart.plotting_area();
        let bar = Rectangle::new(corners, self.colour.filled());
        area.draw(&bar).map_err(problem)?;
        let Some(gap) = self.hatch else {
            return Ok(());
        };
        let [from, to] = corners.map(|corner| area.map_coordinate(&corner));
        let (left, right) = (from.0.min(to.0), from.0.max(to.0));
        let (pixels, _) = area.dim_in_pixel();
        let (start, end) = (area.get_x_range().start, area.get_x_range().end);
        let lines = (f64::from(right - left) / gap) as u32;
        for line in 1..=lines {
            let shift = f64::from(line) * gap * (end - start) / f64::from(pixels);
            let at = corners[0].0.min(corners[1].0) + shift;
            let line = [(at, corners[0].1), (at, corners[1].1)];
            let line = PathElement::new(line, WHITE.stroke_width(1));
            area.draw(&line).map_err(problem)?;
        }
        Ok(())
    }
}

/// Dark text of this size.
pub fn text(size: i32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&RGBColor(40, 40, 40))
}

/// The width in pixels of a legend's entry: a sample and a name.
fn entry_width(name: &str) -> u32 {
    SAMPLE as u32 + 24 + 9 * name.chars().count() as u32
}

/// Splits names into as many rows as they need.
pub fn legend_rows(names: &[String], width: u32) -> Vec<Vec<String>> {
    let (mut rows, mut left) = (Vec::<Vec<String>>::new(), 0);
    for name in names {
        let needed = entry_width(name);
        match rows.last_mut() {
            Some(row) if needed <= left => row.push(name.clone()),
            _ => {
                rows.push(vec![name.clone()]);
                left = width.saturating_sub(20);
            }
        }
        left = left.saturating_sub(needed);
    }
    rows
}

/// Draws the legend, with samples of bars or of lines.
pub fn legend(area: &Area<'_>, rows: &[Vec<String>], height: u32, bars: bool) -> Result<(), String> {
    for (at, row) in rows.iter().enumerate() {
        let middle = (at as u32 * height + height / 2) as i32;
        let mut x = 20;
        for name in row {
            if bars {
                Style::of(name).piece_of_bar(area, (x, middle))?;
            } else {
                Style::of(name).piece_of_line(area, (x, middle))?;
            }
            let label = Text::new(name.clone(), (x + SAMPLE + 8, middle), text(17).pos(LEFT));
            area.draw(&label).map_err(problem)?;
            x += entry_width(name) as i32;
        }
    }
    Ok(())
}

/// The width in pixels of a sample in the legend.
const SAMPLE: i32 = 40;

impl Style {
    fn piece_of_bar(self, area: &Area<'_>, (x, y): (i32, i32)) -> Result<(), String> {
        let (top, bottom) = (y - 7, y + 7);
        let bar = Rectangle::new([(x, top), (x + SAMPLE, bottom)], self.colour.filled());
        area.draw(&bar).map_err(problem)?;
        let Some(gap) = self.hatch else {
            return Ok(());
        };
        for line in 1..=(f64::from(SAMPLE) / gap) as i32 {
            let at = x + (f64::from(line) * gap) as i32;
            let line = PathElement::new([(at, top), (at, bottom)], WHITE.stroke_width(1));
            area.draw(&line).map_err(problem)?;
        }
        Ok(())
    }

    fn piece_of_line(self, area: &Area<'_>, (x, y): (i32, i32)) -> Result<(), String> {
        let (stroke, end) = (self.colour.stroke_width(2), x + SAMPLE);
        let (dash, gap) = self.dashes.unwrap_or((SAMPLE, 0));
        let mut from = x;
        while from < end {
            let piece = [(from, y), ((from + dash).min(end), y)];
            area.draw(&PathElement::new(piece, stroke)).map_err(problem)?;
            from += dash + gap;
        }
        self.marker(area, (x + SAMPLE / 2, y))
    }
}
