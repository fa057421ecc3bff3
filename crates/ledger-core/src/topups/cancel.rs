//! A customer cancels an unpaid top-up: its cancellation becomes due at once.

use super::record::{TopupRecord, TopupState};
use super::seen;
use crate::dynamo::{Update, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, attr};
use crate::plan::{Context, PlanRefusal};
use crate::transaction::{Draft, Planned, Role, TransactItem};

/// Builds the change of a top-up that was read: it expires at once, and the worker that looks after unpaid top-ups asks
/// the provider to cancel it. The headroom stays reserved until the provider confirms. A top-up that is canceled,
/// refused or expired is returned unchanged.
///
/// # Errors
/// [`PlanRefusal`] if it was paid.
pub fn plan(tenant: &Tenant, topup: &TopupRecord, cx: &Context) -> Result<Planned<TopupRecord>, PlanRefusal> {
    let is_over = match topup.state {
        TopupState::Succeeded => return Err(PlanRefusal::Refused(Failure::WrongState)),
        TopupState::Canceled | TopupState::Refused => true,
        TopupState::Requested | TopupState::Pending => topup.expires_at <= cx.now,
    };
    if is_over {
        return Ok(Planned { draft: Draft::default(), receipt: topup.clone() });
    }
    let update =
        Update::new().set("expires_at", "expires_at", Value::s(cx.now)).set(attr::UPDATED_AT, "ua", Value::s(cx.now));
    let update = topup.due_again(tenant, update, cx.now);
    let clauses = vec![
        seen("state", "seen_state", Value::s(topup.state)),
        seen("expires_at", "seen_expires_at", Value::s(topup.expires_at)),
    ];
    let item = TransactItem::update(Role::Topup, keys::topup(tenant, topup.id), update, clauses);
    let receipt = TopupRecord { expires_at: cx.now, ..topup.clone() };
    Ok(Planned { draft: Draft { entry: None, items: vec![item] }, receipt })
}
