//! Executes a vector on the engine, derives the outcome from the cancellation reasons, and checks balances, journal and
//! merchants' credits afterwards.

use super::balances;
use super::build::{Built, build};
use super::build_lanes::LanesDoes;
use super::command::Does;
use super::credited::{credited, merchant_changes, merchant_work};
use super::vector::{Effects, Given, ReasonJson, Row, Vector};
use super::written::Written;
use crate::engine::{Contents, Embedded, Engine};
use crate::{declared, layout, names, wire};
use ledger_core::account::{Account, Bucket};
use ledger_core::dynamo::Attributes;
use ledger_core::idempotency::{Claim, KeyVerdict, Marker, MarkerError};
use ledger_core::journal::JournalEntry;
use ledger_core::transaction::{Reason, ReasonCode, TransactItem, Transaction, Verdict};
use rust_decimal::Decimal;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// A number for each account and asset.
pub type Sums = BTreeMap<(String, String), Decimal>;

/// The result of a request.
pub struct Executed {
    /// The outcome, in words.
    pub outcome: String,
    /// The reasons by position; empty unless the request was cancelled.
    pub reasons: BTreeMap<String, ReasonJson>,
    /// The table before.
    pub before: Contents,
    /// The table after.
    pub after: Contents,
}

/// The outcome of these reasons; if the marker exists, the result that its claim gets.
#[must_use]
pub fn judge(transaction: &Transaction, claim: Option<&Claim>, reasons: &[Reason]) -> String {
    let verdict = transaction.classify(reasons);
    match (&verdict, claim) {
        (Verdict::MarkerExists(item), Some(claim)) => {
            let keys = declared::keys();
            let verdict = Marker::read(item).map_err(MarkerError::from);
            match verdict.and_then(|marker| claim.verdict(&marker, Some(&keys))) {
                Ok(KeyVerdict::Replay(_)) => "replay".to_owned(),
                Ok(KeyVerdict::Reused) => "reused".to_owned(),
                Ok(KeyVerdict::Expired { .. }) => "expired".to_owned(),
                Ok(KeyVerdict::Reversed) => "reversed".to_owned(),
                Ok(KeyVerdict::Free) => "free".to_owned(),
                Ok(KeyVerdict::InFlight(_)) => "in_flight".to_owned(),
                Err(MarkerError::Item(error)) => format!("unreadable {}", error.attribute),
                Err(MarkerError::KeyAbsent(key)) => format!("key {key} absent"),
                Err(MarkerError::Encrypted(_)) => "sealed for another".to_owned(),
            }
        }
        (
            Verdict::MarkerExists(_)
            | Verdict::Rejected(_)
            | Verdict::Broken(_)
            | Verdict::Throttled
            | Verdict::Conflict,
            _,
        ) => names::verdict(&verdict),
    }
}

/// The reasons of a row, one per action.
#[must_use]
pub fn reasons(row: &Row, actions: usize) -> Vec<Reason> {
    let none = || Reason { code: ReasonCode::None, item: None };
    let mut reasons: Vec<Reason> = (0..actions).map(|_| none()).collect();
    for (position, reason) in &row.reasons {
        reasons[position.parse::<usize>().unwrap()] =
            Reason { code: ReasonCode::parse(&reason.code), item: reason.item.as_ref().map(wire::item_from_json) };
    }
    reasons
}

/// Loads the state into the embedded engine and runs the actions.
#[must_use]
pub fn execute(given: &Given, built: &Built, actions: &[Json]) -> Executed {
    execute_on(&Embedded::default(), given, built, actions)
}

fn execute_on(engine: &dyn Engine, given: &Given, built: &Built, actions: &[Json]) -> Executed {
    let before = load(engine, given);
    let nothing = |outcome: &str| (outcome.to_owned(), BTreeMap::new());
    let (outcome, reasons) = match built {
        Built::Refused(why) => nothing(why),
        Built::Nothing => nothing("applied"),
        Built::Transaction(..) | Built::Change(_) => {
            let written = Written::of(given, built);
            let result = engine.execute(actions);
            agree(written.items(), &before, result.as_ref().err().map(Vec::as_slice));
            match result {
                Ok(()) => nothing(written.done()),
                Err(reasons) => {
                    let json = to_json(&reasons);
                    (written.judge(reasons), json)
                }
            }
        }
    };
    Executed { outcome, reasons, before, after: engine.contents() }
}

/// Loads the state into the engine, and returns the engine's contents.
fn load(engine: &dyn Engine, given: &Given) -> Contents {
    engine.hold(&given.state);
    let before = engine.contents();
    assert_eq!(before.len(), given.state.len(), "the keys of the state are unique");
    before
}

fn to_json(reasons: &[Reason]) -> BTreeMap<String, ReasonJson> {
    let failed = reasons.iter().enumerate().filter(|(_, reason)| reason.code != ReasonCode::None);
    failed
        .map(|(at, reason)| {
            assert_eq!(reason.code, ReasonCode::ConditionalCheckFailed);
            let item = reason.item.as_ref().map(wire::item_to_json);
            (at.to_string(), ReasonJson { code: "ConditionalCheckFailed".to_owned(), item })
        })
        .collect()
}

/// Asserts that the core evaluates each condition as the engine does, with the same old item.
pub fn agree(items: &[TransactItem], before: &Contents, reasons: Option<&[Reason]>) {
    for (at, item) in items.iter().enumerate() {
        let old = before.get(&(item.key().pk().to_owned(), item.key().sk().to_owned()));
        let ours = item.clauses().iter().all(|clause| clause.condition.holds(old));
        let reason = reasons.map(|reasons| &reasons[at]);
        let engine = reason.is_none_or(|reason| reason.code == ReasonCode::None);
        assert_eq!(ours, engine, "the core and the engine disagree on action {at}: {:?} on {old:?}", item.clauses());
        if let Some(reason) = reason.filter(|_| !engine) {
            assert_eq!(reason.item.as_ref(), old, "ALL_OLD of action {at}");
        }
    }
}

/// The changes of balance items, of held and reserved amounts, and of exposure.
#[must_use]
pub fn balance_changes(before: &Contents, after: &Contents) -> Sums {
    let sums = |contents: &Contents| -> Sums {
        let mut sums = Sums::new();
        for ((pk, sk), item) in contents {
            let parts: Vec<&str> = pk.split('#').collect();
            // An item of the registry is of no account.
            let [_, kind, id, ..] = parts[..] else { continue };
            let account = format!("{kind}:{id}");
            if (kind, sk.as_str()) == ("card", "card") {
                let text = item.opt_number("balance").unwrap();
                sums.insert((account, "ECOPAY".to_owned()), text.map_or(Decimal::ZERO, |text| text.parse().unwrap()));
            }
        }
        for (account, asset, balance) in balances::balances(contents) {
            sums.insert((account.clone(), asset.clone()), balance.balance);
            sums.insert((account.clone(), format!("{EXPOSURE}{asset}")), balance.exposure);
            sums.insert((account.clone(), held(&asset)), balance.held);
            sums.insert((account, format!("{RESERVED}{asset}")), balance.reserved);
        }
        sums
    };
    let (before, mut after) = (sums(before), sums(after));
    for (key, value) in before {
        *after.entry(key).or_default() -= value;
    }
    after.retain(|_, change| !change.is_zero());
    after
}

/// Held amounts count in the journal like available ones. Reserved amounts, and corrections of an exposure, are not in the
/// journal.
const HELD: &str = "held of ";
const RESERVED: &str = "reserved of ";
const EXPOSURE: &str = "exposure of ";

fn is_in_journal(effect: &str) -> bool {
    !effect.starts_with(RESERVED) && !effect.starts_with(EXPOSURE)
}

pub(super) fn held(asset: &str) -> String {
    format!("{HELD}{asset}")
}

/// The asset of an effect, for any part of a balance item.
fn asset_of(effect: &str) -> &str {
    [HELD, RESERVED, EXPOSURE].into_iter().find_map(|part| effect.strip_prefix(part)).unwrap_or(effect)
}

/// The changes of the balance items of customers and cards that the effects require. The exposure is always the sum of
/// the three parts, and of its own correction.
#[must_use]
pub fn expected_changes(effects: &Effects) -> Sums {
    let mut sums = Sums::new();
    for (account, changes) in effects {
        if !Account::parse(account).unwrap().has_balance_item() {
            continue;
        }
        for (asset, change) in changes {
            let change: Decimal = change.parse().unwrap();
            if !asset.starts_with(EXPOSURE) {
                sums.insert((account.clone(), asset.clone()), change);
            }
            if account.starts_with("customer:") {
                *sums.entry((account.clone(), format!("{EXPOSURE}{}", asset_of(asset)))).or_default() += change;
            }
        }
    }
    sums.retain(|_, change| !change.is_zero());
    sums
}

/// Effects as sums by account and asset.
#[must_use]
pub fn as_sums(effects: &Effects) -> Sums {
    let each = |(account, changes): (&String, &BTreeMap<String, String>)| {
        let account = account.clone();
        changes
            .iter()
            .map(move |(asset, change)| ((account.clone(), asset.clone()), change.parse().unwrap()))
            .collect::<Vec<_>>()
    };
    effects.iter().flat_map(each).collect()
}

/// The postings of new journal entries by account, asset and part, without zero sums.
#[must_use]
pub fn posted(before: &Contents, after: &Contents) -> Sums {
    let mut sums = Sums::new();
    for ((pk, sk), item) in after {
        if before.contains_key(&(pk.clone(), sk.clone())) || !sk.starts_with("TXN#") {
            continue;
        }
        for posting in JournalEntry::read(item).unwrap().postings {
            let asset = posting.delta.asset().to_string();
            let part = match posting.bucket {
                Bucket::Available => asset,
                Bucket::Held => held(&asset),
            };
            let key = (posting.account.to_string(), part);
            *sums.entry(key).or_default() += posting.delta.value();
        }
    }
    sums.retain(|_, sum| !sum.is_zero());
    sums
}

/// Checks all expectations of a vector on the embedded engine; panics if one does not hold.
pub fn check(vector: &Vector) {
    check_on(&Embedded::default(), vector);
}

/// Checks all expectations of a vector on an engine.
pub fn check_on(engine: &dyn Engine, vector: &Vector) {
    let built = build(&vector.case.given);
    let written = Written::of(&vector.case.given, &built);
    let actions = written.actions();
    let text = |actions: &[Json]| layout::text(&Json::Array(actions.to_vec()));
    layout::assert_same("the request", &text(&actions), &text(&vector.items));
    // The request in the file is executed, not the one that was built.
    let executed = execute_on(engine, &vector.case.given, &built, &vector.items);
    let first = vector.verdicts.first().expect("a first row: what happens on the given state");
    assert_eq!((&executed.outcome, &executed.reasons), (&first.outcome, &first.reasons), "the execution");
    check_books(vector, &executed);
    for row in vector.verdicts.iter().filter(|row| !row.reasons.is_empty()) {
        let got = written.judge(reasons(row, actions.len()));
        assert_eq!(got, row.outcome, "of {:?}", row.reasons);
    }
    check_every_guard_fails_alone(vector, &written);
}

fn check_books(vector: &Vector, executed: &Executed) {
    let effects = as_sums(&vector.case.effects);
    let mut per_asset = BTreeMap::<&str, Decimal>::new();
    for ((_, asset), change) in &effects {
        assert!(!change.is_zero());
        if is_in_journal(asset) {
            *per_asset.entry(asset_of(asset)).or_default() += change;
        }
    }
    assert!(per_asset.values().all(Decimal::is_zero), "the effects do not sum to zero: {per_asset:?}");
    assert_eq!(balance_changes(&executed.before, &executed.after), expected_changes(&vector.case.effects), "balances");
    let effects: Sums = effects.into_iter().filter(|((_, asset), _)| is_in_journal(asset)).collect();
    assert_eq!(posted(&executed.before, &executed.after), effects, "the journal");
    let merchants: Sums = effects.into_iter().filter(|((account, _), _)| account.starts_with("merchant:")).collect();
    let work = merchant_work(&executed.before, &executed.after);
    let (gained, flagged) = credited(&executed.before, &executed.after);
    if matches!(vector.case.given.command.does, Does::Settlement { .. } | Does::SettlementAdmin { .. }) {
        assert_eq!(merchant_changes(&executed.before, &executed.after), merchants, "what merchants' balances gain");
        assert_eq!(work, flagged, "what is owed again is in the balance");
    } else {
        assert_eq!(work, merchants, "what merchants will be credited");
        // Of a segment that a restore has torn, the other part is there already.
        if !matches!(vector.case.given.command.does, Does::Lanes(LanesDoes::FinishLast {})) {
            assert_eq!(gained, flagged, "what merchants' balances gain, and the records that are flagged");
        }
    }
    if !matches!(executed.outcome.as_str(), "applied" | "written") {
        assert_eq!(executed.before, executed.after, "a refused request does not change the table");
    }
}

/// Asserts that, in a vector that is applied, each guard fails alone in at least one row.
fn check_every_guard_fails_alone(vector: &Vector, written: &Written<'_>) {
    if vector.verdicts[0].outcome != written.done() {
        return;
    }
    let alone: BTreeSet<String> = vector
        .verdicts
        .iter()
        .filter(|row| row.reasons.len() == 1)
        .flat_map(|row| row.reasons.keys().cloned())
        .collect();
    for (at, item) in written.items().iter().enumerate() {
        let guarded = !item.clauses().is_empty();
        assert!(!guarded || alone.contains(&at.to_string()), "no row in which action {at} fails alone");
    }
}
