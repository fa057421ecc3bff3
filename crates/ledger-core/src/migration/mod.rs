//! Migration of a tenant from the legacy model to split records, concern by concern, while requests go on.
//!
//! The legacy model keeps a customer in one item, the God Record. Builders know split records only. This module decides
//! where a transaction is written and where a split record is read in each phase. It also adopts, copies, compares and
//! contracts one customer.

mod adopt;
mod contract;
mod copy;
mod counterpart;
mod history;
mod legacy;
mod moving;
mod page;
mod parity;
mod pass;
mod placed;
mod plan;
mod record;
mod seen;
mod setting;
mod snapshot;
mod standing;

pub use adopt::{Adoption, adopt};
pub use contract::{Contraction, HISTORY_KEPT, contract, expire_history};
pub use copy::{Copying, copy};
pub use counterpart::Counterpart;
pub use history::{LEGACY_SK, is_of_legacy, merged, refer, reference, unread_amounts};
pub use legacy::Unadoptable;
pub use moving::{Evidence, PassResult, RECENT, Refused, SETTLES};
pub use page::{legacy_after, legacy_of, newest};
pub use parity::{Difference, Parity, parity, reference_keys, refers_to};
pub use pass::{
    EXAMPLES_MAX, PASS_LEASE, Pass, PassKind, PassRequest, PassState, PassTally, evidence, pass_key, plan as plan_pass,
};
pub use placed::{Cancelled, Placed};
pub use plan::{Concern, Model, Move, Phase, PhaseError, Stage};
pub use record::{BalanceLocation, Stale};
pub use seen::{LegacyReadError, Reading};
pub use setting::{Fence, Layout, Migration, open_tenant};
pub use snapshot::{Change, CustomerRef, LegacyItem, Snapshot, UnsupportedType};
pub use standing::LegacyBalances;

#[cfg(test)]
mod tests;
