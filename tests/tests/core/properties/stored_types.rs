//! An attribute of a wrong type is never read as absent: every golden record, with each attribute replaced by a value
//! of every other type, through every reader of the record.

use ledger_core::cards::record::CardRecord;
use ledger_core::dynamo::{Attributes, Item, ItemError, ItemFault, Value};
use ledger_core::figures::{ActiveAccounts, BatchSegments, ClosedDay, DayTotals, Fold};
use ledger_core::grants::bulk::GrantJob;
use ledger_core::idempotency::Marker;
use ledger_core::journal::{HistoryLine, JournalEntry};
use ledger_core::keys::{attr, tenant_of};
use ledger_core::lease::Holder;
use ledger_core::merchants;
use ledger_core::migration::{Layout, Pass};
use ledger_core::payments::PaymentRecord;
use ledger_core::reconcile::run::{FoundBreak, Run};
use ledger_core::reconcile::{AccountFact, BreakKind, GroupFact, Limits, Observation, of_item};
use ledger_core::sealing::Sealable;
use ledger_core::settlements::{ClosedPeriod, Settleable, Settlement, Settling, read_batch};
use ledger_core::terminals::TerminalRecord;
use ledger_core::terms::{MerchantTerms, TermsSchedule};
use ledger_core::time::Timestamp;
use ledger_core::topups::attention::KeptEvent;
use ledger_core::topups::{Clawback, TopupRecord, TopupRefund};
use ledger_tests::golden::vector;
use ledger_tests::share;
use ledger_tests::wire;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// Reads a record; returns it as text.
type Reader = fn(&Item) -> Result<String, ItemError>;

fn shown<T: Debug>(read: Result<T, ItemError>) -> Result<String, ItemError> {
    read.map(|record| format!("{record:?}"))
}

/// A reader that needs the record's tenant.
macro_rules! of_tenant {
    ($read:path) => {
        |item| match item.key_text(attr::PK).and_then(tenant_of) {
            Some(tenant) => shown($read(&tenant, item)),
            None => Err(ItemError::missing(attr::PK)),
        }
    };
}

const READERS: &[(&str, Reader)] = &[
    ("break", |item| shown(FoundBreak::read(item))),
    ("card", |item| shown(CardRecord::read(item))),
    ("clawback", |item| shown(Clawback::read(item))),
    ("closed period", |item| shown(ClosedPeriod::read(item))),
    ("entry", |item| shown(JournalEntry::read(item))),
    ("closed day", of_tenant!(ClosedDay::read)),
    ("day totals", |item| shown(DayTotals::read(item))),
    ("fold", |item| shown(Fold::read(item))),
    ("batch segments", |item| shown(BatchSegments::read(item))),
    ("active accounts", |item| shown(ActiveAccounts::read(std::slice::from_ref(item)))),
    ("grant job", |item| shown(GrantJob::read(item))),
    ("history line", |item| shown(HistoryLine::read(item, None))),
    ("holder", |item| shown(Holder::read(item))),
    ("kept event", |item| shown(KeptEvent::read(item))),
    ("layout", |item| shown(Layout::read(item))),
    ("marker", |item| shown(Marker::read(item))),
    ("merchant terms", |item| shown(MerchantTerms::read(item))),
    ("payout destination", |item| shown(merchants::destination(item))),
    ("pass", |item| shown(Pass::read(item))),
    ("payment", |item| shown(PaymentRecord::read(item))),
    ("reconciliation", |item| shown(Run::read(item))),
    ("sealable", of_tenant!(Sealable::read)),
    ("settleable", |item| shown(Settleable::read(item))),
    ("settled batch", |item| shown(read_batch(item))),
    ("settlement", |item| shown(Settlement::read(item))),
    ("settling", |item| shown(Settling::read(Some(item)))),
    ("tenant terms", |item| shown(TermsSchedule::read(item))),
    ("terminal", |item| shown(TerminalRecord::read(item))),
    ("topup", |item| shown(TopupRecord::read(item))),
    ("topup refund", |item| shown(TopupRefund::read(item))),
    ("reconciled", reconciled),
    #[cfg(feature = "stack")]
    ("customer view", |item| shown(ledger_runtime::views::CustomerView::read(item))),
    #[cfg(feature = "stack")]
    ("merchant view", |item| shown(ledger_runtime::views::MerchantView::read(item))),
    #[cfg(feature = "stack")]
    ("balance view", |item| shown(ledger_runtime::views::BalanceView::read(item))),
    #[cfg(feature = "stack")]
    ("metrics view", |item| shown(ledger_runtime::views::MetricsView::read(Some(item), std::slice::from_ref(item)))),
];

/// Readers of any record: for one of another kind they return that it is not theirs.
const OF_ANY_RECORD: [&str; 1] = ["sealable"];

/// What reconciliation observes of an item; a break of an unreadable item is an error.
fn reconciled(item: &Item) -> Result<String, ItemError> {
    let now = Timestamp::parse("2026-11-21T09:30:00Z").unwrap();
    let observed = of_item(item, now, Limits::default());
    for observation in &observed {
        match observation {
            Observation::Break(finding) if finding.kind == BreakKind::UnreadableItem => {
                let attribute = finding.found.trim_start_matches("no readable `").trim_end_matches('`');
                return Err(ItemError::invalid(attribute));
            }
            Observation::Fact(fact) => {
                if let GroupFact::Account(_, _, AccountFact::UnreadableBalance { attribute, .. }) = &fact.content {
                    return Err(ItemError::invalid(attribute));
                }
            }
            Observation::Break(_) | Observation::Newer(_) => {}
        }
    }
    Ok(format!("{observed:?}"))
}

/// One value of each type other than the given value's.
fn of_other_types(value: &Value) -> Vec<Value> {
    let text = match value {
        Value::S(text) | Value::N(text) => text.clone(),
        Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => "1".to_owned(),
    };
    let all = [
        Value::S(text),
        Value::int(1),
        Value::Bool(true),
        Value::Bool(false),
        Value::B(vec![1]),
        Value::L(Vec::new()),
        Value::M(Item::new()),
    ];
    let same_type = |other: &Value| std::mem::discriminant(other) == std::mem::discriminant(value);
    all.into_iter().filter(|other| !same_type(other)).collect()
}

/// The paths of all attributes: of the item, of maps in it, and of the first map in a list.
fn paths(item: &Item) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (name, value) in item {
        found.push(vec![name.clone()]);
        let inner = match value {
            Value::M(map) => Some(map),
            Value::L(list) => match list.first() {
                Some(Value::M(map)) => Some(map),
                _ => None,
            },
            Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) => None,
        };
        for path in inner.map(paths).unwrap_or_default() {
            found.push([vec![name.clone()], path].concat());
        }
    }
    found
}

fn at<'a>(item: &'a mut Item, path: &[String]) -> &'a mut Item {
    let Some((first, rest)) = path.split_first() else { return item };
    match item.get_mut(first) {
        Some(Value::M(map)) => at(map, rest),
        Some(Value::L(list)) => match list.first_mut() {
            Some(Value::M(map)) => at(map, rest),
            other => panic!("no map: {other:?}"),
        },
        other => panic!("no map: {other:?}"),
    }
}

/// The item with an attribute replaced, or removed if `value` is `None`.
fn with(item: &Item, path: &[String], value: Option<Value>) -> Item {
    let mut changed = item.clone();
    let (name, place) = path.split_last().unwrap();
    let map = at(&mut changed, place);
    match value {
        Some(value) => drop(map.insert(name.clone(), value)),
        None => drop(map.remove(name)),
    }
    changed
}

fn value_at(item: &Item, path: &[String]) -> Value {
    let mut item = item.clone();
    let (name, place) = path.split_last().unwrap();
    at(&mut item, place)[name].clone()
}

/// Keys of the table and its indexes, for which DynamoDB accepts strings only.
const KEYS: [&str; 6] = [attr::PK, attr::SK, attr::DUE_PK, attr::DUE_SK, attr::OWNER_PK, attr::OWNER_SK];

/// Every golden record, one per set of attributes, and records that no vector has.
pub(crate) fn records() -> Vec<Item> {
    let mut records = BTreeMap::new();
    let mut take = |item: &Json| {
        let item = wire::item_from_json(item);
        let Some(key) = item.key_text(attr::SK) else { return };
        let kind = item.key_text(attr::PK).and_then(|pk| pk.split('#').nth(1)).unwrap_or_default();
        let record = format!("{kind} {}", key.split('#').next().unwrap_or_default());
        let attributes: Vec<String> = paths(&item).iter().map(|path| path.join(".")).collect();
        let state = item.opt_text("state").ok().flatten().unwrap_or_default().to_owned();
        records.entry((record, attributes, state)).or_insert(item);
    };
    for file in vector::all() {
        let vector = file.vector();
        vector.case.given.state.iter().for_each(&mut take);
        vector.items.iter().filter_map(|item| item.pointer("/Put/Item")).for_each(&mut take);
    }
    take(&json!({
        "uuid": {"S": "demo#tenant#root"}, "type": {"S": "MIGRATION#backfill"}, "kind": {"S": "backfill"},
        "state": {"S": "done"}, "migration_fence": {"N": "3"}, "phase": {"N": "2"}, "fence": {"N": "1"},
        "lease_until": {"S": "2026-11-21T09:30:00.000Z"}, "per_second": {"N": "10"},
        "requested_by": {"S": "019a0000-0000-7000-8000-000000000041"}, "created_at": {"S": "2026-11-21T09:30:00.000Z"},
        "finished_at": {"S": "2026-11-21T09:31:00.000Z"}, "customers": {"N": "4"}, "changed": {"N": "3"},
        "left": {"N": "1"}, "concerns": {"M": {"money": {"N": "1"}}},
        "after": {"M": {"pk": {"S": "demo#customer#019a0000-0000-7000-8000-00000000000a"}, "sk": {"S": "customer"}}},
        "examples": {"L": [{"M": {
            "customer_id": {"S": "019a0000-0000-7000-8000-00000000000a"}, "what": {"S": "`balance` is no number"},
        }}]},
    }));
    take(&json!({
        "uuid": {"S": "demo#reconciliation#019a0000-0000-7000-8000-000000000051"}, "type": {"S": "RECONCILIATION"},
        "run_id": {"S": "019a0000-0000-7000-8000-000000000051"}, "state": {"S": "breaks"}, "fence": {"N": "1"},
        "lease_until": {"S": "2026-11-21T09:30:00.000Z"}, "created_at": {"S": "2026-11-21T09:30:00.000Z"},
        "began_at": {"S": "2026-11-21T09:30:00.000Z"}, "finished_at": {"S": "2026-11-21T09:31:00.000Z"},
        "requested_by": {"S": "019a0000-0000-7000-8000-000000000041"}, "items": {"N": "10"}, "units": {"N": "9"},
        "suspects": {"N": "3"}, "unsettled": {"N": "1"}, "stored": {"N": "2"}, "provider": {"S": "compared"},
        "file": {"S": "report.jsonl"}, "breaks": {"M": {"unreadable_item": {"N": "2"}}},
    }));
    records.into_values().collect()
}

#[test]
fn attribute_of_another_type_is_never_read_as_absent() {
    let (mut understood, mut wrong) = (BTreeSet::new(), Vec::new());
    let mut checked = 0_usize;
    for (at, record) in records().into_iter().enumerate() {
        for (name, reader) in READERS {
            let Ok(original) = reader(&record) else { continue };
            understood.insert(*name);
            for path in paths(&record).into_iter().filter(|_| share::is_of_family(at)) {
                if KEYS.contains(&path[0].as_str()) {
                    continue;
                }
                let removed = reader(&with(&record, &path, None));
                for value in of_other_types(&value_at(&record, &path)) {
                    checked += 1;
                    let case = format!("{name}: `{}` as {value:?}", path.join("."));
                    match reader(&with(&record, &path, Some(value))) {
                        Ok(read) if read == original => {}
                        Ok(read) if removed.as_ref() == Ok(&read) => wrong.push(format!("{case} is read as absent")),
                        Ok(_) if OF_ANY_RECORD.contains(name) => {}
                        Ok(read) => wrong.push(format!("{case} is read as {read}")),
                        Err(ItemError { attribute, fault }) => {
                            if fault == ItemFault::Missing {
                                wrong.push(format!("{case} is reported as missing"));
                            }
                            // A God Record's `balance_held` is the balance's `held`.
                            let names = |step: &String, part: &str| step == part || step.ends_with(&format!("_{part}"));
                            let is_named = path.iter().any(|step| attribute.split('.').any(|part| names(step, part)));
                            if !is_named {
                                wrong.push(format!("{case} is reported as invalid in `{attribute}`"));
                            }
                        }
                    }
                }
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{} of {checked}:\n{}", wrong.len(), wrong.join("\n"));
    let never: Vec<&str> = READERS.iter().map(|(name, _)| *name).filter(|name| !understood.contains(name)).collect();
    assert_eq!(never, [""; 0], "no record for these readers");
}
