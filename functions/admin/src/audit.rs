//! `GET /v1/admin/audit`: who did what, when, why.

use axum::Json;
use axum::extract::State;
use ledger_core::dynamo::{Item, ItemError, Value, read};
use ledger_core::keys::{attr, sk};
use ledger_runtime::app::App;
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::Problem;
use ledger_runtime::request;
use ledger_runtime::views::Page;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// An act of the operator's staff.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditView {
    audit_id: String,
    /// Who.
    actor: String,
    /// What.
    action: String,
    /// To whom or what.
    subject: String,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// How much, or from what to what.
    details: BTreeMap<String, String>,
    /// When.
    created_at: String,
}

/// The audit trail, newest first.
#[utoipa::path(get, path = "/v1/admin/audit", tag = "admin",
    params(("limit" = Option<u32>, Query, description = "1 to 100, 20 if absent"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before")),
    responses((status = 200, description = "A page", body = Page<AuditView>),
        (status = 400, description = "`invalid_request`")))]
pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    page: request::Page,
) -> Result<Json<Page<AuditView>>, Problem> {
    let (items, next_cursor) = app.tenant_records(who.tenant(), sk::AUDIT, "audit_id", page).await?;
    let items = items.iter().map(AuditView::read).collect::<Result<_, ItemError>>()?;
    Ok(Json(Page { items, next_cursor }))
}

impl AuditView {
    fn read(item: &Item) -> Result<Self, ItemError> {
        let text = |attribute: &str| read::text(item, attribute).map(str::to_owned);
        let details = read::opt_map(item, "details").into_iter().flatten();
        let details = details.filter_map(|(name, value)| match value {
            Value::S(text) | Value::N(text) => Some((name.clone(), text.clone())),
            Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => None,
        });
        Ok(Self {
            audit_id: text("audit_id")?,
            actor: text("actor")?,
            action: text("action")?,
            subject: text("subject")?,
            reason: read::opt_text(item, "reason").map(str::to_owned),
            details: details.collect(),
            created_at: text(attr::CREATED_AT)?,
        })
    }
}
