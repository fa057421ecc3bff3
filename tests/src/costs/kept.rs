//! `tests/costs.txt`: the costs as text, one line for each measured thing.

use super::units::{Halves, Units};
use crate::tree;
use std::fmt::{Display, Write};

/// The file's path in the repository.
pub const PATH: &str = "tests/costs.txt";
/// The command that writes the file.
const UPDATE: &str = "cargo run -p ledger-tests --bin costs -- --update";
/// The name of what a settlement takes besides its records.
pub const SETTLEMENT: &str = "settlement of a merchant";
/// The number of records of a busy measurement: nearly as many as one segment of the audit trail takes, which is 96.
pub const BUSY: usize = 95;

const HEAD: &str = "\
# What each operation costs, in DynamoDB's capacity units (WCU, RCU), bytes and calls, as the embedded engine counts
# them. Compared with measurements by `cargo test --workspace roundtrips::` and `... costs::`, and written by
# `cargo run -p ledger-tests --bin costs -- --update`.
";
const REQUESTS: &str = "\
# A request's transactions, with warm caches. Where Stripe is called there are two, one before and one after. index: the
# part of the WCU that index entries take. RCU, calls: up to this transaction, its own call included. replay: calls of a
# repeated request, which writes nothing. entries: to be published. records: to be sealed, entries included. bytes: of
# the items that it writes. shared: items that it has in common with the same operation for another customer, by the
# same merchant, terminal or operator.
";
const LIVES: &str = "\
# All that happens to an operation's records. busy: in all for 95 at once. thin: for one alone.
";
const STORAGE: &str = "\
# What stays for ever: items without a `ttl` that were created for these records, and their index entries.
";

/// All measured costs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Of requests.
    pub requests: Vec<RequestCost>,
    /// Of all work on the records of some operations.
    pub lives: Vec<LifeStep>,
    /// What the operations store for ever.
    pub storage: Vec<Storage>,
}

/// One transaction of a request, with the reads before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestCost {
    /// The operation.
    pub name: String,
    /// The transaction's actions.
    pub items: u64,
    /// Its units, and those of the reads.
    pub units: Units,
    /// Calls of the store.
    pub calls: u64,
    /// Calls of the store for a replay of the request.
    pub replay_calls: u64,
    /// The journal entries that it writes, each to be published.
    pub entries: u64,
    /// The records of the audit trail that it writes, entries included, each to be sealed.
    pub records: u64,
    /// The size of the items that it writes.
    pub bytes: u64,
    /// Items that the same operation for another customer has too.
    pub shared: u64,
}

/// A step in the life of an operation's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LifeStep {
    /// The operation.
    pub operation: String,
    /// The step, such as `credited`.
    pub step: String,
    /// For [`BUSY`] records at once, in all.
    pub busy: Units,
    /// For one record alone.
    pub thin: Units,
}

/// What an operation's records leave in the table for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// The operation.
    pub operation: String,
    /// By [`BUSY`] records at once, in all.
    pub busy: Left,
    /// By one record alone.
    pub thin: Left,
}

/// Items and index entries that are never deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Items.
    pub items: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Index entries.
    pub entries: u64,
    /// Their bytes.
    pub entry_bytes: u64,
}

impl Costs {
    /// Reads the file.
    ///
    /// # Panics
    /// When a line is not as [`Costs::text`] writes it.
    #[must_use]
    pub fn read() -> Self {
        Self::parse(&std::fs::read_to_string(tree::root().join(PATH)).expect("the file of costs"))
    }

    /// Reads the file's text.
    ///
    /// # Panics
    /// When a line is not as [`Costs::text`] writes it.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (mut costs, mut section) = (Self::default(), "");
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            match (line, section) {
                ("[requests]" | "[lives]" | "[storage]", _) => section = line,
                (_, "[requests]") => costs.requests.push(RequestCost::parse(line)),
                (_, "[lives]") => costs.lives.push(LifeStep::parse(line)),
                (_, "[storage]") => costs.storage.push(Storage::parse(line)),
                _ => panic!("{PATH}: a line outside of a section: {line}"),
            }
        }
        costs
    }

    /// The file's text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        section(&mut text, "requests", REQUESTS, &self.requests);
        section(&mut text, "lives", LIVES, &self.lives);
        section(&mut text, "storage", STORAGE, &self.storage);
        text
    }

    /// How these costs differ from the kept ones, as lines of the file; empty if they do not.
    #[must_use]
    pub fn differences(&self, kept: &Self) -> String {
        if self == kept {
            return String::new();
        }
        let (ours, theirs) = (self.text(), kept.text());
        let missing_in = |other: &str, text: &str| -> String {
            let known: Vec<&str> = other.lines().collect();
            text.lines().filter(|line| !known.contains(line)).map(|line| format!("{line}\n")).collect()
        };
        let (measured, kept) = (missing_in(&theirs, &ours), missing_in(&ours, &theirs));
        format!("Measured, and not in {PATH}, or in another order:\n{measured}In {PATH}:\n{kept}")
    }

    /// Asserts that these costs are the kept ones.
    ///
    /// # Panics
    /// When they differ.
    pub fn check(&self, kept: &Self) {
        let differences = self.differences(kept);
        assert!(differences.is_empty(), "{differences}If the change is meant, run: {UPDATE}");
    }
}

fn section<R: Row>(text: &mut String, name: &str, comment: &str, rows: &[R]) {
    let _ = write!(text, "\n[{name}]\n{comment}#\n");
    let titles: Vec<String> = R::TITLES.iter().map(|title| (*title).to_owned()).collect();
    // The title takes two columns more, for the mark of a comment.
    let _ = writeln!(text, "# {}", aligned("operation", &titles, R::WIDTH - 2));
    for row in rows {
        let _ = writeln!(text, "{}", aligned(&row.name(), &row.numbers(), R::WIDTH));
    }
}

fn aligned(name: &str, numbers: &[String], width: usize) -> String {
    numbers.iter().fold(format!("{name:<width$}"), |line, number| format!("{line} {number:>7}"))
}

/// A line's name and its last `N` words.
fn fields<const N: usize>(line: &str) -> (String, [u64; N]) {
    let mut rest = line.trim_end();
    let mut numbers = [0; N];
    for place in numbers.iter_mut().rev() {
        let (before, number) = rest.rsplit_once(' ').unwrap_or_else(|| panic!("{PATH}: too few columns: {line}"));
        *place = Halves::parse(number).unwrap_or_else(|| panic!("{PATH}: not a number in: {line}")).0;
        rest = before.trim_end();
    }
    (rest.to_owned(), numbers)
}

trait Row {
    const TITLES: &'static [&'static str];
    const WIDTH: usize;
    fn name(&self) -> String;
    fn numbers(&self) -> Vec<String>;
}

impl Row for RequestCost {
    const TITLES: &'static [&'static str] =
        &["items", "WCU", "index", "RCU", "calls", "replay", "entries", "records", "bytes", "shared"];
    const WIDTH: usize = 44;

    fn name(&self) -> String {
        self.name.clone()
    }

    fn numbers(&self) -> Vec<String> {
        let Self { items, units, calls, replay_calls, entries, records, bytes, shared, .. } = self;
        let read = Halves(units.read_halves);
        let all: [&dyn Display; 10] =
            [items, &units.write, &units.index, &read, calls, replay_calls, entries, records, bytes, shared];
        all.map(ToString::to_string).into()
    }
}

impl RequestCost {
    fn parse(line: &str) -> Self {
        let (name, [items, write, index, read_halves, rest @ ..]) = fields::<10>(line);
        let units = Units { write: write / 2, index: index / 2, read_halves };
        let [calls, replay_calls, entries, records, bytes, shared] = rest.map(|halves| halves / 2);
        Self { name, items: items / 2, units, calls, replay_calls, entries, records, bytes, shared }
    }
}

impl Row for LifeStep {
    const TITLES: &'static [&'static str] = &["busy", "index", "RCU", "thin", "index", "RCU"];
    const WIDTH: usize = 44;

    fn name(&self) -> String {
        format!("{}: {}", self.operation, self.step)
    }

    fn numbers(&self) -> Vec<String> {
        let of =
            |units: &Units| [units.write.to_string(), units.index.to_string(), Halves(units.read_halves).to_string()];
        [of(&self.busy), of(&self.thin)].concat()
    }
}

impl LifeStep {
    fn parse(line: &str) -> Self {
        let (name, [busy @ .., a, b, c]) = fields::<6>(line);
        let units = |[write, index, read_halves]: [u64; 3]| Units { write: write / 2, index: index / 2, read_halves };
        let (operation, step) = name.rsplit_once(": ").unwrap_or_else(|| panic!("{PATH}: no step in: {line}"));
        Self { operation: operation.to_owned(), step: step.to_owned(), busy: units(busy), thin: units([a, b, c]) }
    }
}

impl Row for Storage {
    const TITLES: &'static [&'static str] = &["busy", "bytes", "entries", "bytes", "thin", "bytes", "entries", "bytes"];
    const WIDTH: usize = 32;

    fn name(&self) -> String {
        self.operation.clone()
    }

    fn numbers(&self) -> Vec<String> {
        let of =
            |left: &Left| [left.items, left.bytes, left.entries, left.entry_bytes].map(|number| number.to_string());
        [of(&self.busy), of(&self.thin)].concat()
    }
}

impl Storage {
    fn parse(line: &str) -> Self {
        let (operation, [busy @ .., a, b, c, d]) = fields::<8>(line);
        let left = |numbers: [u64; 4]| {
            let [items, bytes, entries, entry_bytes] = numbers.map(|halves| halves / 2);
            Left { items, bytes, entries, entry_bytes }
        };
        Self { operation, busy: left(busy), thin: left([a, b, c, d]) }
    }
}
