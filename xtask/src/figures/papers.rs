//! The figures: the papers' statements and the selection of measurements to plot and compare.
//!
//! A figure measured on several backends has a section for each.

mod panels;
mod statements;

use super::claims::Claim;
use super::data::{Figure, Position, Row};
use super::plot::{Panel, Plot};

/// A figure in the report.
pub struct Section<'a> {
    /// The identifier in the report and in file names.
    pub id: String,
    pub title: &'static str,
    /// The paper.
    pub source: &'static str,
    /// The statement of the paper's figure.
    pub paper_statement: &'static str,
    /// The conditions of our measurement, and differences from the paper.
    pub our_conditions: &'static str,
    /// The plot, if there is anything to show.
    pub plot: Option<Plot>,
    /// The paper's claims with measurements.
    pub claims: Vec<Claim>,
    /// The measurements.
    pub figure: &'a Figure,
}

/// The definition of a figure, independent of measurements.
struct FigureDefinition {
    name: &'static str,
    title: &'static str,
    source: &'static str,
    paper_statement: &'static str,
    our_conditions: &'static str,
    plot: fn(&Figure) -> Vec<Panel>,
    columns: usize,
    claims: fn(&Figure) -> Vec<Claim>,
}

const REDOMAP: &str =
    "Henriksen, Larsen and Oancea, “Design and GPGPU Performance of Futhark’s Redomap Construct”, ARRAY 2016";
const INCREMENTAL: &str =
    "Henriksen, Thorøe, Elsman and Oancea, “Incremental Flattening for Nested Data Parallelism”, PPoPP 2019";
const TUNING: &str = "Rotendahl and Larsen, “Autotuning Futhark”, 2019";
const BASIS: &str = "Henriksen, “What is the minimal basis for Futhark?”, 2019";
const BOOK: &str =
    "Elsman, Henriksen and Oancea, “Parallel Programming in Futhark”, chapter “Regular Flattening”";

const FIGURES: [FigureDefinition; 8] = [
    FigureDefinition {
        name: "redomap",
        title: "Nine programs with and without redomap fusion",
        source: REDOMAP,
        paper_statement: "Figure 8 shows run times on a GPU over six sizes for Futhark with redomap fusion, without \
               it (NoRedomap), and for Thrust, in natural and in tuned form. Fusion gains about 4× for \
               IndexOfMaxPack, MSSP and Reduce2by2MM, and less for RedomapNT and Black-Scholes. Futhark is faster \
               than Thrust except for the plain scan and, slightly, the tuned RedomapNT.",
        our_conditions: "The same nine programs; NoRedomap is --fuse off. On a CPU the peers are hand-written C \
               (threads, vector loops) and the reference compiler's back ends, so only the direction of the \
               comparison with Thrust carries over.",
        plot: panels::redomap,
        columns: 3,
        claims: statements::redomap,
    },
    FigureDefinition {
        name: "products",
        title: "Matrix products of constant work in different shapes",
        source: INCREMENTAL,
        paper_statement: "Figure 2 multiplies 2ⁿ × 2ᵐ by 2ᵐ × 2ⁿ matrices with m = k - 2n on a GPU. Moderate \
               flattening (MF) uses one version and is slow for few rows; incremental flattening tuned on k = 20 \
               (AIF) is best at k = 20 and k = 25: it takes one version for n < 5 and the other for n ≥ 5.",
        our_conditions: "MF is --flatten moderate, IF incremental flattening with default thresholds, AIF with \
               thresholds tuned on the shapes of k = 20. Version (1) takes a thread for each element of a segmented \
               reduction on a GPU, and nested tasks on a CPU.",
        plot: panels::products,
        columns: 2,
        claims: statements::products,
    },
    FigureDefinition {
        name: "volatility",
        title: "LocVolCalib",
        source: INCREMENTAL,
        paper_statement: "Figure 7 shows the speed-up over moderate flattening on two GPUs for three data sets: AIF \
               is significantly faster than MF in all cases, as it sequentialises excess parallelism.",
        our_conditions: "Three data sets of the paper's sizes; thresholds are tuned on other data sets where \
               available.",
        plot: panels::speed_ups,
        columns: 1,
        claims: statements::volatility,
    },
    FigureDefinition {
        name: "bulk",
        title: "Benchmarks on two data sets each",
        source: INCREMENTAL,
        paper_statement: "Figure 8 shows the speed-up over moderate flattening on two data sets of different shape \
               (D1, D2) for eight benchmarks on two GPUs. AIF is as fast as MF or faster on each: OptionPricing D1 \
               needs only the outermost parallelism, D2 also the inner one; MF exploits only the outer map of \
               Heston; for LavaMD D1, the version of MF is best.",
        our_conditions: "The benchmarks whose programs (bench/programs/nests) and data are available.",
        plot: panels::speed_ups,
        columns: 1,
        claims: statements::bulk,
    },
    FigureDefinition {
        name: "nests",
        title: "Segmented operations, and nests that were slow in earlier versions",
        source: INCREMENTAL,
        paper_statement: "According to the paper, incremental and moderate flattening perform very similarly on the \
               benchmarks that it does not show.",
        our_conditions: "Segmented sums and scans of 10⁷ numbers, from many short rows to one long row, and further \
               nests.",
        plot: panels::speed_ups,
        columns: 1,
        claims: statements::nests,
    },
    FigureDefinition {
        name: "tuning",
        title: "Runs that a search for thresholds takes",
        source: TUNING,
        paper_statement: "Four thresholds of 2¹⁵ values each have about 10¹⁸ settings, but a matrix product has only \
               five different executions; a search that knows the tree of comparisons tries at most these for each \
               data set.",
        our_conditions: "Runs of the program on all data sets that it is tuned on. Each path once: the search takes \
               every path of every tree of comparisons once for each data set, as sizes are equal in all runs. \
               Blind: thresholds are random powers of two up to 2³¹; the search ends when it has taken all these \
               paths, or when its thresholds are within 2 % of the best, which it cannot detect by itself. Blind \
               searches are simulated with the sizes logged by the other runs; numbers are averages over 20 \
               searches.",
        plot: panels::tuning,
        columns: 1,
        claims: statements::tuning,
    },
    FigureDefinition {
        name: "basis",
        title: "The minimal basis: library functions compared with built-in ones",
        source: BASIS,
        paper_statement: "Tables of run times on a GPU by size. A tree reduction is about three times slower than \
               the built-in one at the largest size, a strided one with a fixed number of threads within 10 % of it; \
               the scan of Hillis and Steele is much slower; a dot product with the former is almost twice as slow, \
               since nothing fuses into it.",
        our_conditions: "The same functions in tests/programs/prelude/minimal_basis.fut; the strided and chunked \
               reductions there have four workers, which is enough for a CPU of few cores.",
        plot: panels::basis,
        columns: 3,
        claims: statements::basis,
    },
    FigureDefinition {
        name: "book",
        title: "Segmented operations of the book",
        source: BOOK,
        paper_statement: "The chapter defines segmented operations by scans and says which rules flatten nested \
               parallelism into them. It has no measurements.",
        our_conditions: "The operations on 10⁶ elements, compiled in all modes of flattening and by the reference \
               compiler.",
        plot: panels::speed_ups,
        columns: 1,
        claims: statements::book,
    },
];

/// Returns the report's sections, in the order of [`FIGURES`].
pub fn sections(figures: &[Figure]) -> Vec<Section<'_>> {
    let mut sections = Vec::new();
    for known in &FIGURES {
        for figure in figures {
            if figure.name.split(' ').next() != Some(known.name) {
                continue;
            }
            let panels = (known.plot)(figure);
            sections.push(Section {
                id: figure.name.replace(' ', "-"),
                title: known.title,
                source: known.source,
                paper_statement: known.paper_statement,
                our_conditions: known.our_conditions,
                plot: (!panels.is_empty()).then_some(Plot { panels, columns: known.columns }),
                claims: (known.claims)(figure),
                figure,
            });
        }
    }
    sections
}

/// The distinct keys of rows, in order.
fn distinct<'a>(rows: &'a [Row], key: impl Fn(&'a Row) -> &'a str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for row in rows {
        if !found.contains(&key(row)) {
            found.push(key(row));
        }
    }
    found
}

fn group<'a>(figure: &'a Figure, name: &'a str) -> impl Iterator<Item = &'a Row> + Clone {
    figure.rows.iter().filter(move |row| row.group == name)
}

fn number(row: &Row) -> Option<f64> {
    match row.x {
        Position::Number(x) => Some(x),
        Position::Name(_) => None,
    }
}

/// The row of the greatest size.
fn largest<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<&'a Row> {
    let sized = rows.filter_map(|row| Some((number(row)?, row)));
    sized.max_by(|(x, _), (y, _)| x.total_cmp(y)).map(|(_, row)| row)
}

/// The name of a row in lists.
fn name(row: &Row) -> String {
    match &row.x {
        Position::Name(x) if x.starts_with(&row.group) => x.clone(),
        Position::Name(x) => format!("{} {x}", row.group),
        Position::Number(_) => row.group.clone(),
    }
}

/// Splits an entry point's name into the function and the implementation.
fn basis_part(entry: &str) -> (&str, &str) {
    let (function, how) = entry.rsplit_once('_').unwrap_or((entry, ""));
    match how {
        "builtin" => (function, "built in"),
        "ours" => (function, "in Futhark"),
        how => (function, how),
    }
}
