//! Query parameters of lists: a page, a range of time, an asset and a range of amounts.

use super::{Page, Params};
use crate::cursor::{Cursor, SealedCursor};
use crate::parameter::{Kind, Parameter};
use crate::problem::Problem;
use axum::extract::FromRequestParts;
use http::request::Parts;
use ledger_core::ids::{CustomerId, MerchantId, ShopId, least_born_at};
use ledger_core::lists::{AmountFilter, HistoryFilter, ListedKind, RecordFilter, RecordKind, TopupFilter};
use ledger_core::money::{Asset, RequestedAmount};
use ledger_core::operation::Operation;
use ledger_core::payment_state::PaymentState;
use ledger_core::time::{BusinessDate, Timestamp};
use ledger_core::topups::TopupState;
use uuid::Uuid;

/// What a bound of a range may be, as the document states it.
const INSTANT_OR_DATE: Kind = Kind::Form("^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ][0-9]{2}:[0-9]{2}.*)?$", "2026-11-21");
/// A decimal number greater than zero.
const AMOUNT: Kind = Kind::Form(r"^(0|[1-9]\d{0,14})(\.\d+)?$", "1240");

/// The statuses of stored payments.
const STATUSES: &[&str] =
    &["authorized", "captured", "partially_refunded", "refunded", "canceled", "expired", "reversed"];

/// A page of a list that is sorted by ids, and the range of time of its items.
///
/// The time is that in the items' ids, which is when their requests arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The page.
    pub page: Page,
    /// The first instant of the range; none if absent.
    pub from: Option<Timestamp>,
    /// The first instant after the range; none if absent.
    pub until: Option<Timestamp>,
}

impl Listing {
    /// The first item of the range.
    pub const FROM: Parameter = Parameter::in_query(
        "from",
        "Items of this instant (RFC 3339) or later, or of this date in Japan or later. An item has the time of its \
         request: a top-up's entry that of the top-up.",
        INSTANT_OR_DATE,
    );
    /// The end of the range.
    pub const TO: Parameter = Parameter::in_query(
        "to",
        "Items before this instant (RFC 3339), or of this date in Japan or earlier.",
        INSTANT_OR_DATE,
    );
    /// The asset of the range of amounts.
    pub const ASSET: Parameter = Parameter::in_query(
        "asset",
        "Items with an amount of this asset.",
        Kind::Form("^(ECOPAY|POINT|JCREDIT|REGIONAL#[a-z0-9-]{1,32})$", "ECOPAY"),
    );
    /// The least amount.
    pub const MIN: Parameter =
        Parameter::in_query("min", "Items with an amount of `asset` (`ECOPAY` if absent) of at least this.", AMOUNT);
    /// The greatest amount.
    pub const MAX: Parameter =
        Parameter::in_query("max", "Items with an amount of `asset` (`ECOPAY` if absent) of at most this.", AMOUNT);
    /// The operation of a history's lines.
    pub const OPERATION: Parameter =
        Parameter::in_query("operation", "Transactions of this operation.", Kind::Form("^[a-z_]{2,40}$", "pay"));
    /// The merchant of a history's lines.
    pub const MERCHANT: Parameter = Parameter::in_query("merchant_id", "Transactions with this merchant.", Kind::Id);

    /// The id after which the items follow, newest first; none if absent.
    #[must_use]
    pub fn after(&self) -> Option<Uuid> {
        let (cursor, end) = (self.page.cursor.map(Cursor::id), self.until.map(least_born_at));
        // An absent bound admits everything.
        cursor.into_iter().chain(end).min()
    }

    /// Whether an instant is in the range.
    #[must_use]
    pub fn contains(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at < until)
    }
}

impl From<Page> for Listing {
    fn from(page: Page) -> Self {
        Self { page, from: None, until: None }
    }
}

impl Params {
    /// Takes `limit`, `cursor`, `from` and `to`.
    ///
    /// # Errors
    /// 400 if one of them is malformed, or the range is empty.
    pub fn listing(&mut self) -> Result<Listing, Problem> {
        let (from, until) = self.range()?;
        Ok(Listing { page: self.page()?, from, until })
    }

    /// Takes `from` and `to`: the first instant of a range, and the first one after it.
    ///
    /// # Errors
    /// 400 if one of them is malformed, or the range is empty.
    pub fn range(&mut self) -> Result<(Option<Timestamp>, Option<Timestamp>), Problem> {
        let from = self.bound("from", |date| date.bounds().0)?;
        let until = self.bound("to", |date| date.bounds().1)?;
        if from.zip(until).is_some_and(|(from, until)| from >= until) {
            return Err(Problem::invalid_field("to", "must be after `from`"));
        }
        Ok((from, until))
    }

    fn bound(&mut self, name: &str, of_date: fn(BusinessDate) -> Timestamp) -> Result<Option<Timestamp>, Problem> {
        let Some(text) = self.take(name)? else { return Ok(None) };
        let date = BusinessDate::parse(&text).map(of_date);
        let at = date.or_else(|_| Timestamp::parse(&text));
        at.map(Some).map_err(|_| {
            Problem::invalid_field(name, "must be a date or an RFC 3339 time: 2026-11-21 or 2026-11-21T09:30:00Z")
        })
    }

    /// Takes `asset`, `min` and `max`.
    ///
    /// # Errors
    /// 400 if one of them is malformed, or the range is empty.
    pub fn amounts(&mut self) -> Result<AmountFilter, Problem> {
        let asset = self.take("asset")?.as_deref().map(Asset::parse).transpose();
        let asset = asset.map_err(|why| Problem::invalid_field("asset", why))?;
        match asset {
            Some(asset) => self.amounts_of(asset),
            None => Ok(self.amounts_of(Asset::Ecopay)?.if_bounded()),
        }
    }

    /// Takes `min` and `max` of an asset.
    fn amounts_of(&mut self, asset: Asset) -> Result<AmountFilter, Problem> {
        let (min, max) = (self.take("min")?, self.take("max")?);
        let bound = |name: &str, text: Option<String>| {
            let amount = text.map(|text| RequestedAmount::parse(asset.clone(), &text)).transpose();
            amount.map_err(|why| Problem::invalid_field(name, why))
        };
        let (least, most) = (bound("min", min)?, bound("max", max)?);
        AmountFilter::new(Some(asset), least, most)
            .ok_or_else(|| Problem::invalid_field("max", "must be at least `min`"))
    }

    /// Takes `operation`, `merchant_id`, `asset`, `min` and `max`.
    ///
    /// # Errors
    /// 400 if one of them is malformed.
    pub fn history_filter(&mut self) -> Result<HistoryFilter, Problem> {
        let operation = self.take("operation")?;
        let operation =
            operation.map(|name| super::word("operation", &name, Operation::parse, "an operation of this API"));
        let merchant = self.take("merchant_id")?;
        let merchant = merchant.map(|id| super::id("merchant_id", &id, MerchantId::parse));
        Ok(HistoryFilter {
            operation: operation.transpose()?,
            merchant: merchant.transpose()?,
            amounts: self.amounts()?,
        })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Listing {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut params = Params::from_request_parts(parts, state).await?;
        let listing = params.listing()?;
        params.finish()?;
        Ok(listing)
    }
}

/// A page and range of a history, and which of its lines are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryListing {
    /// The page and range.
    pub listing: Listing,
    /// The wanted lines.
    pub filter: HistoryFilter,
}

impl<S: Send + Sync> FromRequestParts<S> for HistoryListing {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut params = Params::from_request_parts(parts, state).await?;
        let this = Self { listing: params.listing()?, filter: params.history_filter()? };
        params.finish()?;
        Ok(this)
    }
}

/// A page and range of a merchant's payments and refunds, and which of them are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordListing {
    /// The page and range.
    pub listing: Listing,
    /// The wanted records.
    pub filter: RecordFilter,
}

impl RecordListing {
    /// The kind of record.
    pub const KIND: Parameter = Parameter::in_query(
        "kind",
        "Records of this kind.",
        Kind::Word(&["payment", "refund", "payment_reversal", "refund_reversal"]),
    );
    /// The status of a payment.
    pub const STATUS: Parameter = Parameter::in_query("status", "Payments with this status.", Kind::Word(STATUSES));
    /// The shop of a payment.
    pub const SHOP: Parameter =
        Parameter::in_query("shop_id", "Payments that this shop took, and their refunds.", Kind::Id);
}

fn status(word: &str) -> Option<PaymentState> {
    STATUSES.contains(&word).then(|| PaymentState::parse(word)).flatten()
}

impl<S: Send + Sync> FromRequestParts<S> for RecordListing {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut params = Params::from_request_parts(parts, state).await?;
        let kinds = "payment, refund, payment_reversal or refund_reversal";
        let kind = params.take("kind")?.map(|word| super::word("kind", &word, RecordKind::parse, kinds));
        let shop = params.take("shop_id")?.map(|id| super::id("shop_id", &id, ShopId::parse)).transpose()?;
        let (kind, state) = (kind.transpose()?, params.payment_status()?);
        let filter = RecordFilter { kind, state, shop, amounts: params.amounts()? };
        let this = Self { listing: params.listing()?, filter };
        params.finish()?;
        Ok(this)
    }
}

/// A page and range of what is sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedListing {
    /// The number of items, 1 to 100.
    pub limit: usize,
    /// The place that the page begins at; `None` for the first page.
    pub cursor: Option<SealedCursor>,
    /// The first instant of the range; none if absent.
    pub from: Option<Timestamp>,
    /// The first instant after the range; none if absent.
    pub until: Option<Timestamp>,
}

/// Whose payments or refunds a list of the whole tenant has, and which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TenantListing {
    /// Those of all merchants.
    All(SealedListing, RecordFilter),
    /// Those of a merchant.
    OfMerchant(MerchantId, RecordListing),
    /// Those of a customer's wallet.
    OfCustomer(CustomerId, RecordListing),
}

impl TenantListing {
    /// The merchant of the list.
    pub const MERCHANT: Parameter =
        Parameter::in_query("merchant_id", "Those of this merchant. Not with `customer_id`.", Kind::Id);
    /// The customer of the list.
    pub const CUSTOMER: Parameter = Parameter::in_query(
        "customer_id",
        "Those of this customer's wallet. Needs the permission `customers.read` too.",
        Kind::Id,
    );
}

impl Params {
    /// Takes the parameters of a list of the whole tenant but `status`.
    ///
    /// # Errors
    /// 400 if one of them is malformed, or both `merchant_id` and `customer_id` are given.
    pub fn tenant_listing(&mut self, kind: ListedKind, state: Option<PaymentState>) -> Result<TenantListing, Problem> {
        let merchant = self.take("merchant_id")?;
        let merchant = merchant.map(|id| super::id("merchant_id", &id, MerchantId::parse)).transpose()?;
        let customer = self.take("customer_id")?;
        let customer = customer.map(|id| super::id("customer_id", &id, CustomerId::parse)).transpose()?;
        let filter = RecordFilter { kind: Some(kind.record_kind()), state, shop: None, amounts: self.amounts()? };
        match (merchant, customer) {
            (Some(_), Some(_)) => {
                Err(Problem::invalid_field("customer_id", "must be absent if `merchant_id` is given"))
            }
            (Some(merchant), None) => {
                Ok(TenantListing::OfMerchant(merchant, RecordListing { listing: self.listing()?, filter }))
            }
            (None, Some(customer)) => {
                Ok(TenantListing::OfCustomer(customer, RecordListing { listing: self.listing()?, filter }))
            }
            (None, None) => Ok(TenantListing::All(self.sealed_listing()?, filter)),
        }
    }

    /// Takes `from`, `to`, `limit`, and the `cursor` of a list of what is sealed.
    ///
    /// # Errors
    /// 400 if one of them is malformed.
    pub fn sealed_listing(&mut self) -> Result<SealedListing, Problem> {
        let (from, until) = self.range()?;
        let (limit, cursor) = self.sealed_page()?;
        Ok(SealedListing { limit, cursor, from, until })
    }

    /// Takes `status`, `min` and `max` of top-ups.
    ///
    /// # Errors
    /// 400 if one of them is malformed.
    pub fn topup_filter(&mut self) -> Result<TopupFilter, Problem> {
        let words = "pending, succeeded, canceled or refused";
        let states = self.take("status")?.map(|word| super::word("status", &word, topup_states, words));
        Ok(TopupFilter { states: states.transpose()?, amounts: self.amounts_of(Asset::Ecopay)?.if_bounded() })
    }

    /// Takes `status`, of a payment.
    ///
    /// # Errors
    /// 400 if it is no status of a stored payment.
    pub fn payment_status(&mut self) -> Result<Option<PaymentState>, Problem> {
        let stored = "authorized, captured, partially_refunded, refunded, canceled, expired or reversed";
        self.take("status")?.map(|word| super::word("status", &word, status, stored)).transpose()
    }
}

/// A page and range of a customer's top-ups, and which of them are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopupListing {
    /// The page and range.
    pub listing: Listing,
    /// The wanted top-ups.
    pub filter: TopupFilter,
}

impl TopupListing {
    /// The status of a top-up.
    pub const STATUS: Parameter = Parameter::in_query(
        "status",
        "Top-ups with this status.",
        Kind::Word(&["pending", "succeeded", "canceled", "refused"]),
    );
}

impl<S: Send + Sync> FromRequestParts<S> for TopupListing {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut params = Params::from_request_parts(parts, state).await?;
        let filter = params.topup_filter()?;
        let this = Self { listing: params.listing()?, filter };
        params.finish()?;
        Ok(this)
    }
}

/// The states that a status shows.
fn topup_states(status: &str) -> Option<&'static [TopupState]> {
    match status {
        "pending" => Some(&[TopupState::Requested, TopupState::Pending]),
        "succeeded" => Some(&[TopupState::Succeeded]),
        "canceled" => Some(&[TopupState::Canceled]),
        "refused" => Some(&[TopupState::Refused]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn listing(query: &str) -> Result<HistoryListing, String> {
        let (mut parts, ()) = http::Request::get(format!("/x{query}")).body(()).unwrap().into_parts();
        HistoryListing::from_request_parts(&mut parts, &()).await.map_err(|problem| problem.detail().to_owned())
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[tokio::test]
    async fn range_takes_instants_and_whole_dates_of_japan() {
        let whole = listing("?from=2026-11-20&to=2026-11-21").await.unwrap().listing;
        assert_eq!(whole.from, Some(at("2026-11-19T15:00:00Z")));
        assert_eq!(whole.until, Some(at("2026-11-21T15:00:00Z")));
        let instants = listing("?from=2026-11-21T09:30:00Z&to=2026-11-21T09:30:00.001Z").await.unwrap().listing;
        assert_eq!(
            (instants.from, instants.until),
            (Some(at("2026-11-21T09:30:00Z")), Some(at("2026-11-21T09:30:00.001Z")))
        );
        assert!(instants.contains(at("2026-11-21T09:30:00Z")) && !instants.contains(at("2026-11-21T09:30:00.001Z")));
    }

    #[tokio::test]
    async fn list_goes_on_after_the_earlier_of_cursor_and_end() {
        let (early, late) = (least_born_at(at("2026-11-21T00:00:00Z")), least_born_at(at("2026-11-23T00:00:00Z")));
        for (cursor, after) in [(early, early), (late, least_born_at(at("2026-11-22T00:00:00Z")))] {
            let query = format!("?to=2026-11-22T00:00:00Z&cursor={}", Cursor::after(cursor));
            assert_eq!(listing(&query).await.unwrap().listing.after(), Some(after));
        }
        assert_eq!(listing("").await.unwrap().listing.after(), None);
    }

    #[tokio::test]
    async fn malformed_value_is_refused_by_its_name() {
        for (query, why) in [
            ("from=yesterday", "from: must be a date or an RFC 3339 time"),
            ("from=2026-02-30", "from: must be a date or an RFC 3339 time"),
            ("to=20261121", "to: must be a date or an RFC 3339 time"),
            ("to=", "to: must be a date or an RFC 3339 time"),
            ("from=2026-11-22&to=2026-11-21", "to: must be after `from`"),
            ("from=2026-11-21T00:00:00Z&to=2026-11-21T00:00:00Z", "to: must be after `from`"),
            ("from=2026-11-21&from=2026-11-21", "from: is given twice"),
            ("operation=steal", "operation: must be an operation of this API"),
            ("merchant_id=1", "merchant_id: "),
            ("asset=YEN", "asset: unknown asset"),
            ("min=0", "min: "),
            ("min=-1", "min: "),
            ("max=1.5", "max: "),
            ("asset=POINT&max=x", "max: "),
            ("min=2&max=1", "max: must be at least `min`"),
            ("status=open", "status: is not a query parameter of this request"),
        ] {
            let refused = listing(&format!("?{query}")).await.unwrap_err();
            assert!(refused.starts_with(why), "{query}: {refused}");
        }
    }
}
