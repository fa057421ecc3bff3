//! `POST /v1/admin/account-limits`: the limits of one customer or card that differ from the tenant's.

use crate::approvals;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::approvals::Command;
use ledger_core::failure::Failure;
use ledger_core::idempotency::{Claim, Fields};
use ledger_core::keys;
use ledger_core::limits::{Holder, LimitChange, OwnLimits};
use ledger_core::migration::Layout;
use ledger_core::money::Asset;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::tenants::{self, AccountLimitsChange, AccountLimitsReceipt};
use ledger_core::terms::TenantTerms;
use ledger_core::transaction::Planned;
use ledger_runtime::app::App;
use ledger_runtime::approvals::Requested;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError, Refusal, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, SentText};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The most rules in a request: every kind of operation in every period.
const RULES_MAX: usize = 18;

/// A change of an account's own limits in one asset. Rules that are not named keep their value.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"account": "customer:019aa7fe-3c00-7000-8000-000000000001", "asset": "ECOPAY", "limits": {"pay_day": "20000"}, "reason": "asked for more"}))]
pub(crate) struct AccountLimitsBody {
    /// `customer:<id>` or `card:<id>`.
    account: String,
    /// The asset; a card has `ECOPAY` only.
    asset: String,
    /// By rule: the amount, `none` for no limit, or `default` for the tenant's limit. A rule is a kind of operation,
    /// `pay`, `transfer` or `topup`, of a card `pay` or `cash_topup`, and `_operation`, `_day` or `_month`.
    limits: BTreeMap<String, String>,
    /// The reason for the change; at most 140 characters, no card number.
    reason: Option<String>,
}

/// The limits that an account has of its own.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AccountLimitsView {
    /// The account.
    account: String,
    /// The asset.
    asset: String,
    /// By rule: the amount, or `none` for no limit. For every other rule the tenant's limit applies.
    limits: BTreeMap<String, String>,
    /// The time of the change.
    updated_at: String,
}

impl From<&AccountLimitsReceipt> for AccountLimitsView {
    fn from(receipt: &AccountLimitsReceipt) -> Self {
        Self {
            account: receipt.account.to_string(),
            asset: receipt.asset.to_string(),
            limits: receipt.limits.values().map(|(rule, value)| (rule.to_string(), value)).collect(),
            updated_at: receipt.at.to_string(),
        }
    }
}

/// A request whose fields are read.
struct Wanted {
    account: Account,
    holder: Holder,
    asset: Asset,
    limits: BTreeMap<String, String>,
    reason: Option<SentText>,
}

pub(crate) const CHANGE: Keyed = Endpoint::post("/v1/admin/account-limits")
    .summary("Changes the limits of one customer or card.")
    .about("Takes effect within a minute. Only a change that allows more needs approval.")
    .permission(Permission::LimitsChange)
    .body::<AccountLimitsBody>()
    .ok::<AccountLimitsView>("Changed")
    .approvable()
    .when(Code::WrongState, "the tenant has no limits, or migrates from a legacy model")
    .when(Code::NotFound, "no such account")
    .keyed(Operation::AccountLimits);

pub(crate) async fn change(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<AccountLimitsBody>,
) -> Result<Outcome, Problem> {
    let wanted = Wanted::read(body)?;
    let fields = Fields::new()
        .with("account", wanted.account)
        .with("asset", &wanted.asset)
        .with("limits", wanted.limits.iter().map(|(rule, to)| format!("{rule}={to}")).collect::<Vec<_>>().join(" "))
        .with_some("reason", wanted.reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = CHANGE.claim(&app, &who, key, &[], fields).await?;
    let plan = async |cx| plan_change(&app, &who, &wanted, &claim, &cx).await;
    let changed = |receipt: &AccountLimitsReceipt| ok(&AccountLimitsView::from(receipt));
    let render = |requested: &Requested<AccountLimitsReceipt>| requested.answer(&approvals::GET, changed);
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

async fn plan_change(
    app: &App,
    who: &Admin,
    wanted: &Wanted,
    claim: &Claim,
    cx: &Context,
) -> Result<Planned<Requested<AccountLimitsReceipt>>, PlanError> {
    let Wanted { account, holder, asset, limits, reason } = wanted;
    let reason = request::text_of(reason.as_ref())?;
    let (_, key) = tenants::limited_item(who.tenant(), *account, asset).ok_or(PlanError::Missing)?;
    let mut items = app.ledger().read_for(claim, &[keys::config(who.tenant()), key]).await?;
    let of_account = items.split_off(items.len().min(1));
    let config = items.iter().flatten().next().ok_or(PlanError::Missing)?;
    match Layout::read(config)? {
        Layout::Split => {}
        // The legacy model has no place for limits of an account.
        Layout::Migrating(_) => return Err(PlanError::Refused(Refusal::new(Failure::WrongState))),
    }
    let terms = TenantTerms::read(config, cx.now)?;
    let spec = terms.spec(asset).ok_or_else(|| Problem::invalid_field("asset", request::ASSET_NOT_RUN))?;
    let change = |(rule, to): (&String, &String)| {
        let change = LimitChange::parse(*holder, spec, &format!("{rule}={to}"));
        change.map_err(|why| Problem::invalid_field("limits", format!("{rule}: {why}")))
    };
    let changes = limits.iter().map(change).collect::<Result<Vec<_>, _>>()?;
    let of_tenant = terms.limits.as_ref().ok_or(PlanError::Refused(Refusal::new(Failure::WrongState)))?;
    let own = OwnLimits::read(of_account.iter().flatten().next().ok_or(PlanError::Missing)?, asset)?;
    let after = changes.iter().fold(own.clone(), OwnLimits::with);
    if after.allow_more_than(&own, of_tenant, (*holder, asset)) {
        let command = Command::AccountLimits { account: *account, asset: asset.clone(), changes, seen: own };
        let of = (command, reason.as_ref());
        return Ok(Requested::pending(
            app.request_approval((claim, &who.member()), of, &terms, &of_account, cx).await?,
        ));
    }
    let change =
        AccountLimitsChange { account: *account, asset, of_tenant: Some(of_tenant), seen: &own, changes: &changes };
    let planned = tenants::plan_account_limits(who.tenant(), change, (who.actor(), reason.as_ref()), cx)?;
    let of = (vec![*account], Permission::LimitsChange);
    Ok(Requested::executed(app.alone((claim, &who.member()), of, planned).await?))
}

impl Wanted {
    fn read(body: AccountLimitsBody) -> Result<Self, Problem> {
        let wrong = || Problem::invalid_field("account", "must be customer:<id> or card:<id>");
        let account = Account::parse(&body.account).map_err(|_| wrong())?;
        let holder = Holder::of(account).ok_or_else(wrong)?;
        if body.limits.is_empty() || body.limits.len() > RULES_MAX {
            return Err(Problem::invalid_field("limits", format!("must have 1 to {RULES_MAX} rules")));
        }
        Ok(Self {
            account,
            holder,
            asset: Asset::parse(&body.asset).map_err(|why| Problem::invalid_field("asset", why))?,
            limits: body.limits,
            reason: body.reason.as_deref().map(|text| request::memo("reason", text)),
        })
    }
}
