//! A customer requests a top-up: the headroom under the cap is reserved before the provider is called.

use super::record::{TopupRecord, TopupState};
use crate::account::Account;
use crate::failure::Failure;
use crate::idempotency::{Claim, PlannedCall};
use crate::ids::{CustomerId, TopupId};
use crate::limits::{LimitKind, UseCounter};
use crate::money::{Amount, Asset, AssetSpec, Balance};
use crate::plan::{Context, PlanRefusal};
use crate::psp::{PspRequest, PspTerms};
use crate::terms::TenantTerms;
use crate::transaction::{Draft, Role, TransactItem};
use crate::{forms, keys};

/// A command to top up.
#[derive(Clone, Debug)]
pub struct Topup {
    /// The customer whose wallet is topped up.
    pub customer: CustomerId,
    /// The amount.
    pub charge: Amount,
}

/// Builds the claim: the reservation and the `TOPUP` record. Nothing is credited.
///
/// # Errors
/// [`PlanRefusal`] if the tenant offers no top-ups, or the charge alone is above the cap.
pub fn plan(
    command: &Topup,
    claim: &Claim,
    terms: &TenantTerms,
    psp: &PspTerms,
    cx: &Context,
) -> Result<PlannedCall, PlanRefusal> {
    let offered = terms.topup.as_ref();
    let offered = offered.ok_or(PlanRefusal::Invalid { field: "amount", why: "top-ups are not offered here" })?;
    let (tenant, charge) = (&claim.tenant, &command.charge);
    let cap = terms.asset(&Asset::Ecopay).and_then(|ecopay| ecopay.cap.as_ref());
    let account = Account::Customer(command.customer);
    let reserved = forms::reserve(tenant, account, charge, cap, cx.now);
    let record = TopupRecord {
        id: TopupId::new(cx.resource_id),
        customer: command.customer,
        charge: charge.clone(),
        points: charge.share(&offered.points_rate, &AssetSpec::POINT)?,
        state: TopupState::Requested,
        intent: None,
        livemode: psp.livemode,
        account: psp.account.clone(),
        refundable: Balance::zero(Asset::Ecopay),
        points_taken_back: Balance::zero(Asset::Point),
        suspense: None,
        given_up: None,
        cancel_epoch: 1,
        key: claim.key.clone(),
        created_at: cx.now,
        expires_at: cx.now.plus(offered.abandoned_after),
        shards: terms.due_shards,
        terms_version: terms.version,
    };
    let key = keys::topup(tenant, record.id);
    let reserved = reserved.ok_or(PlanRefusal::Refused(Failure::CapExceeded))?;
    let mut uses = UseCounter::new(terms.limits.as_ref(), account, LimitKind::Topup, cx.now);
    let reserved = uses.count(reserved, charge)?;
    let mut item = record.item(tenant, claim);
    item.extend(uses.counted());
    let items = vec![reserved, TransactItem::put_new(Role::Topup, key, item, Failure::AlreadyExists)];
    Ok(PlannedCall {
        draft: Draft { entry: None, items },
        resource: cx.resource_id,
        topup: record.id,
        shards: terms.due_shards,
        request: PspRequest::create_intent(tenant, record.id, charge, psp),
    })
}
