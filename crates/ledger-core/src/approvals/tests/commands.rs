//! A command of each kind.

use super::*;
use crate::adjustments::{Adjustment, Answered, ReasonCode};
use crate::bank_files::{FileChange, FileEnd};
use crate::dynamo::{Item, Value};
use crate::forms::SeenCorrections;
use crate::ids::{BankFileId, FindingId, RefundId, RunId, SettlementId, TopupId};
use crate::limits::{Holder, LimitChange, OwnLimits};
use crate::money::Delta;
use crate::settlements::ReturnedTransfer;
use crate::ties::ActScope;
use crate::topups::{DecisionKind, TopupDecision};

fn adjustment(delta: Delta, finding: Option<Answered>) -> Adjustment {
    Adjustment { finding, ..Adjustment::posting(Account::Customer(customer()), delta, ReasonCode::Correction) }
}

fn decision(refund: Option<RefundId>, object: Option<&str>) -> TopupDecision {
    TopupDecision {
        topup: TopupId::new(Uuid::from_u128(32)),
        refund,
        wallet: Account::Customer(customer()),
        way: if object.is_some() { DecisionKind::Book } else { DecisionKind::WriteOff },
        object: object.map(str::to_owned),
    }
}

fn answered(exposure: Option<Delta>) -> Answered {
    let seen = SeenCorrections { count: 1, last_at: Some(cx().now) };
    Answered { run: RunId::new(Uuid::from_u128(30)), finding: FindingId::new(Uuid::from_u128(31)), seen, exposure }
}

/// An adjustment that corrects an exposure alone.
fn of_exposure() -> Adjustment {
    Adjustment { delta: None, ..adjustment(points("5").credit(), Some(answered(Some(points("5").debit())))) }
}

#[test]
fn adjustment_of_an_exposure_is_for_a_named_account_and_has_no_amount() {
    let command = Command::Adjustment(of_exposure());
    assert_eq!(command.scope(), ActScope::Named(vec![Account::Customer(customer())]));
    let effect = command.effect();
    assert_eq!((effect.account, effect.amount), (Some(Account::Customer(customer())), None));
    assert!(command.details().iter().all(|(name, _)| *name != "direction"));
    // A card has no exposure.
    let mut of_card = command.item();
    of_card.insert("account".to_owned(), Value::s(Account::Card(CardId::new(Uuid::from_u128(26)))));
    assert!(Command::read(&of_card).is_err());
}

#[test]
fn rule_of_each_command_says_what_it_is_for() {
    for command in commands() {
        let of: Vec<&CommandRule> = COMMAND_RULES.iter().filter(|rule| rule.operation == command.operation()).collect();
        let [rule] = of[..] else { panic!("{} rules of {}", of.len(), command.operation()) };
        assert_eq!(rule.permission, command.permission());
        let scope = command.scope();
        match rule.scope {
            ScopeRule::Named | ScopeRule::ByCount => assert!(scope.is_named(), "{rule:?}"),
            ScopeRule::Class => assert!(!scope.is_named(), "{rule:?}"),
        }
        let words = |account: &Account| match account {
            Account::Customer(_) => &["customer", "owner"][..],
            Account::Card(_) => &["card"],
            Account::Merchant(_) => &["merchant"],
            Account::Tenant(_) => &[],
        };
        for account in scope.accounts() {
            assert!(words(account).iter().any(|word| rule.accounts.contains(word)), "{rule:?}: {account}");
        }
    }
    let kinds: BTreeSet<&str> = commands().iter().map(|command| command.operation().name()).collect();
    let rules: BTreeSet<&str> = COMMAND_RULES.iter().map(|rule| rule.operation.name()).collect();
    assert_eq!(rules.difference(&kinds).collect::<Vec<_>>(), Vec::<&&str>::new());
    assert_eq!(kinds.difference(&rules).collect::<Vec<_>>(), Vec::<&&str>::new());
    let customers = |count: u128| (0..count).map(|id| CustomerId::new(Uuid::from_u128(id))).collect();
    for (count, is_named) in [(1, true), (19, true), (20, false)] {
        let grant = Command::BulkGrant { customers: customers(count), amount: points("5") };
        assert_eq!(grant.scope().is_named(), is_named, "{count}");
    }
}

#[test]
fn adjustment_of_an_exposure_is_stale_once_it_differs_otherwise() {
    let balance = |parts: [i64; 4], corrections: i64| {
        let names = [attr::BALANCE, attr::HELD, attr::RESERVED, attr::EXPOSURE];
        let mut item: Item =
            names.iter().zip(parts).map(|(name, part)| ((*name).to_owned(), Value::int(part))).collect();
        item.insert("corrections".to_owned(), Value::int(corrections));
        item
    };
    let (command, change) = (of_exposure(), |from: i64, to: i64| Some((from.to_string(), to.to_string())));
    // What is paid, held and reserved meanwhile changes both alike.
    for (parts, corrections, is_stale) in [
        ([10, 0, 0, 15], 1, false),
        ([3, 2, 4, 14], 1, false),
        ([10, 0, 0, 15], 2, true),
        ([10, 0, 0, 14], 1, true),
        ([10, 0, 0, 10], 1, true),
    ] {
        let item = balance(parts, corrections);
        assert_eq!(command.is_stale(Some(&item)).unwrap(), is_stale, "{parts:?}");
    }
    let shown = |adjustment: &Adjustment| {
        let changed = adjustment.exposure_change(Some(&balance([10, 0, 0, 15], 1))).unwrap();
        changed.map(|(from, to)| (from.text(), to.text()))
    };
    assert_eq!(shown(&command), change(15, 10));
    let both = adjustment(points("7").credit(), Some(answered(Some(points("5").debit()))));
    assert_eq!(shown(&both), change(15, 17));
    assert_eq!(shown(&adjustment(points("7").credit(), Some(answered(None)))), None);
}

/// One of each kind.
pub(super) fn commands() -> Vec<Command> {
    let card = CardId::new(Uuid::from_u128(26));
    let merchant = MerchantId::new(Uuid::from_u128(20));
    let (owner, terminal) = (TerminalOwner::Merchant(merchant), TerminalId::new(Uuid::from_u128(22)));
    let person = StaffId::new(Uuid::from_u128(21));
    let email = FreeText::email("taro@example.jp").unwrap();
    let role = |name| StaffRole::parse(Staff::Operator, name).unwrap();
    let destination = Destination::Stripe { external_account: PspId::parse("ba_1").unwrap() };
    let digest = destination_digest(Some(&destination));
    let topup = |owner| CashTopup {
        terminal,
        owner,
        transaction: TransactionId::new(Uuid::from_u128(25)),
        key: ClaimKey::parse("t-1-8").unwrap(),
        card: CardId::new(Uuid::from_u128(26)),
        amount: yen("1000"),
    };
    let replaced =
        |owner| ReplacedCard { card: CardId::new(Uuid::from_u128(26)), by: CardId::new(Uuid::from_u128(27)), owner };
    let file = BankFileId::parse("2026-12-10-02").unwrap();
    let returned = |file| ReturnedTransfer {
        merchant,
        settlement: SettlementId::new(Uuid::from_u128(34)),
        amount: yen("1000"),
        day: BusinessDate::parse("2026-12-10").unwrap(),
        file,
    };
    vec![
        grant(),
        Command::BulkGrant { customers: vec![customer(), CustomerId::new(Uuid::from_u128(3))], amount: points("1") },
        Command::Adjustment(adjustment(yen("1000").debit(), None)),
        Command::Adjustment(adjustment(points("5").credit(), Some(answered(None)))),
        Command::Adjustment(adjustment(points("5").credit(), Some(answered(Some(points("5").debit()))))),
        Command::Adjustment(of_exposure()),
        Command::TopupDecision(decision(None, None)),
        Command::TopupDecision(decision(Some(RefundId::new(Uuid::from_u128(33))), Some("re_1 failed 300 jpy"))),
        Command::SettlementReturn(returned(None)),
        Command::SettlementReturn(returned(Some(file))),
        Command::BankFile(FileEnd { file, change: FileChange::Reject, seen: 2 }),
        Command::BankFile(FileEnd { file, change: FileChange::Withdraw, seen: 3 }),
        Command::BankFile(FileEnd { file, change: FileChange::Reopen, seen: 4 }),
        Command::CashCeiling { owner, ceiling: yen("1000"), seen: None },
        Command::CashCeiling { owner, ceiling: yen("1000"), seen: Some(yen("7").as_balance()) },
        Command::RefundCeiling { merchant, ceiling: yen("1000"), seen: yen("7").as_balance() },
        Command::AssetBudget { budget: points("1000"), seen: points("7").as_balance() },
        Command::CashDeposit { merchant, amount: yen("1000") },
        Command::CashCeiling { owner: TerminalOwner::Operator, ceiling: yen("1000"), seen: None },
        Command::CashRoom { terminal, owner, room: yen("1000") },
        Command::CashRoom { terminal, owner: TerminalOwner::Operator, room: yen("1000") },
        Command::CashDepositReversal {
            merchant,
            deposit: TransactionId::new(Uuid::from_u128(23)),
            amount: yen("1000"),
        },
        Command::Refund(OrderedRefund {
            merchant,
            payment: PaymentId::new(Uuid::from_u128(24)),
            payer: Account::Customer(customer()),
            amount: yen("1000"),
        }),
        Command::CashReversal(topup(owner)),
        Command::CashReversal(topup(TerminalOwner::Operator)),
        Command::CounterOpen { terminal: Some(terminal) },
        Command::CashCollection { terminal, amount: yen("1000") },
        Command::Destination { merchant, destination: destination.clone(), seen: None },
        Command::Destination { merchant, destination, seen: digest.clone() },
        Command::SettlementOpen { merchant, pay_on: None, seen: digest.clone() },
        Command::SettlementOpen { merchant, pay_on: Some(BusinessDate::parse("2026-11-30").unwrap()), seen: digest },
        Command::SettlementRun { closing: BusinessDate::parse("2026-11-20").unwrap(), seen: schedule_seen(None) },
        Command::SettlementSchedule { merchant, schedule: None, seen: Some(OwnSchedule::ByHand) },
        Command::SettlementSchedule { merchant, schedule: "weekly:friday bank_days:2".parse().ok(), seen: None },
        Command::EnrolmentCode { terminal, owner },
        Command::EnrolmentCode { terminal, owner: TerminalOwner::Operator },
        Command::StaffInvite {
            id: person,
            email: email.clone(),
            roles: BTreeSet::from([role("approver"), role("viewer")]),
            beneficiary_of: BeneficiaryKinds::from([
                (Account::Merchant(merchant), BeneficiaryKind::Business),
                (Account::Card(card), BeneficiaryKind::Own),
            ]),
        },
        Command::StaffChange { id: person, roles: None, beneficiary_of: None, state: None, seen: 1 },
        Command::StaffChange {
            id: person,
            roles: Some(BTreeSet::from([role("owner")])),
            beneficiary_of: Some(BeneficiaryKinds::new()),
            state: Some(MemberState::Active),
            seen: 4,
        },
        Command::TermsChange {
            changes: changes(),
            from: Timestamp::parse("2026-12-01T00:00:00Z").unwrap(),
            seen: TermsVersion::FIRST,
        },
        Command::TermsCancel { version: TermsVersion::new(2).unwrap() },
        Command::CardReplace(replaced(None)),
        Command::CardReplace(replaced(Some(customer()))),
        Command::SignInMove(SignInMove {
            customer: customer(),
            subject: SubjectId::new(Uuid::from_u128(28)),
            seen: own_of(customer()),
        }),
        Command::CustomerClose(CustomerClosing {
            customer: customer(),
            seen: [Asset::Ecopay, Asset::Point].map(|asset| (asset.clone(), Balance::zero(asset))).into(),
        }),
        Command::CardClose(CardClosing { card, owner: Some(customer()), seen: Balance::zero(Asset::Ecopay) }),
        Command::UnclaimedClaim(Claimed { from: Account::Card(card), to: customer(), amount: yen("300") }),
        Command::UnclaimedPayout(PaidOut { from: Account::Customer(customer()), amount: yen("300") }),
        Command::AccountLimits {
            account: Account::Card(card),
            asset: Asset::Ecopay,
            changes: vec![LimitChange::parse(Holder::Card, &AssetSpec::ECOPAY, "pay_day=2000").unwrap()],
            seen: OwnLimits::parse("", &Asset::Ecopay).unwrap(),
        },
        Command::WindDown,
        Command::CustomerErase { customer: customer() },
        Command::MerchantOwner { merchant, id: person, email },
    ]
}
