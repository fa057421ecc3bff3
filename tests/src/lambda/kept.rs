//! The functions' sizes that are recorded in the repository, and their comparison with a build's.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Bytes by profile, target, function and form, such as `release x86_64-linux customer zip`.
pub type Sizes = BTreeMap<String, u64>;

/// The growth of a size, in percent, that needs a review.
const GROWTH_MAX: u64 = 5;

const HEADER: &str = "\
# Sizes of the functions in bytes: profile, target, function, form, size.
# Held by: cargo run -p ledger-tests --bin lambda-figures -- --profile <profile>; --update rewrites them.
";

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Differences that need a review before a merge, one line each.
    pub bad: Vec<String>,
    /// Sizes that can be recorded because they are smaller, one line each.
    pub good: Vec<String>,
}

/// The recorded sizes.
///
/// # Panics
/// When a line is not a name and a number.
#[must_use]
pub fn read() -> Sizes {
    let text = std::fs::read_to_string(file()).expect("tests/lambda-figures.txt");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let size = |line: &str| {
        let (name, bytes) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no size: {line}"));
        (name.to_owned(), bytes.parse().unwrap_or_else(|error| panic!("{error}: {line}")))
    };
    lines.map(size).collect()
}

/// Records these sizes; if `whole`, removes all others of the build, whose names begin with `build`.
///
/// # Panics
/// When the file cannot be written.
pub fn update(build: &str, now: &Sizes, whole: bool) {
    let mut all = read();
    all.retain(|name, _| !(whole && name.starts_with(&format!("{build} "))));
    all.extend(now.clone());
    let lines: String = all.iter().map(|(name, bytes)| format!("{name} {bytes}\n")).collect();
    std::fs::write(file(), format!("{HEADER}{lines}")).expect("tests/lambda-figures.txt can be written");
}

/// Compares a build's sizes with the recorded ones.
#[must_use]
pub fn compare(kept: &Sizes, now: &Sizes) -> Comparison {
    let mut comparison = Comparison::default();
    for (name, bytes) in now {
        let Some(before) = kept.get(name) else {
            comparison.bad.push(format!("{name}: {bytes} bytes, and none are kept: --update keeps them"));
            continue;
        };
        if bytes * 100 > before * (100 + GROWTH_MAX) {
            let grown = (bytes - before) * 100 / before;
            comparison.bad.push(format!(
                "{name}: {bytes} bytes, {grown} % more than the {before} that are kept: find out why, or --update"
            ));
        } else if bytes * (100 + GROWTH_MAX) < before * 100 {
            comparison.good.push(format!("{name}: {bytes} bytes, down from {before}: --update keeps them"));
        }
    }
    comparison
}

fn file() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/lambda-figures.txt"))
}
