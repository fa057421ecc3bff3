//! By how much our function is to be ahead of the Python functions, and whether it is.

use super::operation::Operation;
use super::program::Opponent;
use super::report::Figures;
use super::table::table;
use crate::stats::times;

/// How many times ours a figure of an opponent is to be.
struct Aim {
    what: &'static str,
    opponent: Opponent,
    times: u128,
    figure: fn(&Figures) -> u128,
}

const fn aim(what: &'static str, opponent: Opponent, times: u128, figure: fn(&Figures) -> u128) -> Aim {
    Aim { what, opponent, times, figure }
}

const AIMS: [Aim; 6] = [
    aim("processor time of a warm payment", Opponent::PythonBoto3, 5, payment),
    aim("processor time of a warm payment", Opponent::PythonPowertools, 10, payment),
    aim("time until the first event", Opponent::PythonBoto3, 25, init),
    aim("time until the first event", Opponent::PythonPowertools, 25, init),
    aim("peak memory", Opponent::PythonBoto3, 5, memory),
    aim("peak memory", Opponent::PythonPowertools, 5, memory),
];

fn payment(of: &Figures) -> u128 {
    of.warm[Operation::Payment.place()].processor.as_nanos()
}

fn init(of: &Figures) -> u128 {
    of.cold.init.as_nanos()
}

fn memory(of: &Figures) -> u128 {
    of.peak.into()
}

/// A table of the aims. The first function is ours.
#[must_use]
pub fn aims(all: &[Figures]) -> String {
    let found = |aim: &Aim| {
        let ours = all.first()?;
        let theirs = all.iter().find(|of| of.name == aim.opponent.name())?;
        Some(row(aim, (aim.figure)(theirs), (aim.figure)(ours)))
    };
    let rows: Vec<Vec<String>> = AIMS.iter().filter_map(found).collect();
    table("Aims", &["figure", "beside", "aim", "found", "reached"], &rows)
}

fn row(aim: &Aim, theirs: u128, ours: u128) -> Vec<String> {
    let reached = if theirs >= aim.times * ours { "yes" } else { "no" };
    [aim.what, aim.opponent.name(), &format!("{}x", aim.times), &format!("{}x", times(theirs, ours)), reached]
        .map(str::to_owned)
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aim_is_reached_at_its_ratio() {
        let cells = |theirs, ours| row(&AIMS[0], theirs, ours)[2..].join(" ");
        assert_eq!(cells(50, 10), "5x 5.0x yes");
        assert_eq!(cells(4_999, 1_000), "5x 5.0x no");
        assert_eq!(cells(21, 7), "5x 3.0x no");
    }
}
