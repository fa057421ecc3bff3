//! How a series must grow, and whether it did. Counts are judged; times are not.

use super::series::{Point, Series};
use std::fmt;

/// The margin of most series.
const MARGIN_PER_MILLE: u64 = 100;
/// What small counts may grow in all: a page that begins elsewhere may have one item more, or one more call.
const SLACK: u64 = 3;
/// What a worker's largest resident memory may grow from the smallest books to the largest. Small books do not fill the
/// pages that a worker holds at once: 1 MB of the table in each of four segments, or 100 rows of each shard of an index.
pub const MEMORY_GROWTH_MAX: u64 = 32 * 1024 * 1024;

/// How the counts of a series may grow with its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    growth: Growth,
    /// The growth that is allowed beyond it from one size to the next, in thousandths.
    margin_per_mille: u64,
    /// Why a series that should be flat, or linear, is not.
    exception: Option<&'static str>,
}

/// An upper bound of the growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Growth {
    /// The counts stay.
    Flat,
    /// The counts grow at most as the work does.
    Linear,
    /// The counts grow at most as the square of the work.
    Quadratic,
}

impl Shape {
    /// The counts must not grow.
    pub const FLAT: Self = Self { growth: Growth::Flat, margin_per_mille: MARGIN_PER_MILLE, exception: None };
    /// The counts must grow at most as the work.
    pub const LINEAR: Self = Self { growth: Growth::Linear, margin_per_mille: MARGIN_PER_MILLE, exception: None };

    /// Flat with another margin from one size to the next, in thousandths.
    #[must_use]
    pub const fn flat_within(margin_per_mille: u64) -> Self {
        Self { margin_per_mille, ..Self::FLAT }
    }

    /// Linear where it should be flat, for this reason.
    #[must_use]
    pub const fn linear_because(why: &'static str) -> Self {
        Self { exception: Some(why), ..Self::LINEAR }
    }

    /// Quadratic where it should be linear, for this reason.
    #[must_use]
    pub const fn quadratic_because(why: &'static str) -> Self {
        Self { growth: Growth::Quadratic, exception: Some(why), ..Self::LINEAR }
    }

    /// Linear with another margin from one size to the next, in thousandths.
    #[must_use]
    pub const fn linear_within(margin_per_mille: u64) -> Self {
        Self { margin_per_mille, ..Self::LINEAR }
    }

    /// The reason of an exception.
    #[must_use]
    pub fn exception(self) -> Option<&'static str> {
        self.exception
    }

    /// Whether the work grows with the size, so that a figure is stated for each unit of it.
    #[must_use]
    pub fn is_per_record(self) -> bool {
        self.growth != Growth::Flat && self.exception.is_none() || self.growth == Growth::Quadratic
    }

    /// What the count at a smaller size becomes with more work.
    fn grown(self, count: u64, work: u64, next_work: u64) -> u64 {
        let scaled = |count: u64| (count * next_work).div_ceil(work.max(1));
        match self.growth {
            Growth::Flat => count,
            Growth::Linear => scaled(count),
            Growth::Quadratic => scaled(scaled(count)),
        }
    }

    fn with_margin(self, count: u64) -> u64 {
        count + (count * self.margin_per_mille).div_ceil(1_000).max(SLACK)
    }

    /// The most that a count may be at the size after `before`: counts and work, the smallest first.
    ///
    /// A linear count may grow as the work, or by what the step before it added for the same work: small books consist
    /// of other records than those that grow. So its first step is not judged.
    fn most(self, before: &[(u64, u64)], next_work: u64) -> Option<u64> {
        let (first, &(count, work)) = (before.first()?, before.last()?);
        // Flat is judged from the first size, so that small steps do not add up.
        if self.growth == Growth::Flat {
            return Some(self.with_margin(first.0));
        }
        let as_the_work = self.with_margin(self.grown(count, work, next_work));
        if self.growth != Growth::Linear || self.exception.is_some() {
            return Some(as_the_work);
        }
        let [.., (count_before, work_before), _] = before else { return None };
        let (step, done) = (count.saturating_sub(*count_before), work.saturating_sub(*work_before));
        let as_the_step = self.with_margin(self.grown(step, done, next_work.saturating_sub(work)));
        Some(as_the_work.max(count + as_the_step))
    }

    /// One sentence for each count that grew beyond the shape.
    #[must_use]
    pub fn broken(self, series: &Series) -> Vec<String> {
        // The work of an exception that should be flat is one operation: its counts grow with the size.
        let extent = |point: &Point| if self.exception.is_some() { point.size } else { point.work };
        let mut sentences = Vec::new();
        for (at, point) in series.points.iter().enumerate().skip(1) {
            let smaller = &series.points[..at];
            for (number, (name, count)) in point.counts.judged().into_iter().enumerate() {
                let before = smaller.iter().map(|point| (point.counts.judged()[number].1, extent(point)));
                let before: Vec<(u64, u64)> = before.collect();
                if let Some(most) = self.most(&before, extent(point)).filter(|most| count > *most) {
                    let earlier: Vec<String> =
                        before.iter().map(|(count, work)| format!("{count} for {work}")).collect();
                    sentences.push(format!(
                        "{}, {}: {count} {name} for {} must be at most {most}, because they were {} ({self})",
                        series.family,
                        series.operation,
                        extent(point),
                        earlier.join(", ")
                    ));
                }
            }
        }
        sentences
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.growth {
            Growth::Flat => "flat",
            Growth::Linear => "linear",
            Growth::Quadratic => "quadratic",
        })?;
        if self.exception.is_some() { f.write_str(", an exception") } else { Ok(()) }
    }
}

/// A sentence if a worker's memory grew by more than [`MEMORY_GROWTH_MAX`].
#[must_use]
pub fn memory_broken(series: &Series) -> Option<String> {
    let peaks = || series.points.iter().filter_map(|point| point.peak_bytes);
    let (first, most) = (peaks().next()?, peaks().max()?);
    (most > first + MEMORY_GROWTH_MAX).then(|| {
        format!(
            "{}, {}: the process had {} MiB at most, and {} MiB with the smallest books: it may grow by {} MiB",
            series.family,
            series.operation,
            most >> 20,
            first >> 20,
            MEMORY_GROWTH_MAX >> 20
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::growth::counts::{Counts, HalfUnits};

    fn series(points: &[(u64, u64)]) -> Series {
        let point = |&(work, calls): &(u64, u64)| Point {
            size: work,
            work,
            counts: Counts { calls, ..Counts::default() },
            micros: 0,
            peak_bytes: None,
        };
        Series { family: "f".into(), operation: "o".into(), points: points.iter().map(point).collect() }
    }

    fn holds(shape: Shape, points: &[(u64, u64)]) -> bool {
        shape.broken(&series(points)).is_empty()
    }

    #[test]
    fn flat_series_may_grow_by_a_tenth_or_by_three_in_all() {
        assert!(holds(Shape::FLAT, &[(1, 2), (10, 2), (100, 5)]));
        assert!(!holds(Shape::FLAT, &[(1, 2), (10, 2), (100, 6)]));
        assert!(holds(Shape::FLAT, &[(1, 1_000), (10, 1_100)]));
        assert!(!holds(Shape::FLAT, &[(1, 1_000), (10, 1_101)]));
        // Each step is within a tenth, but not all together.
        assert!(!holds(Shape::FLAT, &[(1, 1_000), (10, 1_090), (100, 1_180)]));
        assert!(holds(Shape::FLAT, &[(1, 1_000), (10, 4)]), "less is never refused");
    }

    #[test]
    fn linear_series_may_grow_as_the_work() {
        assert!(holds(Shape::LINEAR, &[(100, 50), (1_000, 500), (10_000, 5_000)]));
        assert!(holds(Shape::LINEAR, &[(100, 50), (1_000, 200), (10_000, 2_000)]), "a fixed part only helps");
        assert!(!holds(Shape::LINEAR, &[(100, 50), (1_000, 500), (10_000, 6_000)]));
        assert!(!holds(Shape::LINEAR, &[(100, 100), (1_000, 10_000), (10_000, 1_000_000)]));
    }

    #[test]
    fn linear_series_may_grow_as_its_step_before() {
        // The first 140 records cost 5 each, and each later one 15.
        assert!(holds(Shape::LINEAR, &[(140, 700), (320, 3_400), (2_120, 30_400), (20_120, 300_400)]));
        assert!(!holds(Shape::LINEAR, &[(140, 700), (320, 3_400), (2_120, 33_200)]));
        let wide = |last| holds(Shape::linear_within(500), &[(100, 100), (200, 200), (1_200, last)]);
        assert!(wide(1_800) && !wide(1_801));
    }

    #[test]
    fn quadratic_exception_is_still_bounded() {
        let shape = Shape::quadratic_because("pages are read again");
        assert!(holds(shape, &[(100, 10), (1_000, 1_000), (10_000, 100_000)]));
        assert!(!holds(shape, &[(100, 10), (1_000, 10_000)]));
        assert_eq!(
            (shape.exception(), shape.to_string()),
            (Some("pages are read again"), "quadratic, an exception".into())
        );
    }

    #[test]
    fn sentence_names_the_series_the_count_and_the_bound() {
        let broken = Shape::FLAT.broken(&series(&[(20, 4), (200, 40)]));
        assert_eq!(broken, ["f, o: 40 calls for 200 must be at most 7, because they were 4 for 20 (flat)"]);
    }

    #[test]
    fn every_count_is_judged() {
        let counts = |read, written, units, write_units| Counts {
            items_read: read,
            items_written: written,
            read_units: HalfUnits(units),
            write_units: HalfUnits(write_units),
            ..Counts::default()
        };
        let mut grown = series(&[(1, 1), (10, 1)]);
        grown.points[1].counts = counts(50, 50, 100, 100);
        let names = |broken: Vec<String>| broken.len();
        assert_eq!(names(Shape::FLAT.broken(&grown)), 3, "items, read units and write units");
    }

    #[test]
    fn memory_may_grow_by_the_stated_bound() {
        let peak = |bytes: u64| {
            let mut of = series(&[(1, 0), (10, 0)]);
            of.points[0].peak_bytes = Some(10 << 20);
            of.points[1].peak_bytes = Some(bytes);
            memory_broken(&of)
        };
        assert_eq!(peak((10 << 20) + MEMORY_GROWTH_MAX), None);
        assert!(peak((11 << 20) + MEMORY_GROWTH_MAX).unwrap().contains("43 MiB"));
        assert_eq!(memory_broken(&series(&[(1, 0), (10, 0)])), None);
    }
}
