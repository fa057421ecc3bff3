//! The part that all payments share. Money leaves the payer, the merchant's posting is in the journal, and the
//! `PAYMENT` record keeps what may be refunded. It writes no item that another payer's payment writes.

use super::counting::count;
use super::record::{self, PaymentRecord};
use crate::account::{Account, Posting, TenantAccount};
use crate::aggregates::MetricsChange;
use crate::dynamo::{Item, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{PaymentId, ShopId, Tenant, TerminalId, TransactionId};
use crate::keys;
use crate::limits::{LimitKind, Place, UseCounter};
use crate::money::{Amount, Asset, AssetSpec, Balance, Co2Kg, Rate, RequestedAmount};
use crate::payment_state::{Move, PaymentState};
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::{AssetTerms, MerchantTerms, TenantTerms};
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Entry, Planned, Reference, Role, TransactItem};
use std::collections::BTreeMap;

const MORE_THAN_THE_AMOUNT: &str = "the parts are more than the amount";

/// How a total divides into assets. The parts sum to it, one to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    total: Amount,
    by_asset: BTreeMap<Asset, Amount>,
}

/// The division that a request asks for, before the terms are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedParts {
    /// The total.
    pub total: RequestedAmount,
    /// The part in points.
    pub points: Option<RequestedAmount>,
    /// The parts in regional currencies.
    pub regional: Vec<RequestedAmount>,
}

/// What a response says about a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentReceipt {
    /// The payment.
    pub payment_id: PaymentId,
    /// Its journal entry.
    pub transaction_id: TransactionId,
    /// The state: captured, or only authorized.
    pub state: PaymentState,
    /// The end of the hold, if it is only authorized.
    pub expires_at: Option<Timestamp>,
    /// The merchant that was paid.
    pub merchant: MerchantTerms,
    /// The total that was paid or is held, and how it divides into assets.
    pub parts: Parts,
    /// The points that it earned.
    pub points_earned: Option<Amount>,
    /// The CO2 estimate.
    pub co2: Co2Kg,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What a payer earns by a payment.
pub(crate) struct Rewards {
    /// Points earned on the part in money.
    pub(crate) points: Option<Amount>,
    /// Kg of CO2 per unit.
    pub(crate) co2_rate: Rate,
    /// The estimate on the total.
    pub(crate) co2: Co2Kg,
}

/// One payment, by any payer.
pub(crate) struct Payment<'a> {
    pub(crate) tenant: &'a Tenant,
    pub(crate) terms: &'a TenantTerms,
    pub(crate) merchant: &'a MerchantTerms,
    pub(crate) payer: Account,
    /// Where it takes place. Its limits bound the payment.
    pub(crate) place: Place,
    /// The terminal that charged a customer's code.
    pub(crate) terminal: Option<TerminalId>,
    /// The shop of the terminal that takes the payment, or of the staff member who charges it.
    pub(crate) shop: Option<ShopId>,
    pub(crate) parts: &'a Parts,
    pub(crate) memo: Option<&'a FreeText>,
    /// Other parties that have a reference to the entry.
    pub(crate) references: Vec<Reference>,
    /// Further actions of the transaction, such as consuming the one-time code.
    pub(crate) with: Vec<TransactItem>,
}

impl RequestedParts {
    /// The amount of each asset. What the parts leave of the total is in the total's own asset.
    ///
    /// # Errors
    /// [`PlanRefusal::Invalid`] if the parts are more than the total, or one asset is named twice.
    pub fn by_asset(&self) -> Result<BTreeMap<Asset, RequestedAmount>, PlanRefusal> {
        let mut by_asset = BTreeMap::new();
        let mut rest = Some(self.total.clone());
        let points = self.points.iter().map(|part| ("points", part));
        for (field, part) in points.chain(self.regional.iter().map(|part| ("regional", part))) {
            let invalid = |why| PlanRefusal::Invalid { field, why };
            let left = rest.take().ok_or(invalid(MORE_THAN_THE_AMOUNT))?;
            rest = left.less(part);
            if rest.is_none() && left.text() != part.text() {
                return Err(invalid(MORE_THAN_THE_AMOUNT));
            }
            if by_asset.insert(part.asset().clone(), part.clone()).is_some() {
                return Err(invalid("one asset twice"));
            }
        }
        by_asset.extend(rest.map(|rest| (rest.asset().clone(), rest)));
        Ok(by_asset)
    }
}

impl Parts {
    /// Splits a total: points and regional currency as given, the rest in the total's own asset.
    ///
    /// # Errors
    /// [`PlanRefusal::Invalid`] if the parts are more than the total, or cannot be mixed.
    pub fn split(
        total: Amount,
        points: Option<Amount>,
        regional: Vec<Amount>,
        terms: &TenantTerms,
    ) -> Result<Self, PlanRefusal> {
        let invalid = |field, why| PlanRefusal::Invalid { field, why };
        let spec = terms
            .asset(total.asset())
            .filter(|asset| asset.is_spent())
            .map(|asset| asset.spec.clone())
            .ok_or(invalid("asset", "merchants do not take this asset"))?;
        let others: Vec<(&'static str, Amount)> =
            points.into_iter().map(|p| ("points", p)).chain(regional.into_iter().map(|r| ("regional", r))).collect();
        if !others.is_empty() && *total.asset() != Asset::Ecopay {
            return Err(invalid("asset", "points and regional currency can be added to ECOPAY only"));
        }
        let mut by_asset = BTreeMap::new();
        let mut rest = Some(total.clone());
        for (field, part) in others {
            if !terms.asset(part.asset()).is_some_and(AssetTerms::is_spent) {
                return Err(invalid(field, "merchants do not take this asset"));
            }
            let in_total = part.one_to_one(&spec).ok_or(invalid(field, "must be a whole number of yen"))?;
            let left = rest.take().ok_or(invalid(field, MORE_THAN_THE_AMOUNT))?;
            rest = left.checked_sub(&in_total)?;
            if rest.is_none() && left != in_total {
                return Err(invalid(field, MORE_THAN_THE_AMOUNT));
            }
            if by_asset.insert(part.asset().clone(), part).is_some() {
                return Err(invalid(field, "one asset twice"));
            }
        }
        if let Some(rest) = rest {
            by_asset.insert(rest.asset().clone(), rest);
        }
        Ok(Self { total, by_asset })
    }

    /// A total in one asset.
    #[must_use]
    pub fn whole(total: Amount) -> Self {
        let by_asset = BTreeMap::from([(total.asset().clone(), total.clone())]);
        Self { total, by_asset }
    }

    /// The sum, in the asset that the request named.
    #[must_use]
    pub fn total(&self) -> &Amount {
        &self.total
    }

    /// The parts by asset.
    #[must_use]
    pub fn by_asset(&self) -> &BTreeMap<Asset, Amount> {
        &self.by_asset
    }
}

impl Rewards {
    /// Computes what a payer earns. A card earns neither points nor CO2, because it may have no owner.
    pub(crate) fn of(
        payer: Account,
        paid: &BTreeMap<Asset, Amount>,
        total: &Amount,
        terms: &TenantTerms,
    ) -> Result<Self, PlanRefusal> {
        let Account::Customer(_) = payer else {
            return Ok(Self { points: None, co2_rate: Rate::ZERO, co2: Co2Kg::ZERO });
        };
        let money = paid.get(&Asset::Ecopay);
        let points = money.map(|money| money.share(&terms.points_rate, &AssetSpec::POINT)).transpose()?.flatten();
        let co2_rate = terms.co2.rate;
        Ok(Self { points, co2_rate, co2: co2_rate.co2(total)? })
    }
}

impl Payment<'_> {
    /// Requires of a card that it has not expired.
    fn in_date(&self, now: Timestamp) -> Vec<Clause> {
        match self.payer {
            Account::Card(_) => vec![forms::card_in_date(now)],
            Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => Vec::new(),
        }
    }

    pub(crate) fn plan(self, cx: &Context) -> Result<Planned<PaymentReceipt>, PlanRefusal> {
        let record = self.record(cx)?;
        self.build(&record, cx).map_err(|refusal| refusal.of_payment(record.refused()))
    }

    fn build(&self, record: &PaymentRecord, cx: &Context) -> Result<Planned<PaymentReceipt>, PlanRefusal> {
        if !self.merchant.open {
            return Err(PlanRefusal::Refused(Failure::WrongState));
        }
        let earned = record.points_earned.as_ref();
        let merchant = Account::Merchant(self.merchant.id);
        let mut postings = Vec::new();
        let mut items = self.with.clone();
        let mut uses = UseCounter::new(self.terms.limits.as_ref(), self.payer, LimitKind::Pay, cx.now).at(self.place);
        for (asset, amount) in self.parts.by_asset() {
            postings.push(Posting::new(self.payer, amount.debit()));
            postings.push(Posting::new(merchant, amount.credit()));
            if *asset != Asset::Point {
                let debit = forms::debit(self.tenant, Role::Payer, self.payer, amount, cx.now);
                let debit = debit.map(|debit| debit.guarded_also(self.in_date(cx.now)));
                items.extend(debit.map(|debit| uses.count(debit, amount)).transpose()?);
            }
        }
        if let Some(earned) = earned {
            postings.push(Posting::new(Account::Tenant(TenantAccount::PointsIssued), earned.debit()));
            postings.push(Posting::new(self.payer, earned.credit()));
        }
        let points = (self.parts.by_asset().get(&Asset::Point), earned);
        let settled = forms::settle(self.tenant, Role::Points, self.payer, points, Failure::Insufficient, true, cx.now);
        items.extend(match (settled, points.0) {
            (Some(settled), Some(used)) => Some(uses.count(settled, used)?),
            (settled, _) => settled,
        });
        items.push(TransactItem::put_new(
            Role::Payment,
            keys::payment(self.tenant, record.id),
            record.item(self.tenant, self.merchant),
            Failure::AlreadyExists,
        ));
        let paid = MetricsChange::Paid(self.parts.total().clone(), record.co2);
        count(self.payer, &mut items, paid, cx.now);
        let mut details = details(record, &self.terms.co2.source, &self.terms.co2.version);
        details.extend(uses.counted());
        let entry = Entry {
            id: cx.transaction_id,
            home: self.payer,
            postings,
            references: self.references.clone(),
            details,
            memo: cx.memo(self.memo),
            terms: self.terms.of_entry(),
        };
        let receipt = PaymentReceipt {
            payment_id: record.id,
            transaction_id: cx.transaction_id,
            state: record.state,
            expires_at: None,
            merchant: self.merchant.clone(),
            parts: self.parts.clone(),
            points_earned: earned.cloned(),
            co2: record.co2,
            created_at: cx.now,
        };
        Ok(Planned { draft: Draft { entry: Some(entry), items }, receipt })
    }

    fn record(&self, cx: &Context) -> Result<PaymentRecord, PlanRefusal> {
        let captured = self.parts.by_asset().clone();
        let Rewards { points, co2_rate, co2 } = Rewards::of(self.payer, &captured, self.parts.total(), self.terms)?;
        Ok(PaymentRecord {
            id: PaymentId::new(cx.resource_id),
            transaction_id: cx.transaction_id,
            payer: self.payer,
            merchant: self.merchant.id,
            terminal: self.terminal,
            shop: self.shop,
            total: self.parts.total().clone(),
            scale: record::scale_of(self.parts.total(), self.terms),
            authorized: BTreeMap::new(),
            expires_at: None,
            captured_at: None,
            refundable: captured.iter().map(|(asset, amount)| (asset.clone(), amount.as_balance())).collect(),
            captured,
            points_earned: points,
            points_taken_back: Balance::zero(Asset::Point),
            co2_rate,
            co2,
            state: PaymentState::Created.moved(Move::Pay)?,
            created_at: cx.now,
            memo: self.memo.map(|memo| memo.expose().to_owned()),
        })
    }
}

/// The journal's details of a payment.
pub(crate) fn details(record: &PaymentRecord, co2_source: &str, co2_version: &str) -> Item {
    let mut details = Item::from([
        ("payment_id".to_owned(), Value::s(record.id)),
        ("merchant_id".to_owned(), Value::s(record.merchant)),
    ]);
    if let Account::Customer(_) = record.payer {
        details.insert("co2".to_owned(), Value::N(record.co2.text()));
        details.insert("co2_rate".to_owned(), Value::N(record.co2_rate.text()));
        details.insert("co2_source".to_owned(), Value::s(co2_source));
        details.insert("co2_version".to_owned(), Value::s(co2_version));
    }
    details
}
