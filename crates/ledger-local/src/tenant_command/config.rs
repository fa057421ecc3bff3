//! The configuration of an open tenant, as commands read it.

use super::TenantError;
use ledger_core::dynamo::Item;
use ledger_core::ids::Tenant;
use ledger_core::keys;
use ledger_core::terms::{TenantTerms, TermsSchedule};
use ledger_runtime::execute::Ledger;

pub(super) async fn config(ledger: &Ledger, slug: &Tenant) -> Result<Item, TenantError> {
    let config = ledger.dynamo().get(&keys::config(slug)).await.map_err(|error| TenantError::Store(error.into()))?;
    config.ok_or_else(|| TenantError::NotOpen(slug.to_string()))
}

/// The terms of a tenant for a command that writes some of them. Refused once they are kept as versions: the next version
/// would replace what the command writes.
pub(super) fn terms_without_versions(
    config: &Item,
    slug: &Tenant,
    ledger: &Ledger,
) -> Result<TenantTerms, TenantError> {
    let schedule = TermsSchedule::read(config).map_err(|error| TenantError::Config(slug.to_string(), error))?;
    if schedule.is_versioned() {
        return Err(TenantError::Versioned(slug.to_string()));
    }
    Ok(schedule.at(ledger.clock().now()).as_ref().clone())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use ledger_core::ids::{Actor, StaffId};
    use ledger_core::operation::Operation;
    use ledger_core::tenants::{self, TermsBy, TermsChange};
    use ledger_core::terms::{TERMS_LEAD, TermsChanges};
    use ledger_core::transaction::Transaction;
    use std::collections::BTreeMap;

    /// Schedules a second version of a tenant's terms.
    pub(in crate::tenant_command) async fn schedule_terms(ledger: &Ledger, tenant: &Tenant) {
        let (config, cx) = (config(ledger, tenant).await.unwrap(), ledger.context(ledger.clock().now()).unwrap());
        let wanted = BTreeMap::from([("hold_hours".to_owned(), Some("48".to_owned()))]);
        let changes = &TermsChanges::plan(&TenantTerms::read(&config, cx.now).unwrap(), &wanted).unwrap();
        let staff = StaffId::parse("01890a5d-ac96-774b-bcce-b302099a8041").unwrap();
        let by = TermsBy { staff, actor: Actor::Staff(staff), reason: None };
        let change = TermsChange { tenant, config: &config, changes, from: cx.now.plus(TERMS_LEAD), by };
        let draft = tenants::plan_terms(&change, &cx).unwrap();
        let items = Transaction::unkeyed(draft.items).unwrap();
        ledger.apply(tenant, Operation::TermsChange, &items).await.unwrap();
    }
}
