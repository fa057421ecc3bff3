//! The generated parts of the documents: each stands between two comments that name it.

use super::floors::{FLOORS, Floor, Part, STAMP_TENTHS};
use super::kept::{BUSY, Costs, Left, LifeStep, SETTLEMENT, Storage};
use super::prices::{self, Dollars, OVERHEAD_BYTES};
use super::units::{Halves, Tenths, Units};
use crate::tree;
use std::fmt::Write;

/// The documents with generated parts.
pub const PAGES: [&str; 4] = ["docs/costs.md", "docs/costs-life.md", "docs/costs-floors.md", "docs/costs-aws.md"];

/// The operation whose life is shown line by line.
const PAYMENT: &str = "payment in money";
const STEPS: [&str; 4] = ["request", "published", "sealed", "settled"];
const END: &str = "<!-- end -->";

/// A document's text.
///
/// # Panics
/// When it cannot be read.
#[must_use]
pub fn read(path: &str) -> String {
    std::fs::read_to_string(tree::root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The document with its generated parts as these costs make them.
///
/// # Panics
/// When a part has an unknown name or no end.
#[must_use]
pub fn filled(page: &str, costs: &Costs) -> String {
    let mut filled = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("<!-- costs: ") {
        let (name, after) = after.split_once(" -->\n").expect("a name and the end of its comment");
        let (_, after) = after.split_once(END).unwrap_or_else(|| panic!("the part {name} has no end"));
        let _ = write!(filled, "{before}<!-- costs: {name} -->\n{}{END}", part(name, costs));
        rest = after;
    }
    filled + rest
}

fn part(name: &str, costs: &Costs) -> String {
    match name {
        "requests" => requests(costs),
        "payment" => payment(costs),
        "lives" => lives(costs),
        "floors" => floors(costs),
        "above" => above(costs),
        "summary" => summary(costs),
        "storage" => storage(costs),
        "settlement" => settlement(costs),
        "later" => later(costs),
        "prices" => prices::stated() + "\n",
        "million" => million(costs),
        _ => panic!("no part of a page is named {name}"),
    }
}

/// A table of requests. Its cells have no spaces, because a page's length counts them.
fn requests(costs: &Costs) -> String {
    let mut table =
        "|operation|items|WCU|of it indexes|RCU|calls|of a replay|entries|records|bytes|shared|\n|---|".to_owned();
    table += &"---:|".repeat(10);
    table.push('\n');
    for row in &costs.requests {
        let (units, read) = (row.units, Halves(row.units.read_halves));
        let _ = writeln!(
            table,
            "|{}|{}|{}|{}|{read}|{}|{}|{}|{}|{}|{}|",
            row.name,
            row.items,
            units.write,
            units.index,
            row.calls,
            row.replay_calls,
            row.entries,
            row.records,
            row.bytes,
            row.shared
        );
    }
    table
}

/// What follows from a record, as it is of a transfer's.
fn later(costs: &Costs) -> String {
    let units = |name| step(costs, "transfer", name).map_or_else(String::new, |step| written(step.busy).to_string());
    format!(
        "Each record takes {} WCU more to be sealed, if it is at most 1 KB. Publishing an entry takes {}.\n",
        units("sealed"),
        units("published")
    )
}

fn of<'a>(costs: &'a Costs, operation: &'a str) -> impl Iterator<Item = &'a LifeStep> {
    costs.lives.iter().filter(move |step| step.operation == operation)
}

fn step<'a>(costs: &'a Costs, operation: &'a str, name: &str) -> Option<&'a LifeStep> {
    of(costs, operation).find(|step| step.step == name)
}

/// All units of an operation's life: busy, thin.
fn life(costs: &Costs, operation: &str) -> (Units, Units) {
    let (mut busy, mut thin) = (Units::default(), Units::default());
    for step in of(costs, operation) {
        busy += step.busy;
        thin += step.thin;
    }
    (busy, thin)
}

fn written(busy: Units) -> Tenths {
    Tenths::each(busy.write, BUSY as u64)
}

fn was_read(busy: Units) -> Tenths {
    Tenths::each_of_halves(busy.read_halves, BUSY as u64)
}

fn payment(costs: &Costs) -> String {
    let what = |step: &str| match step {
        "request" => "marker, `ECOPAY` with the aggregates, `POINT`, `PAYMENT`, `TXN`: 10; three index entries: 3",
        "published" => "nothing",
        "sealed" => "`TXN` 2, removed from `due` 1; a share of the segment and the lane's head",
        "settled" => "a share of the settlement, its period and the next one, which take 7",
        _ => panic!("an unknown step {step}"),
    };
    let mut table = "| step | what is written | WCU busy | thin | RCU busy | thin |\n".to_owned();
    table += "|---|---|---:|---:|---:|---:|\n";
    for row in of(costs, PAYMENT) {
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} |",
            row.step,
            what(&row.step),
            written(row.busy),
            row.thin.write,
            was_read(row.busy),
            Halves(row.thin.read_halves)
        );
    }
    let (busy, thin) = life(costs, PAYMENT);
    let _ = writeln!(table, "| expired | the marker, by TTL | 0.0 | 0 | 0.0 | 0 |");
    let _ = writeln!(
        table,
        "| **life** | | **{}** | **{}** | **{}** | **{}** |",
        written(busy),
        thin.write,
        was_read(busy),
        Halves(thin.read_halves)
    );
    table
}

fn lives(costs: &Costs) -> String {
    let mut table = "| operation, WCU busy | request | published | sealed | settled | **life** | thin |".to_owned();
    table += " RCU | thin | $ a million | thin |\n|---|";
    table += &"---:|".repeat(10);
    table.push('\n');
    for storage in &costs.storage {
        let operation = storage.operation.as_str();
        let _ = write!(table, "| {operation} |");
        for name in STEPS {
            let units = step(costs, operation, name).map_or_else(String::new, |step| written(step.busy).to_string());
            let _ = write!(table, " {units} |");
        }
        let (busy, thin) = life(costs, operation);
        let _ = writeln!(
            table,
            " **{}** | {} | {} | {} | {} | {} |",
            written(busy),
            thin.write,
            was_read(busy),
            Halves(thin.read_halves),
            of_million(busy, BUSY),
            of_million(thin, 1)
        );
    }
    table
}

fn settlement(costs: &Costs) -> String {
    let tasks = of(costs, SETTLEMENT).next().expect("the tasks of a settlement");
    let (busy, thin) = (tasks.busy.write, tasks.thin.write);
    format!(
        "Its other tasks take {busy} WCU for {BUSY} records, and {thin} for one, besides those of the request that \
         closes the period.\n"
    )
}

fn named(parts: &[Part]) -> String {
    parts.iter().map(|(what, units)| format!("{what} {units}")).collect::<Vec<_>>().join(", ")
}

fn floors(costs: &Costs) -> String {
    let mut table =
        "| operation | its transactions must write | floor | life | above |\n|---|---|---:|---:|---:|\n".to_owned();
    for floor in &FLOORS {
        let (busy, life) = (life(costs, floor.operation).0, floor.tenths());
        let _ = writeln!(
            table,
            "| {} | {}: **{}** | {} | {} | {} |",
            floor.operation,
            named(floor.parts),
            floor.request(),
            Tenths(life),
            written(busy),
            Tenths(written(busy).0.saturating_sub(life))
        );
    }
    table
}

fn above(costs: &Costs) -> String {
    let mut table = "| operation | in its transactions | published | sealed | settled |\n".to_owned();
    table += "|---|---|---:|---:|---:|\n";
    for floor in &FLOORS {
        let units = |name| step(costs, floor.operation, name).map(|step| written(step.busy));
        let text = |units: Option<Tenths>| units.map_or_else(String::new, |units| units.to_string());
        let _ = writeln!(
            table,
            "| {} | {}: **{}** | {} | {} | {} |",
            floor.operation,
            named(floor.above),
            floor.above(),
            text(units("published")),
            text(units("sealed").map(|sealed| above_stamps(floor, sealed))),
            text(units("settled"))
        );
    }
    table
}

fn above_stamps(floor: &Floor, sealed: Tenths) -> Tenths {
    Tenths(sealed.0.saturating_sub(floor.records * STAMP_TENTHS))
}

fn storage(costs: &Costs) -> String {
    let mut table = "| operation | bytes of items | of index entries | with DynamoDB's overhead | thin |".to_owned();
    table += " $ a month for a million |\n|---|---:|---:|---:|---:|---:|\n";
    for Storage { operation, busy, thin } in &costs.storage {
        let each = |bytes: u64| Tenths::each(bytes, BUSY as u64).whole();
        let _ = writeln!(
            table,
            "| {operation} | {} | {} | {} | {} | {} |",
            each(busy.bytes),
            each(busy.entry_bytes),
            each(stored(busy)),
            stored(thin),
            prices::of_month(stored(busy), BUSY)
        );
    }
    table
}

/// The bytes that DynamoDB bills.
fn stored(left: &Left) -> u64 {
    left.bytes + left.entry_bytes + (left.items + left.entries) * OVERHEAD_BYTES
}

/// Of a million payments in money: what, how much, at which price, in all.
type BillRow = (String, String, String, Dollars);

fn bill(costs: &Costs) -> Vec<BillRow> {
    let what = [
        ("request", "table: the payments' own transactions"),
        ("published", "events: reading the entries"),
        ("sealed", "sealing"),
        ("settled", "collecting for settlements"),
    ];
    let of_table = what.into_iter().filter_map(|(name, text)| {
        let units = step(costs, PAYMENT, name)?.busy;
        let (written, read) = (written(units), was_read(units));
        let (much, price) = match units.read_halves {
            0 => (format!("{written} million write units"), prices::of_write_unit()),
            _ => (format!("{written} million write and {read} million read units"), prices::of_both_units()),
        };
        Some((text.to_owned(), much, price, of_million(units, BUSY)))
    });
    let others = OTHERS.map(|(what, much, of, price)| (what.to_owned(), much.to_owned(), of.to_owned(), price));
    of_table.chain(others).collect()
}

/// The price of a million operations, of which `count` take these units.
fn of_million(units: Units, count: usize) -> Dollars {
    prices::of_writes(units, count) + prices::of_reads(units, count)
}

fn million(costs: &Costs) -> String {
    let rows = bill(costs);
    let mut table = "| what | how much | price | $ |\n|---|---|---|---:|\n".to_owned();
    let total: Dollars = rows.iter().map(|row| row.3).sum();
    for (what, much, of, price) in rows {
        let _ = writeln!(table, "| {what} | {much} | {of} | {price} |");
    }
    let _ = writeln!(table, "| **together** | | | **about {}** |", total.whole());
    let (busy, thin) = life(costs, PAYMENT);
    let more = of_million(thin, 1).0.saturating_sub(of_million(busy, BUSY).0);
    let _ = writeln!(table, "\nRecords that workers take one at a time cost {} more.", Dollars(more));
    table
}

fn summary(costs: &Costs) -> String {
    let total: Dollars = bill(costs).iter().map(|row| row.3).sum();
    let kept = costs.storage.iter().find(|storage| storage.operation == PAYMENT).expect("a payment leaves something");
    format!(
        "About {} dollars for a million payments, settled, and {} a month to keep what they leave.\n",
        total.whole(),
        prices::of_month(stored(&kept.busy), BUSY)
    )
}

/// What a million payments cost besides the table.
const OTHERS: [(&str, &str, &str, Dollars); 6] = [
    ("API", "1 million", "1.00 a million", Dollars(1_000)),
    ("function: 1,000,000 x 0.03 s x 0.5 GB = 15,000 GB-s", "", "0.20 a million, 0.0000133334 a GB-s", Dollars(400)),
    ("logs: our line, the metrics' lines, Lambda's and the gateway's, 1.5 KB", "1.5 GB", "0.50 a GB", Dollars(750)),
    ("traces: one in twenty", "0.05 million", "5.00 a million", Dollars(250)),
    (
        "events: sent twice, one call each where traffic is thin, and received and deleted by a receiver",
        "4 million",
        "0.50 a million",
        Dollars(2_000),
    ),
    (
        "runs of the workers: 40,000 x 0.5 s x 0.25 GB = 5,000 GB-s",
        "0.04 million",
        "0.20 a million, 0.0000133334 a GB-s",
        Dollars(75),
    ),
];
