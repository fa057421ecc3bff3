//! `/v1/merchant/terminals`: the merchant's terminals, and the shops that they are assigned to.

use axum::Json;
use axum::extract::State;
use ledger_core::dynamo::Item;
use ledger_core::failure::Failure;
use ledger_core::idempotency::{Claim, Fields};
use ledger_core::ids::{ShopId, TerminalId, TerminalOwner};
use ledger_core::keys::{Key, Partition};
use ledger_core::operation::Operation;
use ledger_core::plan::{Context, PlanRefusal};
use ledger_core::reads;
use ledger_core::terminal_state::TerminalState;
use ledger_core::terminals::{self, TerminalReceipt, TerminalRecord};
use ledger_core::transaction::Planned;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError, ok};
use ledger_runtime::identity::{Caller, Merchant};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, Params, PathId};
use ledger_runtime::views::{Page, words};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The word for no shop.
const NO_SHOP: &str = "none";

/// The shop of a terminal.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TerminalShopBody {
    /// The id of the shop that the terminal is assigned to from then on, or `none`.
    #[schema(pattern = "^(none|[0-9a-fA-F-]{36})$", example = "none")]
    shop: String,
}

/// A terminal of the merchant.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OwnTerminalView {
    /// The terminal's id.
    terminal_id: String,
    /// The shop that it is assigned to; absent if it is to none.
    #[serde(skip_serializing_if = "Option::is_none")]
    shop_id: Option<String>,
    /// `active`, `frozen` or `closed`.
    #[schema(value_type = words::TerminalStatus)]
    status: &'static str,
    /// The time at which the operator closed it for good; absent if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<String>,
    /// The time of the registration.
    created_at: String,
}

/// A terminal that was assigned to a shop, or to none.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TerminalShopView {
    /// The terminal's id.
    terminal_id: String,
    /// The time of the change.
    updated_at: String,
}

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/merchant/terminals")
    .summary("Lists the merchant's terminals, newest first.")
    .permission(Permission::ShopsRead)
    .timed_pages_of::<OwnTerminalView>();

pub(crate) async fn list(
    State(app): State<App>,
    who: Merchant,
    mut params: Params,
) -> Result<Json<Page<OwnTerminalView>>, Problem> {
    let page = params.timed_page()?;
    params.finish()?;
    let (tenant, merchant) = (who.tenant(), who.merchant_id());
    let queries = |times| vec![reads::terminals_of(tenant, merchant, times)];
    let record = |key: &Key| key.partition().profile();
    let keep = |profile: &Item| Ok(Some(OwnTerminalView::from(&TerminalRecord::read(profile)?)));
    Ok(Json(app.listed_page(tenant, page, queries, (record, keep)).await?))
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/merchant/terminals/{terminal_id}")
    .summary("Returns one of the merchant's terminals.")
    .permission(Permission::ShopsRead)
    .id("terminal_id", "The terminal's id.")
    .ok::<OwnTerminalView>("The terminal")
    .when(Code::NotFound, "no such terminal of this merchant");

pub(crate) async fn get(
    State(app): State<App>,
    who: Merchant,
    PathId(id): PathId<TerminalId>,
) -> Result<Json<OwnTerminalView>, Problem> {
    let key = Partition::terminal(who.tenant(), id).profile();
    let terminal = TerminalRecord::read(&app.dynamo().get(&key).await?.ok_or_else(Problem::not_found)?)?;
    if is_own(&who, &terminal) { Ok(Json(OwnTerminalView::from(&terminal))) } else { Err(Problem::not_found()) }
}

pub(crate) const ASSIGN: Keyed = Endpoint::patch("/v1/merchant/terminals/{terminal_id}")
    .summary("Assigns one of the merchant's terminals to a shop, or to none.")
    .about("Payments at the terminal have the shop within a minute.")
    .permission(Permission::ShopsManage)
    .id("terminal_id", "The terminal's id.")
    .body::<TerminalShopBody>()
    .ok::<TerminalShopView>("Assigned")
    .when(Code::WrongState, "the shop or the terminal is closed")
    .when(Code::NotFound, "no such terminal or shop of this merchant")
    .keyed(Operation::TerminalAssign);

pub(crate) async fn assign(
    State(app): State<App>,
    who: Merchant,
    PathId(id): PathId<TerminalId>,
    KeyedJson(key, body): KeyedJson<TerminalShopBody>,
) -> Result<Outcome, Problem> {
    let shop = match body.shop.as_str() {
        NO_SHOP => None,
        id => Some(request::id("shop", id, ShopId::parse)?),
    };
    let fields = Fields::new().with("shop", shop.map_or_else(|| NO_SHOP.to_owned(), |shop| shop.to_string()));
    let (claim, admission) = ASSIGN.claim(&app, &who, key, &[&id], fields).await?;
    let plan = async |cx| plan_assign(&app, &who, (id, shop), &claim, &cx).await;
    let outcome = app.perform(claim.clone(), admission, plan, |receipt| ok(&TerminalShopView::from(receipt))).await;
    app.records().forget_terminal(who.tenant(), id);
    Ok(outcome)
}

async fn plan_assign(
    app: &App,
    who: &Merchant,
    (id, shop): (TerminalId, Option<ShopId>),
    claim: &Claim,
    cx: &Context,
) -> Result<Planned<TerminalReceipt>, PlanError> {
    let profile = Partition::terminal(who.tenant(), id).profile();
    let items = app.ledger().read_for(claim, &[profile]).await?;
    let terminal = TerminalRecord::read(items.iter().flatten().next().ok_or(PlanError::Missing)?)?;
    if !is_own(who, &terminal) {
        return Err(PlanError::Missing);
    }
    if terminal.state == TerminalState::Closed {
        return Err(PlanRefusal::Refused(Failure::WrongState).into());
    }
    Ok(terminals::plan_assign(who.tenant(), (who.merchant_id(), &terminal), shop, who.actor(), cx))
}

fn is_own(who: &Merchant, terminal: &TerminalRecord) -> bool {
    terminal.owner == TerminalOwner::Merchant(who.merchant_id())
}

impl From<&TerminalRecord> for OwnTerminalView {
    fn from(terminal: &TerminalRecord) -> Self {
        Self {
            terminal_id: terminal.id.to_string(),
            shop_id: terminal.shop.map(|shop| shop.to_string()),
            status: terminal.state.name(),
            closed_at: terminal.closed_at.map(|at| at.to_string()),
            created_at: terminal.created_at.to_string(),
        }
    }
}

impl From<&TerminalReceipt> for TerminalShopView {
    fn from(receipt: &TerminalReceipt) -> Self {
        Self { terminal_id: receipt.terminal.to_string(), updated_at: receipt.at.to_string() }
    }
}
