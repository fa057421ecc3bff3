//! Audits the records of staff.

use super::Checked;
use super::index::Audit;
use ledger_core::dynamo::Value;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// The operator's roles that decide on requests.
const DECIDING: [&str; 2] = ["approver", "owner"];

/// Checks that the counter of each employer's staff is the number of active owners and of active members who can decide.
pub(super) fn counters_equal_members(audit: &Audit<'_>) -> Checked {
    let mut counted = BTreeMap::<&str, (usize, usize)>::new();
    for member in audit.under("STAFF#").filter(|member| member.opt_text("state") == Some("active")) {
        let Some(Value::L(roles)) = member.item.get("roles") else { return Err(format!("{member} has no `roles`")) };
        let has = |name: &str| roles.contains(&Value::s(name));
        let decides = member.kind() == "tenant" && DECIDING.into_iter().any(has);
        let (owners, deciders) = counted.entry(member.pk).or_default();
        *owners += usize::from(has("owner"));
        *deciders += usize::from(decides);
    }
    for counter in audit.named("STAFF_COUNTS") {
        let (owners, deciders) = counted.remove(counter.pk).unwrap_or_default();
        ensure_eq!(counter.opt_number("owners")?, Decimal::from(owners), "{counter}: `owners`");
        ensure_eq!(counter.opt_number("deciders")?, Decimal::from(deciders), "{counter}: `deciders`");
    }
    let uncounted = counted.into_iter().find(|(_, (owners, deciders))| owners + deciders > 0);
    ensure!(uncounted.is_none(), "staff is not counted: {uncounted:?}");
    Ok(())
}
