//! Terms of tenants and merchants, terminals' keys, customers' sign-ins and staff members, cached for 60 seconds. A payment
//! with warm caches takes one round trip to the store.

use crate::cache::Cache;
use crate::dynamo::{Dynamo, ReadError};
use ledger_core::customers::sign_in::SignIn;
use ledger_core::dynamo::{Item, ItemError};
use ledger_core::ids::{Employer, MerchantId, StaffId, SubjectId, Tenant, TerminalId};
use ledger_core::keys::{self, Key, Partition};
use ledger_core::staff::StaffMember;
use ledger_core::terminals::TerminalRecord;
use ledger_core::terms::{MerchantTerms, SignInTerms, TenantTerms, TermsSchedule};
use ledger_core::time::Timestamp;
use std::hash::Hash;
use std::sync::Arc;

/// Cached records that rarely change and that requests are decided by.
#[derive(Debug, Default)]
pub struct Records {
    tenants: Cache<Tenant, Arc<TermsSchedule>>,
    merchants: Cache<(Tenant, MerchantId), Arc<MerchantTerms>>,
    terminals: Cache<(Tenant, TerminalId), Arc<TerminalRecord>>,
    /// The ids of requests' terminals that had no record when it was last looked for.
    unknown_terminals: Cache<(Tenant, TerminalId), ()>,
    sign_ins: Cache<(Tenant, SubjectId), SignIn>,
    staff: Cache<(Tenant, Employer, StaffId), Arc<StaffMember>>,
    /// Those whose denials of the present hour are on record, as far as this process knows.
    denied: Cache<(Tenant, Employer, StaffId), ()>,
}

impl Records {
    /// A tenant's terms at the instant `at`, read at most a minute before `now`; `None` if it does not exist.
    ///
    /// # Errors
    /// [`ReadError`] if they cannot be read.
    pub async fn tenant(
        &self,
        dynamo: &Dynamo,
        tenant: &Tenant,
        (at, now): (Timestamp, Timestamp),
    ) -> Result<Option<Arc<TenantTerms>>, ReadError> {
        let schedule = load(&self.tenants, dynamo, tenant, &keys::config(tenant), now, TermsSchedule::read).await?;
        Ok(schedule.map(|schedule| Arc::clone(schedule.at(at))))
    }

    /// What says which customer the subject of a token is, read at most a minute before `now`.
    ///
    /// Terms that cannot be read do not matter to it: a stored response is replayed whatever they are.
    ///
    /// # Errors
    /// [`ReadError`] if `CONFIG` cannot be read, or has an unknown value for it.
    pub(crate) async fn sign_ins(
        &self,
        dynamo: &Dynamo,
        tenant: &Tenant,
        now: Timestamp,
    ) -> Result<SignInTerms, ReadError> {
        match self.tenant(dynamo, tenant, (now, now)).await {
            Ok(terms) => Ok(terms.map_or(SignInTerms::OwnIds, |terms| terms.sign_ins)),
            Err(ReadError::Unreadable(_)) => {
                let config = dynamo.get(&keys::config(tenant)).await?;
                Ok(config.as_ref().map(SignInTerms::read).transpose()?.unwrap_or(SignInTerms::OwnIds))
            }
            Err(error) => Err(error),
        }
    }

    /// A merchant's terms; `None` if it does not exist.
    ///
    /// # Errors
    /// [`ReadError`] if they cannot be read.
    pub async fn merchant(
        &self,
        dynamo: &Dynamo,
        tenant: &Tenant,
        id: MerchantId,
        now: Timestamp,
    ) -> Result<Option<Arc<MerchantTerms>>, ReadError> {
        let key = Partition::merchant(tenant, id).profile();
        load(&self.merchants, dynamo, &(tenant.clone(), id), &key, now, MerchantTerms::read).await
    }

    /// A terminal and the time at which its record was read; `None` if it did not exist at most a minute ago.
    ///
    /// # Errors
    /// [`ReadError`] if it cannot be read.
    pub(crate) async fn terminal(
        &self,
        dynamo: &Dynamo,
        tenant: &Tenant,
        id: TerminalId,
        now: Timestamp,
    ) -> Result<Option<(Arc<TerminalRecord>, Timestamp)>, ReadError> {
        let cached = (tenant.clone(), id);
        if let Some(known) = self.terminals.get(&cached, now) {
            return Ok(Some(known));
        }
        if self.unknown_terminals.get(&cached, now).is_some() {
            return Ok(None);
        }
        Ok(self.reread_terminal(dynamo, tenant, id, now).await?.map(|record| (record, now)))
    }

    /// A terminal, read from the store and cached anew; `None` if it does not exist.
    ///
    /// # Errors
    /// [`ReadError`] if it cannot be read.
    pub(crate) async fn reread_terminal(
        &self,
        dynamo: &Dynamo,
        tenant: &Tenant,
        id: TerminalId,
        now: Timestamp,
    ) -> Result<Option<Arc<TerminalRecord>>, ReadError> {
        let cached = (tenant.clone(), id);
        self.terminals.forget(&cached);
        let key = Partition::terminal(tenant, id).profile();
        let read = load(&self.terminals, dynamo, &cached, &key, now, TerminalRecord::read).await?;
        if read.is_none() {
            self.unknown_terminals.put(cached, (), now);
        }
        Ok(read)
    }

    /// A staff member's record; `None` if the person has none.
    ///
    /// # Errors
    /// [`ReadError`] if it cannot be read.
    pub async fn staff(
        &self,
        dynamo: &Dynamo,
        tenant: &Tenant,
        (employer, id): (Employer, StaffId),
        now: Timestamp,
    ) -> Result<Option<Arc<StaffMember>>, ReadError> {
        let (cached, key) = ((tenant.clone(), employer, id), keys::staff_member(tenant, employer, id));
        load(&self.staff, dynamo, &cached, &key, now, |item| StaffMember::read(employer, item)).await
    }

    /// Whose sign-in a subject is, read at most a minute before `now`. A subject without an item is cached too: nearly all have
    /// none.
    ///
    /// # Errors
    /// [`ReadError`] if its item cannot be read.
    pub(crate) async fn sign_in(
        &self,
        dynamo: &Dynamo,
        tenant: &Tenant,
        subject: SubjectId,
        now: Timestamp,
    ) -> Result<SignIn, ReadError> {
        let cached = (tenant.clone(), subject);
        if let Some((known, _)) = self.sign_ins.get(&cached, now) {
            return Ok(known);
        }
        let read = SignIn::read(dynamo.get(&keys::sign_in(tenant, subject)).await?.as_ref())?;
        self.sign_ins.put(cached, read, now);
        Ok(read)
    }

    /// Removes a sign-in from the cache. To be called after a customer was moved to it or from it.
    pub(crate) fn forget_sign_in(&self, tenant: &Tenant, subject: SubjectId) {
        self.sign_ins.forget(&(tenant.clone(), subject));
    }

    /// Removes a staff member from the cache. To be called after changing it.
    pub fn forget_staff(&self, tenant: &Tenant, (employer, id): (Employer, StaffId)) {
        self.staff.forget(&(tenant.clone(), employer, id));
    }

    /// Whether as many of a person's denials are recorded as an hour allows, noted within the last minute.
    pub(crate) fn denials_are_recorded(
        &self,
        tenant: &Tenant,
        (employer, id): (Employer, StaffId),
        now: Timestamp,
    ) -> bool {
        self.denied.get(&(tenant.clone(), employer, id), now).is_some()
    }

    /// Notes that as many of a person's denials are recorded as an hour allows.
    pub(crate) fn set_denials_recorded(&self, tenant: &Tenant, (employer, id): (Employer, StaffId), now: Timestamp) {
        self.denied.put((tenant.clone(), employer, id), (), now);
    }

    /// Removes a tenant's terms from the cache. To be called after changing them.
    pub fn forget_tenant(&self, tenant: &Tenant) {
        self.tenants.forget(tenant);
    }

    /// Removes a terminal from the cache. To be called after changing it.
    pub fn forget_terminal(&self, tenant: &Tenant, id: TerminalId) {
        let cached = (tenant.clone(), id);
        self.terminals.forget(&cached);
        self.unknown_terminals.forget(&cached);
    }

    /// Removes a merchant from the cache. To be called after changing it.
    pub fn forget_merchant(&self, tenant: &Tenant, id: MerchantId) {
        self.merchants.forget(&(tenant.clone(), id));
    }
}

async fn load<K: Eq + Hash + Clone, V>(
    cache: &Cache<K, Arc<V>>,
    dynamo: &Dynamo,
    cached: &K,
    key: &Key,
    now: Timestamp,
    read: impl Fn(&Item) -> Result<V, ItemError>,
) -> Result<Option<Arc<V>>, ReadError> {
    cache
        .get_or_load(cached, now, || async {
            let item = dynamo.get(key).await?;
            Ok(item.as_ref().map(read).transpose()?.map(Arc::new))
        })
        .await
}
