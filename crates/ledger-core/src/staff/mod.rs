//! The staff of the operator and of merchants: who is a member, with which roles, and who may change that.
//!
//! A token identifies a person. What the person may do follows from the roles on the person's record alone.

mod amounts;
mod change;
mod counts;
mod declared;
mod denial;
mod founding;
mod invite;
mod person;
mod record;
mod recovery;
mod role;

pub use amounts::{StaffAmount, count_amount, grant_alone};
pub(crate) use change::acting;
pub use change::{StaffChange, is_address_of, plan_accept, plan_change, plan_declare, plan_strike};
pub use declared::{BeneficiaryKind, BeneficiaryKinds, Declared, DeclaredTies, kinds_text};
pub(crate) use declared::{kinds_of, kinds_value, read_kinds};
pub use denial::{DENIALS_PER_HOUR_MAX, record_denial};
pub use founding::{Founder, Founders, FoundersError, with_founders};
pub use invite::{FirstOwner, Invitation, plan_first_owner, plan_invite};
pub use person::person_names;
pub(crate) use person::{has_accepted, not_accepted};
pub use record::{MemberState, StaffMember};
pub use recovery::{
    RECOVERY_DELAY, Recovery, RecoveryState, finish_recovery, is_act_of_recovery, plan_cancel_recovery,
    request_recovery,
};
pub use role::{AdminRole, MerchantRole, StaffRole};

#[cfg(test)]
mod tests;
