//! The tables and JSON lines of a run.

use super::operation::{Operation, PerOperation};
use super::size::ZipSizes;
use super::table::{beside, grouped, kilobytes, mebibytes, microseconds, table};
use super::warm::{Cold, WarmFigures};
use crate::stats::milliseconds;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// The calls of the store of an operation, by name.
pub type Calls = BTreeMap<String, u64>;

/// What was measured of a function.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The function's name.
    pub name: &'static str,
    /// The median of its starts.
    pub cold: Cold,
    /// Its requests when it is warm.
    pub warm: PerOperation<WarmFigures>,
    /// Its peak memory after all requests, in bytes.
    pub peak: u64,
    /// Its calls of the store.
    pub calls: PerOperation<Calls>,
    /// The instructions of a request, if they were counted.
    pub instructions: Option<PerOperation<u64>>,
    /// The size of its zip.
    pub zip: ZipSizes,
}

/// Every table. The first function is ours; `(2.0x)` is twice ours.
///
/// # Panics
/// When there is no function.
#[must_use]
pub fn tables(all: &[Figures], starts: u32, requests: u32) -> String {
    let mut text = cold(all, starts);
    for operation in Operation::ALL {
        text += &warm(all, operation, requests);
    }
    text + &memory(all) + &instructions(all) + &calls(all) + &zips(all)
}

fn cold(all: &[Figures], starts: u32) -> String {
    let row = |of: &Figures| {
        let cell = |figure: fn(&Cold) -> Duration| time(milliseconds, figure(&of.cold), figure(&all[0].cold));
        let cells = [cell(|cold| cold.init), cell(|cold| cold.processor), cell(|cold| cold.first_payment)];
        named(of, cells)
    };
    let columns = ["function", "until the first event, ms", "processor time of it, ms", "first payment, ms"];
    table(&format!("Cold start: median of {starts}"), &columns, &rows(all, row))
}

fn warm(all: &[Figures], operation: Operation, requests: u32) -> String {
    let place = operation.place();
    let row = |of: &Figures| {
        let cell = |show: fn(Duration) -> String, figure: fn(&WarmFigures) -> Duration| {
            time(show, figure(&of.warm[place]), figure(&all[0].warm[place]))
        };
        let cells = [
            cell(microseconds, |warm| warm.processor),
            microseconds(of.warm[place].user),
            microseconds(of.warm[place].system),
            cell(milliseconds, |warm| warm.p50),
            cell(milliseconds, |warm| warm.p99),
            cell(milliseconds, |warm| warm.p999),
        ];
        named(of, cells)
    };
    let columns =
        ["function", "processor time, \u{b5}s", "user, \u{b5}s", "system, \u{b5}s", "p50, ms", "p99, ms", "p99.9, ms"];
    table(&format!("Warm {operation}: {} requests", grouped(u64::from(requests))), &columns, &rows(all, row))
}

fn memory(all: &[Figures]) -> String {
    let row = |of: &Figures| {
        let cell = |bytes: u64, ours: u64| beside(&mebibytes(bytes), bytes.into(), ours.into());
        named(of, [cell(of.cold.memory, all[0].cold.memory), cell(of.peak, all[0].peak)])
    };
    table("Peak memory", &["function", "after the first payment, MiB", "after all requests, MiB"], &rows(all, row))
}

fn instructions(all: &[Figures]) -> String {
    let row = |of: &Figures| {
        let cell = |operation: Operation| {
            let count = |of: &Figures| of.instructions.map(|counts| counts[operation.place()]);
            let Some(counted) = count(of) else { return "not counted".to_owned() };
            beside(&grouped(counted / 1_000), counted.into(), count(&all[0]).unwrap_or_default().into())
        };
        named(of, Operation::ALL.map(cell))
    };
    operations("Instructions of a request, thousands", &rows(all, row))
}

fn calls(all: &[Figures]) -> String {
    let cell = |calls: &Calls| {
        let many = |(call, count): (&String, &u64)| if *count == 1 { call.clone() } else { format!("{count} {call}") };
        calls.iter().map(many).collect::<Vec<_>>().join(", ")
    };
    operations("Calls of the store", &rows(all, |of| named(of, of.calls.each_ref().map(cell))))
}

fn zips(all: &[Figures]) -> String {
    let row = |of: &Figures| {
        let cell = |size: fn(&ZipSizes) -> u64| {
            let (size, ours) = (size(&of.zip), size(&all[0].zip));
            beside(&kilobytes(size), size.into(), ours.into())
        };
        named(of, [cell(|zip| zip.pinned), cell(|zip| zip.without_sdk)])
    };
    let columns = ["function", "with all packages as pinned, kB", "without what Lambda's runtime has, kB"];
    table("Size of the zip", &columns, &rows(all, row))
}

fn operations(heading: &str, rows: &[Vec<String>]) -> String {
    let [payment, replay, refusal, balance] = Operation::ALL.map(Operation::name);
    table(heading, &["function", payment, replay, refusal, balance], rows)
}

fn rows(all: &[Figures], row: impl Fn(&Figures) -> Vec<String>) -> Vec<Vec<String>> {
    all.iter().map(row).collect()
}

fn named<const N: usize>(of: &Figures, cells: [String; N]) -> Vec<String> {
    [of.name.to_owned()].into_iter().chain(cells).collect()
}

fn time(show: fn(Duration) -> String, figure: Duration, ours: Duration) -> String {
    beside(&show(figure), figure.as_nanos(), ours.as_nanos())
}

/// The figures as JSON, one object a line: times in nanoseconds, sizes in bytes.
#[must_use]
pub fn json_lines(build: &str, all: &[Figures]) -> String {
    all.iter()
        .flat_map(objects)
        .map(|mut object| {
            object["build"] = build.into();
            format!("{object}\n")
        })
        .collect()
}

fn objects(of: &Figures) -> Vec<Value> {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let function = json!({
        "kind": "function", "function": of.name,
        "init": nanos(of.cold.init), "init_processor": nanos(of.cold.processor),
        "first_payment": nanos(of.cold.first_payment), "first_peak": of.cold.memory, "peak": of.peak,
        "zip": of.zip.pinned, "zip_without_sdk": of.zip.without_sdk,
    });
    let request = |operation: Operation| {
        let warm = of.warm[operation.place()];
        json!({
            "kind": "request", "function": of.name, "operation": operation.name(),
            "p50": nanos(warm.p50), "p99": nanos(warm.p99), "p999": nanos(warm.p999),
            "processor": nanos(warm.processor), "user": nanos(warm.user), "system": nanos(warm.system),
            "instructions": of.instructions.map(|counts| counts[operation.place()]),
            "calls": of.calls[operation.place()],
        })
    };
    [function].into_iter().chain(Operation::ALL.map(request)).collect()
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// Figures that are this many times one.
    pub(in crate::functions) fn figures(name: &'static str, scale: u64) -> Figures {
        let millis = |millis: u64| Duration::from_millis(millis * scale);
        let warm = WarmFigures {
            p50: millis(2),
            p99: millis(3),
            p999: millis(4),
            processor: millis(1),
            ..WarmFigures::default()
        };
        Figures {
            name,
            cold: Cold { init: millis(10), processor: millis(7), first_payment: millis(5), memory: scale << 20 },
            warm: [warm; 4],
            peak: scale << 21,
            calls: PerOperation::<Calls>::default().map(|_| Calls::from([("Query".to_owned(), scale)])),
            instructions: (scale < 5).then_some([scale * 1_000_000; 4]),
            zip: ZipSizes { pinned: scale * 1_000_000, without_sdk: scale * 500_000 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::figures;
    use super::*;

    #[test]
    fn each_figure_is_beside_ours() {
        let text = tables(&[figures("customer", 1), figures("python-boto3", 3), figures("node", 5)], 9, 5_000);
        for row in [
            "### Cold start: median of 9",
            "| python-boto3 | 30.00 (3.0x) | 21.00 (3.0x) | 15.00 (3.0x) |",
            "### Warm refusal: 5,000 requests",
            "| customer | 1,000 (1.0x) | 0 | 0 | 2.00 (1.0x) | 3.00 (1.0x) | 4.00 (1.0x) |",
            "| python-boto3 | 3.0 (3.0x) | 6.0 (3.0x) |",
            "| python-boto3 | 3,000 (3.0x) | 3,000 (3.0x) | 3,000 (3.0x) | 3,000 (3.0x) |",
            "| node | not counted | not counted | not counted | not counted |",
            "| customer | Query | Query | Query | Query |",
            "| python-boto3 | 3 Query | 3 Query | 3 Query | 3 Query |",
            "| python-boto3 | 3,000 (3.0x) | 1,500 (3.0x) |",
        ] {
            assert!(text.contains(&format!("{row}\n")), "{row} in:\n{text}");
        }
    }

    #[test]
    fn json_has_a_line_for_each_function_and_request() {
        let text = json_lines("release x", &[figures("customer", 1)]);
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 5);
        assert_eq!((lines[0]["kind"].as_str(), lines[0]["init"].as_u64()), (Some("function"), Some(10_000_000)));
        assert_eq!((lines[1]["operation"].as_str(), lines[1]["calls"]["Query"].as_u64()), (Some("payment"), Some(1)));
        assert_eq!(lines[4]["build"], "release x");
    }
}
