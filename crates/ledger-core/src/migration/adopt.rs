//! The ledger takes a customer over from the legacy model: what the God Record holds becomes an opening balance of the
//! books, and what guards need stands beside it from then on.

use super::counterpart::Counterpart;
use super::history;
use super::moving::SETTLES;
use super::plan::{Concern, Model, Stage};
use super::record::{self, FENCE, REGIONAL, Truth};
use super::setting::Migration;
use super::snapshot::{Change, Odd, Snapshot, Whose};
use crate::account::{Account, Posting, TenantAccount};
use crate::dynamo::{Cmp, Condition, Item, Update, Value, at, put_at, read};
use crate::failure::Failure;
use crate::idempotency::{Answer, CanonicalRequest, Claim, Fields, IdempotencyKey, Window};
use crate::ids::{Actor, Principal, TransactionId};
use crate::keys::attr;
use crate::money::{Amount, Asset, AssetSpec};
use crate::operation::Operation;
use crate::time::Timestamp;
use crate::transaction::{Clause, Entry, Provenance, Role, TransactItem};

/// What a look at a customer calls for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Adoption {
    /// Nothing: the ledger has the customer.
    Adopted,
    /// There is no such customer.
    Missing,
    /// This.
    Change(Change),
}

/// A God Record that cannot be taken over as it is. Nothing is done to it; a person has to look.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the God Record's `{attribute}` {why}")]
pub struct Unadoptable {
    /// Which attribute.
    pub attribute: String,
    /// What is wrong with it.
    pub why: &'static str,
}

/// Whose sums stand in one legacy item.
struct Part {
    update: Update,
    clauses: Vec<Clause>,
}

/// Takes a customer over as they were read. Guarded on every sum that was read and on the fence's absence, under a
/// marker and with a journal entry that posts each balance against `opening_balances`.
///
/// # Errors
/// [`Unadoptable`] names what the ledger could not keep as it stands.
pub fn adopt(migration: &Migration, whose: &Whose, read: &Snapshot, now: Timestamp) -> Result<Adoption, Unadoptable> {
    let Some(god) = read.record(whose) else {
        let known = read.get(&whose.partition().profile()).is_some();
        return Ok(if known { Adoption::Change(born_split(migration, whose)) } else { Adoption::Missing });
    };
    if god.contains_key(FENCE) {
        return Ok(Adoption::Adopted);
    }
    let model = migration.phase.model();
    let metrics = read.get(&crate::keys::metrics_of(&whose.partition()));
    nothing_is_lost(migration, god, metrics, read)?;
    let mut record = Part { update: record_update(migration, god, read, whose, now), clauses: vec![exists(), new()] };
    let mut beside = Part { update: Update::new(), clauses: Vec::new() };
    let mut postings = Vec::new();
    let mut missing = Item::new();
    for spec in &migration.assets {
        for counterpart in migration.counterparts(whose).iter().filter(|c| c.asset() == Some(spec.asset())) {
            let elsewhere = counterpart.legacy(model) != whose.record();
            let item = if elsewhere { metrics } else { Some(god) };
            let opening = opening(counterpart, spec, item)?;
            let part = if elsewhere { &mut beside } else { &mut record };
            part.take(counterpart, item, opening.as_ref(), now, &mut missing);
            if let Some(opening) = opening {
                postings.push(Posting::new(Account::Customer(whose.customer), opening.credit()));
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
    Ok(Adoption::Change(Change(actions(migration, whose, record, beside, postings, now))))
}

fn actions(
    migration: &Migration,
    whose: &Whose,
    record: Part,
    beside: Part,
    postings: Vec<Posting>,
    now: Timestamp,
) -> Vec<TransactItem> {
    let mut items = Vec::new();
    if !postings.is_empty() {
        let entry = Entry {
            id: TransactionId::of_step(whose.customer.uuid(), Operation::Opening.name(), before(now)),
            home: Account::Customer(whose.customer),
            postings,
            references: Vec::new(),
            details: Item::new(),
            due_shards: migration.due_shards,
        };
        let claim = claim(whose, before(now));
        items.extend(claim.as_ref().map(|claim| claim.marker(&answer(), Some(entry.link()))));
        let entries = claim.and_then(|claim| entry.items(&Provenance::from(&claim))).unwrap_or_default();
        for entry in entries {
            let (entry, legacy) = history::in_both(&entry, migration.phase.stage(Concern::History));
            items.push(entry);
            items.extend(legacy);
        }
    }
    items.push(TransactItem::update(Role::GodRecord, whose.record(), record.update, record.clauses));
    if !beside.update.is_empty() {
        let key = crate::keys::metrics_of(&whose.partition());
        items.push(TransactItem::update(Role::GodRecord, key, beside.update, beside.clauses));
    }
    items
}

/// A balance opens before whatever is under way by then: the request that meets the customer first has begun already.
fn before(now: Timestamp) -> Timestamp {
    now.minus(SETTLES)
}

/// The books' side of it happens under a key like everything else: once for each customer.
fn claim(whose: &Whose, now: Timestamp) -> Option<Claim> {
    Some(Claim {
        tenant: whose.tenant.clone(),
        principal: Principal::Customer(whose.customer),
        actor: Actor::System,
        operation: Operation::Opening,
        key: IdempotencyKey::parse("opening").ok()?,
        request: CanonicalRequest {
            method: "POST",
            path: format!("/customers/{}/opening", whose.customer),
            fields: Fields::new(),
        },
        window: Window::WALLET,
        now,
    })
}

fn answer() -> Answer {
    let body = serde_json::json!({ "opened": true }).to_string();
    Answer { status: 200, content_type: "application/json".to_owned(), location: None, body }
}

/// Who is kept in split records already gets a God Record that says so.
fn born_split(migration: &Migration, whose: &Whose) -> Change {
    let item = record::made(migration, |_| Truth::Split);
    Change(vec![TransactItem::put_new(Role::GodRecord, whose.record(), item, Failure::StalePlan)])
}

fn record_update(migration: &Migration, god: &Item, read: &Snapshot, whose: &Whose, now: Timestamp) -> Update {
    let first = |concern| crate::migration::Phase::first(migration.phase.model()).stage(concern);
    let mut update = Update::new().set(FENCE, "fence", migration.fence.value());
    for concern in Concern::ALL {
        let truth = match first(concern) {
            Stage::NewOnly => Truth::Split,
            Stage::LegacyOnly | Stage::DualWrite | Stage::Backfilled | Stage::ReadNew => Truth::Legacy,
        };
        update = update.set(record::attribute(concern), record::attribute(concern), truth.value());
    }
    let accounts = i64::try_from(migration.assets.len()).unwrap_or(i64::MAX);
    update = update
        .set("profile_accounts", "accounts", Value::int(accounts))
        .set_if_absent("profile_status", "status", Value::s("active"))
        .set_if_absent("profile_customer_id", "customer_id", Value::s(whose.customer))
        .set_if_absent(attr::CREATED_AT, "now", Value::s(now))
        .set_if_absent(attr::UPDATED_AT, "now", Value::s(now));
    // What says that nothing is there is taken away, so that nothing has one form.
    let null = |name: &str| read.odd(name) == Some(Odd::Null);
    let optional = ["email", "phone_number"].into_iter();
    let empty = optional.filter(|name| null(name) || god.get(*name) == Some(&Value::s("")));
    empty.chain(null("name").then_some("name")).fold(update, Update::remove)
}

impl Part {
    /// A balance's companions, and its sum where there was none; guarded on the sum that was read.
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

/// What a balance opens with; `None` if that is nothing.
fn opening(counterpart: &Counterpart, spec: &AssetSpec, item: Option<&Item>) -> Result<Option<Amount>, Unadoptable> {
    let name = counterpart.name(attr::BALANCE).unwrap_or_default();
    let wrong = |why| Unadoptable { attribute: name.clone(), why };
    let number = match item.and_then(|item| at(item, &name)) {
        None => return Ok(None),
        Some(Value::N(number)) => {
            crate::money::stored_text(number).map_err(|_| wrong("is no number that can be held exactly"))?
        }
        Some(Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_)) => {
            return Err(wrong("is no number"));
        }
    };
    if number == "0" {
        return Ok(None);
    }
    let refused =
        "is no balance that the ledger can hold: negative, too large, or with more decimals than its asset has";
    Amount::parse(spec, &number).map(Some).map_err(|_| wrong(refused))
}

/// Value that the ledger would not take over must not be there.
fn nothing_is_lost(
    migration: &Migration,
    god: &Item,
    metrics: Option<&Item>,
    read: &Snapshot,
) -> Result<(), Unadoptable> {
    let wrong = |attribute: &str, why| Unadoptable { attribute: attribute.to_owned(), why };
    let known = ["name", "email", "phone_number", "balance", "point", "jcredit", REGIONAL, "co2_total"];
    if let Some(odd) = known.into_iter().find(|name| read.odd(name) == Some(Odd::Other)) {
        return Err(wrong(odd, "is of a kind that the ledger does not read"));
    }
    // Nothing is added to what is null, and no guard takes it for absent.
    let sums = ["balance", "point", "jcredit", REGIONAL, "co2_total"];
    if let Some(null) = sums.into_iter().find(|name| read.odd(name) == Some(Odd::Null)) {
        return Err(wrong(null, "is null: it has to be taken out, or be a number"));
    }
    for text in ["name", "email", "phone_number"] {
        if !matches!(god.get(text), None | Some(Value::S(_))) {
            return Err(wrong(text, "is no text"));
        }
    }
    let runs = |asset: &Asset| migration.assets.iter().any(|spec| spec.asset() == asset);
    let is_nothing = |value: &Value| match value {
        Value::N(number) => crate::money::stored_text(number).is_ok_and(|number| number == "0"),
        Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => false,
    };
    let unknown = "is a balance in an asset that the tenant's terms do not name";
    let whole = match migration.phase.model() {
        Model::GodRecord => Some(god),
        Model::HalfWay => metrics,
    };
    for (name, asset) in [("point", Asset::Point), ("jcredit", Asset::Jcredit)] {
        let value = whole.and_then(|item| item.get(name));
        if !runs(&asset) && value.is_some_and(|value| !is_nothing(value)) {
            return Err(wrong(name, unknown));
        }
    }
    match god.get(REGIONAL) {
        None => Ok(()),
        Some(Value::M(currencies)) => {
            let known = |name: &str| Asset::parse(&format!("REGIONAL#{name}")).is_ok_and(|asset| runs(&asset));
            match currencies.iter().find(|(name, value)| !known(name) && !is_nothing(value)) {
                Some((name, _)) => Err(wrong(&format!("{REGIONAL}.{name}"), unknown)),
                None => Ok(()),
            }
        }
        Some(Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_)) => {
            Err(wrong(REGIONAL, "is no map"))
        }
    }?;
    match read::opt_number(god, "co2_total").map(crate::money::stored_text) {
        None if god.contains_key("co2_total") => Err(wrong("co2_total", "is no number")),
        Some(Err(_)) => Err(wrong("co2_total", "is no number that can be held exactly")),
        None | Some(Ok(_)) => Ok(()),
    }
}

fn exists() -> Clause {
    record::stale(Condition::exists(attr::PK))
}

fn new() -> Clause {
    record::stale(Condition::absent(FENCE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{CustomerId, Tenant};
    use crate::keys::Shards;
    use crate::migration::{Fence, Phase};
    use crate::transaction::Action;

    fn adopted(god: &[(&str, Value)], odd: &[(&str, Odd)]) -> Result<Adoption, Unadoptable> {
        let customer = CustomerId::parse("019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e").unwrap();
        let whose = Whose { tenant: Tenant::parse("demo").unwrap(), customer };
        let now = Timestamp::from_millis(1_700_000_000_000);
        let migration = Migration {
            phase: Phase::first(Model::GodRecord),
            fence: Fence::FIRST,
            since: now,
            contracting: false,
            assets: vec![AssetSpec::ECOPAY, AssetSpec::POINT],
            due_shards: Shards::ONE,
        };
        let god: Item = god.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let odd = odd.iter().map(|(name, odd)| ((*name).to_owned(), *odd)).collect();
        adopt(&migration, &whose, &Snapshot::new([(whose.record(), Some(god))], odd), now)
    }

    #[test]
    fn a_sum_that_is_null_is_told_of_rather_than_tried_for_ever() {
        let name = ("name", Value::s("Hanako"));
        for sum in ["balance", "point", "jcredit", "regional", "co2_total"] {
            let refused = adopted(std::slice::from_ref(&name), &[(sum, Odd::Null)]).unwrap_err();
            assert_eq!(refused.attribute, sum, "{refused}");
        }
        assert!(matches!(adopted(&[name], &[("nickname", Odd::Null), ("tags", Odd::Other)]), Ok(Adoption::Change(_))));
    }

    #[test]
    fn a_text_that_is_null_is_taken_away() {
        let texts = ["name", "email", "phone_number"];
        let Ok(Adoption::Change(change)) = adopted(&[("balance", Value::int(7))], &texts.map(|text| (text, Odd::Null)))
        else {
            panic!()
        };
        let record = change.items().iter().find(|item| item.role() == Role::GodRecord && item.key().sk() == "customer");
        let Some(Action::Update(update)) = record.map(|item| &item.action) else { panic!("{change:?}") };
        let rendered = format!("{update:?}");
        assert!(texts.iter().all(|text| rendered.contains(&format!("\"{text}\""))), "{rendered}");
    }
}
