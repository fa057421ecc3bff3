//! Builds the commands that move no value themselves. Each is decoded as its function reads it, and
//! passed to its builder.

use super::build::{Made, NoPlan};
use super::command::Does;
use super::decode::{self, World};
use crate::declared;
use crate::wire;
use ledger_core::cards::record::CardIssue;
use ledger_core::crediting::VolumeExceeded;
use ledger_core::customers;
use ledger_core::customers::open::CustomerOpen;
use ledger_core::customers::profile::{self, Status, WalletView};
use ledger_core::grants::bulk::BulkGrant;
use ledger_core::ids::{Actor, CardId, MerchantId, StaffId, SubjectId, TerminalId};
use ledger_core::keys::{self, Partition, Shards};
use ledger_core::limits::{Holder, LimitChange, OwnLimits};
use ledger_core::merchant_state::MerchantState;
use ledger_core::merchants::{self, MerchantChange, MerchantStatus};
use ledger_core::money::{Asset, AssetSpec, Balance};
use ledger_core::personal::FreeText;
use ledger_core::rate::{self, RateWindow, RequestRate};
use ledger_core::tenants::AccountLimitsChange;
use ledger_core::terminals::{self, EnrolmentCode, TerminalRecord};
use ledger_core::terms::{KeyPhase, TenantTerms};
use ledger_core::time::BusinessDate;
use ledger_core::transaction::Transaction;
use ledger_core::{cards, grants, payments, tenants};

#[expect(clippy::wildcard_enum_match_arm, reason = "`build::make` lists every command and passes these only")]
pub(super) fn make(world: &World, does: &Does) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let staff = |id: &str| StaffId::parse(id).unwrap();
    let status = |name: &str| Status::parse(name).unwrap();
    let draft = match does {
        Does::BulkGrant { staff: by, customers, amount, reason } => {
            let command = BulkGrant {
                tenant: tenant.clone(),
                staff: staff(by),
                customers: customers.iter().map(|id| decode::customer(id)).collect(),
                amount: world.amount(amount)?,
                reason: decode::text(reason),
            };
            grants::bulk::plan(&command, &world.terms(), cx)?
        }
        Does::ProfilePatch { customer, change } => {
            let patch = decode::profile_patch(change);
            profile::plan_own(tenant, decode::customer(customer), decode::unread(&patch, &declared::keys()), cx)?.draft
        }
        Does::CustomerPatch { customer, change, status: new, actor, reason } => {
            let customer = decode::customer(customer);
            let partition = Partition::customer(tenant, customer);
            let profile = || world.find(&partition.profile()).expect("a profile");
            let wallet = new.as_ref().map(|_| WalletView::read(&profile(), &world.balances(&partition)).unwrap());
            let new = new.as_deref().map(status).zip(wallet.as_ref());
            let patch = decode::profile_patch(change);
            let reason = decode::maybe_text(reason);
            let keys = declared::keys();
            let (fields, actor) = (decode::unread(&patch, &keys), decode::actor(actor));
            profile::plan_by_operator(tenant, customer, fields, new, actor, reason.as_ref(), cx)?.draft
        }
        Does::CustomerOpen { customer, actor, name, email, phone } => {
            let command = CustomerOpen {
                tenant: tenant.clone(),
                actor: decode::actor(actor),
                customer: customer.as_deref().map(decode::customer),
                name: decode::text(name),
                kana: None,
                email: email.as_deref().map(|text| FreeText::email(text).unwrap()),
                phone: phone.as_deref().map(|text| FreeText::phone(text).unwrap()),
            };
            customers::open::plan(&command, &world.terms(), &declared::keys(), cx)?.draft
        }
        Does::PaymentCode { customer, sign_in } => {
            let sign_in = sign_in.as_deref().map(|subject| SubjectId::parse(subject).unwrap());
            payments::code::plan(tenant, decode::customer(customer), sign_in, cx)?.draft
        }
        Does::CardIssue { owner, actor } => {
            let (owner, actor) = (owner.as_deref().map(decode::customer), decode::actor(actor));
            let issue = CardIssue { tenant, card: None, owner, expires_at: None, actor };
            cards::record::plan_issue(&issue, cx)?.draft
        }
        Does::CardOwnStatus { customer, card: id, status: new } => {
            let (customer, id) = (decode::customer(customer), CardId::parse(id).unwrap());
            cards::record::plan_own_status(tenant, customer, id, status(new), cx)?.draft
        }
        Does::CardStatus { card: id, status: new, actor, reason } => {
            let (id, reason) = (CardId::parse(id).unwrap(), decode::maybe_text(reason));
            cards::record::plan_status(tenant, id, status(new), decode::actor(actor), reason.as_ref(), cx)?.draft
        }
        Does::MerchantOpen { name, shards, actor } => {
            let shards = Shards::new(shards.parse().unwrap()).unwrap();
            let name = decode::text(name);
            merchants::plan_open(tenant, None, &name, shards, &world.terms(), decode::actor(actor), cx)?.draft
        }
        Does::MerchantPatch { merchant: id, name, status, actor, reason } => {
            let id = MerchantId::parse(id).unwrap();
            let (name, reason) = (decode::maybe_text(name), decode::maybe_text(reason));
            let status = status.as_deref().map(|name| MerchantStatus::parse(name).unwrap());
            let change = MerchantChange { name: name.as_ref(), status, ..MerchantChange::default() };
            let by = (decode::actor(actor), reason.as_ref());
            merchants::plan_patch(tenant, id, change, by, cx)?.draft
        }
        Does::TerminalOpen { merchant, actor } => {
            let merchant = MerchantId::parse(merchant).unwrap();
            terminals::plan_open(tenant, None, merchant, decode::actor(actor), cx)?.draft
        }
        Does::TerminalStatus { terminal: id, status: new, actor, reason } => {
            let (id, reason) = (TerminalId::parse(id).unwrap(), decode::maybe_text(reason));
            terminals::plan_status(tenant, id, status(new), (decode::actor(actor), reason.as_ref()), cx)?.draft
        }
        Does::EnrolmentCode { terminal: id, actor, permit } => {
            let by = (staff(permit), decode::actor(actor));
            terminals::plan_code(tenant, TerminalId::parse(id).unwrap(), by, cx)?.draft
        }
        Does::Enrol { code, public_key, request_id } => {
            let code = EnrolmentCode::parse(code).unwrap();
            let profile = Partition::terminal(tenant, code.terminal).profile();
            let epoch = TerminalRecord::read(world.must(&profile)).unwrap().epoch;
            let made = terminals::enrol(&code, public_key, epoch, request_id.as_deref(), cx);
            return Ok(Made::Whole(made.unwrap()));
        }
        Does::TenantOpen { terms } => {
            let terms = TenantTerms::read(&wire::item_from_json(terms), cx.now).unwrap();
            return Ok(Made::Whole(tenants::open(tenant, &terms, cx.now).unwrap()));
        }
        Does::KeyPhase { from, to, actor } => {
            let phase = |name: &str| KeyPhase::parse(name).unwrap();
            let actor: Actor = decode::actor(actor);
            return Ok(Made::Whole(tenants::set_key_phase(tenant, phase(from), phase(to), actor, cx).unwrap()));
        }
        Does::VolumeExceeded { merchant, date, volume, most, suspends } => {
            let yen = |text: &String| Balance::from_stored(Asset::Ecopay, text).unwrap();
            let exceeded = VolumeExceeded {
                merchant: MerchantId::parse(merchant).unwrap(),
                date: BusinessDate::parse(date).unwrap(),
                volume: yen(volume),
                most: yen(most),
                suspends: *suspends,
            };
            let profile = world.find(&Partition::merchant(tenant, exceeded.merchant).profile()).expect("a merchant");
            let state = MerchantState::read(&profile).unwrap();
            return Ok(Made::Whole(merchants::record_volume(tenant, &exceeded, state, cx).unwrap()));
        }
        Does::AccountLimits { account, asset, changes, actor } => {
            let (account, asset) = (decode::account(account), Asset::parse(asset).unwrap());
            let (_, key) = tenants::limited_item(tenant, account, &asset).unwrap();
            let own = world.find(&key).map(|item| OwnLimits::read(&item, &asset).unwrap()).unwrap_or_default();
            let changes = limit_changes(Holder::of(account).unwrap(), &asset, changes);
            let terms = world.get(&keys::config(tenant)).map(|config| TenantTerms::read(config, cx.now).unwrap());
            let of_tenant = terms.as_ref().and_then(|terms| terms.limits.as_ref());
            let change = AccountLimitsChange { account, asset: &asset, of_tenant, seen: &own, changes: &changes };
            let planned = tenants::plan_account_limits(tenant, change, (decode::actor(actor), None), cx)?;
            return Ok(Made::Whole(Transaction::unkeyed(planned.draft.items).unwrap()));
        }
        Does::RateLease { requests_per_second } => {
            let rate = RequestRate::new(requests_per_second.parse().unwrap()).unwrap();
            return Ok(Made::Whole(rate::lease(tenant, RateWindow::of(cx.now), rate).unwrap()));
        }
        other => panic!("built elsewhere: {other:?}"),
    };
    Ok(Made::Draft(draft))
}

fn limit_changes(holder: Holder, asset: &Asset, changes: &[String]) -> Vec<LimitChange> {
    let spec = AssetSpec::finest(asset.clone());
    changes.iter().map(|change| LimitChange::parse(holder, &spec, change).unwrap()).collect()
}
