//! `GET /v1/me/merchants/{code}`: the merchant that a scanned code names.

use axum::Json;
use axum::extract::State;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::MerchantId;
use ledger_core::keys::Partition;
use ledger_core::merchant_state::MerchantState;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::Endpoint;
use ledger_runtime::identity::{Caller, Customer};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::PathId;
use ledger_runtime::views::words;
use serde::Serialize;
use utoipa::ToSchema;

/// A merchant, as customers see it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PayeeView {
    /// The merchant's id, to be paid by `POST /v1/me/payments`.
    merchant_id: String,
    /// The displayed name.
    name: String,
    /// `suspended` if it may not take payments.
    #[schema(value_type = words::MerchantStatus)]
    status: &'static str,
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/me/merchants/{code}")
    .summary("Returns the merchant that a code names.")
    .about("The code is the merchant's id: object 01 of template 26 of the QR code that the merchant presents.")
    .open()
    .id("code", "The code.")
    .ok::<PayeeView>("The merchant")
    .when(Code::NotFound, "no such merchant in the customer's programme");

pub(crate) async fn get(
    State(app): State<App>,
    who: Customer,
    PathId(merchant): PathId<MerchantId>,
) -> Result<Json<PayeeView>, Problem> {
    let profile = app.dynamo().get(&Partition::merchant(who.tenant(), merchant).profile()).await?;
    Ok(Json(PayeeView::read(&profile.ok_or_else(Problem::not_found)?)?))
}

impl PayeeView {
    fn read(profile: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            merchant_id: profile.string("merchant_id")?,
            name: profile.string("name")?,
            status: if MerchantState::read(profile)?.is_open() { "active" } else { "suspended" },
        })
    }
}
