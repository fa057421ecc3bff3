//! The questions of lists and searches.

use super::arguments::{at, id, merchant, slug};
use ledger_core::ids::CustomerId;
use ledger_core::keys::Lookup;
use ledger_core::reads::{self, Query, Request, Segment, Times};
use serde::{Deserialize, Serialize};

/// A part of a list by time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimesJson {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<(String, String)>,
}

/// A question, with the arguments of the function of the same name in `ledger_core::reads`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the functions of the same names are documented")]
pub enum FindingQuestion {
    Customers { tenant: String, shard: u32, times: TimesJson },
    Terminals { tenant: String, shard: u32, times: TimesJson },
    TerminalsOf { tenant: String, merchant: String, times: TimesJson },
    CustomersWith { tenant: String, lookup: String, key: String, hash: String },
    CustomersNamed { tenant: String, lookup: String, shard: u32, prefix: String },
    MerchantsNamed { tenant: String, prefix: String },
    ActsOf { tenant: String, customer: String, from: Option<String> },
    FoundRecords { tenant: String, number: usize, of: u16 },
    StoredCards { tenant: String, number: usize, of: u16 },
}

impl FindingQuestion {
    /// A query, or complete requests.
    pub(super) fn plain(&self) -> Result<Query, Vec<Request>> {
        Ok(match self {
            Self::Customers { tenant, shard, times } => reads::customers(&slug(tenant), *shard, times.read()),
            Self::Terminals { tenant, shard, times } => reads::terminals(&slug(tenant), *shard, times.read()),
            Self::TerminalsOf { tenant, merchant: of, times } => {
                reads::terminals_of(&slug(tenant), merchant(of), times.read())
            }
            Self::CustomersWith { tenant, lookup: of, key, hash } => {
                let hash: Vec<u8> =
                    (0..32).map(|at| u8::from_str_radix(&hash[2 * at..2 * at + 2], 16).unwrap()).collect();
                let hash = <[u8; 32]>::try_from(hash).unwrap();
                reads::customers_with(&slug(tenant), lookup(of), (key, &hash), None)
            }
            Self::CustomersNamed { tenant, lookup: of, shard, prefix } => {
                reads::customers_named(&slug(tenant), (lookup(of), *shard), prefix, None)
            }
            Self::MerchantsNamed { tenant, prefix } => reads::merchants_named(&slug(tenant), prefix, None),
            Self::ActsOf { tenant, customer, from } => {
                let customer = CustomerId::new(id(customer));
                reads::acts_of(&slug(tenant), customer, from.as_deref().map(at))
            }
            Self::FoundRecords { tenant, number, of } => {
                return Err(vec![reads::found_records(&slug(tenant), &Segment::all(*of)[*number])]);
            }
            Self::StoredCards { tenant, number, of } => {
                return Err(vec![reads::stored_cards(&slug(tenant), &Segment::all(*of)[*number])]);
            }
        })
    }
}

impl TimesJson {
    fn read(&self) -> Times {
        Times {
            from: self.from.as_deref().map(at),
            until: self.until.as_deref().map(at),
            after: self.after.as_ref().map(|(time, of)| (at(time), id(of))),
        }
    }
}

fn lookup(name: &str) -> Lookup {
    Lookup::OF_CUSTOMER.into_iter().find(|lookup| lookup.name() == name).unwrap()
}
