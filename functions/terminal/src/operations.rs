//! `/v1/terminal/operations/{operation}/{key}`: the state of an idempotency key, and the reversal of an operation.

use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::cards;
use ledger_core::cards::reverse::{CardReverse, ReversedBy, Seen};
use ledger_core::idempotency::{
    CanonicalRequest, Claim, Fields, IdempotencyKey, Marker, MarkerState, TerminalKey, Window,
};
use ledger_core::ids::TerminalOwner;
use ledger_core::journal::JournalEntry;
use ledger_core::keys::{self, Partition};
use ledger_core::operation::Operation;
use ledger_core::payments::PaymentRecord;
use ledger_core::payments::reversal::ReverseReceipt;
use ledger_core::plan::Context;
use ledger_core::terms::TerminalTerms;
use ledger_core::transaction::Planned;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Kind, Parameter, Segment};
use ledger_runtime::execute::{Outcome, PlanError, ok};
use ledger_runtime::identity::Caller;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{Empty, KeyedJson, PathOf};
use ledger_runtime::terminal::Terminal;
use ledger_runtime::views::{OperationView, words};
use serde::Serialize;
use utoipa::ToSchema;

/// The result of a reversal.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReverseView {
    /// `reversed`.
    #[schema(value_type = words::ReversedStatus)]
    status: &'static str,
    /// The operation of the original.
    #[schema(value_type = words::ReversibleOperation)]
    operation: &'static str,
    /// `undone`: the original was executed, and is undone; `forbidden`: it has not arrived, and is refused if it does;
    /// `nothing_moved`: it was refused; `already_reversed`: it was reversed before.
    #[schema(value_type = words::ReversalOutcome)]
    outcome: &'static str,
    /// The journal entry that undid the original; absent unless it was undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<String>,
    /// The journal entry that was undone; absent unless it was undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    original_transaction_id: Option<String>,
    /// The time of the reversal.
    created_at: String,
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/terminal/operations/{operation}/{key}")
    .summary("Returns the state of one of the terminal's idempotency keys.")
    .about("`not_known_yet` is not final; a reversal makes the outcome certain.")
    .open()
    .parameter(Parameter::in_path(
        "operation",
        "The operation that the key was sent for.",
        Kind::Word(&[
            "card_topup",
            "card_pay",
            "card_refund",
            "card_reverse",
            "terminal_charge",
            "terminal_charge_reverse",
        ]),
    ))
    .parameter(Parameter::in_path("key", "The idempotency key: `<terminal id>-<epoch>-<sequence>`.", Kind::TerminalKey))
    .ok::<OperationView>("The state of the key")
    .when(Code::IdempotencyKeyInvalid, "the key is not one of this terminal's keys")
    .when(Code::NotFound, "no such operation");

pub(crate) async fn get(
    State(app): State<App>,
    who: Terminal,
    PathOf((operation, key)): PathOf<(String, String)>,
) -> Result<Json<OperationView>, Problem> {
    let parsed = IdempotencyKey::parse(&key).and_then(|key| TerminalKey::admit(&key, who.id(), who.epoch()));
    parsed.map_err(Problem::key)?;
    app.operation(&who, &operation, &key).await.map(Json)
}

pub(crate) const REVERSE: Keyed = Endpoint::post("/v1/terminal/operations/{operation}/{key}/reverse")
    .summary(
        "Reverses an operation of this terminal: an executed operation is undone, one that has not arrived is \
         refused for good.",
    )
    .open()
    .parameter(Parameter::in_path(
        "operation",
        "The operation that the key of the original was sent for.",
        Kind::Word(&["card_topup", "card_pay", "card_refund"]),
    ))
    .parameter(Parameter::in_path("key", "The idempotency key of the original.", Kind::TerminalKey))
    .ok::<ReverseView>("Reversed")
    .when(Code::InsufficientBalance, "the amount of the top-up, or its granted bonus, is already spent")
    .when(Code::WrongState, "the payment is already refunded, or the merchant is suspended and this is not its payment")
    .when(Code::RefundRoomExceeded, "the payment is older than ten minutes, and its merchant may not refund so much")
    .when(Code::ReversalTooLate, "the top-up or the refund is older than ten minutes")
    .when(Code::CashNotOutstanding, "the cash of a counter's top-up was collected: the counter has less")
    .when(Code::NotFound, "no such operation")
    .keyed(Operation::CardReverse);

pub(crate) async fn reverse(
    State(app): State<App>,
    who: Terminal,
    PathOf((operation, original_key)): PathOf<(String, String)>,
    KeyedJson(key, Empty {}): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    let operation = Operation::parse(&operation)
        .filter(|operation| matches!(operation, Operation::CardTopup | Operation::CardPay | Operation::CardRefund))
        .ok_or_else(Problem::not_found)?;
    let original_key = own_key(&who, &original_key)?;
    let segments: [Segment<'_>; 2] = [&operation, &original_key.as_str()];
    let (claim, admission) = REVERSE.claim(&app, &who, key, &segments, Fields::new()).await?;
    let original = original_of(&claim, operation, original_key);
    let plan = async |cx| plan(&app, &who, &claim, &original, &cx).await;
    Ok(app.perform(claim.clone(), admission, plan, |receipt| ok(&ReverseView::from(receipt))).await)
}

/// A key of an operation of this terminal that a path names.
pub(crate) fn own_key(who: &Terminal, key: &str) -> Result<IdempotencyKey, Problem> {
    let key = IdempotencyKey::parse(key).map_err(Problem::key)?;
    TerminalKey::admit(&key, who.id(), who.epoch()).map_err(Problem::key)?;
    Ok(key)
}

/// The claim of an operation that the request of `claim` reverses.
pub(crate) fn original_of(claim: &Claim, operation: Operation, key: IdempotencyKey) -> Claim {
    Claim {
        operation,
        key: key.into(),
        request: CanonicalRequest { method: "POST", path: String::new(), fields: Fields::new() },
        window: Window::WALLET,
        ..claim.clone()
    }
}

/// What is stored of an operation that is to be reversed.
pub(crate) struct Original {
    /// What is under its key. It stays valid evidence after its window has ended.
    pub(crate) marker: Option<Marker>,
    /// Its entry, with the account in whose partition it is.
    pub(crate) entry: Option<(Account, JournalEntry)>,
    /// The payment that it made or refunded.
    pub(crate) payment: Option<PaymentRecord>,
}

impl Original {
    pub(crate) async fn read(app: &App, who: &Terminal, claim: &Claim, original: &Claim) -> Result<Self, PlanError> {
        let found = app.ledger().read_for(claim, &[original.marker_key()]).await?.into_iter().flatten().next();
        let marker = found.as_ref().map(Marker::read).transpose()?;
        let link = match &marker {
            Some(Marker { state: MarkerState::Completed { journal: Some(link), .. }, .. }) => link,
            Some(_) | None => return Ok(Self { marker, entry: None, payment: None }),
        };
        let item = match Partition::account(who.tenant(), link.home).map(|home| home.entry(link.id)) {
            Some(key) => app.dynamo().get(&key).await?,
            None => None,
        };
        let entry = JournalEntry::read(&item.ok_or(PlanError::Missing)?)?;
        let payment = match entry.payment_id {
            Some(id) => {
                let item = app.dynamo().get(&keys::payment(who.tenant(), id)).await?.ok_or(PlanError::Missing)?;
                Some(PaymentRecord::read(&item)?)
            }
            None => None,
        };
        let home = link.home;
        Ok(Self { marker, entry: Some((home, entry)), payment })
    }
}

/// Whose terminal it is, with the terms of a till's merchant.
pub(crate) async fn terms_of(app: &App, who: &Terminal) -> Result<TerminalTerms, Problem> {
    Ok(match who.owner() {
        TerminalOwner::Merchant(id) => TerminalTerms::Till((*app.merchant(who.tenant(), id).await?).clone()),
        TerminalOwner::Operator => TerminalTerms::Counter,
    })
}

/// Reads the original's marker and the records that belong to it, and plans the reversal.
async fn plan(
    app: &App,
    who: &Terminal,
    claim: &Claim,
    original: &Claim,
    cx: &Context,
) -> Result<Planned<ReverseReceipt>, PlanError> {
    let terms = app.terms_at(who.tenant(), cx.now).await?;
    let at = terms_of(app, who).await?;
    let Original { marker, entry, payment } = Original::read(app, who, claim, original).await?;
    let (mut card, mut bonus) = (None, None);
    if let Some((home, entry)) = &entry {
        card = match *home {
            Account::Card(id) => app.card_in_use(who.tenant(), id).await?,
            home if !entry.counted.is_empty() => app.limited_items(who.tenant(), home).await?.pop(),
            Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => None,
        };
        bonus = app.cash_bonus(who.tenant(), who.owner(), entry).await?;
    }
    let seen = match &marker {
        Some(marker) => Seen::Marker(marker, entry.as_ref().map(|(_, entry)| entry), payment.as_ref()),
        None => Seen::Nothing,
    };
    let command = CardReverse {
        tenant: who.tenant(),
        terminal: Partition::terminal(who.tenant(), who.id()),
        at: &at,
        original,
        seen,
        card: card.as_ref(),
        bonus: bonus.as_ref(),
        by: ReversedBy::Terminal,
    };
    Ok(cards::reverse::plan(&command, &terms, cx)?)
}

impl From<&ReverseReceipt> for ReverseView {
    fn from(receipt: &ReverseReceipt) -> Self {
        Self {
            status: "reversed",
            operation: receipt.operation.name(),
            outcome: receipt.reversal.name(),
            transaction_id: receipt.transaction_id.map(|id| id.to_string()),
            original_transaction_id: receipt.original_transaction_id.map(|id| id.to_string()),
            created_at: receipt.created_at.to_string(),
        }
    }
}
