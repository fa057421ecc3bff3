//! Limits of what an account pays, sends and tops up: per operation, per day and per month in Japan, and per asset.
//!
//! What counts toward a limit of a day or a month is an attribute of the item whose balance changes:
//! `use_pay_20261123`, `use_pay_202611`. The action that changes the balance guards it, adds to it and removes those of
//! earlier days and months. So a limit needs no further item, no read and no reset.
//!
//! What a staff member refunds and grants is counted likewise, on the member's own record.
//!
//! A tenant without limits writes exactly what it would write without this module.

mod count;
mod own;
mod roles;
mod rule;
mod standing;
mod terms;
#[cfg(test)]
mod tests;

pub use count::{LimitHit, LimitRefusal, Place, UseCounter};
pub(crate) use count::{is_use, uncount};
pub(crate) use own::OWN;
pub use own::OwnLimits;
pub(crate) use roles::{Alone, count_alone, count_of_member, used_by_member};
pub use rule::{Holder, LimitChange, LimitKind, LimitPeriod, LimitValue, Rule};
pub use standing::{LimitStanding, standings};
pub(crate) use terms::{ACCOUNTS, ATTRIBUTE, VERSION};
pub use terms::{AccountLimits, LimitTerms};
