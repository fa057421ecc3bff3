//! `/v1/me/topups`: top-ups of the wallet from a card.

use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::idempotency::Fields;
use ledger_core::ids::TopupId;
use ledger_core::keys;
use ledger_core::money::AssetSpec;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::topups::claim::{self, Topup};
use ledger_core::topups::{TopupRecord, cancel};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed};
use ledger_runtime::execute::{Outcome, PlanError, ok};
use ledger_runtime::identity::{Caller, Customer};
use ledger_runtime::limits::LimitedAccount;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{AmountText, Empty, KeyedJson, PathId, TopupListing};
use ledger_runtime::topups::PspExecutor;
use ledger_runtime::views::{Page, TOPUP_OF_CUSTOMER, TopupCreatedView, TopupView};
use serde::Deserialize;
use utoipa::ToSchema;

/// A request for a top-up.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopupBody {
    /// The amount, in yen.
    amount: AmountText,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/me/topups")
    .summary("Requests a top-up through Stripe.")
    .about(
        "The response has the PaymentIntent's client secret. The wallet is credited when the PaymentIntent is paid; \
         until then the amount counts toward the cap.",
    )
    .open()
    .body::<TopupBody>()
    .created::<TopupCreatedView>("Requested; to be paid at Stripe")
    .problems(&[Code::CapExceeded, Code::LimitExceeded, Code::PspRefused, Code::LegacyRecordUnreadable])
    .when(Code::IdempotencyKeyExpired, "a key is valid for 24 hours")
    .when(Code::WrongState, "the customer is closed")
    .when(Code::NotFound, "no wallet has been opened for this customer")
    .keyed(Operation::Topup);

pub(crate) async fn create(
    State(app): State<App>,
    who: Customer,
    KeyedJson(key, body): KeyedJson<TopupBody>,
) -> Result<Outcome, Problem> {
    let charge = body.amount.to_amount(&AssetSpec::ECOPAY, "amount")?;
    let fields = Fields::new().with_amount("amount", &charge);
    let (claim, admission) = CREATE.claim(&app, &who, key, &[], fields).await?;
    let topup = Topup { customer: who.id(), charge };
    let payee = LimitedAccount::new(Account::Customer(who.id()));
    let plan = async |cx: Context, psp_executor: PspExecutor| {
        let terms = payee.terms(&app, (who.tenant(), cx.now)).await?;
        Ok(claim::plan(&topup, &claim, &terms, psp_executor.terms(), &cx)?)
    };
    Ok(app.perform_call(claim.clone(), admission, plan).await)
}

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/me/topups")
    .summary("Lists the customer's top-ups, newest first.")
    .about(TopupView::OF_LISTS)
    .open()
    .pages_of::<TopupView>()
    .parameter(TopupListing::STATUS)
    .in_ranges()
    .when(Code::NotFound, "the customer was moved from this sign-in to another one");

pub(crate) async fn list(
    State(app): State<App>,
    who: Customer,
    wanted: TopupListing,
) -> Result<Json<Page<TopupView>>, Problem> {
    app.topups(who.tenant(), who.id(), &wanted).await.map(Json)
}

pub(crate) const GET: Endpoint = Endpoint::get(TOPUP_OF_CUSTOMER)
    .summary("Returns one of the customer's top-ups.")
    .open()
    .id("id", "The top-up's id.")
    .ok::<TopupView>("The top-up")
    .when(Code::NotFound, "no such top-up of this customer");

pub(crate) async fn get(
    State(app): State<App>,
    who: Customer,
    PathId(id): PathId<TopupId>,
) -> Result<Json<TopupView>, Problem> {
    let found = app.psp_executor().await?.topup(who.tenant(), id, None).await?;
    let (topup, _) = found.filter(|(topup, _)| topup.customer == who.id()).ok_or_else(Problem::not_found)?;
    Ok(Json(TopupView::from(&topup)))
}

pub(crate) const CANCEL: Keyed = Endpoint::post("/v1/me/topups/{id}/cancel")
    .summary("Cancels a top-up that is not paid.")
    .about(
        "Its cancellation is requested from Stripe within about a minute. The amount counts toward the cap until Stripe \
         confirms it; if the PaymentIntent is paid first, the wallet is credited. A top-up that is canceled, refused or \
         expired is returned unchanged.",
    )
    .open()
    .id("id", "The top-up's id.")
    .body::<Empty>()
    .ok::<TopupView>("The top-up; `expires_at` is the time of the request")
    .when(Code::WrongState, "the top-up was paid")
    .when(Code::NotFound, "no such top-up of this customer")
    .keyed(Operation::TopupCancel);

pub(crate) async fn cancel(
    State(app): State<App>,
    who: Customer,
    PathId(id): PathId<TopupId>,
    KeyedJson(key, _): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    let (claim, admission) = CANCEL.claim(&app, &who, key, &[&id], Fields::new()).await?;
    let plan = async |cx| {
        let items = app.ledger().read_for(&claim, &[keys::topup(who.tenant(), id)]).await?;
        let topup = TopupRecord::read(&items.into_iter().flatten().next().ok_or(PlanError::Missing)?)?;
        if topup.customer != who.id() {
            return Err(PlanError::Missing);
        }
        Ok(cancel::plan(who.tenant(), &topup, &cx)?)
    };
    Ok(app.perform(claim.clone(), admission, plan, |topup| ok(&TopupView::from(topup))).await)
}
