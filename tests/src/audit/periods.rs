//! Audits periods: the entries that name one, its sums, and the settlement that has it.

use super::Checked;
use super::credits::{Kind, credits_by_seals};
use super::index::Audit;
use super::rows::{Row, decimal};
use ledger_core::dynamo::{Item, Value};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// The sums of entries by the name of a sum, and the number of entries as `period_records`.
type Sums = BTreeMap<String, Decimal>;

/// The settlement that has an entry of a merchant, by its period.
pub(super) fn settlement_of<'a>(
    audit: &Audit<'a>,
    entry: Row<'a>,
    merchant_pk: &str,
) -> Result<Option<&'a str>, String> {
    if !entry.has("_period") {
        return Ok(None);
    }
    let closed = audit.row(merchant_pk, &Period::of(entry, "_period")?.sort_key());
    Ok(closed.and_then(|closed| closed.opt_text("settlement_id")))
}

/// A merchant's period of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Period {
    lane: u32,
    number: u32,
}

impl Period {
    /// The period that a row names in an attribute: `L0/7`.
    fn of(row: Row<'_>, attribute: &str) -> Result<Self, String> {
        row.item.get(attribute).and_then(Self::read).ok_or_else(|| format!("{row} names no period"))
    }

    fn read(value: &Value) -> Option<Self> {
        let whole = |text: &str| text.parse().ok().filter(|number: &u32| number.to_string() == text);
        match value {
            Value::S(text) => {
                let (lane, number) = text.strip_prefix('L')?.split_once('/')?;
                Some(Self { lane: whole(lane)?, number: whole(number)? })
            }
            Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => None,
        }
    }

    fn sort_key(self) -> String {
        format!("PERIOD#L{:02}#{:08}", self.lane, self.number)
    }
}

/// The sums of a period's entries, and their last segment.
#[derive(Debug, Default)]
struct Credited {
    sums: Sums,
    segment: u64,
}

impl Credited {
    fn add<'b>(&mut self, kind: Kind, owed: impl IntoIterator<Item = (&'b str, Decimal)>) {
        *self.sums.entry("period_records".to_owned()).or_default() += Decimal::ONE;
        for (asset, delta) in owed {
            let side = side(kind, delta);
            let sum = format!("{side}_{}", asset.to_lowercase().replace('#', "_"));
            *self.sums.entry(sum).or_default() += counted(kind, delta);
        }
    }
}

/// The sum that a change of what a merchant is owed counts in.
pub(super) fn side(kind: Kind, delta: Decimal) -> &'static str {
    match (kind, delta.is_sign_negative()) {
        (Kind::Trade, false) => "taken",
        (Kind::Trade, true) => "refunded",
        (Kind::Cash, true) => "cash_taken",
        (Kind::Cash, false) => "cash_reversed",
        (Kind::Deposit, _) => "deposited",
    }
}

/// What a change counts in its sum. The sums of trade and of cash are of one direction each, and hold sizes. Deposits and
/// their reversals have one sum, with the sign of the merchant's balance.
pub(super) fn counted(kind: Kind, delta: Decimal) -> Decimal {
    match kind {
        Kind::Trade | Kind::Cash => delta.abs(),
        Kind::Deposit => delta,
    }
}

/// The sides of a period's sums, each with its sign in the merchant's balance.
pub(super) const SIDES: [(&str, Decimal); 6] = [
    ("taken_", Decimal::ONE),
    ("refunded_", Decimal::NEGATIVE_ONE),
    ("cash_taken_", Decimal::NEGATIVE_ONE),
    ("cash_reversed_", Decimal::ONE),
    ("deposited_", Decimal::ONE),
    ("refund_room_", Decimal::ZERO),
];

/// The sum of what refunds took from a merchant's refund room.
pub(super) const REFUND_ROOM: &str = "refund_room_ecopay";

/// Checks that each period is open or closed once, has the sums of the entries that name it, and is in one settlement once it
/// is closed, or due for the next one; and that the sums of a lane name their last segment.
pub(super) fn periods_equal_entries(audit: &Audit<'_>) -> Checked {
    let mut credited = BTreeMap::<(String, Period), Credited>::new();
    for credit in credits_by_seals(audit)?.into_iter().filter(|credit| credit.row.has("_period")) {
        let row = credit.row;
        let (lane, segment) = credit.segment()?.ok_or_else(|| format!("{row} is in a period and was never sealed"))?;
        let period = Period::of(row, "_period")?;
        ensure_eq!(period.lane.to_string(), lane, "{row}: the lane of its period");
        let of_period = credited.entry((credit.merchant_pk.clone(), period)).or_default();
        of_period.add(credit.kind, credit.owed);
        *of_period.sums.entry(REFUND_ROOM.to_owned()).or_default() += row.opt_number("refund_room")?;
        of_period.sums.retain(|_, sum| !sum.is_zero());
        of_period.segment = of_period.segment.max(segment);
    }
    let mut next = BTreeMap::<(&str, u32), u32>::new();
    for closed in audit.under("PERIOD#") {
        let period = Period::of(closed, "period_id")?;
        ensure_eq!(closed.sk, period.sort_key(), "{closed}: the sort key");
        ensure_eq!(closed.text("merchant_id")?, closed.id(), "{closed}: its merchant");
        let last = next.entry((closed.pk, period.lane)).or_default();
        *last += 1;
        ensure_eq!(period.number, *last, "{closed}: the number after those before it");
        let records = credited.remove(&(closed.pk.to_owned(), period)).unwrap_or_default();
        ensure_eq!(sums(closed.item), records.sums, "{closed}: the sums of its entries");
        is_in_one_settlement(audit, closed, period, &records.sums)?;
    }
    for open in audit.under("CREDITED#") {
        let lane = open.sk.strip_prefix("CREDITED#").and_then(|lane| lane.parse().ok());
        let lane: u32 = lane.ok_or_else(|| format!("{open} is of no lane"))?;
        let first = next.get(&(open.pk, lane)).copied().unwrap_or_default() + 1;
        ensure_eq!(open.number("period")?, first.into(), "{open}: the open period");
        let records = credited.remove(&(open.pk.to_owned(), Period { lane, number: first })).unwrap_or_default();
        ensure_eq!(sums(open.item), records.sums, "{open}: the sums of the open period's entries");
        if !records.sums.is_empty() {
            ensure_eq!(open.number("segment")?, records.segment.into(), "{open}: the last segment of its entries");
        }
    }
    ensure!(credited.is_empty(), "there are entries of periods that do not exist: {credited:?}");
    Ok(())
}

/// Checks that the settlement that has a period names it once, and no other settlement does.
fn is_in_one_settlement(audit: &Audit<'_>, closed: Row<'_>, period: Period, records: &Sums) -> Checked {
    let owner = closed.opt_text("settlement_id");
    let mut named = Vec::new();
    for settlement in audit.within(closed.pk, "SETTLEMENT#") {
        for (batch, own) in closed_by(settlement)? {
            ensure!(batch <= settlement.number("batches")?, "{settlement}: its batches");
            if own == period {
                named.push(settlement.text("settlement_id")?);
            }
        }
    }
    for list in audit.within(closed.pk, "SETTLED#").filter(|list| !list.has("given_back_at")) {
        for entry in maps(list)? {
            if entry.get("period_id").and_then(Period::read) == Some(period) {
                ensure_eq!(sums(entry), *records, "{list}: the sums of {closed}");
                named.push(list.text("settlement_id")?);
            }
        }
    }
    ensure_eq!(named, Vec::from_iter(owner), "{closed}: the settlements that have it");
    ensure!(!closed.has("_due_pk"), "{closed} is due");
    let listed = audit.row(closed.pk, &closed.sk.replacen("PERIOD#", "PERIOD_BACK#", 1));
    ensure!(owner.is_some() || listed.is_some(), "{closed} is in no settlement and not listed as given back");
    if let Some(listed) = listed {
        ensure_eq!(listed.text("period_id")?, closed.text("period_id")?, "{listed}: the period");
    }
    Ok(())
}

/// The periods that a settlement closed, each with the number of its batch.
fn closed_by(settlement: Row<'_>) -> Result<Vec<(Decimal, Period)>, String> {
    let read = |name: &str| {
        let period = settlement.item.get(name).and_then(Period::read);
        period.ok_or_else(|| format!("{settlement} closed no period in `{name}`"))
    };
    let mut closed = Vec::new();
    for (name, batch) in settlement.item.keys().filter_map(|name| Some((name, name.strip_prefix("closed_batch_")?))) {
        let batch = batch.parse().map_err(|_| format!("{settlement} closed a period in batch {batch}"))?;
        closed.push((batch, read(name)?));
    }
    Ok(closed)
}

fn maps<'a>(list: Row<'a>) -> Result<Vec<&'a Item>, String> {
    let Some(Value::L(entries)) = list.item.get("records") else {
        return Err(format!("{list} has no list of records"));
    };
    let map = |value: &'a Value| match value {
        Value::M(map) => Some(map),
        Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) => None,
    };
    entries.iter().map(|value| map(value).ok_or_else(|| format!("{list} has an entry that is no map"))).collect()
}

/// The sums of an item that are not zero.
fn sums(item: &Item) -> Sums {
    let is_sum = |name: &str| name == "period_records" || SIDES.iter().any(|(side, _)| name.starts_with(side));
    let sums = item.iter().filter(|(name, _)| is_sum(name));
    let sums = sums.map(|(name, value)| (name.clone(), decimal(value).unwrap_or_default()));
    sums.filter(|(_, sum)| !sum.is_zero()).collect()
}
