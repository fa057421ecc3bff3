//! `GET /v1/admin/customers/{customer_id}/file`: all that staff sees of a customer.

use crate::customers::{named, record_read};
use crate::sign_in::SignInView;
use axum::Json;
use axum::extract::State;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::{CustomerId, Tenant};
use ledger_core::keys::{Partition, attr};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Permission};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{Listing, PathId};
use ledger_runtime::views::{BalanceView, CardView, CustomerView, LimitView, LimitsView, TimelineView};
use serde::Serialize;
use utoipa::ToSchema;

/// A customer's file: on the first page the customer as they are, and on each page a part of the timeline.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CustomerFileView {
    /// The customer's id.
    customer_id: String,
    /// The customer at present; absent on the pages after the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    present: Option<CustomerPresentView>,
    /// A page of the timeline, newest first.
    timeline: Vec<TimelineView>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// A customer as they are at the time of the request.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CustomerPresentView {
    /// The profile.
    customer: CustomerView,
    /// With what the customer signs in.
    sign_in: SignInView,
    /// The kind of actor that froze the customer, for example `staff`; absent if the customer is not frozen.
    #[serde(skip_serializing_if = "Option::is_none")]
    frozen_by: Option<String>,
    /// One balance per asset.
    balances: Vec<BalanceView>,
    /// The customer's own limits, and those of the tenant where there is no own one, with what is used of them.
    limits: Vec<LimitView>,
    /// The customer's cards. Their transactions are not on the timeline.
    cards: Vec<CardView>,
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/customers/{customer_id}/file")
    .summary("Returns a customer's balances, limits, cards and status, and a timeline of everything, newest first.")
    .about(
        "The timeline has payments, holds, refunds, grants, transfers and all other transactions, top-ups with their status at \
         the payment provider, and acts of the staff about the customer. The audit trail shows who read it. Top-ups and acts of \
         the last second may be missing. An item that is written while pages are read is on none of them: read the first page \
         again.",
    )
    .permission(Permission::CustomersRead)
    .id("customer_id", "The customer's id.")
    .paged()
    .parameter(Listing::FROM)
    .parameter(Listing::TO)
    .ok::<CustomerFileView>("The file, or a later page of its timeline")
    .when(Code::LegacyRecordUnreadable, "the legacy record has an invalid value; `attribute` names it")
    .when(Code::WrongState, "the tenant's customers are in a legacy model")
    .when(Code::NotFound, "no such customer");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<CustomerId>,
    wanted: Listing,
) -> Result<Json<CustomerFileView>, Problem> {
    let tenant = who.tenant();
    let profile = Partition::customer(tenant, id).profile();
    let profile = app.dynamo().get(&profile).await.map_err(named)?.ok_or_else(Problem::not_found)?;
    app.require_split(tenant).await?;
    let present = match wanted.page.cursor {
        None => Some(present(&app, tenant, id, &profile).await?),
        Some(_) => None,
    };
    let page = app.timeline(tenant, id, wanted).await?;
    record_read(&app, &who, id).await?;
    Ok(Json(CustomerFileView {
        customer_id: id.to_string(),
        present,
        timeline: page.items,
        next_cursor: page.next_cursor,
    }))
}

async fn present(app: &App, tenant: &Tenant, id: CustomerId, profile: &Item) -> Result<CustomerPresentView, Problem> {
    let now = app.now();
    let balances = app.dynamo().balances(&Partition::customer(tenant, id)).await.map_err(named)?;
    let limits = LimitsView::of_customer(&*app.terms(tenant).await?, &balances, now)?.limits;
    let cards = app.cards_named(tenant, id, profile).await?;
    // The attribute has an actor: `staff:<id>` or `system`.
    let frozen_by = profile.opt_text(attr::FROZEN)?.map(|by| by.split(':').next().unwrap_or(by).to_owned());
    Ok(CustomerPresentView {
        customer: CustomerView::read(profile)?,
        sign_in: SignInView::read(profile, id)?,
        frozen_by,
        balances: balances.iter().map(BalanceView::read).collect::<Result<_, ItemError>>()?,
        limits,
        cards: cards.iter().map(|card| CardView::at(card, now)).collect(),
    })
}
