//! The layout of plots: panels of lines over sizes or of bars, with one legend.
//!
//! Colours are those of Okabe and Ito, which are safe for colour-blind readers; markers, dashes and
//! hatches differ as well, for greyscale. Axes of times, ratios and counts are logarithmic: values
//! are mapped to logarithms here, and [`axis`] positions the ticks. Text uses generic fonts with
//! estimated widths, so that a plot is the same wherever it is drawn.

mod axis;
mod style;

use axis::{Axis, Scale};
use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::fmt::Display;
use style::{Style, text};

pub use axis::{Unit, raised, shown};
pub use style::rank;

/// Panels arranged in columns.
pub struct Plot {
    /// The panels, row by row.
    pub panels: Vec<Panel>,
    /// The number of columns.
    pub columns: usize,
}

pub struct Panel {
    pub title: String,
    /// The label of the horizontal axis.
    pub x_label: String,
    /// The label of the vertical axis.
    pub y_label: String,
    /// The contents.
    pub body: Body,
}

/// The contents of a panel.
pub enum Body {
    /// Lines over sizes.
    Lines {
        /// The unit of sizes.
        x: Unit,
        /// The unit of values.
        y: Unit,
        lines: Vec<Line>,
    },
    /// Lines over named positions.
    Series {
        /// The names of the positions, which are 0, 1 and so on.
        names: Vec<String>,
        /// The unit of values.
        y: Unit,
        lines: Vec<Line>,
    },
    /// Groups of horizontal bars, which start at 1.
    Bars {
        /// The unit of values.
        unit: Unit,
        /// The name and bars of each group.
        groups: Vec<(String, Vec<Bar>)>,
    },
}

pub struct Line {
    /// The implementation.
    pub implementation: String,
    /// The points from left to right.
    pub points: Vec<Point>,
}

/// A point with its spread.
#[derive(Clone, Copy)]
pub struct Point {
    /// The size.
    pub x: f64,
    pub y: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub most: f64,
}

pub struct Bar {
    /// The implementation.
    pub who: String,
    pub value: f64,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Scale, Scale>>;

/// Sizes in pixels: a line of the legend, a panel of lines, the width of bars, the margin around
/// them, the height of a bar.
const LEGEND: u32 = 40;
const PANEL: (u32, u32) = (440, 330);
const BARS_WIDTH: u32 = 900;
const BARS_AROUND: u32 = 110;
const BAR: u32 = 15;

impl Plot {
    /// Returns the plot as SVG.
    pub fn draw(&self) -> Result<String, String> {
        let mut text = String::new();
        let size = self.panel_size();
        let rows = self.panels.len().div_ceil(self.columns.max(1));
        let width = size.0 * self.columns as u32;
        let legend = self.names();
        let lines = style::legend_rows(&legend, width);
        let top = LEGEND * lines.len() as u32;
        {
            let backend = SVGBackend::with_string(&mut text, (width, size.1 * rows as u32 + top));
            let root = backend.into_drawing_area();
            root.fill(&WHITE).map_err(problem)?;
            let (above, below) = root.split_vertically(top);
            style::legend(&above, &lines, LEGEND, self.has_bars())?;
            let areas = below.split_evenly((rows, self.columns.max(1)));
            for (area, panel) in areas.iter().zip(&self.panels) {
                panel.draw(area)?;
            }
            root.present().map_err(problem)?;
        }
        Ok(text)
    }

    fn has_bars(&self) -> bool {
        let bars = |panel: &Panel| matches!(panel.body, Body::Bars { .. });
        self.panels.iter().any(bars)
    }

    /// The names of all implementations, in the order of the legend.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for panel in &self.panels {
            let own: Vec<&String> = match &panel.body {
                Body::Lines { lines, .. } | Body::Series { lines, .. } => {
                    lines.iter().map(|line| &line.implementation).collect()
                }
                Body::Bars { groups, .. } => {
                    let bars = groups.iter().flat_map(|(_, bars)| bars);
                    bars.map(|bar| &bar.who).collect()
                }
            };
            for name in own {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        names.sort_by_key(|name| rank(name));
        names
    }

    fn panel_size(&self) -> (u32, u32) {
        let size = |panel: &Panel| match &panel.body {
            Body::Lines { .. } | Body::Series { .. } => PANEL,
            Body::Bars { groups, .. } => {
                let bars: usize = groups.iter().map(|(_, bars)| bars.len() + 1).sum();
                (BARS_WIDTH, BARS_AROUND + BAR * bars as u32)
            }
        };
        let sizes = self.panels.iter().map(size);
        sizes.fold((0, 0), |most, size| (most.0.max(size.0), most.1.max(size.1)))
    }
}

impl Panel {
    fn draw(&self, area: &Area<'_>) -> Result<(), String> {
        match &self.body {
            Body::Lines { x, y, lines } => {
                let points = lines.iter().flat_map(|line| &line.points);
                self.lines(area, &Axis::covering(*x, points.map(|point| point.x)), *y, lines)
            }
            Body::Series { names, y, lines } => self.lines(area, &Axis::positions(names), *y, lines),
            Body::Bars { unit, groups } => self.bars(area, *unit, groups),
        }
    }

    fn lines(&self, area: &Area<'_>, x: &Axis, y: Unit, lines: &[Line]) -> Result<(), String> {
        let points = lines.iter().flat_map(|line| &line.points);
        let y = Axis::covering(y, points.flat_map(|point| [point.y, point.least, point.most]));
        let mut chart = self.chart(area, x, &y, 78)?;
        for line in lines {
            let look = Style::of(&line.implementation);
            let at = |point: &Point, value: f64| (x.coordinate(point.x), y.coordinate(value));
            for point in &line.points {
                let spread = [at(point, point.least), at(point, point.most)];
                let spread = PathElement::new(spread, look.colour.stroke_width(1));
                chart.plotting_area().draw(&spread).map_err(problem)?;
            }
            let positions: Vec<_> = line.points.iter().map(|point| at(point, point.y)).collect();
            look.line(&mut chart, &positions)?;
            for position in positions {
                look.marker(chart.plotting_area(), position)?;
            }
        }
        Ok(())
    }

    fn bars(&self, area: &Area<'_>, unit: Unit, groups: &[(String, Vec<Bar>)]) -> Result<(), String> {
        let values = || groups.iter().flat_map(|(_, bars)| bars).map(|bar| bar.value);
        // Space for the numbers beside the bars.
        let x = Axis::covering(unit, values().chain([1.0])).wider(0.06);
        let rows: usize = groups.iter().map(|(_, bars)| bars.len() + 1).sum();
        let (mut names, mut row) = (Vec::new(), 0.0);
        for (name, bars) in groups {
            names.push((row + f64::midpoint(bars.len() as f64, 1.0), name.clone()));
            row += bars.len() as f64 + 1.0;
        }
        // The vertical axis runs from top to bottom.
        let y = Axis::named(names, rows as f64);
        let longest = groups.iter().map(|(name, _)| name.chars().count()).max();
        let mut chart = self.chart(area, &x, &y, 30 + 8 * longest.unwrap_or(0) as u32)?;
        let (base, mut row) = (x.coordinate(1.0), 0.0);
        for (_, bars) in groups {
            for (at, bar) in bars.iter().enumerate() {
                let (top, bottom) = (row + 0.5 + at as f64, row + 1.5 + at as f64);
                let end = x.coordinate(bar.value);
                let corners = [(base, y.coordinate(top + 0.05)), (end, y.coordinate(bottom - 0.05))];
                Style::of(&bar.who).bar(&mut chart, corners)?;
                let label = axis::short(bar.value);
                let (side, shift) = if end < base { (style::RIGHT, -4) } else { (style::LEFT, 4) };
                let label = EmptyElement::at((end, y.coordinate(f64::midpoint(top, bottom))))
                    + Text::new(label, (shift, 0), text(14).pos(side));
                chart.plotting_area().draw(&label).map_err(problem)?;
            }
            row += bars.len() as f64 + 1.0;
        }
        let ends = [(base, y.scale.range.start), (base, y.scale.range.end)];
        let line = PathElement::new(ends, BLACK.stroke_width(1));
        chart.plotting_area().draw(&line).map_err(problem)
    }

    /// Draws title, axes and grid.
    fn chart<'a, 'b>(
        &self,
        area: &'a Area<'b>,
        x: &Axis,
        y: &Axis,
        left: u32,
    ) -> Result<Chart<'a, 'b>, String> {
        let mut builder = ChartBuilder::on(area);
        builder.margin(10).margin_right(24).x_label_area_size(48).y_label_area_size(left);
        if !self.title.is_empty() {
            builder.caption(&self.title, text(20));
        }
        let mut chart = builder.build_cartesian_2d(x.scale.clone(), y.scale.clone()).map_err(problem)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(222, 222, 222))
            .axis_style(RGBColor(90, 90, 90))
            .label_style(text(15))
            .axis_desc_style(text(16))
            .x_desc(&self.x_label)
            .y_desc(&self.y_label)
            .draw()
            .map_err(problem)?;
        Ok(chart)
    }
}

/// Formats a drawing error. Writing to a string cannot fail, so this is a bug.
fn problem(error: impl Display) -> String {
    format!("drawing: {error}")
}
