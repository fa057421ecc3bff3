//! The runs that are compared, and how the table is prepared for them.

use crate::chance::{Micros, SECOND};
use crate::designs::{Design, LANES_MAX};
use crate::model::limits::{NEW_TABLE_WRITE_UNITS, SPLIT_AFTER, TABLE_QUOTA_WRITE_UNITS};
use crate::model::table::TableSetup;
use crate::simulation::{Arrivals, Outcome, Setup, Simulation};

/// The rates of the full comparison, in payments a second.
pub const RATES: [u64; 7] = [1, 10, 100, 500, 1_000, 2_000, 5_000];
/// The rates of the short one.
pub const RATES_SHORT: [u64; 4] = [1, 100, 500, 5_000];
/// The shards of a tenant that was prepared for 3,200 payments a second, and of a new merchant: `Shards::MERCHANT_DEFAULT`.
const SHARDS_DEFAULT: (u32, u32) = (16, 4);
/// The most shards: `Shards::MAX`.
const SHARDS_MAX: u32 = 64;
/// What a customer has: far more than a run takes.
const CUSTOMER_BALANCE: i64 = 1_000_000_000;
/// A customer pays once in so many seconds, on average.
const SECONDS_BETWEEN_PAYMENTS: u64 = 100;
/// Write units of a payment's life until it is credited, in the design that takes most: 14 where the payment writes its
/// merchant's balance, then 3.2 for its seal. Ours takes 12 and 3.2: 2 for the entry, 1 for its removal from `due`, and 18
/// for 95 entries: 2 for the lane's head, 14 for the segment and 2 for the merchant.
const UNITS_OF_A_PAYMENT: u64 = 18;

/// A run with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The name in tables.
    pub name: &'static str,
    /// The run.
    pub setup: Setup,
}

impl Scenario {
    /// Runs it.
    #[must_use]
    pub fn run(&self) -> Outcome {
        Outcome { scenario: self.name.to_owned(), ..Simulation::run(self.setup) }
    }
}

/// The name of the runs in which the designs are compared.
pub const PREPARED: &str = "prepared";
/// The name of the runs on a prepared table with the most shards.
pub const MOST_SHARDS: &str = "prepared, 64 shards";
/// The name of the runs on a prepared table with an audit trail that has all its lanes.
pub const IN_LANES: &str = "prepared, 16 lanes";
/// The name of the runs of ten minutes on a prepared table, with an audit trail that begins with one lane.
pub const FOR_MINUTES: &str = "ten minutes, one lane at first";
/// The name of the same runs with a trail that has all its lanes.
pub const FOR_MINUTES_IN_LANES: &str = "ten minutes, 16 lanes";
/// The name of the runs on a table as deployed.
pub const AS_DEPLOYED: &str = "as deployed";
/// The name of the runs on a prepared table with half the published latency of transactions.
pub const HALF_LATENCY: &str = "prepared, half the latency";

/// All scenarios: every design on a prepared table, ours with all lanes, ours as deployed, ours with half the latency, and
/// one wallet at 20 payments a second.
///
/// The published latency is from 2020 and includes the network. Half of it shows what depends on it.
#[must_use]
pub fn all(rates: &[u64], seconds: u64, seed: u64) -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    for design in Design::ALL {
        for rate in rates {
            let setup = festival(design, *rate, seconds, Preparation::AsAdvised, seed);
            scenarios.push(Scenario { name: PREPARED, setup });
        }
    }
    for rate in rates {
        let setup = festival(Design::Credited, *rate, seconds, Preparation::MostShards, seed);
        scenarios.push(Scenario { name: MOST_SHARDS, setup });
    }
    for rate in rates {
        let prepared = festival(Design::Credited, *rate, seconds, Preparation::AsAdvised, seed);
        scenarios.push(Scenario { name: IN_LANES, setup: Setup { lanes: LANES_MAX, ..prepared } });
    }
    for rate in rates {
        let prepared = festival(Design::Credited, *rate, seconds, Preparation::AsAdvised, seed);
        let setup = Setup { latency_percent: 50, ..prepared };
        scenarios.push(Scenario { name: HALF_LATENCY, setup });
    }
    for rate in rates {
        let setup = festival(Design::Credited, *rate, seconds, Preparation::None, seed);
        scenarios.push(Scenario { name: AS_DEPLOYED, setup });
    }
    let wallets = [
        ("one wallet, even", Arrivals::Even, 100),
        ("one wallet, random", Arrivals::Random, 100),
        ("one wallet, even, half the latency", Arrivals::Even, 50),
        ("one wallet, random, half the latency", Arrivals::Random, 50),
    ];
    for (name, arrivals, latency_percent) in wallets {
        let setup = Setup { latency_percent, ..one_wallet(20, seconds, arrivals, seed) };
        scenarios.push(Scenario { name, setup });
    }
    scenarios
}

/// Ten minutes at one rate: long enough for a trail to double its lanes to the most, and to catch up.
#[must_use]
pub fn for_minutes(rate: u64, seed: u64) -> [Scenario; 2] {
    let setup = festival(Design::Credited, rate, 600, Preparation::AsAdvised, seed);
    let in_lanes = Setup { lanes: LANES_MAX, ..setup };
    [Scenario { name: FOR_MINUTES, setup }, Scenario { name: FOR_MINUTES_IN_LANES, setup: in_lanes }]
}

/// Half an hour on a table as deployed, so that DynamoDB splits its partitions.
#[must_use]
pub fn half_an_hour(seed: u64) -> Scenario {
    let setup = festival(Design::Credited, 500, 1_800, Preparation::None, seed);
    Scenario { name: "half an hour as deployed", setup }
}

/// How the table was prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparation {
    /// Not at all: a table as deployed, the account's default quota, shards of a new tenant and merchant.
    None,
    /// As `docs/operations/throttling.md` says: warm throughput set and quota raised to one and a half times what the
    /// rate needs, and a shard for each 200 payments a second.
    AsAdvised,
    /// The same, with the most shards.
    MostShards,
}

/// The shards that `docs/operations/throttling.md` advises for a rate: one for each 200 payments a second, and never
/// fewer than a new owner has.
fn advised(rate: u64, least: u32) -> u32 {
    let shards = rate.div_ceil(200).min(SHARDS_MAX.into());
    u32::try_from(shards).unwrap_or(least).max(least)
}

/// A festival: payments of many customers to one merchant.
#[must_use]
pub fn festival(design: Design, rate: u64, seconds: u64, preparation: Preparation, seed: u64) -> Setup {
    let (tenant_shards, merchant_shards) = match preparation {
        Preparation::None => SHARDS_DEFAULT,
        Preparation::AsAdvised => (advised(rate, SHARDS_DEFAULT.0), advised(rate, SHARDS_DEFAULT.1)),
        Preparation::MostShards => (SHARDS_MAX, SHARDS_MAX),
    };
    let needed = rate.saturating_mul(UNITS_OF_A_PAYMENT).saturating_mul(3) / 2;
    let table = match preparation {
        Preparation::None => TableSetup {
            warm_write_units: NEW_TABLE_WRITE_UNITS,
            quota_write_units: Some(TABLE_QUOTA_WRITE_UNITS),
            split_after: SPLIT_AFTER,
            placement: seed,
        },
        Preparation::AsAdvised | Preparation::MostShards => TableSetup {
            warm_write_units: needed.max(NEW_TABLE_WRITE_UNITS),
            quota_write_units: Some(needed.max(TABLE_QUOTA_WRITE_UNITS)),
            split_after: SPLIT_AFTER,
            placement: seed,
        },
    };
    let customers = rate.saturating_mul(SECONDS_BETWEEN_PAYMENTS).max(1_000);
    Setup {
        design,
        rate,
        arrivals: Arrivals::Random,
        duration: seconds.saturating_mul(SECOND),
        drain: drain(seconds),
        customers: u32::try_from(customers).unwrap_or(u32::MAX),
        customer_balance: CUSTOMER_BALANCE,
        latency_percent: 100,
        tenant_shards,
        merchant_shards,
        lanes: 1,
        table,
        seed,
    }
}

/// One customer's payments, one after the other: a wallet that many devices or a script use.
#[must_use]
pub fn one_wallet(rate: u64, seconds: u64, arrivals: Arrivals, seed: u64) -> Setup {
    Setup { arrivals, customers: 1, ..festival(Design::Credited, rate, seconds, Preparation::AsAdvised, seed) }
}

/// Ten times the arrivals, and ten minutes more.
fn drain(seconds: u64) -> Micros {
    seconds.saturating_mul(10).saturating_add(600).saturating_mul(SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_follow_the_advice() {
        assert_eq!([1, 1_000, 2_000, 5_000, 50_000].map(|rate| advised(rate, 4)), [4, 5, 10, 25, 64]);
        assert_eq!(advised(3_000, 16), 16);
    }
}
