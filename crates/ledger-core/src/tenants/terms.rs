//! Storing a version of a tenant's terms that holds from a stated time on, and cancelling one before its time.

use crate::audit::Act;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, StaffId, Tenant};
use crate::keys::{self, attr};
use crate::limits;
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::{
    FROM, LAST, MIGRATION, NEXT, TERMS, TERMS_FROM, TenantTerms, TermsChanges, TermsSchedule, TermsVersion, VERSION,
    folded, is_ahead, split_alone,
};
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Role, TransactItem, exists};

const REQUESTED_BY: &str = "requested_by";
const APPROVED_BY: &str = "approved_by";
const CANCELLED_AT: &str = "cancelled_at";
const CANCELLED_BY: &str = "cancelled_by";
const REASON: &str = "reason";

/// The longest reason, in characters.
const REASON_CHARS_MAX: usize = 140;

/// Who changes terms, and why.
#[derive(Clone, Copy, Debug)]
pub struct TermsBy<'a> {
    /// The staff member who requests it.
    pub staff: StaffId,
    /// The actor.
    pub actor: Actor,
    /// The reason, if one was given.
    pub reason: Option<&'a FreeText>,
}

/// A change of a tenant's terms.
#[derive(Clone, Copy, Debug)]
pub struct TermsChange<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The `CONFIG` item, as read.
    pub config: &'a Item,
    /// The fields to change.
    pub changes: &'a TermsChanges,
    /// The time from which the version holds.
    pub from: Timestamp,
    /// Who changes them.
    pub by: TermsBy<'a>,
}

/// Stores a version of a tenant's terms. A version whose time has come is written into the attributes of `CONFIG` with it,
/// so that `CONFIG` has two versions at most.
///
/// Fails with `StalePlan` if the terms have changed since they were read.
///
/// # Errors
/// `wrong_state` while another version is scheduled, or has begun within the last [`TERMS_LEAD`](crate::terms::TERMS_LEAD),
/// and while the tenant migrates from a legacy model; `stale_plan` if a field differs from what the change was made for, or
/// `from` is not far enough ahead.
pub fn plan_terms(change: &TermsChange<'_>, cx: &Context) -> Result<Draft, PlanRefusal> {
    let TermsChange { tenant, config, changes, from, by } = change;
    let schedule = TermsSchedule::read(config)?;
    if schedule.unsettled(cx.now).is_some() || !is_split(config)? {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    let present = schedule.at(cx.now);
    let after = changes.applied(present).filter(|_| is_ahead(*from, cx.now));
    let after = after.ok_or(PlanRefusal::Refused(Failure::StalePlan))?;
    let version = schedule.last().next();
    let after = TenantTerms { version, ..after };
    let next = Item::from([
        (VERSION.to_owned(), Value::int(version.number().into())),
        (FROM.to_owned(), Value::s(from)),
        (TERMS.to_owned(), Value::M(after.programme())),
    ]);
    let update = Update::new()
        .set(NEXT, "next", Value::M(next))
        .set(LAST, "last", Value::int(version.number().into()))
        .set(attr::UPDATED_AT, "now", Value::s(cx.now));
    let update = match schedule.next() {
        Some(begun) => begun_into_config(update, config, &begun.terms, begun.from),
        None => update,
    };
    let mut act =
        Act::new(by.actor, Operation::TermsChange, "tenant").because(by.reason).with(VERSION, version).with(FROM, from);
    for change in changes.iter() {
        act = act.with(&change.field.to_string(), arrow(change.from.as_ref(), change.to.as_ref()));
    }
    let mut items = vec![TransactItem::update(Role::Config, keys::config(tenant), update, as_read(config)?)];
    if !schedule.is_versioned() {
        items.push(stored(tenant, Stored { version: TermsVersion::FIRST, from: None, terms: present, by: None }, cx));
    }
    items.push(stored(tenant, Stored { version, from: Some(*from), terms: &after, by: Some(*by) }, cx));
    items.push(act.record(tenant, cx));
    Ok(Draft { entry: None, items })
}

/// Cancels a version whose time has not come. Its number is not given again.
///
/// # Errors
/// `wrong_state` if the version is not scheduled; `stale_plan` if its time is so near that a process may have read it for
/// what it plans at that time.
pub fn plan_cancel_terms(
    tenant: &Tenant,
    config: &Item,
    version: TermsVersion,
    by: TermsBy<'_>,
    cx: &Context,
) -> Result<Draft, PlanRefusal> {
    let schedule = TermsSchedule::read(config)?;
    let next = schedule.scheduled(cx.now).filter(|next| next.terms.version == version);
    let next = next.ok_or(PlanRefusal::Refused(Failure::WrongState))?;
    if !next.can_be_cancelled(cx.now) {
        return Err(PlanRefusal::Refused(Failure::StalePlan));
    }
    let update = Update::new().remove(NEXT).set(attr::UPDATED_AT, "now", Value::s(cx.now));
    let seen = Condition::compare(format!("{NEXT}.{VERSION}"), Cmp::Eq, "seen", Value::int(version.number().into()));
    let scheduled = Clause { condition: seen, failure: Failure::StalePlan };
    let cancelled =
        Update::new().set(CANCELLED_AT, "now", Value::s(cx.now)).set(CANCELLED_BY, "by", Value::s(by.staff));
    let act = Act::new(by.actor, Operation::TermsCancel, "tenant")
        .because(by.reason)
        .with(VERSION, version)
        .with(FROM, next.from);
    let items = vec![
        TransactItem::update(Role::Config, keys::config(tenant), update, vec![exists(), scheduled]),
        TransactItem::update(Role::Terms, keys::terms(tenant, version), cancelled, vec![exists()]),
        act.record(tenant, cx),
    ];
    Ok(Draft { entry: None, items })
}

/// A version that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermsRecord {
    /// Its number.
    pub version: TermsVersion,
    /// The time from which it holds, or would have; `None` for the first.
    pub from: Option<Timestamp>,
    /// Its terms.
    pub terms: TenantTerms,
    /// Who requested it; `None` for the first.
    pub requested_by: Option<StaffId>,
    /// Who approved it; `None` for the first.
    pub approved_by: Option<StaffId>,
    /// The reason, if one was given.
    pub reason: Option<FreeText>,
    /// When it was stored.
    pub created_at: Timestamp,
    /// When it was cancelled.
    pub cancelled_at: Option<Timestamp>,
    /// Who cancelled it: the member who requested the cancellation.
    pub cancelled_by: Option<StaffId>,
}

impl TermsRecord {
    /// Reads a stored version. `config` is the tenant's `CONFIG`, whose switches it is shown with.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item, config: &Item) -> Result<Self, ItemError> {
        let version = item.checked_int(VERSION, TermsVersion::new)?;
        Ok(Self {
            version,
            from: item.opt_timestamp(FROM)?,
            terms: TenantTerms { version, ..TenantTerms::of_programme(config, item.map(TERMS)?)? },
            requested_by: item.opt_parsed(REQUESTED_BY, StaffId::parse)?,
            approved_by: item.opt_parsed(APPROVED_BY, StaffId::parse)?,
            reason: item.opt_parsed(REASON, |text| FreeText::parse(text, REASON_CHARS_MAX))?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            cancelled_at: item.opt_timestamp(CANCELLED_AT)?,
            cancelled_by: item.opt_parsed(CANCELLED_BY, StaffId::parse)?,
        })
    }
}

/// A version of which another person's approval makes the record: it names the person.
pub(crate) fn approved_by(record: TransactItem, decider: StaffId) -> TransactItem {
    record.putting(|item| {
        // The record of the first version, which the first change stores too, was requested by no one.
        if item.contains_key(REQUESTED_BY) {
            item.insert(APPROVED_BY.to_owned(), Value::s(decider));
        }
    })
}

/// Whether split records alone hold the tenant's customers.
fn is_split(config: &Item) -> Result<bool, ItemError> {
    Ok(config.opt_map(MIGRATION)?.is_none() || split_alone().holds(Some(config)))
}

/// What is stored of a version.
struct Stored<'a> {
    version: TermsVersion,
    from: Option<Timestamp>,
    terms: &'a TenantTerms,
    by: Option<TermsBy<'a>>,
}

fn stored(tenant: &Tenant, of: Stored<'_>, cx: &Context) -> TransactItem {
    let mut item = Item::from([
        (VERSION.to_owned(), Value::int(of.version.number().into())),
        (TERMS.to_owned(), Value::M(of.terms.programme())),
        (attr::CREATED_AT.to_owned(), Value::s(cx.now)),
    ]);
    item.extend(of.from.map(|from| (FROM.to_owned(), Value::s(from))));
    item.extend(of.by.map(|by| (REQUESTED_BY.to_owned(), Value::s(by.staff))));
    item.extend(of.by.and_then(|by| by.reason).map(|reason| (REASON.to_owned(), Value::s(reason.expose()))));
    TransactItem::put_new(Role::Terms, keys::terms(tenant, of.version), item, Failure::AlreadyExists)
}

/// Writes a version whose time has come into the attributes of `CONFIG`.
fn begun_into_config(update: Update, config: &Item, begun: &TenantTerms, from: Timestamp) -> Update {
    let update = update.set(TERMS_FROM, TERMS_FROM, Value::s(from));
    let update = update.set(TermsVersion::ATTRIBUTE, TermsVersion::ATTRIBUTE, begun.version.value());
    folded(config, begun).into_iter().fold(update, |update, (name, value)| match value {
        Some(value) => update.set(name, name, value),
        None => update.remove(name),
    })
}

/// Requires that `CONFIG` has the terms that were read: no other version was stored or cancelled, and no account was given
/// limits of its own, which are marked in the attribute that a version replaces.
fn as_read(config: &Item) -> Result<Vec<Clause>, ItemError> {
    let same = |attribute: String, name: &'static str, seen: Option<Value>| match seen {
        Some(seen) => Condition::compare(attribute, Cmp::Eq, name, seen),
        None => Condition::absent(attribute),
    };
    let next = config.opt_map(NEXT)?.map(|next| next.checked_int(VERSION, TermsVersion::new)).transpose()?;
    let limits = config.opt_map(limits::ATTRIBUTE)?.map(|limits| limits.int::<i64>(limits::VERSION)).transpose()?;
    let conditions = [
        split_alone(),
        same(LAST.to_owned(), "seen_last", config.get(LAST).cloned()),
        match next {
            Some(next) => same(format!("{NEXT}.{VERSION}"), "seen_next", Some(next.value())),
            None => Condition::absent(NEXT),
        },
        match limits {
            Some(version) => {
                same(format!("{}.{}", limits::ATTRIBUTE, limits::VERSION), "seen_limits", Some(Value::int(version)))
            }
            None => Condition::absent(limits::ATTRIBUTE),
        },
    ];
    let stale = |condition| Clause { condition, failure: Failure::StalePlan };
    Ok([exists()].into_iter().chain(conditions.map(stale)).collect())
}

fn arrow(from: Option<&String>, to: Option<&String>) -> String {
    let text = |value: Option<&String>| value.cloned().unwrap_or_else(|| "none".to_owned());
    format!("{} -> {}", text(from), text(to))
}
