//! Who is kept from what by a tie, and what is recorded of it.

use super::*;
use crate::ties::{Holders, Tie, TieKind};

fn declaring(number: u128, role: &str, kind: BeneficiaryKind) -> StaffMember {
    let of = Declared { kind, by: StaffId::new(Uuid::from_u128(number)), at: cx().now };
    StaffMember { beneficiary_of: DeclaredTies::from([(Account::Customer(customer()), of)]), ..member(number, role) }
}

fn tie(member: &StaffMember, kind: TieKind) -> Tie {
    Tie { member: member.id, account: Account::Customer(customer()), kind }
}

fn resolved(command: &Command, members: &[&StaffMember]) -> Holders {
    let (tenant, keys) = (tenant(), MarkerKeys::of_tests());
    Resolver::new(&tenant, members.iter().copied(), command.scope(), &keys).resolve(|_| None).unwrap()
}

fn requested(by: &StaffMember, command: Command) -> Result<Approval, PlanRefusal> {
    let (tenant, terms, reason) = (tenant(), terms(), FreeText::parse("thanks", 140).unwrap());
    let holders = resolved(&command, &[by]);
    let seen = Seen { holders: &holders, ..seen(&terms) };
    let request =
        ApprovalRequest { tenant: &tenant, by, command, reason: Some(&reason), seen, guarded: &BTreeMap::new() };
    plan_request(&request, &cx()).map(|planned| planned.receipt)
}

fn approved(
    approval: &Approval,
    holders: &Holders,
    both: (&StaffMember, &StaffMember),
) -> Result<Approval, PlanRefusal> {
    let (tenant, terms) = (tenant(), terms());
    let seen = Seen { holders, ..seen(&terms) };
    let (decider, requester) = both;
    let command = Approve { tenant: &tenant, approval, decider, requester, seen };
    plan_approve(&command, &cx()).map(|(planned, _)| planned.receipt)
}

fn many(count: u128) -> Command {
    let customers = (0..count).map(|at| CustomerId::new(Uuid::from_u128(CUSTOMER.saturating_add(at)))).collect();
    Command::BulkGrant { customers, amount: points("5") }
}

#[test]
fn own_account_is_not_asked_for_and_that_of_the_family_is_recorded() {
    for by in [member(CUSTOMER, "treasurer"), declaring(REQUESTER, "treasurer", BeneficiaryKind::Own)] {
        assert_eq!(requested(&by, grant()).unwrap_err(), PlanRefusal::Refused(Failure::FourEyes));
        assert_eq!(requested(&by, many(19)).unwrap_err(), PlanRefusal::Refused(Failure::FourEyes));
    }
    let by = declaring(REQUESTER, "treasurer", BeneficiaryKind::Family);
    let approval = requested(&by, grant()).unwrap();
    assert_eq!(approval.ties, [tie(&by, TieKind::Family)]);
    assert_eq!(Approval::read(&approval.item()).unwrap(), approval);
}

#[test]
fn tie_of_the_family_is_recorded_once_no_other_may_decide() {
    let requester = declaring(REQUESTER, "treasurer", BeneficiaryKind::Business);
    let (decider, other) = (declaring(DECIDER, "approver", BeneficiaryKind::Family), member(3, "approver"));
    let approval = requested(&requester, grant()).unwrap();
    let of =
        |others: &[&StaffMember]| resolved(&grant(), &[&decider, &requester]).with_others(&resolved(&grant(), others));
    let refused = approved(&approval, &of(&[&other]), (&decider, &requester)).unwrap_err();
    assert_eq!(refused, PlanRefusal::Refused(Failure::FourEyes));
    let approval = approved(&approval, &of(&[]), (&decider, &requester)).unwrap();
    assert_eq!(approval.ties, [tie(&requester, TieKind::Business), tie(&decider, TieKind::Family)]);
    // Who asked, who decides, and who may not, are no others.
    let staff = vec![decider.clone(), requester.clone(), other.clone(), member(4, "treasurer")];
    assert_eq!(other_deciders(&approval, &decider, staff), [other]);
}

#[test]
fn account_that_became_the_requesters_own_is_not_decided_on() {
    let (decider, requester) = both();
    let approval = requested(&requester, grant()).unwrap();
    let tied = declaring(REQUESTER, "treasurer", BeneficiaryKind::Own);
    let holders = resolved(&grant(), &[&decider, &tied]);
    let refused = approved(&approval, &holders, (&decider, &tied)).unwrap_err();
    assert_eq!(refused, PlanRefusal::Refused(Failure::WrongState));
}

#[test]
fn one_of_a_class_decides_and_is_recorded() {
    let (requester, decider) = (member(REQUESTER, "treasurer"), member(CUSTOMER, "approver"));
    let approval = requested(&requester, many(20)).unwrap();
    let holders = resolved(&many(20), &[&decider, &requester]);
    let approval = approved(&approval, &holders, (&decider, &requester)).unwrap();
    assert_eq!(approval.ties, [tie(&decider, TieKind::SignIn)]);
}

/// Holders of another command, or of other members, are none.
#[test]
fn holders_of_another_command_are_refused() {
    let (decider, requester) = both();
    let approval = pending();
    let other = resolved(&many(2), &[&decider, &requester]);
    let refused = approved(&approval, &other, (&decider, &requester)).unwrap_err();
    assert_eq!(refused, PlanRefusal::Refused(Failure::StalePlan));
    let of_requester = resolved(&grant(), &[&requester]);
    let refused = approved(&approval, &of_requester, (&decider, &requester)).unwrap_err();
    assert_eq!(refused, PlanRefusal::Refused(Failure::FourEyes));
}

/// A tie of the family does not keep a member from it: nothing is executed.
#[test]
fn tie_to_an_own_account_keeps_from_rejecting_and_withdrawing() {
    let requester = member(REQUESTER, "treasurer");
    let approval = requested(&requester, grant()).unwrap();
    let own = declaring(DECIDER, "owner", BeneficiaryKind::Own);
    let holders = resolved(&grant(), &[&own]);
    let four_eyes = PlanRefusal::Refused(Failure::FourEyes);
    let withdrawn =
        |by: &StaffMember, holders: Option<&Holders>| plan_withdraw(&tenant(), &approval, (by, holders), &cx());
    assert_eq!(plan_reject(&tenant(), &approval, (&own, &holders), &cx()).unwrap_err(), four_eyes);
    assert_eq!(withdrawn(&own, Some(&holders)).unwrap_err(), four_eyes);
    let untied = member(DECIDER, "owner");
    assert_eq!(withdrawn(&untied, None).unwrap_err(), four_eyes, "the ties were not resolved");
    let of_another = resolved(&many(2), &[&untied]);
    assert_eq!(withdrawn(&untied, Some(&of_another)).unwrap_err(), PlanRefusal::Refused(Failure::StalePlan));
    let family = declaring(DECIDER, "owner", BeneficiaryKind::Family);
    let of_family = resolved(&grant(), &[&family]);
    let ended = withdrawn(&family, Some(&of_family)).unwrap().receipt;
    assert_eq!(ended.ties, [tie(&family, TieKind::Family)]);
    // The requester needs none, whatever the account has become since.
    assert!(withdrawn(&requester, None).is_ok());
}
