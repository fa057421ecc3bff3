//! `GET /v1/admin/merchants` and `POST /v1/admin/merchants/search`: finds merchants.

use axum::Json;
use axum::extract::State;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::finding::Sought;
use ledger_core::ids::MerchantId;
use ledger_core::keys::{Key, Lookup, attr};
use ledger_runtime::app::App;
use ledger_runtime::cursor::PlacedCursor;
use ledger_runtime::endpoint::{Endpoint, Kind, Parameter, Permission};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{self, Json as JsonBody, Params, PathId, search_limit};
use ledger_runtime::views::{MerchantView, Page, ShopView};
use serde::Deserialize;
use utoipa::ToSchema;

const STATUSES: &[&str] = &["active", "suspended", "closing", "closed"];

/// What a merchant is searched by.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "Aoba"}))]
pub(crate) struct MerchantSearchBody {
    /// The beginning of the displayed name. Spaces, letters' case and width do not matter.
    name: String,
    /// The maximum number of merchants; 20 if absent.
    #[schema(minimum = 1, maximum = 100, example = 20)]
    limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

pub(crate) const SHOPS: Endpoint = Endpoint::get("/v1/admin/merchants/{merchant_id}/shops")
    .summary("Lists a merchant's shops, newest first.")
    .permission(Permission::MerchantsRead)
    .id("merchant_id", "The merchant's id.")
    .pages_of::<ShopView>();

pub(crate) async fn shops(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<MerchantId>,
    page: request::Page,
) -> Result<Json<Page<ShopView>>, Problem> {
    Ok(Json(app.shops(who.tenant(), id, page).await?))
}

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/merchants")
    .summary("Lists merchants, the largest id first: an id that this API made is larger than earlier ones.")
    .about("With a filter, a page may have fewer items than `limit`, or none, and still a `next_cursor`.")
    .permission(Permission::MerchantsRead)
    .timed_pages_of::<MerchantView>()
    .parameter(Parameter::in_query("status", "Merchants with this status only.", Kind::Word(STATUSES)));

pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    mut params: Params,
) -> Result<Json<Page<MerchantView>>, Problem> {
    let status = params.word("status", STATUSES)?;
    let (from, until) = params.times()?;
    let page = params.page()?;
    params.finish()?;
    let keep = |profile: &Item| {
        let (view, at) = (MerchantView::read(profile)?, profile.timestamp(attr::CREATED_AT)?);
        let is_within = from.is_none_or(|from| from <= at) && until.is_none_or(|until| at < until);
        let has_status = status.is_none_or(|status| status == view.status);
        Ok((is_within && has_status).then_some(view))
    };
    Ok(Json(app.merchants(who.tenant(), page, keep).await?))
}

pub(crate) const SEARCH: Endpoint = Endpoint::post("/v1/admin/merchants/search")
    .summary("Finds merchants by the beginning of their name, in the order of names.")
    .permission(Permission::MerchantsRead)
    .body::<MerchantSearchBody>()
    .ok_page_of::<MerchantView>("The merchants that were found");

pub(crate) async fn search(
    State(app): State<App>,
    who: Admin,
    JsonBody(body): JsonBody<MerchantSearchBody>,
) -> Result<Json<Page<MerchantView>>, Problem> {
    let limit = search_limit(body.limit)?;
    let after = body.cursor.as_deref().map(PlacedCursor::parse).transpose()?;
    let name = request::name("name", &body.name).text()?;
    let sought = Sought::parse(Lookup::Name, name.expose());
    let sought = sought.ok_or_else(|| Problem::invalid_field("name", "must not be empty"))?;
    let query = sought.of_merchants(who.tenant(), after.as_ref().map(PlacedCursor::place));
    let record = |key: &Key| key.partition().profile();
    let keep = |profile: &Item| -> Result<_, ItemError> {
        sought.is_in(profile)?.then(|| MerchantView::read(profile)).transpose()
    };
    Ok(Json(app.search_page(who.tenant(), vec![query], limit, (record, keep)).await?))
}
