//! Reads our records of a top-up, together with the items that an effect on them is guarded by.

use super::PspExecutor;
use crate::problem::Problem;
use ledger_core::idempotency::{Flight, Marker, MarkerState};
use ledger_core::ids::{RefundId, Tenant, TopupId};
use ledger_core::operation::Operation;
use ledger_core::psp::{Fact, PspId, Tags};
use ledger_core::terms::{SpentPoints, TenantTerms, TermsVersion};
use ledger_core::topups::{Clawback, TopupRecord, TopupRefund, View};
use ledger_core::wallets::SeenWallet;
use ledger_core::{keys, reads};

/// The top-up, and the requested refund and clawback.
type Own = (TopupRecord, Option<TopupRefund>, Option<Clawback>);

/// A top-up, with one of its refunds and one of its clawbacks if requested.
#[derive(Clone, Debug)]
pub(super) struct Records {
    /// The top-up.
    pub(super) topup: TopupRecord,
    /// The refund.
    pub(super) refund: Option<TopupRefund>,
    clawback: Option<Clawback>,
    /// The customer's wallet.
    pub(super) wallet: SeenWallet,
    spent_points: SpentPoints,
    terms_version: TermsVersion,
    /// The operation that makes the refund, or else the top-up, if it is in flight.
    pub(super) flight: Option<Flight>,
}

/// Selects the records to read.
#[derive(Clone, Debug)]
pub(super) struct TopupRecordIds {
    pub(super) topup: TopupId,
    pub(super) refund: Option<RefundId>,
    pub(super) clawback: Option<PspId>,
}

impl TopupRecordIds {
    /// The records that a fact about an object with these tags concerns. A refund that we did not request is a
    /// clawback, like a dispute.
    pub(super) fn by(fact: &Fact, tags: &Tags) -> Self {
        let (refund, clawback) = match fact {
            Fact::Intent(_) => (None, None),
            Fact::Refund(refund) => match tags.refund {
                Some(ours) => (Some(ours), None),
                None => (None, Some(refund.id.clone())),
            },
            Fact::Withdrawn(dispute) | Fact::Reinstated(dispute) => (None, Some(dispute.id.clone())),
        };
        Self { topup: tags.topup, refund, clawback }
    }

    /// The records that an operation in flight concerns.
    pub(super) fn of(flight: &Flight) -> Self {
        let refund = (flight.resource != flight.topup.uuid()).then(|| RefundId::new(flight.resource));
        Self { topup: flight.topup, refund, clawback: None }
    }
}

impl Records {
    /// The records in the form that `route` takes.
    pub(super) fn view<'a>(&'a self, tenant: &'a Tenant) -> View<'a> {
        View {
            tenant,
            topup: &self.topup,
            refund: self.refund.as_ref(),
            clawback: self.clawback.as_ref(),
            wallet: &self.wallet,
            spent_points: self.spent_points,
            terms_version: self.terms_version,
        }
    }
}

impl PspExecutor {
    /// The tags, with the id of our refund that a fact is about.
    ///
    /// If the metadata, which people can edit at the PSP, lacks it, our refund with the PSP's id is looked up: a refund
    /// of our own must not count as a clawback too.
    pub(super) async fn with_refund(&self, tenant: &Tenant, tags: &Tags, fact: &Fact) -> Result<Tags, Problem> {
        let mut tags = tags.clone();
        if let (Fact::Refund(seen), None) = (fact, tags.refund) {
            for item in self.ledger.dynamo().query(&reads::topup_refunds(tenant, tags.topup)).await? {
                let refund = TopupRefund::read(&item)?;
                if refund.psp_refund.as_ref() == Some(&seen.id) {
                    tags.refund = Some(refund.id);
                }
            }
        }
        Ok(tags)
    }

    /// Reads the records; `None` if the top-up or the refund does not exist. Effects are guarded by what was read, so
    /// the reads need not be of one moment.
    pub(super) async fn records(&self, tenant: &Tenant, wanted: &TopupRecordIds) -> Result<Option<Records>, Problem> {
        let Some((topup, refund, clawback)) = self.own(tenant, wanted).await? else { return Ok(None) };
        let marker = match &refund {
            Some(refund) => refund.marker_key(tenant),
            None => topup.marker_key(tenant),
        };
        let mut keys = vec![marker];
        keys.extend(SeenWallet::keys(tenant, topup.customer));
        // Only a clawback needs the tenant's rule for spent points.
        keys.extend(wanted.clawback.as_ref().map(|_| keys::config(tenant)));
        let mut found = self.ledger.dynamo().get_many(&keys).await?.into_iter();
        let flight = match found.next().flatten().as_ref().map(Marker::read).transpose()?.map(|marker| marker.state) {
            Some(MarkerState::InFlight(flight)) => Some(*flight),
            Some(MarkerState::Completed { .. } | MarkerState::Reversed) | None => None,
        };
        let wallet = SeenWallet::read(found.by_ref().take(2))?;
        let (spent_points, terms_version) = match found.next().flatten() {
            Some(config) => {
                let terms = TenantTerms::read(&config, self.ledger.clock().now())?;
                (terms.spent_points, terms.version)
            }
            None if wanted.clawback.is_some() => {
                return Err(self.ledger.broken(tenant, Operation::Clawback, "the tenant has no terms"));
            }
            None => (SpentPoints::Deduct, TermsVersion::FIRST),
        };
        Ok(Some(Records { topup, refund, clawback, wallet, spent_points, terms_version, flight }))
    }

    async fn own(&self, tenant: &Tenant, wanted: &TopupRecordIds) -> Result<Option<Own>, Problem> {
        let mut first = vec![keys::topup(tenant, wanted.topup)];
        first.extend(wanted.refund.map(|refund| keys::topup_refund(tenant, wanted.topup, refund)));
        first.extend(wanted.clawback.as_ref().map(|id| keys::clawback(tenant, wanted.topup, id)));
        let mut found = self.ledger.dynamo().get_many(&first).await?.into_iter();
        let Some(topup) = found.next().flatten() else { return Ok(None) };
        let topup = TopupRecord::read(&topup)?;
        let mut refund = None;
        if wanted.refund.is_some() {
            let Some(item) = found.next().flatten() else { return Ok(None) };
            refund = Some(TopupRefund::read(&item)?);
        }
        let clawback = match &wanted.clawback {
            Some(_) => found.next().flatten().as_ref().map(Clawback::read).transpose()?,
            None => None,
        };
        Ok(Some((topup, refund, clawback)))
    }

    /// A top-up, and one of its refunds if `refund` names one.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn topup(
        &self,
        tenant: &Tenant,
        topup: TopupId,
        refund: Option<RefundId>,
    ) -> Result<Option<(TopupRecord, Option<TopupRefund>)>, Problem> {
        let found = self.own(tenant, &TopupRecordIds { topup, refund, clawback: None }).await?;
        Ok(found.map(|(topup, refund, _)| (topup, refund)))
    }
}
