//! `/v1/admin/merchants/{merchant_id}/close` and `/v1/admin/terminals/{terminal_id}/close`.

use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::dynamo::Item;
use ledger_core::idempotency::Fields;
use ledger_core::ids::{MerchantId, Tenant, TerminalId};
use ledger_core::keys::{self, Key, Partition};
use ledger_core::lists::HoldFilter;
use ledger_core::merchants::{self, MerchantCloseReceipt, MerchantClosing};
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::reads;
use ledger_core::terminal_state::TerminalState;
use ledger_core::terminals::{self, TerminalReceipt, TerminalRecord};
use ledger_runtime::app::App;
use ledger_runtime::cursor::{PairCursor, TimedCursor};
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, PathId, SentText, TimedPage};
use ledger_runtime::views::words;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How many holds or terminals are read at once.
const PAGE_ITEMS: usize = 100;

/// Why a merchant or terminal is closed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "the shop was given up"}))]
pub(crate) struct CloseReasonBody {
    /// The reason; at most 140 characters, no card number.
    reason: Option<String>,
}

/// A terminal that was closed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClosedTerminalView {
    /// The terminal's id.
    terminal_id: String,
    /// `closed`.
    #[schema(value_type = words::ClosedStatus)]
    status: &'static str,
    /// The time at which it was closed.
    closed_at: String,
}

/// A merchant whose close has begun, or that was closed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClosedMerchantView {
    /// The merchant's id.
    merchant_id: String,
    /// `closing`, then `closed`.
    #[schema(value_type = words::MerchantCloseStatus)]
    status: &'static str,
    /// The time from which the next request closes it; absent once it is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    closes_from: Option<String>,
    /// The time at which it was closed; absent until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<String>,
}

pub(crate) const TERMINAL: Keyed = Endpoint::post("/v1/admin/terminals/{terminal_id}/close")
    .summary("Closes a terminal for good.")
    .about(
        "Its cash room must be withdrawn, and a counter's cash collected: if not, `open` of the refusal names what is not. Its \
         key is refused within a minute, it is not enrolled again, and it leaves its shop.",
    )
    .permission(Permission::AccountsClose)
    .id("terminal_id", "The terminal's id.")
    .body::<CloseReasonBody>()
    .ok::<ClosedTerminalView>("Closed")
    .when(Code::WrongState, "the terminal is closed, or something is open")
    .when(Code::NotFound, "no such terminal")
    .asks_ties()
    .keyed(Operation::TerminalClose);

pub(crate) async fn terminal(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<TerminalId>,
    KeyedJson(key, body): KeyedJson<CloseReasonBody>,
) -> Result<Outcome, Problem> {
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields = Fields::new().with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = TERMINAL.claim(&app, &who, key, &[&id], fields).await?;
    let profile = Partition::terminal(who.tenant(), id).profile();
    let plan = async |cx: Context| {
        let reason = request::text_of(reason.as_ref())?;
        let items = app.ledger().read_for(&claim, std::slice::from_ref(&profile)).await?;
        let seen = items.iter().flatten().next().ok_or(PlanError::Missing)?;
        let by = (who.actor(), reason.as_ref());
        let owner = TerminalRecord::read(seen)?.owner.merchant().map(Account::Merchant);
        let of = (owner.into_iter().collect(), Permission::AccountsClose);
        app.alone((&claim, &who.member()), of, terminals::plan_close(who.tenant(), seen, by, &cx)?).await
    };
    let render = |receipt: &TerminalReceipt| ok(&ClosedTerminalView::from(receipt));
    let outcome = app.perform(claim.clone(), admission, plan, render).await;
    app.records().forget_terminal(who.tenant(), id);
    Ok(outcome)
}

pub(crate) const MERCHANT: Keyed = Endpoint::post("/v1/admin/merchants/{merchant_id}/close")
    .summary("Closes a merchant for good, by two requests.")
    .about(
        "After the first it takes no payments, and refunds nothing. The second, five minutes later, closes it, once its \
         terminals are closed, no hold and no settlement is open, and it is owed less than one unit of each asset: if not, \
         `open` of the refusal names what is open. Until then another status gives the close up. Its staff can still read \
         what was.",
    )
    .permission(Permission::AccountsClose)
    .id("merchant_id", "The merchant's id.")
    .body::<CloseReasonBody>()
    .ok::<ClosedMerchantView>("Closing, or closed")
    .when(Code::WrongState, "the merchant is closed, or something is open")
    .when(Code::NotFound, "no such merchant")
    .when(Code::Busy, "the merchant is credited too often to read its balances as of one instant")
    .asks_ties()
    .keyed(Operation::MerchantClose);

pub(crate) async fn merchant(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<MerchantId>,
    KeyedJson(key, body): KeyedJson<CloseReasonBody>,
) -> Result<Outcome, Problem> {
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields = Fields::new().with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = MERCHANT.claim(&app, &who, key, &[&id], fields).await?;
    let tenant = who.tenant();
    let at = [Partition::merchant(tenant, id).profile(), keys::settling(tenant, id)];
    let plan = async |cx: Context| {
        let reason = request::text_of(reason.as_ref())?;
        let items = app.ledger().read_for(&claim, &at).await?;
        let [Some(profile), settling] = items.as_slice() else { return Err(PlanError::Missing) };
        let mut open = Vec::new();
        if merchants::closing_since(profile)?.is_some() {
            // The holds come first: what is captured after that is in the balances.
            open.extend(open_holds(&app, tenant, id).await?);
            open.extend(open_terminals(&app, tenant, id).await?);
            open.extend(open_balances(&app, tenant, id).await?);
        }
        let closing = MerchantClosing { merchant: id, profile, settling: settling.as_ref(), open };
        let by = (who.actor(), reason.as_ref());
        let of = (vec![Account::Merchant(id)], Permission::AccountsClose);
        app.alone((&claim, &who.member()), of, merchants::plan_close(tenant, &closing, by, &cx)?).await
    };
    let render = |receipt: &MerchantCloseReceipt| ok(&ClosedMerchantView::from(receipt));
    let outcome = app.perform(claim.clone(), admission, plan, render).await;
    app.records().forget_merchant(tenant, id);
    Ok(outcome)
}

/// `holds`, if a hold for the merchant is open.
async fn open_holds(app: &App, tenant: &Tenant, merchant: MerchantId) -> Result<Vec<String>, Problem> {
    let mut cursor = None;
    loop {
        let filter = HoldFilter { merchant: Some(merchant), payer: None };
        let page = app.open_holds(tenant, (PAGE_ITEMS, cursor), filter).await?;
        if !page.items.is_empty() {
            return Ok(vec!["holds".to_owned()]);
        }
        let Some(next) = page.next_cursor else { return Ok(Vec::new()) };
        cursor = Some(PairCursor::parse(&next)?);
    }
}

/// `terminals`, if a terminal of the merchant is not closed.
async fn open_terminals(app: &App, tenant: &Tenant, merchant: MerchantId) -> Result<Vec<String>, Problem> {
    let mut cursor = None;
    loop {
        let page = TimedPage { limit: PAGE_ITEMS, cursor, from: None, until: None };
        let queries = |times| vec![reads::terminals_of(tenant, merchant, times)];
        let record = |key: &Key| key.partition().profile();
        let keep = |profile: &Item| Ok((TerminalRecord::read(profile)?.state != TerminalState::Closed).then_some(()));
        let page = app.listed_page(tenant, page, queries, (record, keep)).await?;
        if !page.items.is_empty() {
            return Ok(vec!["terminals".to_owned()]);
        }
        let Some(next) = page.next_cursor else { return Ok(Vec::new()) };
        cursor = Some(TimedCursor::parse(&next)?);
    }
}

/// The balances that come to one unit or more, for example `balance:ECOPAY`, and `uncredited` if more waits than was read.
async fn open_balances(app: &App, tenant: &Tenant, merchant: MerchantId) -> Result<Vec<String>, Problem> {
    let balances = app.merchant_balances(tenant, merchant).await?;
    let mut open = Vec::new();
    for (asset, sum) in &balances.by_asset {
        let total = sum.credited.checked_plus(&sum.uncredited).map_err(|_| Problem::internal())?;
        if [&total, &sum.held, &sum.uncredited].into_iter().any(merchants::is_payable) {
            open.push(format!("balance:{asset}"));
        }
    }
    open.extend((!balances.is_complete).then(|| "uncredited".to_owned()));
    Ok(open)
}

impl From<&TerminalReceipt> for ClosedTerminalView {
    fn from(receipt: &TerminalReceipt) -> Self {
        Self { terminal_id: receipt.terminal.to_string(), status: "closed", closed_at: receipt.at.to_string() }
    }
}

impl From<&MerchantCloseReceipt> for ClosedMerchantView {
    fn from(receipt: &MerchantCloseReceipt) -> Self {
        match receipt {
            MerchantCloseReceipt::Begun(merchant, from) => Self {
                merchant_id: merchant.to_string(),
                status: "closing",
                closes_from: Some(from.to_string()),
                closed_at: None,
            },
            MerchantCloseReceipt::Closed(merchant, at) => Self {
                merchant_id: merchant.to_string(),
                status: "closed",
                closes_from: None,
                closed_at: Some(at.to_string()),
            },
        }
    }
}
