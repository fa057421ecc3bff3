//! The outcome of a key's marker for a request, and reads of the marker before planning.

use super::outcome::Reply;
use super::{Ledger, PlanError};
use crate::metrics::Metric;
use crate::problem::Problem;
use ledger_core::dynamo::Item;
use ledger_core::idempotency::{Claim, ClaimKey, Flight, KeyError, KeyVerdict, Marker};
use ledger_core::ids::{Principal, Tenant};
use ledger_core::keys::{self, Key};
use ledger_core::operation::Operation;
use std::fmt::Display;
use std::time::Duration;

/// The `Retry-After` of a request whose key is in flight.
pub(super) const ASK_AGAIN: Duration = Duration::from_secs(1);

/// The outcome of a marker for a request that must not be executed.
pub(crate) enum MarkerOutcome {
    /// The stored response.
    Stored(Reply),
    /// The operation is in flight.
    InFlight(Box<Flight>),
}

impl Ledger {
    /// Reads the items that a plan decides on, together with the claim's marker, in one round trip.
    ///
    /// Without the marker, a replay could be refused because of its own earlier effect.
    ///
    /// # Errors
    /// [`PlanError::MarkerExists`] if the key has been used, [`PlanError::Read`] if the table did not answer.
    pub async fn read_for(&self, claim: &Claim, keys: &[Key]) -> Result<Vec<Option<Item>>, PlanError> {
        let mut wanted = Vec::with_capacity(keys.len().saturating_add(1));
        wanted.push(claim.marker_key());
        wanted.extend_from_slice(keys);
        let mut items = self.dynamo.get_many(&wanted).await?;
        let rest = items.split_off(items.len().min(1));
        match items.pop().flatten() {
            Some(item) if !Marker::read(&item)?.lapsed(claim.now) => Err(PlanError::MarkerExists(item)),
            Some(_) | None => Ok(rest),
        }
    }

    /// Returns the marker of a principal's key unless it has lapsed, for requests that look a key up.
    ///
    /// # Errors
    /// 503 if the table did not answer.
    pub async fn marker(
        &self,
        tenant: &Tenant,
        principal: Principal,
        operation: Operation,
        key: &ClaimKey,
    ) -> Result<Option<Marker>, Problem> {
        let item = self.dynamo.get(&keys::marker(tenant, principal, operation, key)).await?;
        let marker = item.as_ref().map(Marker::read).transpose()?;
        Ok(marker.filter(|marker| !marker.lapsed(self.clock.now())))
    }

    /// Answers a request whose key is too old to be executed: with the stored response, or 410.
    pub(super) async fn look_up(&self, claim: &Claim) -> Result<Reply, Problem> {
        match self.marker_or_none(claim).await? {
            Some(MarkerOutcome::Stored(reply)) => return Ok(reply),
            Some(MarkerOutcome::InFlight(_)) => return Err(Problem::key_in_use(ASK_AGAIN)),
            None => {}
        }
        self.metrics.count(Metric::IdempotencyKeyExpired, &claim.tenant, claim.operation);
        Err(Problem::key_expired(None))
    }

    /// Answers a request whose key is refused: with the stored response, or 400 with the reason.
    ///
    /// A response may be stored: this server's clock may be slow.
    pub(super) async fn look_up_or_refuse(&self, claim: &Claim, error: KeyError) -> Result<Reply, Problem> {
        match self.marker_or_none(claim).await? {
            Some(MarkerOutcome::Stored(reply)) => Ok(reply),
            Some(MarkerOutcome::InFlight(_)) => Err(Problem::key_in_use(ASK_AGAIN)),
            None => Err(Problem::key(error)),
        }
    }

    /// Returns the outcome of the claim's marker; `None` if there is none or it has lapsed.
    pub(crate) async fn marker_or_none(&self, claim: &Claim) -> Result<Option<MarkerOutcome>, Problem> {
        match self.dynamo.get(&claim.marker_key()).await? {
            Some(item) => self.marker_outcome(claim, &item).await,
            None => Ok(None),
        }
    }

    /// Returns the outcome of a marker; `None` if it has lapsed, so that the key is free.
    ///
    /// INVARIANT: the fingerprint is compared here, however the marker was found.
    pub(super) async fn marker_outcome(&self, claim: &Claim, item: &Item) -> Result<Option<MarkerOutcome>, Problem> {
        let count = |metric| self.metrics.count(metric, &claim.tenant, claim.operation);
        let broken = |error: &dyn Display| self.broken(&claim.tenant, claim.operation, &error.to_string());
        let marker = Marker::read(item).map_err(|error| broken(&error))?;
        match self.with_keys(|keys| claim.verdict(&marker, keys)).await?.map_err(|error| broken(&error))? {
            KeyVerdict::Free => Ok(None),
            KeyVerdict::InFlight(flight) => Ok(Some(MarkerOutcome::InFlight(flight))),
            KeyVerdict::Replay(answer) => {
                count(Metric::IdempotencyReplay);
                Ok(Some(MarkerOutcome::Stored(Reply::replayed(answer))))
            }
            KeyVerdict::Reused => {
                count(Metric::FingerprintMismatch);
                // For fraud analysis; the key itself stays out of the log.
                tracing::warn!(
                    tenant = %claim.tenant,
                    operation = %claim.operation,
                    principal = %claim.principal,
                    "an idempotency key was sent with a different request"
                );
                Err(Problem::key_reused())
            }
            KeyVerdict::Expired { original_request_at } => {
                count(Metric::IdempotencyKeyExpired);
                Err(Problem::key_expired(Some(original_request_at)))
            }
            KeyVerdict::Reversed => {
                count(Metric::OperationReversed);
                Err(Problem::operation_reversed())
            }
        }
    }
}
