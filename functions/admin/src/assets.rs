//! `/v1/admin/assets`: the tenant's assets with their states, and the budgets of those that have one.

use crate::approvals;
use axum::Json;
use axum::extract::State;
use ledger_core::approvals::Command;
use ledger_core::asset_budgets::AssetBudget;
use ledger_core::dynamo::Item;
use ledger_core::idempotency::Fields;
use ledger_core::keys;
use ledger_core::money::{Amount, Asset};
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::reads;
use ledger_core::tenants::TermsRecord;
use ledger_core::terms::{AssetTerms, TenantTerms, TermsSchedule};
use ledger_core::time::Timestamp;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, AmountText, KeyedJson, SentText};
use ledger_runtime::views::words;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The most versions of the terms that are read to find since when an asset has its state.
const VERSIONS_MAX: usize = 100;

/// The tenant's assets.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AssetsView {
    /// The assets, in the order of their names.
    assets: Vec<AssetView>,
}

/// An asset of the tenant, under the terms in force.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AssetView {
    /// Its name.
    asset: String,
    /// The number of decimals of its amounts.
    scale: u32,
    /// How far it is stopped.
    #[schema(value_type = words::AssetStateWord)]
    state: &'static str,
    /// The time from which it has this state; absent if it has it since before the last 100 changes of the terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// The most that a customer may hold; absent if there is no cap.
    #[serde(skip_serializing_if = "Option::is_none")]
    cap: Option<String>,
    /// Whether customers send it to each other while its state allows it.
    transferable: bool,
    /// Whether merchants accept it while its state allows it.
    spendable: bool,
    /// Its budget; absent if grants of it take from none.
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<AssetBudgetView>,
}

/// The budget of an asset, in the asset.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AssetBudgetView {
    /// The most that may be granted in total.
    budget: String,
    /// What was granted.
    issued: String,
    /// What may still be granted.
    remaining: String,
}

/// A request to set the budget of an asset.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"asset": "REGIONAL#spring", "budget": "1000000"}))]
pub(crate) struct AssetBudgetBody {
    /// The asset.
    asset: String,
    /// The most that may be granted of it in total, with what was granted so far.
    budget: AmountText,
    /// The reason for the change; at most 140 characters, no card number.
    reason: Option<String>,
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/assets")
    .summary("Returns the tenant's assets, with their states and budgets.")
    .permission(Permission::TermsRead)
    .ok::<AssetsView>("The assets");

pub(crate) async fn get(State(app): State<App>, who: Admin) -> Result<Json<AssetsView>, Problem> {
    let (tenant, now) = (who.tenant(), app.now());
    let config = app.dynamo().get(&keys::config(tenant)).await?.ok_or_else(Problem::tenant_unknown)?;
    let schedule = TermsSchedule::read(&config)?;
    let stored = app.dynamo().query(&reads::terms(tenant).limit(VERSIONS_MAX)).await?;
    let read = |item: &Item| TermsRecord::read(item, &config);
    let versions = stored.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let mut assets = Vec::new();
    for (asset, terms) in &schedule.at(now).assets {
        let budget = match terms.budgeted {
            true => {
                let item = app.dynamo().get(&keys::asset_budget(tenant, asset)).await?;
                Some(AssetBudget::read(asset, item.as_ref())?)
            }
            false => None,
        };
        assets.push(AssetView::of(terms, since(asset, terms, &versions, now), budget.as_ref()));
    }
    Ok(Json(AssetsView { assets }))
}

/// The time of the first of the latest versions in which an asset has its present state. `versions` are the latest first.
fn since(asset: &Asset, present: &AssetTerms, versions: &[TermsRecord], now: Timestamp) -> Option<Timestamp> {
    let in_force = versions.iter().filter(|version| version.cancelled_at.is_none());
    let begun = in_force.filter(|version| version.from.is_none_or(|from| from <= now));
    let same = |version: &&TermsRecord| version.terms.asset(asset).is_some_and(|terms| terms.state == present.state);
    begun.take_while(same).last().and_then(|version| version.from)
}

pub(crate) const SET_BUDGET: Keyed = Endpoint::post("/v1/admin/assets/budget")
    .summary("Sets the budget of an asset that was added with one.")
    .about("Grants of the asset take from it. Payments, transfers and refunds do not change it.")
    .permission(Permission::TermsChange)
    .body::<AssetBudgetBody>()
    .approvable()
    .when(Code::BudgetExceeded, "more than the new budget was granted")
    .keyed(Operation::AssetBudget);

pub(crate) async fn set_budget(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<AssetBudgetBody>,
) -> Result<Outcome, Problem> {
    let asset = Asset::parse(&body.asset).map_err(|why| Problem::invalid_field("asset", why))?;
    let budget = body.budget.requested(asset.clone(), "budget")?;
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields =
        Fields::new().with_requested("budget", &budget).with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = SET_BUDGET.claim(&app, &who, key, &[], fields).await?;
    let keys = [keys::asset_budget(who.tenant(), &asset), keys::config(who.tenant())];
    let plan = async |cx: Context| {
        let mut items = app.ledger().read_for(&claim, &keys).await?;
        let config = items.pop().flatten().ok_or(PlanError::Missing)?;
        let seen = AssetBudget::read(&asset, items.iter().flatten().next())?;
        let reason = request::text_of(reason.as_ref())?;
        let terms = TenantTerms::read(&config, cx.now)?;
        let spec = terms.spec(&asset).ok_or_else(|| Problem::invalid_field("asset", request::ASSET_NOT_RUN))?;
        let budget: Amount = budget.in_scale(spec).map_err(|why| Problem::invalid_field("budget", why))?;
        let command = Command::AssetBudget { budget, seen: seen.budget };
        app.request_approval((&claim, &who.member()), (command, reason.as_ref()), &terms, &items, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}

impl AssetView {
    fn of(terms: &AssetTerms, since: Option<Timestamp>, budget: Option<&AssetBudget>) -> Self {
        Self {
            asset: terms.spec.asset().to_string(),
            scale: terms.spec.scale(),
            state: terms.state.name(),
            since: since.map(|since| since.to_string()),
            cap: terms.cap.as_ref().map(Amount::text),
            transferable: terms.transferable,
            spendable: terms.spendable,
            budget: budget.map(|budget| AssetBudgetView {
                budget: budget.budget.text(),
                issued: budget.issued.text(),
                remaining: budget.remaining.text(),
            }),
        }
    }
}
