//! `/v1/admin/customers/{customer_id}/close`, `/v1/admin/cards/{card_id}/close`, claims and payouts of what closed accounts had.

use crate::approvals;
use crate::cards::current_terms;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::approvals::Command;
use ledger_core::closing::{self, CardClose, ClosingReceipt, CustomerClose};
use ledger_core::idempotency::Fields;
use ledger_core::ids::{CardId, CustomerId};
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::unclaimed::{Claimed, PaidOut};
use ledger_runtime::app::App;
use ledger_runtime::approvals::Requested;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, AmountText, KeyedJson, PathId, SentText};
use ledger_runtime::views::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// How an account is closed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"pay_out": "unclaimed", "reason": "the holder asked for it"}))]
pub(crate) struct CloseBody {
    /// `unclaimed`: what the account has goes to the tenant's account `unclaimed`, and points to `breakage`. Absent: an account
    /// that has something is not closed.
    #[schema(value_type = Option<words::PayOut>)]
    pay_out: Option<String>,
    /// The reason; at most 140 characters, no card number.
    reason: Option<String>,
}

/// An account that was closed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClosedView {
    /// The account: `customer:` or `card:` and its id.
    account: String,
    /// `closed`.
    #[schema(value_type = words::ClosedStatus)]
    status: &'static str,
    /// The journal entry's id; absent if the account had nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<String>,
    /// What the account had, by asset.
    rest: BTreeMap<String, String>,
    /// The time at which it was closed.
    closed_at: String,
}

pub(crate) const CUSTOMER: Keyed = Endpoint::post("/v1/admin/customers/{customer_id}/close")
    .summary("Closes a customer's wallet for good.")
    .about(
        "What is held, reserved or owed must be zero, and the customer's cards closed: if not, `open` of the refusal names what \
         is open. What is returned later is unclaimed.",
    )
    .permission(Permission::AccountsClose)
    .id("customer_id", "The customer's id.")
    .body::<CloseBody>()
    .ok::<ClosedView>("Closed")
    .approvable()
    .when(Code::WrongState, "the customer is closed, or something is open, or is in a legacy model")
    .when(Code::NotFound, "no such customer")
    .keyed(Operation::CustomerClose);

pub(crate) async fn customer(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<CustomerId>,
    KeyedJson(key, body): KeyedJson<CloseBody>,
) -> Result<Outcome, Problem> {
    let clears = clears(body.pay_out.as_deref())?;
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let (claim, admission) =
        CUSTOMER.claim(&app, &who, key, &[&id], fields(body.pay_out.as_deref(), reason.as_ref())).await?;
    let tenant = who.tenant();
    let plan = async |cx: Context| {
        let (terms, reason) = (current_terms(&app, &claim, &cx).await?, request::text_of(reason.as_ref())?);
        let (of, items) = app.customer_to_close(&claim, id).await?;
        // What moves a customer's value to the tenant takes two people.
        if clears && !of.rest().is_empty() {
            let (member, command) = (who.member(), (Command::CustomerClose(of), reason.as_ref()));
            return Ok(Requested::pending(
                app.request_approval((&claim, &member), command, &terms, &items, &cx).await?,
            ));
        }
        let close = CustomerClose { tenant, actor: who.actor(), of: &of, clears, reason: reason.as_ref() };
        let planned = closing::plan_customer(&close, &items, &terms, &cx)?;
        let of = (vec![Account::Customer(id)], Permission::AccountsClose);
        Ok(Requested::executed(app.alone((&claim, &who.member()), of, planned).await?))
    };
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

pub(crate) const CARD: Keyed = Endpoint::post("/v1/admin/cards/{card_id}/close")
    .summary("Closes a card for good.")
    .about("What is returned to it later is unclaimed.")
    .permission(Permission::AccountsClose)
    .id("card_id", "The card's id.")
    .body::<CloseBody>()
    .ok::<ClosedView>("Closed")
    .approvable()
    .when(Code::WrongState, "the card is closed or was replaced, or `open` names its balance")
    .when(Code::NotFound, "no such card")
    .keyed(Operation::CardClose);

pub(crate) async fn card(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<CardId>,
    KeyedJson(key, body): KeyedJson<CloseBody>,
) -> Result<Outcome, Problem> {
    let clears = clears(body.pay_out.as_deref())?;
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let (claim, admission) =
        CARD.claim(&app, &who, key, &[&id], fields(body.pay_out.as_deref(), reason.as_ref())).await?;
    let tenant = who.tenant();
    let plan = async |cx: Context| {
        let (terms, reason) = (current_terms(&app, &claim, &cx).await?, request::text_of(reason.as_ref())?);
        let (of, items) = app.card_to_close(&claim, id).await?;
        if clears && of.seen.as_amount().is_some() {
            let (member, command) = (who.member(), (Command::CardClose(of), reason.as_ref()));
            return Ok(Requested::pending(
                app.request_approval((&claim, &member), command, &terms, &items, &cx).await?,
            ));
        }
        let close = CardClose { tenant, actor: who.actor(), of: &of, clears, reason: reason.as_ref() };
        let planned = closing::plan_card(&close, &items, &terms, &cx)?;
        let of = (vec![Account::Card(id)], Permission::AccountsClose);
        Ok(Requested::executed(app.alone((&claim, &who.member()), of, planned).await?))
    };
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

/// A claim of what a closed account had, or was returned to it later.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimBody {
    /// The closed account: `customer:` or `card:` and its id.
    account: String,
    /// The customer who gets it.
    customer_id: String,
    /// The asset.
    #[schema(example = "ECOPAY")]
    asset: String,
    /// The amount.
    #[schema(value_type = String, example = "1240")]
    amount: AmountText,
    /// The reason; at most 140 characters, no card number.
    reason: String,
}

pub(crate) const CLAIM: Keyed = Endpoint::post("/v1/admin/unclaimed/claims")
    .summary("Gives a customer what is unclaimed of a closed account.")
    .permission(Permission::UnclaimedClaim)
    .body::<ClaimBody>()
    .approvable()
    .problems(&[Code::InsufficientBalance])
    .when(Code::WrongState, "the account is not closed, or the customer is")
    .when(Code::NotFound, "no such account or customer")
    .keyed(Operation::UnclaimedClaim);

pub(crate) async fn claim(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<ClaimBody>,
) -> Result<Outcome, Problem> {
    let from = request::id("account", &body.account, Account::parse)?;
    let to = request::id("customer_id", &body.customer_id, CustomerId::parse)?;
    let amount = request::amount(Some(&body.asset), &body.amount)?;
    let reason = request::memo("reason", &body.reason);
    let fields = Fields::new().with("account", from).with("customer_id", to);
    let fields = fields.with_requested("amount", &amount).with("reason", reason.as_sent());
    let (claim, admission) = CLAIM.claim(&app, &who, key, &[], fields).await?;
    let tenant = who.tenant();
    let plan = async |cx: Context| {
        let (terms, reason) = (current_terms(&app, &claim, &cx).await?, reason.text()?);
        let of = Claimed { from, to, amount: request::amount_in(&terms, &amount)? };
        let items = app.ledger().read_for(&claim, &of.keys(tenant)).await?;
        let (member, command) = (who.member(), Command::UnclaimedClaim(of));
        app.request_approval((&claim, &member), (command, Some(&reason)), &terms, &items, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}

/// A payout of what a closed account had, or was returned to it later.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "account": "customer:019aa7fe-3c00-7000-8000-000000000001", "asset": "ECOPAY", "amount": "1240", "reason": "bank transfer 4711",
}))]
pub(crate) struct PayoutBody {
    /// The closed account: `customer:` or `card:` and its id.
    account: String,
    /// The asset; not `POINT`.
    #[schema(example = "ECOPAY")]
    asset: String,
    /// The amount.
    #[schema(value_type = String, example = "1240")]
    amount: AmountText,
    /// The reason, with what the bank names the transfer by; at most 140 characters, no card number.
    reason: String,
}

pub(crate) const PAYOUT: Keyed = Endpoint::post("/v1/admin/unclaimed/payouts")
    .summary("Records that a bank pays to the holder what is unclaimed of a closed account.")
    .about("The amount moves from `unclaimed` to `bank_clearing`. The ledger sends nothing to a bank.")
    .permission(Permission::UnclaimedClaim)
    .body::<PayoutBody>()
    .approvable()
    .problems(&[Code::InsufficientBalance])
    .when(Code::WrongState, "the account is not closed")
    .when(Code::NotFound, "no such account")
    .keyed(Operation::UnclaimedPayout);

pub(crate) async fn payout(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<PayoutBody>,
) -> Result<Outcome, Problem> {
    let from = request::id("account", &body.account, Account::parse)?;
    let amount = request::amount(Some(&body.asset), &body.amount)?;
    let reason = request::memo("reason", &body.reason);
    let fields = Fields::new().with("account", from).with_requested("amount", &amount);
    let fields = fields.with("reason", reason.as_sent());
    let (claim, admission) = PAYOUT.claim(&app, &who, key, &[], fields).await?;
    let tenant = who.tenant();
    let plan = async |cx: Context| {
        let (terms, reason) = (current_terms(&app, &claim, &cx).await?, reason.text()?);
        let of = PaidOut { from, amount: request::amount_in(&terms, &amount)? };
        let items = app.ledger().read_for(&claim, &of.keys(tenant)).await?;
        let (member, command) = (who.member(), Command::UnclaimedPayout(of));
        app.request_approval((&claim, &member), (command, Some(&reason)), &terms, &items, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}

fn clears(pay_out: Option<&str>) -> Result<bool, Problem> {
    let word =
        pay_out.map(|word| request::word("pay_out", word, |word| (word == "unclaimed").then_some(()), "unclaimed"));
    Ok(word.transpose()?.is_some())
}

fn fields(pay_out: Option<&str>, reason: Option<&SentText>) -> Fields {
    Fields::new().with_some("pay_out", pay_out).with_some("reason", reason.map(SentText::as_sent))
}

fn render(requested: &Requested<ClosingReceipt>) -> ledger_core::idempotency::AnyAnswer {
    requested.answer(&approvals::GET, |receipt| ok(&ClosedView::from(receipt)))
}

impl From<&ClosingReceipt> for ClosedView {
    fn from(receipt: &ClosingReceipt) -> Self {
        let rest = receipt.rest.iter().map(|amount| (amount.asset().to_string(), amount.text()));
        Self {
            account: receipt.account.to_string(),
            status: "closed",
            transaction_id: receipt.transaction_id.map(|id| id.to_string()),
            rest: rest.collect(),
            closed_at: receipt.closed_at.to_string(),
        }
    }
}
