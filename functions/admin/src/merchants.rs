//! `/v1/admin/merchants`: registers, shows, changes and suspends merchants.

use crate::approvals;
use crate::destination::DestinationBody;
use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::approvals::{Command, destination_digest};
use ledger_core::idempotency::Fields;
use ledger_core::ids::MerchantId;
use ledger_core::keys::{Partition, Shards};
use ledger_core::merchants::{self, MerchantChange, MerchantReceipt, MerchantStatus};
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::settlements::Destination;
use ledger_runtime::app::App;
use ledger_runtime::approvals::Requested;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError, created, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::permission;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, PathId, SentText};
use ledger_runtime::views::{MerchantView, words};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request to register a merchant.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "Aoba Coffee", "shards": 4}))]
pub(crate) struct MerchantOpenBody {
    /// The merchant's id; a new id is made if absent.
    merchant_id: Option<String>,
    /// The displayed name.
    name: String,
    /// The number of index shards that its payments are spread over: 1 to 64; 4 if absent. A shard takes at most 500
    /// payments a second.
    #[schema(minimum = 1, maximum = 64, example = 4)]
    shards: Option<u32>,
}

/// A change of a merchant. An absent field keeps its value.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MerchantPatchBody {
    /// The new displayed name.
    name: Option<String>,
    /// `suspended` stops payments, not refunds by the merchant's staff; its terminals only look up and reverse payments.
    /// `active` allows all again. Takes effect within a minute.
    #[schema(value_type = Option<words::MerchantStatus>)]
    status: Option<String>,
    /// Where the merchant is paid. A settlement that is open keeps its destination.
    payout_destination: Option<DestinationBody>,
    /// The number of index shards that its payments are spread over from now on: at most 64, and not below the present
    /// number. A shard takes at most 500 payments a second. Takes effect within a minute.
    #[schema(minimum = 1, maximum = 64, example = 8)]
    shards: Option<u32>,
    /// The reason for the change; at most 140 characters, no card number.
    reason: Option<String>,
}

/// A merchant that was registered or changed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MerchantChangeView {
    /// The merchant's id.
    merchant_id: String,
    /// The time of the change.
    updated_at: String,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/merchants")
    .summary("Registers a merchant.")
    .permission(Permission::MerchantsOpen)
    .body::<MerchantOpenBody>()
    .created::<MerchantChangeView>("Registered")
    .problems(&[Code::AlreadyExists])
    .keyed(Operation::MerchantOpen);

pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<MerchantOpenBody>,
) -> Result<Outcome, Problem> {
    let id = body.merchant_id.as_deref().map(|id| request::id("merchant_id", id, MerchantId::parse)).transpose()?;
    let name = request::name("name", &body.name);
    let shards = shards(body.shards)?.unwrap_or(Shards::MERCHANT_DEFAULT);
    let fields = Fields::new().with_some("merchant_id", id).with("name", name.as_sent()).with("shards", shards.count());
    let (claim, admission) = CREATE.claim(&app, &who, key, &[], fields).await?;
    let plan = async |cx: Context| {
        let terms = app.terms_at(who.tenant(), cx.now).await?;
        Ok(merchants::plan_open(who.tenant(), id, &name.text()?, shards, &terms, who.actor(), &cx)?)
    };
    Ok(app
        .perform(claim, admission, plan, |receipt| {
            created(GET.path(&[&receipt.merchant]), &MerchantChangeView::from(receipt))
        })
        .await)
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/merchants/{merchant_id}")
    .summary("Returns a merchant.")
    .permission(Permission::MerchantsRead)
    .id("merchant_id", "The merchant's id.")
    .ok::<MerchantView>("The merchant")
    .when(Code::NotFound, "no such merchant");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<MerchantId>,
) -> Result<Json<MerchantView>, Problem> {
    let key = Partition::merchant(who.tenant(), id).profile();
    let item = app.dynamo().get(&key).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(MerchantView::read(&item)?))
}

pub(crate) const PATCH: Keyed = Endpoint::patch("/v1/admin/merchants/{merchant_id}")
    .summary("Changes a merchant.")
    .about(
        "Only a new payout destination needs approval, and the permission `destinations.change`. It is sent without other \
         changes, and no settlement pays to it in the 24 hours after the approval.",
    )
    .permission(Permission::MerchantsChange)
    .id("merchant_id", "The merchant's id.")
    .body::<MerchantPatchBody>()
    .ok::<MerchantChangeView>("Changed")
    .approvable()
    .when(Code::WrongState, "the merchant has more shards than requested, or `status` was sent, and it is closed")
    .when(Code::NotFound, "no such merchant")
    .keyed(Operation::MerchantPatch);

pub(crate) async fn patch(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<MerchantId>,
    KeyedJson(key, body): KeyedJson<MerchantPatchBody>,
) -> Result<Outcome, Problem> {
    let name = body.name.as_deref().map(|name| request::name("name", name));
    let status = body.status.as_deref();
    let status = status.map(|word| request::word("status", word, MerchantStatus::parse, "active or suspended"));
    let status = status.transpose()?;
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let destination = body.payout_destination.as_ref().map(DestinationBody::read).transpose()?;
    let shards = shards(body.shards)?;
    let fields = Fields::new()
        .with_some("name", name.as_ref().map(SentText::as_sent))
        .with_some("status", status.map(MerchantStatus::name))
        .with_some("payout_destination", destination.as_ref().map(Destination::text))
        .with_some("shards", shards.map(Shards::count))
        .with_some("reason", reason.as_ref().map(SentText::as_sent));
    if destination.is_some() {
        permission::require(&app, &who.member(), Permission::DestinationsChange).await?;
    }
    let (claim, admission) = PATCH.claim(&app, &who, key, &[&id], fields).await?;
    let profile = Partition::merchant(who.tenant(), id).profile();
    let plan = async |cx| {
        let (name, reason) = (request::text_of(name.as_ref())?, request::text_of(reason.as_ref())?);
        let terms = app.terms(who.tenant()).await?;
        match &destination {
            Some(destination) => {
                if name.is_some() || status.is_some() || shards.is_some() {
                    let why = "needs approval: send it without other changes";
                    return Err(Problem::invalid_field("payout_destination", why).into());
                }
                let items = app.ledger().read_for(&claim, std::slice::from_ref(&profile)).await?;
                let seen = items.iter().flatten().next().ok_or(PlanError::Missing)?;
                let seen = destination_digest(merchants::destination(seen)?.as_ref());
                let command = Command::Destination { merchant: id, destination: destination.clone(), seen };
                let of = (command, reason.as_ref());
                let stored = app.request_approval((&claim, &who.member()), of, &terms, &items, &cx).await?;
                Ok(Requested::pending(stored))
            }
            None => {
                let change = MerchantChange { name: name.as_ref(), status, shards, ..MerchantChange::default() };
                let by = (who.actor(), reason.as_ref());
                let planned = merchants::plan_patch(who.tenant(), id, change, by, &cx)?;
                let of = (vec![Account::Merchant(id)], Permission::MerchantsChange);
                Ok(Requested::executed(app.alone((&claim, &who.member()), of, planned).await?))
            }
        }
    };
    let changed = |receipt: &MerchantReceipt| ok(&MerchantChangeView::from(receipt));
    let render = |requested: &Requested<MerchantReceipt>| requested.answer(&approvals::GET, changed);
    let outcome = app.perform(claim.clone(), admission, plan, render).await;
    app.records().forget_merchant(who.tenant(), id);
    Ok(outcome)
}

fn shards(count: Option<u32>) -> Result<Option<Shards>, Problem> {
    let read = |count| Shards::new(count).ok_or_else(|| Problem::invalid_field("shards", "must be from 1 to 64"));
    count.map(read).transpose()
}

impl From<&MerchantReceipt> for MerchantChangeView {
    fn from(receipt: &MerchantReceipt) -> Self {
        Self { merchant_id: receipt.merchant.to_string(), updated_at: receipt.at.to_string() }
    }
}
