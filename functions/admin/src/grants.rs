//! `/v1/admin/grants`: grants of points and regional currency, to one customer at once or to many by a job.

use crate::{approvals, customers};
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::approvals::Command;
use ledger_core::grants::grant::{self, Grant, GrantReceipt};
use ledger_core::idempotency::Fields;
use ledger_core::ids::CustomerId;
use ledger_core::money::RequestedAmount;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_runtime::app::App;
use ledger_runtime::approvals::Requested;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, created};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, AmountText, KeyedJson, RequestKey, SentText};
use ledger_runtime::views::words;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A grant to one customer, or to each of many. Exactly one of `customer_id` and `customer_ids` is set.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"customer_id": "019aa7fe-3c00-7000-8000-000000000001", "asset": "POINT", "amount": "300", "reason": "thanks for coming"}))]
pub(crate) struct GrantBody {
    /// The customer; the grant is made at once up to the limit of the tenant's terms. Absent if `customer_ids` is set.
    customer_id: Option<String>,
    /// 1 to 1,500 customers; a job grants to them once another staff member approves it. Absent if `customer_id` is set.
    #[schema(min_items = 1, max_items = 1500)]
    customer_ids: Option<Vec<String>>,
    /// `POINT` or `REGIONAL#<key>`.
    asset: String,
    /// The amount for each customer.
    amount: AmountText,
    /// The reason for the grant; at most 140 characters, no card number.
    reason: String,
}

/// A completed grant.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GrantView {
    /// The journal entry's id.
    transaction_id: String,
    /// `completed`.
    #[schema(value_type = words::CompletedStatus)]
    status: &'static str,
    /// The customer who has the grant.
    customer_id: String,
    /// The asset that was granted.
    asset: String,
    /// The amount that was granted.
    amount: String,
    /// The time of the grant.
    created_at: String,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/grants")
    .summary("Grants points or regional currency.")
    .about(
        "A member grants alone up to the limit of the asset in a day; what is above it needs approval. With `customer_ids`, the \
         approval stores a job that makes the grants in the background.",
    )
    .permission(Permission::GrantsIssue)
    .body::<GrantBody>()
    .created::<GrantView>("Granted")
    .approvable()
    .problems(&[Code::LimitExceeded, Code::LegacyRecordUnreadable])
    .when(Code::WrongState, "the customer is closed")
    .when(Code::NotFound, "no such customer")
    .when(Code::BudgetExceeded, "the asset has a budget, and less of it remains")
    .keyed(Operation::Grant);

pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<GrantBody>,
) -> Result<Outcome, Problem> {
    let amount = request::amount(Some(&body.asset), &body.amount)?;
    let reason = request::memo("reason", &body.reason);
    match (&body.customer_id, &body.customer_ids) {
        (Some(id), None) => {
            let customer = request::id("customer_id", id, CustomerId::parse)?;
            to_one(&app, &who, key, (customer, amount, reason)).await
        }
        (None, Some(ids)) => {
            let ids = ids.iter().map(|id| request::id("customer_ids", id, CustomerId::parse));
            to_many(&app, &who, key, (ids.collect::<Result<_, _>>()?, amount, reason)).await
        }
        (Some(_), Some(_)) => Err(Problem::invalid_field("customer_ids", "cannot be sent with customer_id")),
        (None, None) => Err(Problem::invalid_field("customer_id", "is missing")),
    }
}

async fn to_one(
    app: &App,
    who: &Admin,
    key: RequestKey,
    (customer, amount, reason): (CustomerId, RequestedAmount, SentText),
) -> Result<Outcome, Problem> {
    let fields =
        Fields::new().with("customer_id", customer).with_requested("amount", &amount).with("reason", reason.as_sent());
    let (claim, admission) = CREATE.claim(app, who, key, &[], fields).await?;
    let plan = async |cx: Context| {
        let terms = app.terms_at(who.tenant(), cx.now).await?;
        let (amount, reason) = (request::amount_in(&terms, &amount)?, reason.text()?);
        let alone = app.granted_alone((&claim, &who.member()), &terms, &amount, &cx).await?;
        let Some(counted) = alone else {
            let command = (Command::Grant { customer, amount }, Some(&reason));
            return Ok(Requested::pending(
                app.request_approval((&claim, &who.member()), command, &terms, &[], &cx).await?,
            ));
        };
        let grant = Grant { tenant: who.tenant().clone(), actor: who.actor(), customer, amount, reason };
        let planned = grant::plan(&grant, &terms, &cx)?.and(Some(counted));
        let of = (vec![Account::Customer(customer)], Permission::GrantsIssue);
        Ok(Requested::executed(app.alone((&claim, &who.member()), of, planned).await?))
    };
    let granted = |receipt: &GrantReceipt| {
        let view = GrantView {
            transaction_id: receipt.transaction_id.to_string(),
            status: "completed",
            customer_id: receipt.customer.to_string(),
            asset: receipt.amount.asset().to_string(),
            amount: receipt.amount.text(),
            created_at: receipt.created_at.to_string(),
        };
        created(customers::GET.path(&[&receipt.customer]), &view)
    };
    let render = |requested: &Requested<GrantReceipt>| requested.answer(&approvals::GET, granted);
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

async fn to_many(
    app: &App,
    who: &Admin,
    key: RequestKey,
    (customers, amount, reason): (Vec<CustomerId>, RequestedAmount, SentText),
) -> Result<Outcome, Problem> {
    let fields = Fields::new()
        .with_list("customer_ids", &customers)
        .with_requested("amount", &amount)
        .with("reason", reason.as_sent());
    let (claim, admission) = CREATE.claim(app, who, key, &[], fields).await?;
    let plan = async |cx: Context| {
        let terms = app.terms_at(who.tenant(), cx.now).await?;
        let (amount, reason) = (request::amount_in(&terms, &amount)?, reason.text()?);
        let command = Command::BulkGrant { customers: customers.clone(), amount };
        app.request_approval((&claim, &who.member()), (command, Some(&reason)), &terms, &[], &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}
