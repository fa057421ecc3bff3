//! The shape that each operation must have in each family.

use super::books::Family;
use super::series::Series;
use super::shape::{Shape, memory_broken};

const ALL_BETWEEN: &str = "the trail searches the payer's entries from the payment to its last change, and refuses \
                           10,000 of them";
const READ_AGAIN: &str = "the entries that an account wrote in the last ten minutes are read again for each hundred \
                          that are published";

const OF_A_BATCH: &str = "the entries of the batch that an instant is within are read again: those of at most an hour, \
                          or of 128 segments";
const BATCHES_LISTED: &str = "the totals of each day list its batches, one for each 32 to 128 segments: at most 40 KB of a \
                              merchant, and 200 KB of the tenant";
const NOT_FOLDED: &str = "the entries that are not folded are read: those of at most an hour, or of 32 segments";

/// The shape of an operation while a family grows.
#[must_use]
pub fn shape(family: &str, operation: &str) -> Shape {
    let is = |other: Family| family == other.name();
    match operation {
        "reconciliation" | "merchant's balances, nothing credited" => Shape::LINEAR,
        "folding" | "customer's balance, end of a day" => Shape::LINEAR,
        "own account, noon" | "merchant's balance, noon" => Shape::linear_because(OF_A_BATCH),
        "totals of the open day" => Shape::linear_because(NOT_FOLDED),
        "sealing" if is(Family::Burst) => Shape::quadratic_because(READ_AGAIN),
        // Of one account the due index names the first 100 entries of each shard; a page of later ones is read twice.
        "sealing" => Shape::linear_within(500),
        // A trail that a run could not seal in its time has twice the lanes from then on: ten entries are in more segments.
        "sealing of 10 payments" => Shape::flat_within(1_000),
        "audit trail of a payment refunded late" if is(Family::History) || is(Family::Burst) => {
            Shape::linear_because(ALL_BETWEEN)
        }
        "totals of a month" | "merchant's balance, end of a day" | "prepaid report" | "merchant's month" => {
            Shape::linear_because(BATCHES_LISTED)
        }
        _ => Shape::FLAT,
    }
}

/// One sentence for each count or memory that grew beyond its shape.
#[must_use]
pub fn broken(all: &[Series]) -> Vec<String> {
    let of = |series: &Series| {
        let mut sentences = shape(&series.family, &series.operation).broken(series);
        sentences.extend(memory_broken(series));
        sentences
    };
    all.iter().flat_map(of).collect()
}

/// The exceptions among these series, each with its reason.
#[must_use]
pub fn exceptions(all: &[Series]) -> Vec<String> {
    let of = |series: &Series| {
        let shape = shape(&series.family, &series.operation);
        let why = shape.exception()?;
        Some(format!("{}, {}: {shape}, because {why}", series.family, series.operation))
    };
    all.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_linear_and_requests_flat() {
        for family in [Family::History, Family::Payments] {
            for worker in ["sealing", "reconciliation"] {
                assert_eq!(shape(family.name(), worker).to_string(), "linear", "{worker}");
                let few = shape(family.name(), &format!("{worker} of 10 payments"));
                assert_eq!(few.to_string(), "flat", "{worker}");
            }
            assert_eq!(shape(family.name(), "history, last page"), Shape::FLAT);
        }
    }

    #[test]
    fn exceptions_are_named_with_their_reason() {
        let series = |family: Family, operation: &str| Series {
            family: family.name().to_owned(),
            operation: operation.to_owned(),
            points: Vec::new(),
        };
        let all = [series(Family::Burst, "sealing"), series(Family::History, "sealing")];
        assert_eq!(exceptions(&all).len(), 1);
        assert!(exceptions(&all)[0].contains("quadratic, an exception, because the entries"));
    }
}
