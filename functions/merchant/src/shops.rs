//! `/v1/merchant/shops`: the merchant's shops: list, open, rename, close.

use axum::Json;
use axum::extract::State;
use ledger_core::idempotency::Fields;
use ledger_core::ids::ShopId;
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::shops::{self, ShopChange, ShopReceipt, ShopRecord, ShopState};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, created, ok};
use ledger_runtime::identity::{Caller, Merchant};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, PathId, SentText};
use ledger_runtime::views::{Page, ShopView, words};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request to open a shop.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "Aoba Coffee, station"}))]
pub(crate) struct ShopOpenBody {
    /// The shop's id; a new id is made if absent.
    shop_id: Option<String>,
    /// The displayed name.
    name: String,
}

/// A change of a shop. An absent field keeps its value.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShopPatchBody {
    /// The new displayed name.
    name: Option<String>,
    /// `closed`: no terminal and no staff member may be assigned to it, and none is; `open` allows it again.
    #[schema(value_type = Option<words::ShopStatus>)]
    status: Option<String>,
    /// The reason for the change; at most 140 characters, no card number.
    reason: Option<String>,
}

/// A shop that was opened or changed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ShopChangeView {
    /// The shop's id.
    shop_id: String,
    /// The time of the change.
    updated_at: String,
}

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/merchant/shops")
    .summary("Lists the merchant's shops, newest first.")
    .permission(Permission::ShopsRead)
    .pages_of::<ShopView>();

pub(crate) async fn list(
    State(app): State<App>,
    who: Merchant,
    page: request::Page,
) -> Result<Json<Page<ShopView>>, Problem> {
    Ok(Json(app.shops(who.tenant(), who.merchant_id(), page).await?))
}

pub(crate) const OPEN: Keyed = Endpoint::post("/v1/merchant/shops")
    .summary("Opens a shop of the merchant.")
    .about("Terminals and staff are assigned to it. A payment has the shop of the terminal or the staff member that takes it.")
    .permission(Permission::ShopsManage)
    .body::<ShopOpenBody>()
    .created::<ShopChangeView>("Opened")
    .problems(&[Code::AlreadyExists])
    .keyed(Operation::ShopOpen);

pub(crate) async fn open(
    State(app): State<App>,
    who: Merchant,
    KeyedJson(key, body): KeyedJson<ShopOpenBody>,
) -> Result<Outcome, Problem> {
    let id = body.shop_id.as_deref().map(|id| request::id("shop_id", id, ShopId::parse)).transpose()?;
    let name = request::name("name", &body.name);
    let fields = Fields::new().with_some("shop_id", id).with("name", name.as_sent());
    let (claim, admission) = OPEN.claim(&app, &who, key, &[], fields).await?;
    let of = (who.tenant(), who.merchant_id());
    let plan = async |cx| Ok(shops::plan_open(of, id, &name.text()?, who.actor(), &cx));
    let render = |receipt: &ShopReceipt| created(GET.path(&[&receipt.shop]), &ShopChangeView::from(receipt));
    Ok(app.perform(claim, admission, plan, render).await)
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/merchant/shops/{shop_id}")
    .summary("Returns one of the merchant's shops.")
    .permission(Permission::ShopsRead)
    .id("shop_id", "The shop's id.")
    .ok::<ShopView>("The shop")
    .when(Code::NotFound, "no such shop of this merchant");

pub(crate) async fn get(
    State(app): State<App>,
    who: Merchant,
    PathId(id): PathId<ShopId>,
) -> Result<Json<ShopView>, Problem> {
    let key = keys::shop(who.tenant(), who.merchant_id(), id);
    let item = app.dynamo().get(&key).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(ShopView::from(&ShopRecord::read(&item)?)))
}

pub(crate) const CHANGE: Keyed = Endpoint::patch("/v1/merchant/shops/{shop_id}")
    .summary("Renames, closes or reopens one of the merchant's shops.")
    .permission(Permission::ShopsManage)
    .id("shop_id", "The shop's id.")
    .body::<ShopPatchBody>()
    .ok::<ShopChangeView>("Changed")
    .when(Code::WrongState, "a terminal or a staff member is assigned to the shop that is to be closed")
    .when(Code::NotFound, "no such shop of this merchant")
    .keyed(Operation::ShopPatch);

pub(crate) async fn change(
    State(app): State<App>,
    who: Merchant,
    PathId(id): PathId<ShopId>,
    KeyedJson(key, body): KeyedJson<ShopPatchBody>,
) -> Result<Outcome, Problem> {
    let name = body.name.as_deref().map(|name| request::name("name", name));
    let state = body.status.as_deref();
    let state = state.map(|word| request::word("status", word, ShopState::parse, "open or closed")).transpose()?;
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields = Fields::new()
        .with_some("name", name.as_ref().map(SentText::as_sent))
        .with_some("status", state.map(ShopState::name))
        .with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = CHANGE.claim(&app, &who, key, &[&id], fields).await?;
    let of = (who.tenant(), who.merchant_id());
    let plan = async |cx| {
        let (name, reason) = (request::text_of(name.as_ref())?, request::text_of(reason.as_ref())?);
        let change = ShopChange { name: name.as_ref(), state };
        Ok(shops::plan_change(of, id, change, (who.actor(), reason.as_ref()), &cx))
    };
    Ok(app.perform(claim, admission, plan, |receipt| ok(&ShopChangeView::from(receipt))).await)
}

impl From<&ShopReceipt> for ShopChangeView {
    fn from(receipt: &ShopReceipt) -> Self {
        Self { shop_id: receipt.shop.to_string(), updated_at: receipt.at.to_string() }
    }
}
