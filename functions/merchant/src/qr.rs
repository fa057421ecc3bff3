//! `GET /v1/merchant/qr`: the code that customers scan to pay the merchant.

use axum::Json;
use axum::extract::State;
use ledger_core::dynamo::Attributes;
use ledger_core::keys::Partition;
use ledger_core::merchant_qr;
use ledger_core::money::{Amount, Asset, RequestedAmount};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Kind, Parameter, Permission};
use ledger_runtime::identity::{Caller, Merchant};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, Params};
use qrcode::render::svg;
use qrcode::{EcLevel, QrCode};
use serde::Serialize;
use utoipa::ToSchema;

/// The least width and height of the drawing, in pixels.
const SIDE_PX: u32 = 256;

/// A merchant's QR code.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QrView {
    /// The text of the code: EMVCo's merchant-presented mode, version 1.1.
    payload: String,
    /// The code as an SVG document, with its quiet zone; 15 % of it may be unreadable.
    svg: String,
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/merchant/qr")
    .summary("Returns the QR code that customers scan to pay the merchant.")
    .about(
        "Without `amount`, the code is paid any number of times, each time with an amount that the customer enters. A \
         payment is a request of the customer: a code does not limit how often its amount is paid.",
    )
    .permission(Permission::ShopRead)
    .of_shops()
    .parameter(Parameter::in_query("amount", "The amount to pay.", Kind::Text("1240")))
    .parameter(Parameter::in_query("asset", "The asset of `amount`; `ECOPAY` if absent.", Kind::Text("ECOPAY")))
    .ok::<QrView>("The code")
    .problems(&[Code::InvalidRequest])
    .when(Code::NotFound, "no such merchant");

pub(crate) async fn get(State(app): State<App>, who: Merchant, mut params: Params) -> Result<Json<QrView>, Problem> {
    let requested = requested(&mut params)?;
    params.finish()?;
    let amount = match requested {
        Some(requested) => Some(in_terms(&app, &who, &requested).await?),
        None => None,
    };
    let key = Partition::merchant(who.tenant(), who.merchant_id()).profile();
    let profile = app.dynamo().get(&key).await?.ok_or_else(Problem::not_found)?;
    let payload = merchant_qr::payload(who.tenant(), who.merchant_id(), profile.text("name")?, amount.as_ref())
        .map_err(|why| Problem::invalid_field("amount", why))?;
    let code = QrCode::with_error_correction_level(&payload, EcLevel::M).map_err(|_| Problem::internal())?;
    let svg = code.render::<svg::Color<'_>>().min_dimensions(SIDE_PX, SIDE_PX).build();
    Ok(Json(QrView { payload, svg }))
}

fn requested(params: &mut Params) -> Result<Option<RequestedAmount>, Problem> {
    let asset = params.take("asset")?;
    let Some(amount) = params.take("amount")? else {
        return match asset {
            Some(_) => Err(Problem::invalid_field("asset", "must not be given without an amount")),
            None => Ok(None),
        };
    };
    let asset = asset.as_deref().map_or(Ok(Asset::Ecopay), Asset::parse);
    let asset = asset.map_err(|why| Problem::invalid_field("asset", why))?;
    RequestedAmount::parse(asset, &amount).map(Some).map_err(|why| Problem::invalid_field("amount", why))
}

async fn in_terms(app: &App, who: &Merchant, requested: &RequestedAmount) -> Result<Amount, Problem> {
    request::amount_in(&*app.terms(who.tenant()).await?, requested)
}
