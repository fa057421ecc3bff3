//! Tenants, the typed ids of all resources, and the parties of a transaction. Each kind of id is a type.

use crate::canonical::parse_canonical;
use crate::time::{BusinessDate, Timestamp};
use sha2::{Digest, Sha256};
use std::fmt;
use uuid::Uuid;

/// The prefix of a UUID as a URN (RFC 9562).
const URN: &str = "urn:uuid:";

/// A text that is not an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id: ids are UUIDs in lower case with hyphens, for example 019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e")]
pub struct IdError;

/// A tenant's slug: 1 to 32 of `a-z`, `0-9` and `-`. It comes from the verified identity only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant(String);

impl Tenant {
    /// Parses a slug.
    ///
    /// # Errors
    /// [`IdError`] if it is empty, longer than 32 bytes or has other characters.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let fits = (1..=32).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if fits { Ok(Self(text.to_owned())) } else { Err(IdError) }
    }

    /// The slug's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A bank file: its payment day and its number on that day, from 1 to 99. As text `2026-12-10-01`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BankFileId {
    /// The payment day.
    pub pay_on: BusinessDate,
    number: u8,
}

impl BankFileId {
    const LAST: u8 = 99;

    /// The first file of a day.
    #[must_use]
    pub fn first(pay_on: BusinessDate) -> Self {
        Self { pay_on, number: 1 }
    }

    /// The next file of the day; `None` after the 99th.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        let number = self.number.checked_add(1).filter(|number| *number <= Self::LAST)?;
        Some(Self { number, ..self })
    }

    /// Parses the canonical text.
    ///
    /// # Errors
    /// [`IdError`] for any other text.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let parts = text.rsplit_once('-').filter(|(_, number)| number.len() == 2).ok_or(IdError)?;
        let number = parse_canonical(parts.1.strip_prefix('0').unwrap_or(parts.1));
        let number = number.filter(|number| (1..=Self::LAST).contains(number)).ok_or(IdError)?;
        Ok(Self { pay_on: BusinessDate::parse(parts.0).map_err(|_| IdError)?, number })
    }
}

impl fmt::Display for BankFileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:02}", self.pay_on, self.number)
    }
}

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps a UUID that the runtime generated or the table holds.
            #[must_use]
            pub const fn new(id: Uuid) -> Self {
                Self(id)
            }

            /// Parses the canonical text: hyphenated, in lower case.
            ///
            /// # Errors
            /// [`IdError`] for any other text, even if it denotes the same UUID.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                parse_uuid(text).map(Self)
            }

            /// The UUID.
            #[must_use]
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

id! {
    /// A customer with a wallet.
    CustomerId;
    /// What names a sign-in: the subject of its tokens.
    SubjectId;
    /// A stored-value card.
    CardId;
    /// A merchant.
    MerchantId;
    /// A storefront terminal.
    TerminalId;
    /// A shop of a merchant.
    ShopId;
    /// An operator's staff member, or a merchant's.
    StaffId;
    /// A payment.
    PaymentId;
    /// A refund of a payment or of a top-up, or the reversal of a payment.
    RefundId;
    /// A top-up through the PSP.
    TopupId;
    /// A journal entry.
    TransactionId;
    /// A bulk grant.
    JobId;
    /// An audit record.
    AuditId;
    /// A merchant's settlement.
    SettlementId;
    /// A reconciliation run.
    RunId;
    /// A break that a run found.
    FindingId;
    /// A command that another person must approve.
    ApprovalId;
    /// A collection of the cash that a counter of the operator took.
    CashCollectionId;
}

/// Parses a UUID from its canonical text: hyphenated, in lower case.
///
/// The parser of the `uuid` crate also accepts capitals, braces, `urn:uuid:` and no hyphens. An id with several texts
/// would be equal in a guard and different in a key, so no other code of the ledger calls that parser.
///
/// # Errors
/// [`IdError`] for any other text, even if it denotes the same UUID.
pub fn parse_uuid(text: &str) -> Result<Uuid, IdError> {
    let id = Uuid::try_parse(text).map_err(|_| IdError)?;
    if *id.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == *text { Ok(id) } else { Err(IdError) }
}

/// The instant of a UUIDv7 in a client's text, which may also have capitals, braces or `urn:uuid:`.
///
/// The text itself is the key: two spellings are two keys, and each has an age. A text without hyphens has none,
/// because one in 64 texts of 32 random hexadecimal digits looks like a UUIDv7.
#[must_use]
pub fn spelled_birth(text: &str) -> Option<Timestamp> {
    parse_any_uuid(text).and_then(born_at)
}

/// Reads a UUID in any spelling that has its hyphens: upper case, in braces, or as a URN.
#[must_use]
pub fn parse_any_uuid(text: &str) -> Option<Uuid> {
    let bare = match text.split_at_checked(URN.len()) {
        Some((urn, rest)) if urn.eq_ignore_ascii_case(URN) => rest,
        Some(_) | None => text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text),
    };
    parse_uuid(&bare.to_ascii_lowercase()).ok()
}

/// The instant of a UUIDv7, or `None` for another version.
#[must_use]
pub fn born_at(id: Uuid) -> Option<Timestamp> {
    if id.get_version_num() != 7 {
        return None;
    }
    let (seconds, nanos) = id.get_timestamp()?.to_unix();
    let millis = i64::try_from(seconds).ok()?.checked_mul(1000)?.checked_add(i64::from(nanos / 1_000_000))?;
    Some(Timestamp::from_millis(millis))
}

/// The milliseconds in the first 48 bits of an id: the time of a UUIDv7.
pub(crate) fn millis_of(id: Uuid) -> i64 {
    let [a, b, c, d, e, f, ..] = id.into_bytes();
    [a, b, c, d, e, f].iter().fold(0, |millis, byte| (millis << 8) | i64::from(*byte))
}

/// The smallest UUIDv7 of the instant `at`: a bound for ranges over time-ordered ids.
#[must_use]
pub fn least_born_at(at: Timestamp) -> Uuid {
    let millis = u64::try_from(at.millis()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, &[0; 10]).into_uuid()
}

impl TransactionId {
    /// The id of the entry that a step of a longer operation writes.
    ///
    /// The same step at the same instant always has the same id, so a retry cannot write its entry twice if `at`
    /// follows from the record. `at` is the entry's position in a history.
    #[must_use]
    pub fn of_step(of: Uuid, step: &str, at: Timestamp) -> Self {
        let digest: [u8; 32] = Sha256::digest(format!("{of}/{step}")).into();
        let [a, b, c, d, e, f, g, h, i, j, ..] = digest;
        let millis = u64::try_from(at.millis()).unwrap_or(0);
        Self(uuid::Builder::from_unix_timestamp_millis(millis, &[a, b, c, d, e, f, g, h, i, j]).into_uuid())
    }
}

/// The owner of idempotency keys. Keys are scoped to the principal and the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Principal {
    /// The customer.
    Customer(CustomerId),
    /// The merchant, not its staff member: a retry by another staff member is a retry.
    Merchant(MerchantId),
    /// The terminal.
    Terminal(TerminalId),
    /// The operator's staff member.
    Staff(StaffId),
}

impl Principal {
    /// Parses the journal's form, for example `customer:<id>`.
    ///
    /// # Errors
    /// [`IdError`] if it has another form.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let (kind, id) = text.split_once(':').ok_or(IdError)?;
        match kind {
            "customer" => CustomerId::parse(id).map(Self::Customer),
            "merchant" => MerchantId::parse(id).map(Self::Merchant),
            "terminal" => TerminalId::parse(id).map(Self::Terminal),
            "staff" => StaffId::parse(id).map(Self::Staff),
            _ => Err(IdError),
        }
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Customer(id) => write!(f, "customer:{id}"),
            Self::Merchant(id) => write!(f, "merchant:{id}"),
            Self::Terminal(id) => write!(f, "terminal:{id}"),
            Self::Staff(id) => write!(f, "staff:{id}"),
        }
    }
}

/// Whose staff a staff member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Employer {
    /// The tenant's operator.
    Operator,
    /// A merchant.
    Merchant(MerchantId),
}

/// Whose terminal a terminal is, from its registration on and for ever. It is also whose cash rooms are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TerminalOwner {
    /// The terminal is a till of a merchant.
    Merchant(MerchantId),
    /// The terminal is a counter of the tenant's operator.
    Operator,
}

impl TerminalOwner {
    const OPERATOR: &'static str = "operator";

    /// Parses a merchant's id, or `operator`.
    ///
    /// # Errors
    /// [`IdError`] for any other text.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        if text == Self::OPERATOR { Ok(Self::Operator) } else { MerchantId::parse(text).map(Self::Merchant) }
    }

    /// The merchant whose till it is; `None` for a counter.
    #[must_use]
    pub fn merchant(self) -> Option<MerchantId> {
        match self {
            Self::Merchant(id) => Some(id),
            Self::Operator => None,
        }
    }
}

impl fmt::Display for TerminalOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Merchant(id) => id.fmt(f),
            Self::Operator => f.write_str(Self::OPERATOR),
        }
    }
}

/// The person or program that acts, as the journal and the audit trail record it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    /// A customer.
    Customer(CustomerId),
    /// A merchant's staff member.
    MerchantStaff(StaffId),
    /// A terminal.
    Terminal(TerminalId),
    /// An operator's staff member.
    Staff(StaffId),
    /// The PSP: an event, or its response.
    Stripe,
    /// The ledger itself, for example at an expiry.
    System,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Customer(id) => write!(f, "customer:{id}"),
            Self::MerchantStaff(id) => write!(f, "merchant_staff:{id}"),
            Self::Terminal(id) => write!(f, "terminal:{id}"),
            Self::Staff(id) => write!(f, "staff:{id}"),
            Self::Stripe => f.write_str("stripe"),
            Self::System => f.write_str("system"),
        }
    }
}

#[cfg(test)]
mod tests;
