//! `/v1/admin/merchants/{merchant_id}/refund-room`: how much a merchant may refund beyond what its settlements have covered.

use crate::approvals;
use axum::Json;
use axum::extract::State;
use ledger_core::approvals::Command;
use ledger_core::idempotency::Fields;
use ledger_core::ids::MerchantId;
use ledger_core::keys::Partition;
use ledger_core::money::AssetSpec;
use ledger_core::operation::Operation;
use ledger_core::refund_rooms::RefundRoom;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, AmountText, KeyedJson, PathId, SentText};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request to set the ceiling of a merchant's refund room.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"ceiling": "100000"}))]
pub(crate) struct RefundCeilingBody {
    /// The most that the merchant may have refunded and its settlements have not covered, in yen.
    ceiling: AmountText,
    /// The reason for the change; at most 140 characters, no card number.
    reason: Option<String>,
}

/// A merchant's refund room. Amounts are in yen; points and regional currency count one to one.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RefundRoomView {
    /// The merchant's id.
    merchant_id: String,
    /// The most that may be outstanding.
    ceiling: String,
    /// What the merchant may still refund. It may be below zero: payments that were reversed at a terminal within minutes,
    /// and refunds of the operator, need no room, and take it.
    room: String,
    /// What was refunded and no settlement has covered.
    outstanding: String,
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/merchants/{merchant_id}/refund-room")
    .summary("Returns the refund room of a merchant.")
    .permission(Permission::MerchantsRead)
    .id("merchant_id", "The merchant's id.")
    .ok::<RefundRoomView>("The refund room")
    .when(Code::NotFound, "no such merchant");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(merchant): PathId<MerchantId>,
) -> Result<Json<RefundRoomView>, Problem> {
    let key = Partition::merchant(who.tenant(), merchant).refund_room();
    let room = RefundRoom::read(&app.dynamo().get(&key).await?.ok_or_else(Problem::not_found)?)?;
    Ok(Json(RefundRoomView {
        merchant_id: merchant.to_string(),
        ceiling: room.ceiling.text(),
        room: room.room.text(),
        outstanding: room.outstanding.text(),
    }))
}

pub(crate) const SET: Keyed = Endpoint::post("/v1/admin/merchants/{merchant_id}/refund-room")
    .summary("Sets the ceiling of a merchant's refund room.")
    .about("Each refund takes room, and settlements that are paid return it.")
    .permission(Permission::RefundRoomsChange)
    .id("merchant_id", "The merchant's id.")
    .body::<RefundCeilingBody>()
    .approvable()
    .when(Code::RefundRoomExceeded, "more than the new ceiling is outstanding")
    .when(Code::NotFound, "no such merchant")
    .keyed(Operation::RefundCeiling);

pub(crate) async fn set(
    State(app): State<App>,
    who: Admin,
    PathId(merchant): PathId<MerchantId>,
    KeyedJson(key, body): KeyedJson<RefundCeilingBody>,
) -> Result<Outcome, Problem> {
    let ceiling = body.ceiling.to_amount(&AssetSpec::ECOPAY, "ceiling")?;
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields =
        Fields::new().with_amount("ceiling", &ceiling).with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = SET.claim(&app, &who, key, &[&merchant], fields).await?;
    let room = Partition::merchant(who.tenant(), merchant).refund_room();
    let plan = async |cx| {
        let items = app.ledger().read_for(&claim, std::slice::from_ref(&room)).await?;
        let seen = RefundRoom::read(items.iter().flatten().next().ok_or(PlanError::Missing)?)?;
        let reason = request::text_of(reason.as_ref())?;
        let terms = app.terms(who.tenant()).await?;
        let command = Command::RefundCeiling { merchant, ceiling: ceiling.clone(), seen: seen.ceiling };
        app.request_approval((&claim, &who.member()), (command, reason.as_ref()), &terms, &items, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}
