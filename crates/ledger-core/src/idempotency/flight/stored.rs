//! The stored form of an operation in flight: the marker that takes its key, and reading it back.

use super::{Flight, Parked, Phase};
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::failure::Failure;
use crate::idempotency::marker::{free, names_of};
use crate::idempotency::{Claim, ClaimKey, Fingerprint};
use crate::ids::{Principal, Tenant, TopupId, parse_uuid};
use crate::keys::{Shards, attr};
use crate::operation::Operation;
use crate::psp::{PspRequest, Step};
use crate::transaction::{JournalLink, Role, TransactItem};

impl Flight {
    /// The action that takes the key.
    pub(crate) fn marker(&self, claim: &Claim, journal: Option<JournalLink>) -> TransactItem {
        let mut item = claim.base(self.phase.name());
        item.extend([
            ("principal".to_owned(), Value::s(self.principal)),
            ("idempotency_key".to_owned(), Value::s(self.key.as_str())),
            ("resource".to_owned(), Value::s(self.resource)),
            ("topup_id".to_owned(), Value::s(self.topup)),
            ("psp_step".to_owned(), Value::s(self.request.step.name())),
            ("psp_path".to_owned(), Value::s(&self.request.path)),
            ("psp_body".to_owned(), Value::s(&self.request.body)),
            ("fence".to_owned(), Value::int(self.fence.into())),
            ("lease_until".to_owned(), Value::s(self.lease_until)),
            ("leased_at".to_owned(), Value::s(self.leased_at)),
            ("epoch".to_owned(), Value::int(self.epoch.into())),
            ("first_sent_at".to_owned(), Value::s(self.first_sent_at)),
            ("attempts".to_owned(), Value::int(self.attempts.into())),
            ("claimed_at".to_owned(), Value::s(self.claimed_at)),
            ("due_shards".to_owned(), Value::int(self.shards.count().into())),
        ]);
        item.extend(self.due_keys(self.lease_until).attributes());
        item.extend(self.fingerprint.item());
        if let Some(account) = &self.request.account {
            item.insert("psp_account".to_owned(), Value::s(account));
        }
        item.extend(journal.into_iter().flat_map(names_of));
        TransactItem::put(Role::Marker, self.marker_key(), item, vec![free(claim.now, Failure::AlreadyExists)])
    }

    /// Reads a stored marker that has no response yet.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let (tenant, _) = item.text(attr::PK)?.split_once('#').ok_or_else(|| ItemError::invalid(attr::PK))?;
        Ok(Self {
            tenant: Tenant::parse(tenant).map_err(|_| ItemError::invalid(attr::PK))?,
            principal: item.parsed("principal", Principal::parse)?,
            operation: item.named("operation", Operation::parse)?,
            key: item.parsed("idempotency_key", ClaimKey::parse)?,
            fingerprint: Fingerprint::read(item)?,
            resource: item.parsed("resource", parse_uuid)?,
            topup: item.parsed("topup_id", TopupId::parse)?,
            request: PspRequest {
                step: item.named("psp_step", Step::parse)?,
                path: item.string("psp_path")?,
                body: item.string("psp_body")?,
                account: item.opt_string("psp_account")?,
            },
            phase: item.named("state", Phase::parse)?,
            fence: item.int("fence")?,
            lease_until: item.timestamp("lease_until")?,
            leased_at: item.timestamp("leased_at")?,
            epoch: item.int("epoch")?,
            first_sent_at: item.timestamp("first_sent_at")?,
            attempts: item.int("attempts")?,
            claimed_at: item.timestamp("claimed_at")?,
            parked: item.opt_named("parked", |name| Parked::ALL.into_iter().find(|why| why.name() == name))?,
            shards: item.checked_int("due_shards", Shards::new)?,
        })
    }
}
