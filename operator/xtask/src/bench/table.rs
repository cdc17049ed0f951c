//! Figures as a table in Markdown, and its place in a page.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

use ashlar_xtask::layout;

use super::measure::Cost;

const PAGE: &str = "benches/README.md";

/// What was measured of one step at one size.
pub(super) struct Row {
    pub(super) resources: usize,
    pub(super) step: &'static str,
    pub(super) ours: Cost,
    /// `None` where the peer was not asked to.
    pub(super) peer: Option<Cost>,
}

/// The table. A ratio is the peer's figure divided by ours: above 1, ours is the smaller one.
pub(super) fn markdown(rows: &[Row]) -> String {
    let mut text = String::from(
        "| resources | step | Ashlar: wall | CPU | peak | Terraform: wall | CPU | peak | ratio: wall | CPU | peak |\n\
         |---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let Row {
            resources,
            step,
            ours,
            peer,
        } = row;
        let _ = write!(text, "| {resources} | {step} | {} |", cost(ours));
        let _ = match peer {
            Some(peer) => writeln!(text, " {} | {} |", cost(peer), ratios(peer, ours)),
            None => writeln!(text, " - | - | - | - | - | - |"),
        };
    }
    text
}

fn cost(cost: &Cost) -> String {
    let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
    format!(
        "{} | {} | {:.0} MB",
        seconds(cost.wall),
        seconds(cost.cpu),
        cost.peak as f64 / 1e6
    )
}

fn ratios(peer: &Cost, ours: &Cost) -> String {
    let times = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    format!(
        "{:.1} | {:.1} | {:.1}",
        times(peer.wall, ours.wall),
        times(peer.cpu, ours.cpu),
        peer.peak as f64 / ours.peak as f64
    )
}

/// Prints a section, and puts it into its place in the page if that is wanted.
pub(super) fn publish(name: &str, section: &str, write: bool) -> Result<()> {
    print!("{section}");
    if write {
        let file = layout::root().join(PAGE);
        let page = fs::read_to_string(&file).with_context(|| format!("cannot read {PAGE}"))?;
        let page = replace(&page, name, section).context(PAGE)?;
        fs::write(&file, page).with_context(|| format!("cannot write {PAGE}"))?;
        eprintln!("wrote {PAGE}");
    }
    Ok(())
}

/// The page with `section` in place of what stands between the marks `<!-- NAME -->` and `<!-- end of NAME -->`.
fn replace(page: &str, name: &str, section: &str) -> Result<String> {
    let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let missing = |mark: &str| format!("the mark `{}` is missing", mark.trim());
    let (before, rest) = page.split_once(&open).with_context(|| missing(&open))?;
    let (_, after) = rest.split_once(&close).with_context(|| missing(&close))?;
    Ok(format!("{before}{open}{section}{close}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_both_and_their_ratios() {
        let cost = |wall, cpu, peak| Cost {
            wall: Duration::from_millis(wall),
            cpu: Duration::from_millis(cpu),
            peak,
        };
        let row = |peer| Row {
            resources: 100,
            step: "plan",
            ours: cost(500, 250, 20_000_000),
            peer,
        };
        let last = |row| markdown(&[row]).lines().last().unwrap().to_string();
        assert_eq!(
            last(row(Some(cost(1000, 2000, 90_000_000)))),
            "| 100 | plan | 0.50 s | 0.25 s | 20 MB | 1.00 s | 2.00 s | 90 MB | 2.0 | 8.0 | 4.5 |"
        );
        assert_eq!(
            last(row(None)),
            "| 100 | plan | 0.50 s | 0.25 s | 20 MB | - | - | - | - | - | - |"
        );
    }

    #[test]
    fn a_section_is_replaced() {
        let page = "a\n<!-- x -->\nold\n<!-- end of x -->\nb\n";
        assert_eq!(
            replace(page, "x", "new\n").unwrap(),
            "a\n<!-- x -->\nnew\n<!-- end of x -->\nb\n"
        );
        assert!(
            replace("nothing", "x", "")
                .unwrap_err()
                .to_string()
                .contains("<!-- x -->")
        );
    }
}
