use super::*;
use crate::dynamo::{Attributes, Condition, Update};
use crate::ids::{CustomerId, TopupId, TransactionId};
use crate::transaction::{Clause, MAX_ITEMS, RenderedAction};

const ID: &str = "019a9000-0000-7000-8000-0000000000a1";

fn tenant() -> Tenant {
    Tenant::parse("demo").unwrap()
}

fn now() -> Timestamp {
    Timestamp::parse("2026-11-21T03:00:00.000Z").unwrap()
}

fn record() -> Record {
    let (tenant, id) = (tenant(), TopupId::parse(ID).unwrap());
    let owner = StepOwner {
        tenant: &tenant,
        partition: Partition::topup(&tenant, id),
        resource: id.uuid(),
        shards: Shards::ONE,
        operation: Operation::Topup,
        principal: Principal::Customer(CustomerId::parse(ID).unwrap()),
    };
    Record::new(&owner, "advanced", Actor::System, "x", now())
}

fn writing(role: Role, key: Key, update: Update) -> TransactItem {
    let clause = Clause { condition: Condition::exists(attr::PK), failure: Failure::StalePlan };
    TransactItem::update(role, key, update, vec![clause])
}

/// The actions of a transaction that moves a claim and a top-up on.
fn moving() -> Vec<TransactItem> {
    let topup = keys::topup(&tenant(), TopupId::parse(ID).unwrap());
    let claim = keys::payment_code(&tenant(), CustomerId::parse(ID).unwrap());
    vec![
        writing(Role::Flight, claim, Update::new().set("state", "to", Value::s("FAILED_RETRY"))),
        writing(Role::Topup, topup, Update::new().set("state", "to", Value::s("pending"))),
    ]
}

fn journal() -> TransactItem {
    let home = Partition::customer(&tenant(), CustomerId::parse(ID).unwrap());
    let key = home.entry(TransactionId::parse(ID).unwrap());
    writing(Role::Journal, key, Update::new().set("_x", "x", Value::s("x")))
}

/// The trail record, which is the last item of a transaction.
fn last(transaction: &Transaction) -> Item {
    let last = transaction.items().last().unwrap();
    assert_eq!(last.role(), Role::Trail);
    let rendered = last.render().unwrap();
    assert_eq!(rendered.condition.as_deref(), Some("attribute_not_exists(#uuid)"));
    let RenderedAction::Put(item) = rendered.action else { panic!("a record is put") };
    item
}

#[test]
fn record_has_every_state_that_the_transaction_writes() {
    let whole = Transaction::unkeyed(moving()).unwrap();
    let recorded = whole.clone().recorded(record()).unwrap();
    assert_eq!(recorded.items().split_last().unwrap().1, whole.items(), "the other actions are unchanged");
    let item = last(&recorded);
    let states = [("claim", "FAILED_RETRY"), ("topup", "pending")];
    let states = states.map(|(of, state)| (of.to_owned(), Value::s(state)));
    assert_eq!(item.opt_map("states").unwrap(), Some(&Item::from(states)));
    assert_eq!(item.text(attr::DUE_PK), Ok("demo#due#publish#0"));
    assert!(!item.contains_key(attr::TTL));
}

#[test]
fn record_beside_an_entry_is_added_only_if_it_holds_more() {
    let mut items = moving();
    items.push(journal());
    let whole = Transaction::unkeyed(items).unwrap();
    assert_eq!(whole.clone().recorded(record()).unwrap(), whole);
    let answers = record().answers(&[ProviderAnswer::Refused("card_declined".to_owned()), ProviderAnswer::Absent]);
    let item = last(&whole.recorded(answers).unwrap());
    let answers = item.list("answers").unwrap();
    let Some(Value::M(refused)) = answers.first() else { panic!("{answers:?}") };
    assert_eq!((answers.len(), refused.text("code")), (2, Ok("card_declined")));
}

#[test]
fn record_has_the_reason_for_the_undo() {
    let mut items = moving();
    let settlement = keys::config(&tenant());
    items.push(writing(Role::Settlement, settlement, Update::new().set("undo_reason", "why", Value::s("kyc_refused"))));
    let item = last(&Transaction::unkeyed(items).unwrap().recorded(record()).unwrap());
    assert_eq!(item.text("why"), Ok("kyc_refused"));
}

#[test]
fn record_does_not_fit_into_a_full_transaction() {
    let full = (0..MAX_ITEMS).map(|at| {
        let id = format!("019a9000-0000-7000-8000-{at:012}");
        let key = keys::topup(&tenant(), TopupId::parse(&id).unwrap());
        writing(Role::Topup, key, Update::new().set("state", "to", Value::s("pending")))
    });
    let full = Transaction::unkeyed(full.collect()).unwrap();
    assert_eq!(full.recorded(record()), Err(BuildError::TooManyItems(MAX_ITEMS + 1)));
}
