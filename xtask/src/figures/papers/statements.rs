//! The papers' claims as measured ratios.

use super::{distinct, group, largest, name, number};
use crate::figures::claims::{Claim, Way, mean, over_best};
use crate::figures::data::{Figure, Position, Row};

/// The gains of fusion, and the comparison with hand-written code.
pub fn redomap(figure: &Figure) -> Vec<Claim> {
    let gains = [
        ("index_of_max_pack", "a gain of about 4×"),
        ("mssp", "a gain of about 4×"),
        ("reduce_2x2mm", "a gain of about 4×"),
        ("redomap_nt", "a smaller gain"),
        ("black_scholes", "a smaller gain"),
    ];
    let peers = [
        ("reduce_plus", "1.55× faster than Thrust", Way::Above),
        ("reduce_max", "about 1.5× faster than Thrust", Way::Above),
        ("index_of_max", "14× faster than Thrust, 2× than the tuned version", Way::Above),
        ("index_of_max_pack", "1.3× faster than Thrust", Way::Above),
        ("reduce_2x2mm", "3.6× faster than Thrust", Way::Above),
        ("mssp", "2.5× faster than Thrust", Way::Above),
        ("scan_plus", "2.4× slower than Thrust", Way::Below),
        ("redomap_nt", "2.3× faster than Thrust, 1.2× slower than the tuned version", Way::Above),
        ("black_scholes", "5× faster than Thrust", Way::Above),
    ];
    let at = |name: &str| largest(figure.rows.iter().filter(|row| row.group == name));
    let gain = |(name, paper): (&str, &str)| {
        let ratio = at(name).and_then(|row| row.ratio("no redomap", "bindrune"));
        Claim::on(format!("fusion of {name}, largest size"), paper, ratio, Way::Above)
    };
    let peer = |(name, paper, way): (&str, &str, Way)| {
        let ratio = at(name).and_then(|row| row.ratio("C", "bindrune"));
        Claim::on(format!("{name} against hand-written code (here C), largest size"), paper, ratio, way)
    };
    gains.into_iter().map(gain).chain(peers.into_iter().map(peer)).collect()
}

/// Returns the name of the tuned program, or of the untuned one if the tuned one was not measured.
fn tuned(figure: &Figure) -> &'static str {
    let there = figure.rows.iter().any(|row| row.times_of("AIF").is_some());
    if there { "AIF" } else { "IF" }
}

/// Few and many rows, and the choice of the best version by tuning.
pub fn products(figure: &Figure) -> Vec<Claim> {
    let (who, mut claims) = (tuned(figure), Vec::new());
    for work in distinct(&figure.rows, |row| &row.group) {
        let rows = || group(figure, work);
        let few = |row: &&Row| number(row).is_some_and(|n| n < 5.0);
        let ratios = |rows: Vec<&Row>| {
            let found: Vec<f64> = rows.iter().filter_map(|row| row.ratio("MF", who)).collect();
            mean(&found)
        };
        claims.push(Claim::on(
            format!("MF over {who}, n < 5, geometric mean, work {work}"),
            "MF is slower",
            ratios(rows().filter(few).collect()),
            Way::Above,
        ));
        claims.push(Claim::on(
            format!("MF over {who}, n ≥ 5, geometric mean, work {work}"),
            "both take the same version",
            ratios(rows().filter(|row| !few(row)).collect()),
            Way::Near(1.25),
        ));
        let worst = rows().filter_map(|row| over_best(row, who, &["MF", "IF", "AIF"]));
        claims.push(Claim::on(
            format!("{who} over the best of all, worst shape, work {work}"),
            "the best of the versions everywhere",
            worst.reduce(f64::max),
            Way::Near(1.2),
        ));
    }
    claims
}

/// The speed-up on each data set.
pub fn volatility(figure: &Figure) -> Vec<Claim> {
    let who = tuned(figure);
    let claim = |row: &Row| {
        let ratio = row.ratio("MF", who);
        Claim::on(format!("{}: MF over {who}", name(row)), "AIF is significantly faster", ratio, Way::Above)
    };
    figure.rows.iter().map(claim).collect()
}

/// The paper's benchmarks that are available here.
pub fn bulk(figure: &Figure) -> Vec<Claim> {
    let who = tuned(figure);
    let statements = [
        ("Heston D1", "AIF is faster: MF exploits only the outer map", Way::Above),
        ("OptionPricing D1", "best with the outermost parallelism only", Way::AtLeast),
        ("OptionPricing D2", "AIF is faster: inner layers are needed", Way::Above),
        ("LavaMD D1", "the two outer levels, as in MF, are best", Way::AtLeast),
        ("LavaMD D2", "AIF is faster: the inner redomap is needed", Way::Above),
    ];
    let claim = |(which, paper, way): (&str, &str, Way)| {
        let row = figure.rows.iter().find(|row| name(row) == which);
        let ratio = row.and_then(|row| row.ratio("MF", who));
        Claim::on(format!("{which}: MF over {who}"), paper, ratio, way)
    };
    statements.into_iter().map(claim).collect()
}

/// The speed-ups of all nests together.
pub fn nests(figure: &Figure) -> Vec<Claim> {
    let who = tuned(figure);
    let ratios: Vec<f64> = figure.rows.iter().filter_map(|row| row.ratio("MF", who)).collect();
    let worst = ratios.iter().copied().reduce(f64::min);
    vec![
        Claim::on(format!("MF over {who}, geometric mean"), "very similar", mean(&ratios), Way::AtLeast),
        Claim::on(format!("MF over {who}, worst"), "never slower than MF", worst, Way::AtLeast),
    ]
}

/// A search that knows the forest of versions, and a blind one.
pub fn tuning(figure: &Figure) -> Vec<Claim> {
    let count = |row: &Row, what: &str| {
        let found = row.counts.iter().find(|(name, _)| name == what);
        found.map(|(_, count)| *count)
    };
    let over = |blind: &str| {
        let ratio = |row: &Row| Some(count(row, blind)? / count(row, "each path once")?);
        figure.rows.iter().filter_map(ratio).collect::<Vec<f64>>()
    };
    let (all, good) = (over("blind, all paths"), over("blind, as good"));
    let paper = "a blind search repeats executions";
    vec![
        Claim::on(
            "a blind search until all paths were taken, over each path once, geometric mean",
            paper,
            mean(&all),
            Way::Above,
        ),
        Claim::on("the same, minimum", paper, all.into_iter().reduce(f64::min), Way::AtLeast),
        Claim::on(
            "a blind search until it has thresholds as good as the best, geometric mean",
            "no figure; such a search cannot detect its end",
            mean(&good),
            Way::Above,
        ),
    ]
}

/// Library functions relative to built-in ones, for Bindrune and the reference compiler.
pub fn basis(figure: &Figure) -> Vec<Claim> {
    let statements = [
        ("sum_tree", "sum_builtin", "about 3× slower than built in", Way::Above),
        ("sum_strided", "sum_builtin", "10 % slower than built in", Way::Near(1.25)),
        ("scan_ours", "scan_builtin", "much slower than built in", Way::Above),
        ("dotprod_ours", "dotprod_builtin", "almost 2× slower than built in", Way::Above),
    ];
    let median = |entry: &str, who: &str| {
        let row = largest(figure.rows.iter().filter(|row| row.group == entry))?;
        Some(row.times_of(who)?.median)
    };
    let mut claims = Vec::new();
    for (library, built_in, paper, way) in statements {
        for who in ["bindrune", "futhark multicore"] {
            let ratio =
                median(library, who).zip(median(built_in, who)).map(|(library, built_in)| library / built_in);
            if who == "bindrune" || ratio.is_some() {
                claims.push(Claim::on(
                    format!("{library} over {built_in}, {who}, largest size"),
                    paper,
                    ratio,
                    way,
                ));
            }
        }
    }
    claims
}

/// A nest flattened by hand and by the compiler.
pub fn book(figure: &Figure) -> Vec<Claim> {
    let time = |entry: &str| {
        let row = figure.rows.iter().find(|row| row.x == Position::Name(entry.to_owned()))?;
        Some(row.times_of("IF")?.median)
    };
    let ratio = time("regular_scan").zip(time("map_scan")).map(|(by_hand, ours)| by_hand / ours);
    vec![Claim::on(
        "a map of scans: hand-written segmented scan over the compiler's flattening",
        "the map of scans becomes a segmented scan",
        ratio,
        Way::AtLeast,
    )]
}
