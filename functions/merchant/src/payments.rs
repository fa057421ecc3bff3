//! `GET /v1/merchant/payments` and `/{id}`: the merchant's payments, with their refunds.

use axum::Json;
use axum::extract::State;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::PaymentId;
use ledger_core::keys::{self, attr};
use ledger_core::money::stored_text;
use ledger_core::payments::PaymentRecord;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Permission};
use ledger_runtime::identity::{Caller, Merchant};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, PathId};
use ledger_runtime::views::{Page, PaymentDetail, words};
use serde::Serialize;
use utoipa::ToSchema;

/// A record of the merchant's list: a payment, a refund or a reversal.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecordView {
    /// `payment`, `refund`, `payment_reversal` or `refund_reversal`.
    #[schema(value_type = words::RecordKind)]
    kind: String,
    /// The payment's id.
    payment_id: String,
    /// The refund's id; absent unless the record is about a refund.
    #[serde(skip_serializing_if = "Option::is_none")]
    refund_id: Option<String>,
    /// The journal entry's id.
    transaction_id: String,
    /// The asset of the amount.
    asset: String,
    /// The total of the record.
    amount: String,
    /// The payment's status; absent for the other kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<words::PaymentStatus>)]
    status: Option<String>,
    /// The time of the payment, refund or reversal.
    created_at: String,
}

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/merchant/payments")
    .summary("Lists the merchant's payments and refunds, newest first.")
    .about("The most recent records may be missing for a moment.")
    .permission(Permission::ShopRead)
    .pages_of::<RecordView>();

pub(crate) async fn list(
    State(app): State<App>,
    who: Merchant,
    page: request::Page,
) -> Result<Json<Page<RecordView>>, Problem> {
    let merchant = app.merchant(who.tenant(), who.merchant_id()).await?;
    let (items, next_cursor) = app.merchant_records(who.tenant(), merchant.id, merchant.shards, page).await?;
    let items = items.iter().map(RecordView::read).collect::<Result<_, ItemError>>()?;
    Ok(Json(Page { items, next_cursor }))
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/merchant/payments/{id}")
    .summary("Returns one of the merchant's payments.")
    .permission(Permission::ShopRead)
    .id("id", "The payment's id.")
    .ok::<PaymentDetail>("The payment")
    .when(Code::NotFound, "no such payment of this merchant");

pub(crate) async fn get(
    State(app): State<App>,
    who: Merchant,
    PathId(id): PathId<PaymentId>,
) -> Result<Json<PaymentDetail>, Problem> {
    let item = app.dynamo().get(&keys::payment(who.tenant(), id)).await?.ok_or_else(Problem::not_found)?;
    let payment = PaymentRecord::read(&item)?;
    if payment.merchant != who.merchant_id() {
        return Err(Problem::not_found());
    }
    Ok(Json(PaymentDetail::from(&payment)))
}

impl RecordView {
    fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            kind: item.opt_text("kind")?.unwrap_or("payment").to_owned(),
            payment_id: item.string("payment_id")?,
            refund_id: item.opt_string("refund_id")?,
            transaction_id: item.string("transaction_id")?,
            asset: item.string("asset")?,
            amount: item.parsed_number("total", stored_text)?,
            status: item.opt_string("state")?,
            created_at: item.string(attr::CREATED_AT)?,
        })
    }
}
