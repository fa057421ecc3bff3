//! `GET /v1/admin/terminals`: lists the tills of merchants and the counters of the operator.

use axum::Json;
use axum::extract::State;
use ledger_core::dynamo::Item;
use ledger_core::ids::{MerchantId, TerminalOwner};
use ledger_core::keys::{self, Key};
use ledger_core::reads;
use ledger_core::terminals::TerminalRecord;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Kind, Parameter, Permission};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{self, Params};
use ledger_runtime::views::{Page, words};
use serde::Serialize;
use utoipa::ToSchema;

const STATUSES: &[&str] = &["active", "frozen", "closed"];

/// A terminal in a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TerminalListedView {
    /// The terminal's id.
    terminal_id: String,
    /// `till` or `counter`.
    #[schema(value_type = words::TerminalKind)]
    kind: &'static str,
    /// The merchant that a till belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    merchant_id: Option<String>,
    /// The shop of the merchant that it is assigned to; absent if it is to none.
    #[serde(skip_serializing_if = "Option::is_none")]
    shop_id: Option<String>,
    /// `active`, `frozen` or `closed`.
    #[schema(value_type = words::TerminalStatus)]
    status: &'static str,
    /// The number of its enrolments; 0 before the first.
    epoch: u32,
    /// The time at which it was closed; absent if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<String>,
    /// The time of the registration.
    created_at: String,
}

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/terminals")
    .summary("Lists terminals, newest first: tills of merchants, and counters of the operator.")
    .about("With `status`, a page may have fewer items than `limit`, or none, and still a `next_cursor`.")
    .permission(Permission::TerminalsRead)
    .timed_pages_of::<TerminalListedView>()
    .parameter(Parameter::in_query("merchant_id", "The tills of this merchant only.", Kind::Id))
    .parameter(Parameter::in_query("status", "Terminals with this status only.", Kind::Word(STATUSES)));

pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    mut params: Params,
) -> Result<Json<Page<TerminalListedView>>, Problem> {
    let status = params.word("status", STATUSES)?;
    let merchant = params.take("merchant_id")?;
    let merchant = merchant.map(|id| request::id("merchant_id", &id, MerchantId::parse)).transpose()?;
    let page = params.timed_page()?;
    params.finish()?;
    let tenant = who.tenant();
    let queries = |times| match merchant {
        Some(merchant) => vec![reads::terminals_of(tenant, merchant, times)],
        None => (0..keys::LISTED_SHARDS.count()).map(|shard| reads::terminals(tenant, shard, times)).collect(),
    };
    let record = |key: &Key| key.partition().profile();
    let keep = |profile: &Item| {
        let terminal = TerminalRecord::read(profile)?;
        Ok(status.is_none_or(|status| status == terminal.state.name()).then(|| TerminalListedView::of(&terminal)))
    };
    Ok(Json(app.listed_page(tenant, page, queries, (record, keep)).await?))
}

impl TerminalListedView {
    fn of(terminal: &TerminalRecord) -> Self {
        let (kind, merchant) = match terminal.owner {
            TerminalOwner::Merchant(merchant) => ("till", Some(merchant)),
            TerminalOwner::Operator => ("counter", None),
        };
        Self {
            terminal_id: terminal.id.to_string(),
            kind,
            merchant_id: merchant.map(|merchant| merchant.to_string()),
            shop_id: terminal.shop.map(|shop| shop.to_string()),
            status: terminal.state.name(),
            epoch: terminal.epoch,
            closed_at: terminal.closed_at.map(|at| at.to_string()),
            created_at: terminal.created_at.to_string(),
        }
    }
}
