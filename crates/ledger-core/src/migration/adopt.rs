//! Adopting a customer of the legacy model: the God Record's balances become opening balances of the books.
//!
//! The attributes that guards need are added beside them.

use super::counterpart::{Counterpart, is_map};
use super::history;
use super::legacy::{KIND, LegacyKind, NO_NUMBER, NO_TEXT, NULL, Unadoptable, unadoptable as wrong};
use super::moving::SETTLES;
use super::plan::{Concern, Model};
use super::record::{self, BalanceLocation, FENCE, REGIONAL};
use super::setting::Migration;
use super::snapshot::{Change, CustomerRef, LegacyItem, Snapshot, UnsupportedType};
use crate::account::{Account, Posting, TenantAccount};
use crate::dynamo::{Cmp, Condition, Item, Update, Value, at, put_at};
use crate::failure::Failure;
use crate::idempotency::{Answer, LedgerKey};
use crate::ids::{Actor, Principal, TransactionId};
use crate::keys::attr;
use crate::money::{Amount, Asset, AssetSpec};
use crate::operation::Operation;
use crate::time::Timestamp;
use crate::transaction::{Clause, Entry, Provenance, Role, TransactItem};

/// What adopting one customer needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Adoption {
    /// Nothing: the customer is adopted.
    Adopted,
    /// Nothing: there is no such customer.
    Missing,
    /// Write these actions.
    Change(Change),
}

/// The timestamps of the legacy model.
const TIMESTAMPS: [&str; 2] = [attr::CREATED_AT, attr::UPDATED_AT];
const NO_OPENING_ENTRY: &str = "gives no valid opening entry";
const RESERVED_NAME: &str = "has a name that the ledger reserves";
const UNKNOWN_ASSET: &str = "is a balance in an asset that is not in the tenant's terms";

/// The update of one legacy item.
struct Part {
    update: Update,
    clauses: Vec<Clause>,
}

/// Plans adopting a customer as read.
///
/// Guarded on every sum that was read, on every text that is removed and on the absence of the fence. If there is a
/// balance, it is written under a marker and with a journal entry that posts each balance against `opening_balances`.
///
/// # Errors
/// [`Unadoptable`] names an attribute that the ledger could not keep unchanged.
pub fn adopt(
    migration: &Migration,
    customer_ref: &CustomerRef,
    read: &Snapshot,
    now: Timestamp,
) -> Result<Adoption, Unadoptable> {
    let Some(god) = read.record(customer_ref) else {
        let known = read.get(&customer_ref.partition().profile()).is_some();
        return Ok(if known { Adoption::Change(split_god_record(migration, customer_ref)) } else { Adoption::Missing });
    };
    if god.contains_key(FENCE) {
        return Ok(Adoption::Adopted);
    }
    let model = migration.phase.model();
    let metrics = read.get(&crate::keys::metrics_of(&customer_ref.partition()));
    check_sums(migration, god, metrics, read)?;
    let counterparts = migration.counterparts(customer_ref);
    let is_elsewhere = |counterpart: &Counterpart| counterpart.legacy(model) != customer_ref.record();
    for counterpart in &counterparts {
        check_reserved_names(counterpart, if is_elsewhere(counterpart) { metrics } else { Some(god) }, |name| {
            read.unsupported(name)
        })?;
    }
    let mut record = record_part(migration, god, read, customer_ref, now);
    let mut beside = Part { update: Update::new(), clauses: Vec::new() };
    let mut postings = Vec::new();
    let mut missing = Item::new();
    for spec in &migration.assets {
        for counterpart in counterparts.iter().filter(|c| c.asset() == Some(spec.asset())) {
            let elsewhere = is_elsewhere(counterpart);
            let item = if elsewhere { metrics } else { Some(god) };
            let opening = opening(counterpart, spec, item)?;
            let part = if elsewhere { &mut beside } else { &mut record };
            part.take(counterpart, item, opening.as_ref(), now, &mut missing);
            if let Some(opening) = opening {
                postings.push(Posting::new(Account::Customer(customer_ref.customer), opening.credit()));
                postings.push(Posting::new(Account::Tenant(TenantAccount::OpeningBalances), opening.debit()));
            }
        }
    }
    if god.contains_key(REGIONAL) {
        for (path, zero) in missing {
            record.update = record.update.set(format!("regional.{path}"), format!("regional_{path}"), zero);
        }
    } else {
        record.update = record.update.set(REGIONAL, REGIONAL, Value::M(missing));
        record.clauses.push(Clause { condition: Condition::absent(REGIONAL), failure: Failure::StalePlan });
    }
    let actions = actions(migration, customer_ref, record, beside, postings, now);
    actions.map(|actions| Adoption::Change(Change(actions))).ok_or_else(|| wrong(attr::PK, NO_OPENING_ENTRY))
}

/// All actions; `None` if the opening entry cannot be built.
fn actions(
    migration: &Migration,
    customer_ref: &CustomerRef,
    record: Part,
    beside: Part,
    postings: Vec<Posting>,
    now: Timestamp,
) -> Option<Vec<TransactItem>> {
    let mut items = Vec::new();
    if !postings.is_empty() {
        let entry = Entry {
            id: TransactionId::of_step(customer_ref.customer.uuid(), Operation::Opening.name(), before(now)),
            home: Account::Customer(customer_ref.customer),
            postings,
            references: Vec::new(),
            details: Item::new(),
            memo: None,
            terms: migration.entries,
        };
        let step = step(customer_ref, before(now));
        items.push(step.step_marker(&answer(), Some(entry.link())));
        for entry in entry.items(&step).ok()? {
            let (entry, legacy) = history::in_both(&entry, migration.phase.stage(Concern::History));
            items.push(entry);
            items.extend(legacy);
        }
    }
    items.push(TransactItem::update(Role::GodRecord, customer_ref.record(), record.update, record.clauses));
    if !beside.update.is_empty() {
        let key = crate::keys::metrics_of(&customer_ref.partition());
        items.push(TransactItem::update(Role::GodRecord, key, beside.update, beside.clauses));
    }
    Some(items)
}

/// The instant of the opening entry: before any operation in progress, because the request that adopts the customer
/// began earlier.
fn before(now: Timestamp) -> Timestamp {
    now.minus(SETTLES)
}

/// The origin of the opening entry: one for each customer.
fn step(customer_ref: &CustomerRef, now: Timestamp) -> Provenance {
    Provenance {
        tenant: customer_ref.tenant.clone(),
        operation: Operation::Opening,
        principal: Principal::Customer(customer_ref.customer),
        actor: Actor::System,
        key: LedgerKey::of_opening().into(),
        now,
    }
}

fn answer() -> Answer {
    let body = serde_json::json!({ "opened": true }).to_string();
    Answer { status: 200, content_type: "application/json".to_owned(), location: None, body }
}

/// Creates the God Record of a customer that has split records only.
fn split_god_record(migration: &Migration, customer_ref: &CustomerRef) -> Change {
    let item = record::made(migration, |_| BalanceLocation::Split);
    Change(vec![TransactItem::put_new(Role::GodRecord, customer_ref.record(), item, Failure::StalePlan)])
}

/// The update of the God Record that does not depend on balances.
fn record_part(migration: &Migration, god: &Item, read: &Snapshot, customer_ref: &CustomerRef, now: Timestamp) -> Part {
    let mut update = Update::new().set(FENCE, "fence", migration.fence.value());
    for concern in Concern::ALL {
        let truth = if migration.begins_split(concern) { BalanceLocation::Split } else { BalanceLocation::Legacy };
        update = update.set(record::attribute(concern), record::attribute(concern), truth.value());
    }
    let accounts = i64::try_from(migration.assets.len()).unwrap_or(i64::MAX);
    update = update
        .set("profile_accounts", "accounts", Value::int(accounts))
        .set_if_absent("profile_status", "status", Value::s("active"))
        .set_if_absent("profile_customer_id", "customer_id", Value::s(customer_ref.customer));
    let mut clauses = vec![exists(), new()];
    for name in TIMESTAMPS {
        // An empty or null timestamp is replaced: `set_if_absent` would keep it.
        let still_blank = match god.get(name) {
            Some(text) if *text == Value::s("") => {
                Condition::compare(name, Cmp::Eq, format!("{name}_seen"), text.clone())
            }
            None if read.unsupported(name) == Some(UnsupportedType::Null) => {
                Condition::absent(name).or(Condition::null(name))
            }
            Some(_) | None => {
                update = update.set_if_absent(name, "now", Value::s(now));
                continue;
            }
        };
        update = update.set(name, "now", Value::s(now));
        clauses.push(record::stale(still_blank));
    }
    // Empty and null texts are removed, so that an absent text has one form; guarded on still being empty or null.
    for name in ["email", "phone_number", "name"] {
        let still_blank = match god.get(name) {
            // The name is required, and may be empty.
            Some(text) if *text == Value::s("") && name != "name" => {
                Condition::compare(name, Cmp::Eq, format!("{name}_seen"), text.clone())
            }
            None if read.unsupported(name) == Some(UnsupportedType::Null) => {
                Condition::absent(name).or(Condition::null(name))
            }
            Some(_) | None => continue,
        };
        update = update.remove(name);
        clauses.push(record::stale(still_blank));
    }
    Part { update, clauses }
}

impl Part {
    /// Adds a balance's companions, and a zero sum if there was none; guarded on the sum that was read.
    fn take(
        &mut self,
        counterpart: &Counterpart,
        item: Option<&Item>,
        opening: Option<&Amount>,
        now: Timestamp,
        missing: &mut Item,
    ) {
        let (word, sum) = (counterpart.word(), counterpart.name(attr::BALANCE).unwrap_or_default());
        let seen = item.and_then(|item| at(item, &sum));
        let exposure = opening.map_or(Value::int(0), |opening| Value::N(opening.text()));
        let mut update = std::mem::take(&mut self.update);
        for (attribute, value) in [(attr::EXPOSURE, exposure), (attr::UPDATED_AT, Value::s(now))] {
            if let Some(name) = counterpart.name(attribute) {
                update = update.set(name, format!("{word}_{attribute}"), value);
            }
        }
        let condition = match seen {
            Some(seen) => Condition::compare(sum.clone(), Cmp::Eq, format!("{word}_seen"), seen.clone()),
            None => {
                match counterpart.asset() {
                    Some(Asset::Regional(key)) => put_at(missing, key.as_str(), Value::int(0)),
                    Some(Asset::Ecopay | Asset::Point | Asset::Jcredit) | None => {
                        update = update.set(sum.clone(), format!("{word}_none"), Value::int(0));
                    }
                }
                Condition::absent(sum)
            }
        };
        self.update = update;
        self.clauses.push(Clause { condition, failure: Failure::StalePlan });
    }
}

/// The opening amount of a balance; `None` if it is zero or absent.
fn opening(counterpart: &Counterpart, spec: &AssetSpec, item: Option<&Item>) -> Result<Option<Amount>, Unadoptable> {
    let name = counterpart.name(attr::BALANCE).unwrap_or_default();
    let number = match item.and_then(|item| at(item, &name)) {
        None => return Ok(None),
        Some(Value::N(number)) => exact(&name, number)?,
        Some(Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_)) => {
            return Err(wrong(&name, NO_NUMBER));
        }
    };
    if number == "0" {
        return Ok(None);
    }
    let refused = "is not a valid balance: it is negative, too large, or with more decimals than its asset has";
    Amount::parse(spec, &number).map(Some).map_err(|_| wrong(&name, refused))
}

/// Refuses an item that has attributes under names of the ledger, such as held amounts or a freeze.
fn check_reserved_names(
    counterpart: &Counterpart,
    item: Option<&Item>,
    unsupported: impl Fn(&str) -> Option<UnsupportedType>,
) -> Result<(), Unadoptable> {
    let is_present = |name: &String| unsupported(name).is_some() || item.is_some_and(|item| at(item, name).is_some());
    match counterpart.companions().find(is_present) {
        Some(name) => Err(wrong(&name, RESERVED_NAME)),
        None => Ok(()),
    }
}

/// Refuses a counterpart that [`adopt`] would refuse, so that no response shows what the ledger would not keep.
///
/// # Errors
/// [`Unadoptable`], as from [`adopt`].
pub(super) fn check_adoptable(
    migration: &Migration,
    counterpart: &Counterpart,
    legacy: &LegacyItem,
) -> Result<(), Unadoptable> {
    let unsupported = |name: &str| {
        legacy.unsupported.iter().find(|(unsupported, _)| unsupported == name).map(|(_, unsupported)| *unsupported)
    };
    check_reserved_names(counterpart, Some(&legacy.item), unsupported)?;
    counterpart.view_of(legacy)?;
    let spec = migration.assets.iter().find(|spec| counterpart.asset() == Some(spec.asset()));
    if let Some(spec) = spec {
        opening(counterpart, spec, Some(&legacy.item))?;
    }
    match counterpart.name("co2_total").and_then(|name| Some((at(&legacy.item, &name)?, name))) {
        Some((Value::N(number), name)) => exact(&name, number).map(drop),
        Some((Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_), _)) | None => Ok(()),
    }
}

/// Refuses value that the ledger would not adopt, and numbers that it could not add to.
fn check_sums(migration: &Migration, god: &Item, metrics: Option<&Item>, read: &Snapshot) -> Result<(), Unadoptable> {
    check_types(god, read)?;
    // The item in which the tenant's model has points, J-Credits and aggregates, and the other item.
    let (units, others, totals): (_, _, &[&str]) = match migration.phase.model() {
        Model::GodRecord => (Some(god), metrics, &["co2_total"]),
        Model::HalfWay => (metrics, Some(god), &["co2_total", "payments", "paid_total", "refunds", "refunded_total"]),
    };
    let sums = [
        ("balance", Asset::Ecopay, Some(god), metrics),
        ("point", Asset::Point, units, others),
        ("jcredit", Asset::Jcredit, units, others),
    ];
    for (name, asset, here, elsewhere) in sums {
        let holds = |item: Option<&Item>| item.and_then(|item| item.get(name)).is_some_and(|value| !is_nothing(value));
        if holds(here) && !has_asset(migration, &asset) {
            return Err(wrong(name, UNKNOWN_ASSET));
        }
        if holds(elsewhere) {
            return Err(wrong(name, "is a balance in an item that has none in the tenant's model"));
        }
    }
    is_map(god.get(REGIONAL), read.unsupported(REGIONAL))?;
    if let Some(Value::M(currencies)) = god.get(REGIONAL) {
        let known =
            |name: &str| Asset::parse(&format!("REGIONAL#{name}")).is_ok_and(|asset| has_asset(migration, &asset));
        if let Some((name, _)) = currencies.iter().find(|(name, value)| !known(name) && !is_nothing(value)) {
            return Err(wrong(&format!("{REGIONAL}.{name}"), UNKNOWN_ASSET));
        }
    }
    totals.iter().try_for_each(|name| match units.and_then(|item| item.get(*name)) {
        None => Ok(()),
        Some(Value::N(number)) => exact(name, number).map(drop),
        Some(Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_)) => Err(wrong(name, NO_NUMBER)),
    })
}

/// Refuses attributes that the ledger reads if they do not have the type that it reads.
fn check_types(god: &Item, read: &Snapshot) -> Result<(), Unadoptable> {
    let known = ["name", "email", "phone_number", "balance", "point", "jcredit", REGIONAL, "co2_total"];
    if let Some(unsupported) =
        known.into_iter().chain(TIMESTAMPS).find(|name| read.unsupported(name) == Some(UnsupportedType::Other))
    {
        return Err(wrong(unsupported, KIND));
    }
    // DynamoDB does not add to a null, and a guard on absence fails on it.
    let sums = ["balance", "point", "jcredit", REGIONAL, "co2_total"];
    if let Some(null) = sums.into_iter().find(|name| read.unsupported(name) == Some(UnsupportedType::Null)) {
        return Err(wrong(null, NULL));
    }
    let texts = ["name", "email", "phone_number"];
    if let Some(text) = texts.into_iter().find(|text| !matches!(god.get(*text), None | Some(Value::S(_)))) {
        return Err(wrong(text, NO_TEXT));
    }
    TIMESTAMPS.into_iter().try_for_each(|name| LegacyKind::Time.read(name, god.get(name), None).map(drop))
}

fn has_asset(migration: &Migration, asset: &Asset) -> bool {
    migration.assets.iter().any(|spec| spec.asset() == asset)
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::N(number) => crate::money::stored_text(number).is_ok_and(|number| number == "0"),
        Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => false,
    }
}

fn exact(name: &str, number: &str) -> Result<String, Unadoptable> {
    crate::money::stored_text(number).map_err(|_| wrong(name, "is not a number that can be stored exactly"))
}

fn exists() -> Clause {
    record::stale(Condition::exists(attr::PK))
}

fn new() -> Clause {
    record::stale(Condition::absent(FENCE))
}
