//! A command that no member may decide on is found, and only that.

use super::*;

/// A request to change the roles of a member.
fn change_of(number: u128) -> Command {
    let role = StaffRole::parse(Staff::Operator, "treasurer").unwrap();
    Command::StaffChange {
        id: StaffId::new(Uuid::from_u128(number)),
        roles: Some(BTreeSet::from([role])),
        beneficiary_of: None,
        state: None,
        seen: 3,
    }
}

/// A pending command.
fn of(command: Command) -> Approval {
    let mut approval = pending();
    approval.command = command;
    approval
}

#[test]
fn command_has_no_decider_if_all_others_asked_for_it_or_are_its_subject() {
    let (requester, other) = (member(REQUESTER, "owner"), member(DECIDER, "owner"));
    let grant = pending();
    let about_other = of(change_of(DECIDER));
    let invited = |member: StaffMember| StaffMember { state: MemberState::Invited, accepted_at: None, ..member };
    let disabled = |member: StaffMember| StaffMember { state: MemberState::Disabled, ..member };
    let third = || member(4, "approver");
    for (what, approval, staff, is_without) in [
        ("another owner", &grant, vec![requester.clone(), other.clone()], false),
        ("the requester alone", &grant, vec![requester.clone()], true),
        ("no one", &grant, vec![], true),
        ("members who may not decide", &grant, vec![requester.clone(), member(4, "treasurer")], true),
        ("its subject", &about_other, vec![requester.clone(), other.clone()], true),
        ("an invited third", &about_other, vec![requester.clone(), other.clone(), invited(third())], true),
        ("a disabled third", &about_other, vec![requester.clone(), other.clone(), disabled(third())], true),
        ("a third", &about_other, vec![requester.clone(), other, third()], false),
    ] {
        assert_eq!(has_no_decider(approval, &staff, cx().now), is_without, "{what}");
    }
    // What has ended needs none.
    for state in ApprovalState::ALL {
        let is_without = has_no_decider(&in_state(state), std::slice::from_ref(&requester), cx().now);
        assert_eq!(is_without, state == ApprovalState::Pending, "{state:?}");
    }
}

#[test]
fn invitation_to_the_address_of_the_only_other_decider_has_none() {
    let decider = member(DECIDER, "owner");
    let command = Command::MerchantOwner {
        merchant: MerchantId::new(Uuid::from_u128(20)),
        id: StaffId::new(Uuid::from_u128(21)),
        email: decider.email.clone(),
    };
    let approval = of(command);
    assert!(has_no_decider(&approval, std::slice::from_ref(&decider), cx().now));
    let elsewhere = StaffMember { email: FreeText::email("jiro@example.jp").unwrap(), ..decider };
    assert!(!has_no_decider(&approval, &[elsewhere], cx().now));
}

#[test]
fn worker_looks_once_or_twice_an_hour() {
    let hour = Timestamp::parse("2026-11-30T12:00:00Z").unwrap();
    for late_ms in [0, 20_000, 59_999] {
        let ticks = (0..60_u64).map(|minute| hour.plus(std::time::Duration::from_millis(minute * 60_000 + late_ms)));
        let looks = ticks.filter(|tick| is_decider_looked_for(*tick)).count();
        assert!((1..=2).contains(&looks), "{looks}");
    }
}
