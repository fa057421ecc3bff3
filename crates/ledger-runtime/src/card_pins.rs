//! The PINs of cards that requests carry: what a key's fingerprint has of one, and its check.

use crate::app::App;
use crate::execute::{PlanError, Refusal};
use crate::metrics::Metric;
use crate::problem::Problem;
use ledger_core::cards::pin::{self, CheckError, Pin, PinCheck, PinKeys, PinRecord, PinVerdict};
use ledger_core::cards::record::CardReceipt;
use ledger_core::failure::Failure;
use ledger_core::idempotency::Claim;
use ledger_core::ids::{CardId, CustomerId, Tenant};
use ledger_core::keys;
use ledger_core::money::Amount;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::terms::TenantTerms;
use ledger_core::transaction::{Planned, Transaction};
use std::sync::{Mutex, PoisonError};

/// The field of a payment's request that has the PIN.
pub const PIN_FIELD: &str = "pin";

/// A PIN that a request carries, with the keys that it is compared with.
#[derive(Clone, Debug)]
pub struct SentPin {
    pin: Pin,
    keys: PinKeys,
}

impl SentPin {
    /// Adds the keys to a PIN. They are read before the key is claimed, so that nothing is written without them.
    ///
    /// # Errors
    /// 503 if they cannot be read.
    pub async fn new(app: &App, pin: Pin) -> Result<Self, Problem> {
        Ok(Self { pin, keys: app.pin_keys().await? })
    }

    /// What a key's fingerprint has of the PIN.
    #[must_use]
    pub fn digest(&self, tenant: &Tenant, card: CardId) -> String {
        self.keys.digest_for_request(tenant, card, &self.pin)
    }

    /// Plans that this becomes the PIN of its owner's card, in the place of the one that `record` has.
    ///
    /// # Errors
    /// 503 if the keys lack their current one.
    pub fn plan_set(
        &self,
        (card, owner): (CardId, CustomerId),
        record: &PinRecord,
        claim: &Claim,
        cx: &Context,
    ) -> Result<Planned<CardReceipt>, PlanError> {
        pin::plan_set((card, owner), record, &self.keys, claim, &self.pin, cx).map_err(|absent| {
            tracing::error!(tenant = %claim.tenant, error = %absent, "a PIN cannot be set");
            Problem::pin_keys_unavailable().into()
        })
    }
}

/// The check of one request's PIN. It is made once, however often the request is planned.
#[derive(Debug)]
pub struct CardPinCheck<'r> {
    card: CardId,
    sent: Option<&'r SentPin>,
    /// The version of the PIN that the sent one has been found to be.
    passed: Mutex<Option<String>>,
}

impl<'r> CardPinCheck<'r> {
    /// The check of a request that has not been planned.
    #[must_use]
    pub fn new(card: CardId, sent: Option<&'r SentPin>) -> Self {
        Self { card, sent, passed: Mutex::default() }
    }

    /// Checks the PIN of a card's payment. A payment that needs none and has none costs no read.
    ///
    /// # Errors
    /// `PinRequired`, `PinLocked` or `PinWrong`; 400 if the tenant's cards have no PIN; 503 if the PIN cannot be checked.
    pub async fn of_payment(
        &self,
        app: &App,
        claim: &Claim,
        terms: &TenantTerms,
        amount: &Amount,
        cx: &Context,
    ) -> Result<(), PlanError> {
        if self.sent.is_none() {
            return match terms.card_pin.require_for(amount) {
                true => Err(Failure::PinRequired.into()),
                false => Ok(()),
            };
        }
        if !terms.card_pin.is_used() {
            return Err(Problem::invalid_field(PIN_FIELD, "is not used: this tenant's cards have no PIN").into());
        }
        let tenant = &claim.tenant;
        let wanted = [keys::card(tenant, self.card), keys::card_pin(tenant, self.card)];
        let mut read = app.ledger().read_for(claim, &wanted).await?.into_iter();
        if read.next().flatten().is_none() {
            return Err(PlanError::Missing);
        }
        self.of_record(app, claim, &PinRecord::read(read.next().flatten().as_ref())?, cx).await
    }

    /// Checks the PIN against a record that was read together with the claim's marker.
    ///
    /// # Errors
    /// As [`CardPinCheck::of_payment`]; `PinRequired` also if the request has no PIN.
    pub async fn of_record(&self, app: &App, claim: &Claim, record: &PinRecord, cx: &Context) -> Result<(), PlanError> {
        let Some(sent) = self.sent else { return Err(Failure::PinRequired.into()) };
        let passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if passed.is_some() && passed.as_deref() == record.version() {
            return Ok(());
        }
        let verdict = match self.step(app, claim, sent, record, cx).await? {
            PinCheck::NotSet => return Err(Failure::PinRequired.into()),
            PinCheck::Locked => return Err(Failure::PinLocked.into()),
            PinCheck::AnotherPin => {
                app.metrics().count(Metric::FingerprintMismatch, &claim.tenant, claim.operation);
                return Err(Problem::key_reused().into());
            }
            PinCheck::Reserve(reservation) => {
                write(app, claim, reservation.transaction()).await?;
                reservation.into_verdict()
            }
            PinCheck::Verdict(verdict) => verdict,
        };
        match verdict {
            PinVerdict::Wrong { attempts_left } => {
                if attempts_left == 0 {
                    let (tenant, principal) = (&claim.tenant, claim.principal);
                    // For fraud analysis. The card is in the table, with the attempts.
                    tracing::warn!(%tenant, %principal, "the PIN of a card is locked");
                }
                Err(Refusal::new(Failure::PinWrong).with("attempts_left", attempts_left).into())
            }
            PinVerdict::Right { take_back, version } => {
                write(app, claim, &take_back).await?;
                *self.passed.lock().unwrap_or_else(PoisonError::into_inner) = Some(version);
                Ok(())
            }
        }
    }

    async fn step(
        &self,
        app: &App,
        claim: &Claim,
        sent: &SentPin,
        record: &PinRecord,
        cx: &Context,
    ) -> Result<PinCheck, PlanError> {
        let check = |keys: &PinKeys| pin::check((self.card, record), keys, claim, &sent.pin, cx);
        let checked = match check(&sent.keys) {
            // Another function may have the keys of a later reading.
            Err(CheckError::KeyAbsent(_)) => check(&app.pin_keys_anew().await?),
            other => other,
        };
        checked.map_err(|error| match error {
            CheckError::KeyAbsent(absent) => {
                tracing::error!(tenant = %claim.tenant, error = %absent, "a PIN cannot be checked");
                Problem::pin_keys_unavailable().into()
            }
            CheckError::Build(error) => {
                tracing::error!(tenant = %claim.tenant, %error, "a PIN cannot be checked");
                Problem::internal().into()
            }
        })
    }
}

/// Writes a change of the attempts. If the PIN or the attempts have changed since they were read, the plan is stale.
async fn write(app: &App, claim: &Claim, transaction: &Transaction) -> Result<(), PlanError> {
    match app.ledger().apply_as_read(&claim.tenant, Operation::CardPinAttempt, transaction).await? {
        true => Ok(()),
        false => Err(Failure::StalePlan.into()),
    }
}
