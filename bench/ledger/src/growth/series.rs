//! Measurements of one operation as the books grow.

use super::counts::Counts;
use serde::{Deserialize, Serialize};

/// One measurement, as a measuring process reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// The operation.
    pub operation: String,
    /// The work that was done, in the operation's unit: requests, records, entries.
    pub work: u64,
    /// What it consumed in all.
    pub counts: Counts,
    /// The time that it took: of a request, the median of several.
    pub micros: u64,
    /// The largest resident memory of the process, if it did nothing else.
    pub peak_bytes: Option<u64>,
}

/// An operation at one size of the books.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    /// The size.
    pub size: u64,
    /// As [`Measured::work`].
    pub work: u64,
    /// As [`Measured::counts`].
    pub counts: Counts,
    /// As [`Measured::micros`].
    pub micros: u64,
    /// As [`Measured::peak_bytes`].
    pub peak_bytes: Option<u64>,
}

/// An operation at all sizes, the smallest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Series {
    /// What grew.
    pub family: String,
    /// The operation.
    pub operation: String,
    /// The measurements.
    pub points: Vec<Point>,
}

/// Adds the measurements at a size to the series of their operations.
pub fn collect(all: &mut Vec<Series>, family: &str, size: u64, measured: Vec<Measured>) {
    for Measured { operation, work, counts, micros, peak_bytes } in measured {
        let point = Point { size, work, counts, micros, peak_bytes };
        match all.iter_mut().find(|series| series.family == family && series.operation == operation) {
            Some(series) => {
                series.points.push(point);
                series.points.sort_by_key(|point| point.size);
            }
            None => all.push(Series { family: family.to_owned(), operation, points: vec![point] }),
        }
    }
}
