//! Plans past payments again, and counts what differs.

use super::past::{PastOutcome, PastPayment, Taken};
use crate::account::Account;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::failure::Failure;
use crate::ids::{AuditId, MerchantId, PaymentId, Tenant, TransactionId};
use crate::journal::COUNTED;
use crate::keys::{self, Key, Partition, Shards};
use crate::limits::LimitTerms;
use crate::money::{Amount, Asset, Balance, MoneyError};
use crate::payments::authorize::Authorization;
use crate::payments::payment::{Parts, Payment, PaymentReceipt, Rewards};
use crate::plan::{Context, PlanRefusal};
use crate::terms::{MerchantTerms, SettlementTerms, TenantTerms};
use crate::transaction::{Draft, Planned as PlannedWrites};
use std::collections::BTreeMap;
use uuid::Uuid;

/// The most differences that are kept one by one.
const DIFFERENCES_MAX: usize = 50;

/// Why payments cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PreviewError {
    /// A stored item is malformed.
    #[error(transparent)]
    Item(#[from] ItemError),
    /// The sums do not fit.
    #[error(transparent)]
    Money(#[from] MoneyError),
}

/// What one plan of a payment gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Planned {
    /// It is accepted, and earns these points.
    Accepted(Option<Amount>),
    /// It is refused, with this code.
    Refused(String),
}

/// A payment that the two plans differ on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The payment's id; of a refused one, the id of its stored refusal.
    pub id: Uuid,
    /// What became of it.
    pub made: Planned,
    /// What would have become of it.
    pub planned: Planned,
}

/// The sums of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The payments and authorizations that are accepted.
    pub accepted: i64,
    /// The number of those that are refused, by code.
    pub refused: BTreeMap<String, i64>,
    /// What merchants are paid, by asset: payments and captures.
    pub paid: BTreeMap<Asset, Balance>,
    /// The points that payers earn.
    pub points: Balance,
    /// The fee on what merchants are paid, in yen, as if each merchant's sum were settled at once.
    pub fee: Balance,
    /// The tax on the fee, in yen.
    pub tax: Balance,
}

/// Past payments as they were made and as they would be made, side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// As they were made.
    pub made: Side,
    /// As they would be made.
    pub planned: Side,
    /// The number of payments that the two differ on.
    pub differing: i64,
    /// The first of them.
    pub differences: Vec<Difference>,
}

/// The past payments of a tenant while they are compared, oldest first.
#[derive(Debug)]
pub struct Comparing<'a> {
    tenant: &'a Tenant,
    /// The terms as they are.
    present: &'a TenantTerms,
    /// The terms that the change would give.
    terms: &'a TenantTerms,
    /// What accounts have used of their limits, by the key of the item that counts it.
    used: BTreeMap<Key, Item>,
    /// Yen that each merchant was paid, and would be paid.
    by_merchant: BTreeMap<MerchantId, [Balance; 2]>,
    comparison: Comparison,
}

impl Side {
    fn empty() -> Self {
        Self {
            accepted: 0,
            refused: BTreeMap::new(),
            paid: BTreeMap::new(),
            points: Balance::zero(Asset::Point),
            fee: Balance::zero(Asset::Ecopay),
            tax: Balance::zero(Asset::Ecopay),
        }
    }

    fn add(&mut self, planned: &Planned, taken: Option<&Taken>) -> Result<(), MoneyError> {
        let points = match planned {
            Planned::Refused(code) => {
                let count = self.refused.entry(code.clone()).or_default();
                *count = count.saturating_add(1);
                return Ok(());
            }
            Planned::Accepted(points) => points,
        };
        self.accepted = self.accepted.saturating_add(1);
        if let Some(points) = points {
            self.points = self.points.checked_apply(&points.credit())?;
        }
        for (asset, amount) in taken.into_iter().flat_map(|taken| &taken.by_asset) {
            let paid = self.paid.entry(asset.clone()).or_insert_with(|| Balance::zero(asset.clone()));
            *paid = paid.checked_apply(&amount.credit())?;
        }
        Ok(())
    }

    fn charge(&mut self, terms: Option<&SettlementTerms>, net: &Balance) -> Result<(), MoneyError> {
        let (Some(terms), Some(net)) = (terms, net.truncated(0).as_amount()) else { return Ok(()) };
        let Some(charged) = terms.charge(&net, &net.as_balance())? else { return Ok(()) };
        for (sum, part) in [(&mut self.fee, charged.fee), (&mut self.tax, charged.tax)] {
            if let Some(part) = part {
                *sum = sum.checked_apply(&part.credit())?;
            }
        }
        Ok(())
    }
}

impl<'a> Comparing<'a> {
    /// Begins without a payment.
    #[must_use]
    pub fn new(tenant: &'a Tenant, present: &'a TenantTerms, terms: &'a TenantTerms) -> Self {
        let comparison =
            Comparison { made: Side::empty(), planned: Side::empty(), differing: 0, differences: Vec::new() };
        Self { tenant, present, terms, used: BTreeMap::new(), by_merchant: BTreeMap::new(), comparison }
    }

    /// Plans one payment again. `account` has the payer's balance items, or the card, if any account of the tenant has
    /// limits of its own.
    ///
    /// # Errors
    /// [`PreviewError`] if a stored item is malformed or the sums do not fit.
    pub fn add(&mut self, past: &PastPayment, account: Option<&[Item]>) -> Result<(), PreviewError> {
        let (made, taken) = match &past.outcome {
            PastOutcome::Paid(taken) => (Planned::Accepted(taken.points.clone()), Some(taken)),
            PastOutcome::Held => (Planned::Accepted(None), None),
            PastOutcome::Refused(code) => (Planned::Refused(code.clone()), None),
        };
        let whole = past.whole();
        let (planned, taken_again) = match (self.plan(past, account)?, &past.outcome) {
            (Err(code), _) => (Planned::Refused(code), None),
            (Ok(points), PastOutcome::Paid(taken)) => (Planned::Accepted(points), Some(taken)),
            (Ok(_), PastOutcome::Held) => (Planned::Accepted(None), None),
            (Ok(points), PastOutcome::Refused(code)) if is_of_terms(code) => {
                (Planned::Accepted(points), (!past.is_authorization).then_some(&whole))
            }
            (Ok(_), PastOutcome::Refused(code)) => (Planned::Refused(code.clone()), None),
        };
        self.comparison.made.add(&made, taken)?;
        self.comparison.planned.add(&planned, taken_again)?;
        let sums = self.by_merchant.entry(past.merchant).or_insert([0, 1].map(|_| Balance::zero(Asset::Ecopay)));
        for (sum, taken) in sums.iter_mut().zip([taken, taken_again]) {
            for amount in taken.into_iter().flat_map(|taken| taken.by_asset.values()) {
                // Carbon credits are not settled in yen.
                if *amount.asset() != Asset::Jcredit {
                    *sum = sum.checked_plus(&amount.as_balance().counted_as(Asset::Ecopay))?;
                }
            }
        }
        if made != planned {
            self.comparison.differing = self.comparison.differing.saturating_add(1);
            if self.comparison.differences.len() < DIFFERENCES_MAX {
                self.comparison.differences.push(Difference { id: past.id, made, planned });
            }
        }
        Ok(())
    }

    /// Ends with the fees.
    ///
    /// # Errors
    /// [`MoneyError`] if the sums do not fit.
    pub fn finish(mut self) -> Result<Comparison, MoneyError> {
        for [made, planned] in self.by_merchant.values() {
            self.comparison.made.charge(self.present.settlement.as_ref(), made)?;
            self.comparison.planned.charge(self.terms.settlement.as_ref(), planned)?;
        }
        Ok(self.comparison)
    }

    /// The points that the payment earns under the terms, or the code of its refusal.
    fn plan(
        &mut self,
        past: &PastPayment,
        account: Option<&[Item]>,
    ) -> Result<Result<Option<Amount>, String>, PreviewError> {
        let own = match (account, &self.terms.limits) {
            (Some(items), Some(limits)) => {
                let limits: Option<LimitTerms> = Some(limits.of_account(items)?);
                Some(TenantTerms { limits, ..self.terms.clone() })
            }
            (Some(_) | None, _) => None,
        };
        let terms = own.as_ref().unwrap_or(self.terms);
        let PlannedWrites { draft, receipt } = match planned(self.tenant, terms, past) {
            Ok(planned) => planned,
            Err(refusal) => return Ok(Err(code(refusal)?)),
        };
        let none = Item::new();
        for item in &draft.items {
            let used = self.used.get(item.key()).unwrap_or(&none);
            let mut limits = item.clauses().iter().filter(|clause| clause.failure == Failure::LimitExceeded);
            if limits.any(|clause| !clause.condition.holds(Some(used))) {
                return Ok(Err(Failure::LimitExceeded.code().to_owned()));
            }
        }
        if let Account::Card(_) = past.payer
            && terms.card_pin.require_for(&past.total)
            // A payment that needed the PIN had it.
            && !self.present.card_pin.require_for(&past.total)
        {
            return Ok(Err(Failure::PinRequired.code().to_owned()));
        }
        // What was refused for another reason than the terms uses nothing of the limits.
        if !matches!(&past.outcome, PastOutcome::Refused(code) if !is_of_terms(code)) {
            self.count(past.payer, &draft)?;
        }
        Ok(Ok(match &past.outcome {
            PastOutcome::Paid(taken) if past.is_authorization => {
                match Rewards::of(past.payer, &taken.by_asset, &taken.total, terms) {
                    Ok(rewards) => rewards.points,
                    Err(refusal) => return Ok(Err(code(refusal)?)),
                }
            }
            PastOutcome::Paid(_) | PastOutcome::Refused(_) => receipt.points_earned,
            PastOutcome::Held => None,
        }))
    }

    /// Counts what the payment uses of its payer's limits.
    fn count(&mut self, payer: Account, draft: &Draft) -> Result<(), PreviewError> {
        let Some(entry) = &draft.entry else { return Ok(()) };
        for (asset, counts) in entry.details.opt_map(COUNTED)?.into_iter().flatten() {
            let invalid = || ItemError::invalid(COUNTED);
            let asset = Asset::parse(asset).map_err(|_| invalid())?;
            let Value::M(counts) = counts else { return Err(invalid().into()) };
            let key = match payer {
                Account::Customer(id) => Partition::customer(self.tenant, id).balance(&asset),
                Account::Card(id) => keys::card(self.tenant, id),
                Account::Merchant(_) | Account::Tenant(_) => continue,
            };
            let used = self.used.entry(key).or_default();
            for name in counts.keys() {
                let before = used.opt_balance(name, asset.clone())?.unwrap_or_else(|| Balance::zero(asset.clone()));
                let after = before.checked_plus(&counts.balance(name, asset.clone())?)?;
                used.insert(name.clone(), Value::N(after.text()));
            }
        }
        Ok(())
    }
}

/// Plans a payment with the builder that plans it at its request.
fn planned(
    tenant: &Tenant,
    terms: &TenantTerms,
    past: &PastPayment,
) -> Result<PlannedWrites<PaymentReceipt>, PlanRefusal> {
    let parts = match past.payer {
        Account::Card(_) => Parts::whole(past.total.clone()),
        Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => past.split(terms)?,
    };
    // Whether a merchant takes payments is not a term.
    let merchant =
        MerchantTerms { id: past.merchant, name: String::new(), open: true, closing: false, shards: Shards::ONE };
    let cx = Context {
        now: past.at,
        transaction_id: TransactionId::new(past.id),
        resource_id: PaymentId::new(past.id).uuid(),
        audit_id: AuditId::new(past.id),
        secret: [0; 16],
        salt: [0; 16],
    };
    let (payer, merchant, parts, memo, with) = (past.payer, &merchant, &parts, None, Vec::new());
    let shop = None;
    if past.is_authorization {
        return Authorization { tenant, terms, merchant, payer, shop, parts, memo, with }.plan(&cx);
    }
    let (place, terminal, references) = (past.place, None, Vec::new());
    Payment { tenant, terms, merchant, payer, place, terminal, shop, parts, memo, references, with }.plan(&cx)
}

/// The code of a refusal, as the request's response has it.
fn code(refusal: PlanRefusal) -> Result<String, PreviewError> {
    Ok(match refusal {
        PlanRefusal::Refused(failure) => failure.code().to_owned(),
        PlanRefusal::InState { .. } | PlanRefusal::StillOpen(_) => Failure::WrongState.code().to_owned(),
        PlanRefusal::Limit(_) => Failure::LimitExceeded.code().to_owned(),
        PlanRefusal::OfPayment { refusal, .. } => return code(*refusal),
        PlanRefusal::Invalid { .. } | PlanRefusal::PaymentDay { .. } => "invalid_request".to_owned(),
        PlanRefusal::Denied(_) => "permission_missing".to_owned(),
        PlanRefusal::Stored(error) => return Err(error.into()),
        PlanRefusal::Money(error) => return Err(error.into()),
    })
}

/// Whether terms decide on a refusal of this code: under others the payment may be accepted.
fn is_of_terms(code: &str) -> bool {
    code == Failure::LimitExceeded.code()
}
