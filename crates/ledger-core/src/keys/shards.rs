//! The shards of an index key.

use uuid::Uuid;

/// The shard of `id`. The last bytes of a UUIDv7 are random.
#[must_use]
pub fn shard_of(id: Uuid, shards: Shards) -> u32 {
    let [.., a, b, c, d] = id.into_bytes();
    u32::from_be_bytes([a, b, c, d]).checked_rem(shards.count()).unwrap_or(0)
}

/// The number of shards of an index key: 1 to 64. It may be raised, never lowered.
///
/// A writer may use a smaller count while it is cached, and a record keeps the count that it was created with. Both
/// write to shards that every later count includes. So a worker that looks for work reads all shards up to the count,
/// and a reader that relies on the absence of an item reads the count without a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shards(u32);

impl Shards {
    /// One shard.
    pub const ONE: Self = Self(1);
    /// The largest count.
    pub const MAX: Self = Self(64);
    /// The count for due index entries of a new tenant: 200 payments per second.
    pub const DUE_DEFAULT: Self = Self::ONE;
    /// The count for lists of customers and of terminals.
    pub const LISTED: Self = Self(16);
    /// The count for a new merchant: 800 payments per second.
    pub const MERCHANT_DEFAULT: Self = Self(4);
    /// The count for the acts of a day.
    pub const AUDIT: Self = Self(4);
    /// The count for the list of a tenant's cards: 2,000 cards issued per second.
    pub const CARDS: Self = Self(4);

    /// A count from 1 to 64, otherwise `None`.
    #[must_use]
    pub fn new(count: u32) -> Option<Self> {
        (1..=Self::MAX.0).contains(&count).then_some(Self(count))
    }

    /// The number of shards.
    #[must_use]
    pub fn count(self) -> u32 {
        self.0
    }
}
