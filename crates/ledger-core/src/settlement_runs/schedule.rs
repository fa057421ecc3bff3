//! The operator sets the settlement schedule of one merchant, in place of the tenant's.

use super::calendar;
use crate::audit::Act;
use crate::calendar::OwnSchedule;
use crate::dynamo::{Cmp, Condition, Item, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, MerchantId, Tenant};
use crate::keys::{Partition, attr};
use crate::merchants::{self, SCHEDULE};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::settlements::Destination;
use crate::terms::TenantTerms;
use crate::transaction::{Clause, Draft, Role, TransactItem, exists};

/// A change of a merchant's schedule.
#[derive(Clone, Debug)]
pub struct MerchantSchedule<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The merchant.
    pub merchant: MerchantId,
    /// The schedule; `None`: the tenant's.
    pub to: Option<OwnSchedule>,
    /// Who sets it.
    pub actor: Actor,
    /// Why.
    pub reason: &'a FreeText,
}

/// Sets a merchant's schedule. Runs that see the merchant later go by it.
///
/// # Errors
/// [`PlanRefusal`] if the merchant's record cannot be read, or the bank can never pay on the days of the schedule.
pub fn plan_schedule(
    command: &MerchantSchedule<'_>,
    profile: &Item,
    terms: &TenantTerms,
    cx: &Context,
) -> Result<Draft, PlanRefusal> {
    let MerchantSchedule { tenant, merchant, to, actor, reason } = command;
    let seen = merchants::own_schedule(profile)?;
    // The payment provider has no deadline.
    let is_by_provider = matches!(merchants::destination(profile), Ok(Some(Destination::Stripe { .. })));
    if let (Some(days), Some(deadline), false) = (to.and_then(OwnSchedule::days), terms.bank_deadline(), is_by_provider)
    {
        let on_time = days.check_on_time(deadline);
        on_time.map_err(|never| PlanRefusal::PaymentDay { field: "schedule", why: never.into() })?;
    }
    let update = match to {
        Some(schedule) => Update::new().set(SCHEDULE, "schedule", Value::s(schedule)),
        None => Update::new().remove(SCHEDULE),
    };
    let condition = match seen {
        Some(seen) => Condition::compare(SCHEDULE, Cmp::Eq, "seen_schedule", Value::s(seen)),
        None => Condition::absent(SCHEDULE),
    };
    let as_read = Clause { condition, failure: Failure::StalePlan };
    let update = update.set(attr::UPDATED_AT, "ua", Value::s(cx.now));
    let key = Partition::merchant(tenant, *merchant).profile();
    let text = |schedule: Option<OwnSchedule>| schedule.map_or("none".to_owned(), |schedule| schedule.to_string());
    let act = Act::new(*actor, Operation::SettlementSchedule, format!("merchant:{merchant}"))
        .because(Some(reason))
        .with("from", text(seen))
        .with("to", text(*to));
    let mut items =
        vec![TransactItem::update(Role::Profile, key, update, vec![exists(), as_read]), act.record(tenant, cx)];
    items.extend(to.and_then(OwnSchedule::days).map(|days| calendar::with_own(tenant, days, cx.now)));
    Ok(Draft { entry: None, items })
}
