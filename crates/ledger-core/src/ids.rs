//! Who and what: tenants, the typed ids of everything that has one, and the parties of a transaction.
//! An id of one kind can never be passed for another.

use crate::time::Timestamp;
use sha2::{Digest, Sha256};
use std::fmt;
use uuid::Uuid;

/// How the text of a UUID as a URN begins (RFC 9562).
const URN: &str = "urn:uuid:";

/// A text that is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id: ids are UUIDs in lower case with hyphens, for example 019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e")]
pub struct IdError;

/// A tenant's slug: 1 to 32 of `a-z`, `0-9` and `-`. It comes from the verified identity only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant(String);

impl Tenant {
    /// Reads a slug.
    ///
    /// # Errors
    /// [`IdError`] if it is none.
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

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// From a UUID, minted by the runtime or read from the table.
            #[must_use]
            pub const fn new(id: Uuid) -> Self {
                Self(id)
            }

            /// Reads the canonical text: hyphenated, in lower case.
            ///
            /// # Errors
            /// [`IdError`] for any other text, also where it means the same UUID.
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
    /// A stored-value card.
    CardId;
    /// A merchant.
    MerchantId;
    /// A storefront terminal.
    TerminalId;
    /// An operator's staff member, or a merchant's.
    StaffId;
    /// A payment.
    PaymentId;
    /// A refund of a payment or of a top-up, or the reversal of a payment.
    RefundId;
    /// A top-up through the payment provider.
    TopupId;
    /// A journal entry.
    TransactionId;
    /// A requested adjustment.
    AdjustmentId;
    /// A bulk grant.
    JobId;
    /// An audit record.
    AuditId;
    /// A merchant's settlement.
    SettlementId;
    /// A request about a settlement that was paid: to send its file again, or to book it as returned.
    PayoutRequestId;
    /// A decision about a top-up that the provider contradicts.
    DecisionId;
    /// A run of the reconciliation.
    RunId;
    /// A break that a run found.
    FindingId;
}

/// Reads a UUID from its canonical text: hyphenated, in lower case.
///
/// The `uuid` crate's own parser also takes capitals, braces, `urn:uuid:` and no hyphens. An id that had several
/// texts would be one id in a guard and several in a key, so nothing else of ours calls that parser.
///
/// # Errors
/// [`IdError`] for any other text, also where it means the same UUID.
pub fn parse_uuid(text: &str) -> Result<Uuid, IdError> {
    let id = Uuid::try_parse(text).map_err(|_| IdError)?;
    if *id.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == *text { Ok(id) } else { Err(IdError) }
}

/// When the UUIDv7 was born that a client's own text spells, in capitals, in braces or with `urn:uuid:` as well.
///
/// Such a text is a key as it is: two spellings are two keys. But each of them has an age. A text without hyphens has
/// none: one in 64 of 32 random hexadecimal digits would look like a UUIDv7.
#[must_use]
pub fn spelled_birth(text: &str) -> Option<Timestamp> {
    let bare = match text.split_at_checked(URN.len()) {
        Some((urn, rest)) if urn.eq_ignore_ascii_case(URN) => rest,
        Some(_) | None => text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text),
    };
    parse_uuid(&bare.to_ascii_lowercase()).ok().and_then(born_at)
}

/// When a UUIDv7 was born, or `None` for another version.
#[must_use]
pub fn born_at(id: Uuid) -> Option<Timestamp> {
    if id.get_version_num() != 7 {
        return None;
    }
    let (seconds, nanos) = id.get_timestamp()?.to_unix();
    let millis = i64::try_from(seconds).ok()?.checked_mul(1000)?.checked_add(i64::from(nanos / 1_000_000))?;
    Some(Timestamp::from_millis(millis))
}

/// The least UUIDv7 that can be born at `at`: a border for ranges over time-ordered ids.
#[must_use]
pub fn least_born_at(at: Timestamp) -> Uuid {
    let millis = u64::try_from(at.millis()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, &[0; 10]).into_uuid()
}

impl TransactionId {
    /// The id of the entry that a step of a longer operation writes. The same step at the same instant
    /// has the same id whoever takes it: where the instant follows from the record, the entry can be
    /// written once only. `at` is where the entry stands in a history.
    #[must_use]
    pub fn of_step(of: Uuid, step: &str, at: Timestamp) -> Self {
        let digest: [u8; 32] = Sha256::digest(format!("{of}/{step}")).into();
        let [a, b, c, d, e, f, g, h, i, j, ..] = digest;
        let millis = u64::try_from(at.millis()).unwrap_or(0);
        Self(uuid::Builder::from_unix_timestamp_millis(millis, &[a, b, c, d, e, f, g, h, i, j]).into_uuid())
    }
}

/// Whose idempotency keys they are: keys are scoped to the principal and the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Principal {
    /// The customer.
    Customer(CustomerId),
    /// The merchant, not its staff member: a colleague's retry is a retry.
    Merchant(MerchantId),
    /// The terminal.
    Terminal(TerminalId),
    /// The operator's staff member.
    Staff(StaffId),
}

impl Principal {
    /// Reads the journal's form, for example `customer:<id>`.
    ///
    /// # Errors
    /// [`IdError`] if it is none.
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

/// Who acted, as the journal and the audit trail name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A customer.
    Customer(CustomerId),
    /// A merchant's staff member.
    MerchantStaff(StaffId),
    /// A terminal.
    Terminal(TerminalId),
    /// An operator's staff member.
    Staff(StaffId),
    /// The payment provider: an event, or its answer.
    Stripe,
    /// The ledger itself: the time for something is over.
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
