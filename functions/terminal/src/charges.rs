//! `POST /v1/terminal/charges` and `/{key}/reverse`: charges a customer's one-time code at a till, and takes it back.

use crate::operations::{self, Original, original_of, own_key};
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::idempotency::{Claim, Fields};
use ledger_core::ids::MerchantId;
use ledger_core::keys::Partition;
use ledger_core::operation::Operation;
use ledger_core::payments::charge::{self, Charge};
use ledger_core::payments::charge_reverse::{self, ChargeReverse, SeenCharge};
use ledger_core::payments::code::PaymentCode;
use ledger_core::payments::reversal::ReverseReceipt;
use ledger_core::plan::Context;
use ledger_core::transaction::Planned;
use ledger_runtime::app::App;
use ledger_runtime::debts::PayerDebts;
use ledger_runtime::endpoint::{Endpoint, Keyed, Kind, Parameter};
use ledger_runtime::execute::{Outcome, PlanError, created, ok};
use ledger_runtime::identity::Caller;
use ledger_runtime::limits::LimitedAccount;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::refunds::earned_points;
use ledger_runtime::request::{self, AmountText, Empty, KeyedJson, PathOf, SentText};
use ledger_runtime::terminal::Terminal;
use ledger_runtime::views::{PaymentView, words};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A terminal's charge of a customer's one-time code.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"code": "epc_AZqn_jwAcACAAAAAAAAAAfZ1aU9K3yBvQh0cXn5tE2k", "amount": "1240"}))]
pub(crate) struct TerminalChargeBody {
    /// The one-time payment code that the customer shows.
    #[schema(pattern = "^epc_[A-Za-z0-9_-]{43}$", example = "epc_AZqn_jwAcACAAAAAAAAAAfZ1aU9K3yBvQh0cXn5tE2k")]
    code: String,
    /// The amount to charge.
    amount: AmountText,
    /// The asset of the amount; `ECOPAY` if absent.
    asset: Option<String>,
    /// The merchant's memo; at most 140 characters, no card number.
    memo: Option<String>,
}

/// The result of the reversal of a charge.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChargeReverseView {
    /// `reversed`.
    #[schema(value_type = words::ReversedStatus)]
    status: &'static str,
    /// `undone`: the charge was made, and is undone; `forbidden`: it has not arrived, and is refused if it does;
    /// `nothing_moved`: it was refused; `already_reversed`: it was reversed before.
    #[schema(value_type = words::ReversalOutcome)]
    outcome: &'static str,
    /// The journal entry that undid the charge; absent unless it was undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<String>,
    /// The journal entry that was undone; absent unless it was undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    original_transaction_id: Option<String>,
    /// The time of the reversal.
    created_at: String,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/terminal/charges")
    .summary("Charges a customer's one-time code at the terminal's merchant.")
    .open()
    .body::<TerminalChargeBody>()
    .created::<PaymentView>("Paid")
    .problems(&[
        Code::InsufficientBalance,
        Code::LimitExceeded,
        Code::AccountFrozen,
        Code::OperationReversed,
        Code::NotAtCounter,
        Code::LegacyRecordUnreadable,
    ])
    .when(Code::WrongState, "the code is used or expired, or the merchant is suspended")
    .when(Code::NotFound, "no such code, or a newer code has replaced it")
    .keyed(Operation::TerminalCharge);

pub(crate) async fn create(
    State(app): State<App>,
    who: Terminal,
    KeyedJson(key, body): KeyedJson<TerminalChargeBody>,
) -> Result<Outcome, Problem> {
    let merchant_id = who.merchant_id()?;
    let code = PaymentCode::parse(&body.code)
        .ok_or_else(|| Problem::invalid_field("code", "is not a payment code: it begins with epc_"))?;
    let amount = request::amount(body.asset.as_deref(), &body.amount)?;
    let memo = body.memo.as_deref().map(|text| request::memo("memo", text));
    let fields = Fields::new()
        .with("code_hash", code.hash())
        .with_requested("amount", &amount)
        .with_some("memo", memo.as_ref().map(SentText::as_sent));
    let (claim, admission) = CREATE.claim(&app, &who, key, &[], fields).await?;
    let payer = LimitedAccount::new(Account::Customer(code.customer()));
    let plan = async |cx: Context| {
        let terms = payer.terms(&app, (who.tenant(), cx.now)).await?;
        let merchant = app.merchant(who.tenant(), merchant_id).await?;
        let charge = Charge {
            tenant: who.tenant().clone(),
            merchant: (*merchant).clone(),
            terminal: Some(who.id()),
            shop: who.shop(),
            code: code.clone(),
            amount: request::amount_in(&terms, &amount)?,
            memo: request::text_of(memo.as_ref())?,
        };
        Ok(charge::plan(&charge, &terms, &cx)?)
    };
    let path = operations::GET.path(&[&Operation::TerminalCharge, &claim.key.as_str()]);
    Ok(app.perform(claim, admission, plan, |receipt| created(path.clone(), &PaymentView::from(receipt))).await)
}

pub(crate) const REVERSE: Keyed = Endpoint::post("/v1/terminal/charges/{key}/reverse")
    .summary(
        "Reverses a charge of this terminal within ten minutes: one that was made is undone, one that has not arrived \
         is refused for good.",
    )
    .open()
    .parameter(Parameter::in_path("key", "The idempotency key of the charge.", Kind::TerminalKey))
    .ok::<ChargeReverseView>("Reversed")
    .problems(&[Code::ReversalTooLate, Code::NotAtCounter, Code::LegacyRecordUnreadable])
    .when(Code::WrongState, "the payment is already refunded")
    .keyed(Operation::TerminalChargeReverse);

pub(crate) async fn reverse(
    State(app): State<App>,
    who: Terminal,
    PathOf(original_key): PathOf<String>,
    KeyedJson(key, Empty {}): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    let merchant = who.merchant_id()?;
    let original_key = own_key(&who, &original_key)?;
    let (claim, admission) = REVERSE.claim(&app, &who, key, &[&original_key.as_str()], Fields::new()).await?;
    let original = original_of(&claim, Operation::TerminalCharge, original_key);
    let debts = PayerDebts::default();
    let plan = async |cx| plan_reversal(&app, (&who, merchant), (&claim, &original), &debts, &cx).await;
    Ok(app.perform(claim.clone(), admission, plan, |receipt| ok(&ChargeReverseView::from(receipt))).await)
}

/// Reads the charge and its payer, and plans the reversal.
async fn plan_reversal(
    app: &App,
    (who, merchant): (&Terminal, MerchantId),
    (claim, original): (&Claim, &Claim),
    debts: &PayerDebts,
    cx: &Context,
) -> Result<Planned<ReverseReceipt>, PlanError> {
    let terms = app.terms_at(who.tenant(), cx.now).await?;
    let merchant = app.merchant(who.tenant(), merchant).await?;
    let Original { marker, entry, payment } = Original::read(app, who, claim, original).await?;
    let (mut points, mut wallet, mut balances, mut is_closed) = (None, None, Vec::new(), false);
    if let Some(payment) = &payment {
        is_closed = debts.is_closed(app, who.tenant(), payment.payer).await?;
        points = if is_closed { None } else { earned_points(app, who.tenant(), payment).await? };
        wallet = Some(debts.wallet(app, who.tenant(), payment.payer).await?);
    }
    if let Some((home, _)) = entry.as_ref().filter(|(_, entry)| !entry.counted.is_empty()) {
        balances = app.limited_items(who.tenant(), *home).await?;
    }
    let charge = match (&entry, &payment, &wallet) {
        (Some((_, entry)), Some(payment), Some(wallet)) => {
            Some(SeenCharge { entry, payment, points: points.as_ref(), wallet, balances: &balances, is_closed })
        }
        (Some(_), _, _) => return Err(PlanError::Missing),
        (None, _, _) => None,
    };
    let command = ChargeReverse {
        tenant: who.tenant(),
        terminal: Partition::terminal(who.tenant(), who.id()),
        merchant: &merchant,
        original,
        marker: marker.as_ref(),
        charge,
    };
    Ok(charge_reverse::plan(&command, &terms, cx)?)
}

impl From<&ReverseReceipt> for ChargeReverseView {
    fn from(receipt: &ReverseReceipt) -> Self {
        Self {
            status: "reversed",
            outcome: receipt.reversal.name(),
            transaction_id: receipt.transaction_id.map(|id| id.to_string()),
            original_transaction_id: receipt.original_transaction_id.map(|id| id.to_string()),
            created_at: receipt.created_at.to_string(),
        }
    }
}
