//! Each command is requested and decided on with its subject in each state.

use super::bank_file::{booked, file_id};
use super::settlement_open::{by_bank, with_account};
use super::*;
use crate::adjustments::{Adjustment, ReasonCode};
use crate::bank_files::{FileChange, FileEnd};
use crate::calendar::BankDeadline;
use crate::cards::record::{CardIssue, plan_issue};
use crate::customer_state;
use crate::customers::open::CustomerOpen;
use crate::dynamo::{Item, Value};
use crate::forms;
use crate::ids::{Actor, BankFileId};
use crate::keys::{Key, Partition};
use crate::limits::{Holder, LimitChange, OwnLimits};
use crate::merchant_state::MerchantState;
use crate::merchants;
use crate::operation::Operation;
use crate::payment_state::{PaymentState, Step};
use crate::settlements::{self, Open, PayOn, ReturnedTransfer, Settlement, Settling};
use crate::terms::MerchantTerms;
use crate::transaction::Action;
use crate::{customers, terminals};

const CARD: u128 = 26;
const NEW_CARD: u128 = 27;
const CLAIMING: u128 = 31;
const MERCHANT: u128 = 20;
const TILL: u128 = 22;
const COUNTER: u128 = 23;
const MEMBER: u128 = 21;

fn card(number: u128) -> CardId {
    CardId::new(Uuid::from_u128(number))
}

fn merchant() -> MerchantId {
    MerchantId::new(Uuid::from_u128(MERCHANT))
}

fn terminal(number: u128) -> TerminalId {
    TerminalId::new(Uuid::from_u128(number))
}

fn person() -> StaffId {
    StaffId::new(Uuid::from_u128(MEMBER))
}

fn reason() -> FreeText {
    FreeText::parse("as requested", 140).unwrap()
}

fn of_tenant() -> TenantTerms {
    let mut terms = with_account(BankDeadline::DEFAULT);
    terms.assets.insert(Asset::Ecopay, AssetTerms::running(AssetSpec::ECOPAY, None));
    let ceiling = yen("100000").as_balance();
    terms.ceilings = CeilingTerms { refund: ceiling.clone(), cash: ceiling };
    terms
}

/// The items of a tenant that has one of each.
#[derive(Clone, Default)]
pub(super) struct Store(BTreeMap<Key, Item>);

impl Store {
    fn put(&mut self, items: &[TransactItem]) {
        // All have the audit id of the one context.
        for item in items.iter().filter(|item| item.role() != Role::Audit) {
            if let Action::Put(put) = &item.action {
                self.insert(item.key().clone(), put.clone());
            }
        }
    }

    fn insert(&mut self, key: Key, mut item: Item) {
        item.insert(attr::PK.to_owned(), Value::s(key.pk()));
        item.insert(attr::SK.to_owned(), Value::s(key.sk()));
        self.0.insert(key, item);
    }

    pub(super) fn change(&mut self, key: &Key, attributes: &[(&str, Option<Value>)]) {
        let item = self.0.get_mut(key).unwrap_or_else(|| panic!("no item {key:?}"));
        for (name, value) in attributes {
            match value {
                Some(value) => item.insert((*name).to_owned(), value.clone()),
                None => item.remove(*name),
            };
        }
    }

    fn get(&self, key: &Key) -> Option<Item> {
        self.0.get(key).cloned()
    }
}

pub(super) fn opened() -> Store {
    let (tenant, cx, terms, actor) = (tenant(), cx(), of_tenant(), Actor::Staff(person()));
    let (keys, name) = (MarkerKeys::of_tests(), FreeText::parse("Aoba", 140).unwrap());
    let mut store = Store::default();
    for number in [CUSTOMER, CLAIMING] {
        let command = CustomerOpen {
            tenant: tenant.clone(),
            actor,
            customer: Some(CustomerId::new(Uuid::from_u128(number))),
            name: name.clone(),
            kana: None,
            email: None,
            phone: None,
        };
        store.put(&customers::open::plan(&command, &terms, &keys, &cx).unwrap().draft.items);
    }
    for asset in [Asset::Ecopay, Asset::Point] {
        let balance = Partition::customer(&tenant, customer()).balance(&asset);
        let sums = [(attr::BALANCE, Some(Value::int(1000))), (attr::EXPOSURE, Some(Value::int(1000)))];
        store.change(&balance, &sums);
    }
    for number in [CARD, NEW_CARD] {
        let issue = CardIssue { tenant: &tenant, card: Some(card(number)), owner: None, expires_at: None, actor };
        store.put(&plan_issue(&issue, &cx).unwrap().draft.items);
    }
    store.change(&keys::card(&tenant, card(CARD)), &[(attr::BALANCE, Some(Value::int(1000)))]);
    let shop = merchants::plan_open(&tenant, Some(merchant()), &name, Shards::ONE, &terms, actor, &cx);
    store.put(&shop.unwrap().draft.items);
    let profile = Partition::merchant(&tenant, merchant()).profile();
    store.change(&profile, &[("payout", Some(Value::M(by_bank().item())))]);
    store.put(&terminals::plan_open(&tenant, Some(terminal(TILL)), merchant(), actor, &cx).unwrap().draft.items);
    store.put(&terminals::plan_counter(&tenant, terminal(COUNTER), actor, &cx).draft.items);
    let counter = Partition::terminal(&tenant, terminal(COUNTER)).profile();
    store.change(&counter, &[(forms::CASH_OUTSTANDING, Some(Value::int(1000)))]);
    let settled = settlement(&store, &terms);
    store.put(&settled.draft.items);
    store.put(&booked(merchant(), settled.receipt.id));
    for member in [member(REQUESTER, "owner"), StaffMember { id: person(), ..member(MEMBER, "viewer") }] {
        store.insert(keys::staff_member(&tenant, Employer::Operator, member.id), member.item());
    }
    let limits = Value::M(Item::from([("version".to_owned(), Value::int(1))]));
    store.insert(keys::config(&tenant), Item::from([("limits".to_owned(), limits)]));
    let budget = Item::from([("remaining".to_owned(), Value::int(1_000_000))]);
    store.insert(keys::asset_budget(&tenant, &Asset::Point), budget);
    store
}

/// A settlement of the merchant.
fn settlement(store: &Store, terms: &TenantTerms) -> crate::transaction::Planned<Settlement> {
    let tenant = tenant();
    let profile = store.get(&Partition::merchant(&tenant, merchant()).profile()).unwrap();
    let open = Open {
        tenant: &tenant,
        merchant: &MerchantTerms::read(&profile).unwrap(),
        destination: Some(&by_bank()),
        pay_from: None,
        psp: None,
        settling: &Settling::default(),
        staff: Some(person()),
        run: None,
        pay_on: PayOn::First,
    };
    settlements::plan_open(&open, terms, &Context { resource_id: Uuid::from_u128(40), ..cx() }).unwrap()
}

/// Puts a subject into a state.
pub(super) fn set(store: &mut Store, subject: Subject, id: u128, state: &str) {
    let (tenant, name) = (tenant(), || Some(Value::s(state)));
    let now = || Some(Value::s(cx().now));
    match subject {
        Subject::Customer => {
            let partition = Partition::customer(&tenant, CustomerId::new(Uuid::from_u128(id)));
            let (is_active, is_closed) = (state == customer_state::ACTIVE, state == customer_state::CLOSED);
            store.change(&partition.profile(), &[("status", name())]);
            if is_closed {
                store.change(&partition.profile(), &[("accounts", None), ("unclaimed_ecopay", Some(Value::int(300)))]);
            }
            for asset in [Asset::Ecopay, Asset::Point] {
                let frozen = if is_active { None } else { Some(Value::s("operator")) };
                let closed = if is_closed { now() } else { None };
                store.change(&partition.balance(&asset), &[(attr::FROZEN, frozen), (attr::CLOSED_AT, closed)]);
            }
        }
        Subject::Card => {
            let key = keys::card(&tenant, card(id));
            store.change(&key, &[("state", name()), ("unclaimed_ecopay", Some(Value::int(300)))]);
        }
        Subject::Merchant => {
            let profile = Partition::merchant(&tenant, MerchantId::new(Uuid::from_u128(id))).profile();
            store.change(&profile, &[("status", name())]);
        }
        Subject::Terminal => {
            store.change(&Partition::terminal(&tenant, terminal(id)).profile(), &[("state", name())]);
        }
        Subject::Settlement => {
            let id = settlement(store, &of_tenant()).receipt.id;
            let key = keys::settlement(&tenant, merchant(), id);
            store.change(&key, &[("state", name()), ("payable", Some(Value::int(1000)))]);
        }
        Subject::BankFile => {
            let left = [("state", name()), ("transfers", Some(Value::int(1))), ("sum", Some(Value::int(1000)))];
            store.change(&keys::bank_file(&tenant, file_id()), &left);
        }
        Subject::Member => {
            let state = MemberState::parse(state).unwrap();
            let accepted_at = (state != MemberState::Invited).then(|| cx().now);
            let member = StaffMember { id: person(), state, accepted_at, ..member(MEMBER, "viewer") };
            store.insert(keys::staff_member(&tenant, Employer::Operator, person()), member.item());
        }
        Subject::Payment | Subject::Topup | Subject::TopupRefund => panic!("{subject:?} is not set"),
    }
}

/// Whether a request of the command is stored, and what stops its execution at the decision.
pub(super) fn outcome(command: &Command, store: &Store) -> (bool, Vec<String>) {
    let (tenant, terms, by, reason) = (tenant(), of_tenant(), member(REQUESTER, "owner"), reason());
    let items: Vec<Option<Item>> = command.keys(&tenant, &terms).iter().map(|key| store.get(key)).collect();
    let seen = Seen { items: &items, ..seen_by(command, &terms, (&member(DECIDER, "owner"), &by)) };
    let guarded =
        command.guarded(&tenant).into_iter().filter_map(|key| Some((key.clone(), store.get(&key)?))).collect();
    let request = ApprovalRequest {
        tenant: &tenant,
        by: &by,
        command: command.clone(),
        reason: Some(&reason),
        seen,
        guarded: &guarded,
    };
    let is_known = command.account_record(&tenant).is_none_or(|key| store.get(&key).is_some());
    let is_stored = is_known && plan_request(&request, &cx()).is_ok();
    let drafted = command.draft((&tenant, &by), Some(&reason), &seen, &cx());
    let draft = match drafted {
        Ok(Drafted::Ready(draft)) => draft,
        refused => return (is_stored, vec![format!("{refused:?}")]),
    };
    let failing = |item: &TransactItem| {
        let stored = store.get(item.key());
        item.failure_on(stored.as_ref()).map(|clause| format!("{:?} {clause:?}", item.key()))
    };
    (is_stored, draft.items.iter().filter_map(failing).collect())
}

/// The return of the settlement's transfer.
pub(super) fn returned(store: &Store, file: Option<BankFileId>) -> ReturnedTransfer {
    let settlement = settlement(store, &of_tenant()).receipt.id;
    ReturnedTransfer { merchant: merchant(), settlement, amount: yen("1000"), day: file_id().pay_on, file }
}

/// The cases: a command, and its subjects as its rule names them.
fn cases(store: &Store) -> Vec<(Command, Vec<(&'static str, u128)>)> {
    let posting = |account, delta| Command::Adjustment(Adjustment::posting(account, delta, ReasonCode::Correction));
    let (wallet, of_card) = (Account::Customer(customer()), Account::Card(card(CARD)));
    let limits = |account, holder| Command::AccountLimits {
        account,
        asset: Asset::Ecopay,
        changes: vec![LimitChange::parse(holder, &AssetSpec::ECOPAY, "pay_day=2000").unwrap()],
        seen: OwnLimits::parse("", &Asset::Ecopay).unwrap(),
    };
    let sums = [Asset::Ecopay, Asset::Point];
    let profile = store.get(&Partition::merchant(&tenant(), merchant()).profile()).unwrap();
    let digest = destination_digest(merchants::destination(&profile).unwrap().as_ref());
    let ceiling = || yen("100000").as_balance();
    let claimed = |from| {
        Command::UnclaimedClaim(Claimed { from, to: CustomerId::new(Uuid::from_u128(CLAIMING)), amount: yen("300") })
    };
    let of_file = |change| Command::BankFile(FileEnd { file: file_id(), change, seen: 1 });
    let of_merchant = || vec![("merchant", MERCHANT)];
    vec![
        (grant(), vec![("customer", CUSTOMER)]),
        (limits(wallet, Holder::Customer), vec![("customer", CUSTOMER)]),
        (limits(of_card, Holder::Card), vec![("card", CARD)]),
        (posting(wallet, yen("300").credit()), vec![("credited customer", CUSTOMER)]),
        (posting(wallet, yen("300").debit()), vec![("debited customer", CUSTOMER)]),
        (posting(of_card, yen("300").credit()), vec![("credited card", CARD)]),
        (posting(of_card, yen("300").debit()), vec![("debited card", CARD)]),
        (
            Command::CardClose(CardClosing { card: card(CARD), owner: None, seen: yen("1000").as_balance() }),
            vec![("card", CARD)],
        ),
        (
            Command::CardReplace(ReplacedCard { card: card(CARD), by: card(NEW_CARD), owner: None }),
            vec![("card", CARD), ("new card", NEW_CARD)],
        ),
        (
            Command::CashCeiling {
                owner: TerminalOwner::Merchant(merchant()),
                ceiling: yen("200000"),
                seen: Some(ceiling()),
            },
            of_merchant(),
        ),
        (Command::RefundCeiling { merchant: merchant(), ceiling: yen("200000"), seen: ceiling() }, of_merchant()),
        (Command::CashDeposit { merchant: merchant(), amount: yen("1000") }, of_merchant()),
        (Command::CashCollection { terminal: terminal(COUNTER), amount: yen("1000") }, vec![("counter", COUNTER)]),
        (
            Command::CashRoom {
                terminal: terminal(TILL),
                owner: TerminalOwner::Merchant(merchant()),
                room: yen("1000"),
            },
            vec![("terminal", TILL)],
        ),
        (
            Command::EnrolmentCode { terminal: terminal(TILL), owner: TerminalOwner::Merchant(merchant()) },
            vec![("terminal", TILL)],
        ),
        (
            Command::CustomerClose(CustomerClosing {
                customer: customer(),
                seen: sums.map(|asset| (asset.clone(), balance(asset))).into(),
            }),
            vec![("customer", CUSTOMER)],
        ),
        (Command::CustomerErase { customer: customer() }, vec![("customer", CUSTOMER)]),
        (
            Command::SignInMove(SignInMove {
                customer: customer(),
                subject: SubjectId::new(Uuid::from_u128(28)),
                seen: own_of(customer()),
            }),
            vec![("customer", CUSTOMER)],
        ),
        (claimed(wallet), vec![("customer", CUSTOMER)]),
        (claimed(of_card), vec![("card", CARD)]),
        (Command::UnclaimedPayout(PaidOut { from: wallet, amount: yen("300") }), vec![("customer", CUSTOMER)]),
        (Command::UnclaimedPayout(PaidOut { from: of_card, amount: yen("300") }), vec![("card", CARD)]),
        (
            Command::MerchantOwner {
                merchant: merchant(),
                id: person(),
                email: FreeText::email("taro@example.jp").unwrap(),
            },
            of_merchant(),
        ),
        (Command::Destination { merchant: merchant(), destination: by_bank(), seen: digest.clone() }, of_merchant()),
        (
            Command::SettlementSchedule { merchant: merchant(), schedule: Some(OwnSchedule::ByHand), seen: None },
            of_merchant(),
        ),
        (Command::SettlementOpen { merchant: merchant(), pay_on: None, seen: digest }, of_merchant()),
        (Command::SettlementReturn(returned(store, None)), vec![("settlement", 0)]),
        (of_file(FileChange::Reject), vec![("file", 0)]),
        (of_file(FileChange::Withdraw), vec![("file", 0)]),
        (of_file(FileChange::Reopen), vec![("file", 0)]),
        (
            Command::StaffChange {
                id: person(),
                roles: Some(BTreeSet::from([StaffRole::parse(Staff::Operator, "support").unwrap()])),
                beneficiary_of: None,
                state: None,
                seen: 3,
            },
            vec![("member", MEMBER)],
        ),
    ]
}

fn balance(asset: Asset) -> Balance {
    let spec = if asset == Asset::Ecopay { AssetSpec::ECOPAY } else { AssetSpec::POINT };
    Amount::parse(&spec, "1000").unwrap().as_balance()
}

fn rule_of(operation: Operation) -> &'static CommandRule {
    COMMAND_RULES.iter().find(|rule| rule.operation == operation).unwrap()
}

#[test]
fn command_is_requested_and_executed_in_the_states_of_its_rule() {
    let store = opened();
    for (command, subjects) in cases(&store) {
        let rule = rule_of(command.operation());
        for (name, id) in subjects {
            let of = rule.subjects.iter().find(|of| of.name == name).unwrap_or_else(|| panic!("{name}: {rule:?}"));
            for state in of.subject.states() {
                let mut store = store.clone();
                set(&mut store, of.subject, id, state);
                let wanted = (of.states.contains(state), of.states.contains(state));
                let (is_stored, stopped) = outcome(&command, &store);
                let what = format!("{} of {name} in {state}: {stopped:?}", command.operation());
                assert_eq!((is_stored, stopped.is_empty()), wanted, "{what}");
            }
        }
    }
}

/// What is claimed goes to a wallet, which must not be closed.
#[test]
fn claim_is_requested_and_executed_unless_the_wallet_that_gets_it_is_closed() {
    let mut store = opened();
    set(&mut store, Subject::Card, CARD, "closed");
    let to = CustomerId::new(Uuid::from_u128(CLAIMING));
    let claim = Command::UnclaimedClaim(Claimed { from: Account::Card(card(CARD)), to, amount: yen("300") });
    let rule = rule_of(claim.operation()).subjects.iter().find(|of| of.name == "claiming customer").unwrap();
    for state in rule.subject.states() {
        let mut store = store.clone();
        set(&mut store, Subject::Customer, CLAIMING, state);
        let (is_stored, stopped) = outcome(&claim, &store);
        let wanted = (rule.states.contains(state), rule.states.contains(state));
        assert_eq!((is_stored, stopped.is_empty()), wanted, "{state}: {stopped:?}");
    }
}

/// What the builders of returns ask of a payment and of its merchant.
#[test]
fn payment_is_refunded_and_cash_reversed_in_the_states_of_their_rules() {
    for operation in [Operation::Refund, Operation::CardReverse] {
        for of in rule_of(operation).subjects {
            for state in of.subject.states() {
                let is_possible = match of.subject {
                    Subject::Payment => PaymentState::parse(state).unwrap().next(Step::Refund).is_some(),
                    Subject::Merchant => !MerchantState::parse(state).unwrap().is_closing(),
                    Subject::Card => {
                        let item = Item::from([("state".to_owned(), Value::s(state))]);
                        forms::card_not_ended(Failure::WrongState).condition.holds(Some(&item))
                    }
                    Subject::Customer
                    | Subject::Terminal
                    | Subject::Settlement
                    | Subject::BankFile
                    | Subject::Topup
                    | Subject::TopupRefund
                    | Subject::Member => true,
                };
                assert_eq!(of.states.contains(state), is_possible, "{operation} of {} in {state}", of.name);
            }
        }
    }
}

#[test]
fn states_of_a_rule_are_states_of_its_subject() {
    for rule in COMMAND_RULES {
        assert!(!rule.states().is_empty(), "{rule:?}");
        for of in rule.subjects {
            let all = of.subject.states();
            if let States::Only(names) = of.states {
                assert!(names.iter().all(|name| all.contains(name)) && names.len() < all.len(), "{of:?}");
            }
        }
    }
    assert_eq!(rule_of(Operation::CashRoom).states(), "terminal: `active` `frozen`");
}
