//! Which members may decide on a command, as far as their records and the command say it.

use super::command::Command;
use super::record::{Approval, ApprovalState};
use crate::ids::StaffId;
use crate::permission::Permission;
use crate::staff::StaffMember;
use crate::time::Timestamp;

const HOUR_S: i64 = 60 * 60;
/// The beginning of each hour in which pending commands are looked through, in seconds: a worker that runs once a minute does so
/// in it.
const LOOK_S: i64 = 2 * 60;

/// Whether a member may decide on a command: the member is active, has the permission, did not ask for it, and it is not about the
/// member.
fn may_decide_on((command, requested_by): (&Command, StaffId), member: &StaffMember) -> bool {
    member.may(Permission::ApprovalsDecide) && member.id != requested_by && !command.is_about(member)
}

/// Those of a staff who may decide on a command beside `decider`: they did not ask for it, and it is not about them.
#[must_use]
pub fn other_deciders(approval: &Approval, decider: &StaffMember, staff: Vec<StaffMember>) -> Vec<StaffMember> {
    let of = (&approval.command, approval.requested_by);
    staff.into_iter().filter(|member| member.id != decider.id && may_decide_on(of, member)).collect()
}

/// Whether a command is pending, and no member of the staff may decide on it. Ties to its accounts are left out: what they follow
/// from is in other items than the members' records.
#[must_use]
pub fn has_no_decider(approval: &Approval, staff: &[StaffMember], now: Timestamp) -> bool {
    match approval.state(now) {
        ApprovalState::Pending => {
            !staff.iter().any(|member| may_decide_on((&approval.command, approval.requested_by), member))
        }
        ApprovalState::Approved
        | ApprovalState::Rejected
        | ApprovalState::Withdrawn
        | ApprovalState::Expired
        | ApprovalState::Stale => false,
    }
}

/// Whether a worker looks for commands without a decider at an instant: in the first two minutes of each hour.
#[must_use]
pub fn is_decider_looked_for(now: Timestamp) -> bool {
    now.seconds().rem_euclid(HOUR_S) < LOOK_S
}
