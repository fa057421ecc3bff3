//! The staff of the demo: its records, and the switch to them.

use super::{SeedError, Seeder, failed};
use crate::demo::Demo;
use crate::member_args;
use ledger_core::failure::Failure;
use ledger_core::ids::{Actor, Employer, MerchantId, Tenant};
use ledger_core::operation::Operation;
use ledger_core::staff::{self, Founder};
use ledger_core::transaction::Transaction;
use ledger_runtime::problem::Problem;

impl Seeder<'_> {
    /// Writes the staff's records, and lets them decide what the staff may do. A second start changes nothing.
    pub(super) async fn members(&self, demo: &Demo) -> Result<(), SeedError> {
        for member in &demo.members {
            let employer = match &member.merchant_id {
                None => Employer::Operator,
                Some(id) => Employer::Merchant(MerchantId::parse(id).map_err(failed)?),
            };
            let founder = Founder {
                id: member_args::id(&member.staff_id).map_err(failed)?,
                email: member_args::email(&member.email).map_err(failed)?,
            };
            let roles = member_args::roles(employer, &member.role).map_err(failed)?;
            let cx = self.ledger.context(self.ledger.clock().now()).map_err(failed)?;
            let added = staff::add_member(&self.tenant, employer, &founder, &roles, &cx).map_err(failed)?;
            self.once(&self.tenant, Operation::StaffInvite, &added).await?;
        }
        let cx = self.ledger.context(self.ledger.clock().now()).map_err(failed)?;
        let enforced = staff::enforce_records(&self.tenant, Actor::System, &cx).map_err(failed)?;
        self.once(&self.tenant, Operation::TenantConfigure, &enforced).await
    }

    async fn once(&self, tenant: &Tenant, operation: Operation, write: &Transaction) -> Result<(), SeedError> {
        match self.ledger.apply(tenant, operation, write).await {
            Ok(()) => Ok(()),
            Err(error) if error.failure() == Some(Failure::AlreadyExists) => Ok(()),
            Err(error) => Err(failed(Problem::from(error).detail())),
        }
    }
}
