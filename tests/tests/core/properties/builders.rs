//! Every builder with random valid commands: sealing succeeds, postings sum to zero and equal the balances' changes, no
//! key is written twice, and two customers' payments share no item.

use crate::properties::world::*;
use ledger_core::account::{self, Account, Posting};
use ledger_core::adjustments::{Adjust, Adjustment, ReasonCode};
use ledger_core::cards::reverse::{CardReverse, ReversedBy, Seen};
use ledger_core::customers::profile::{ProfileChange, ProfilePatch, Status, WalletView};
use ledger_core::dynamo::{Attributes, Item, Value};
use ledger_core::forms::RoomGuard;
use ledger_core::idempotency::Marker;
use ledger_core::ids::{Actor, CustomerId, Principal, TransactionId};
use ledger_core::journal::JournalEntry;
use ledger_core::keys::{Partition, Shards};
use ledger_core::merchants::{self, MerchantChange, MerchantStatus};
use ledger_core::money::{Amount, Asset, AssetSpec};
use ledger_core::notices::Contact;
use ledger_core::operation::Operation;
use ledger_core::payments::code::PaymentCode;
use ledger_core::personal::{FreeText, Masked};
use ledger_core::terms::{TenantTerms, TerminalTerms};
use ledger_core::transaction::{Draft, MAX_ITEMS, Role, Transaction};
use ledger_core::{adjustments, cards, customers, grants, payments, plan, terminals, wallets};
use ledger_tests::declared;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn text(of: &str) -> FreeText {
    FreeText::parse(of, 140).unwrap()
}

/// The item of the card, with an amount that covers every reversal.
fn item_of_card() -> Item {
    let at = Value::s("2026-11-20T03:00:00.000Z");
    Item::from([
        ("card_id".to_owned(), Value::s(card())),
        ("balance".to_owned(), Value::int(1_000_000)),
        ("state".to_owned(), Value::s("active")),
        ("created_at".to_owned(), at.clone()),
        ("updated_at".to_owned(), at),
    ])
}

fn pay(number: u128, split: Split, terms: &TenantTerms) -> Transaction {
    let command = payments::pay::Pay {
        tenant: tenant(),
        customer: customer(number),
        merchant: merchant(),
        parts: split.parts(terms),
        memo: Some(text("memo")),
    };
    let plan = payments::pay::plan(&command, terms, &cx(number)).unwrap();
    assemble(&plan.draft, &claim(Principal::Customer(customer(number)), Operation::Pay, "k"))
}

/// Every operation that moves value, built from the same numbers.
fn money_moves(terms: &TenantTerms, split: Split, amount: u64, share: u64) -> Vec<Transaction> {
    let (a, b, cx_) = (customer(0xa), customer(0xb), cx(1));
    let by_a = |operation| claim(Principal::Customer(a), operation, "k");
    let by_terminal = |operation| claim(Principal::Terminal(terminal()), operation, "k");
    let by_staff = |operation| claim(Principal::Staff(staff(1)), operation, "k");
    let by_merchant = |operation| claim(Principal::Merchant(merchant().id), operation, "k");
    let mut all = vec![pay(0xa, split, terms)];

    let transfer = customers::transfer::Transfer { tenant: tenant(), from: a, to: b, amount: yen(amount), memo: None };
    all.push(assemble(&customers::transfer::plan(&transfer, terms, &cx_).unwrap().draft, &by_a(Operation::Transfer)));

    let code = payments::code::plan(&tenant(), a, None, &cx_).unwrap().receipt.code;
    let code = PaymentCode::parse(code.expose()).unwrap();
    all.extend(held(terms, split, share, &code));
    let charge = payments::charge::Charge {
        tenant: tenant(),
        merchant: merchant(),
        terminal: None,
        shop: None,
        code,
        amount: yen(amount),
        memo: None,
    };
    all.push(assemble(&payments::charge::plan(&charge, terms, &cx_).unwrap().draft, &by_merchant(Operation::Charge)));

    let payment = recorded(&all[0]);
    let part = (split.total() * share / 100).max(1);
    for wanted in [None, Some(yen(part))] {
        for held in [0, 1, 1_000_000] {
            let held = ledger_core::money::Balance::from_stored(Asset::Point, &held.to_string()).unwrap();
            let refund = payments::refund::Refund {
                wallet: &wallets::SeenWallet::default(),
                tenant: &tenant(),
                merchant: &merchant(),
                payment: &payment,
                amount: wanted.as_ref(),
                points: Some(&held),
                reason: Some(&text("why")),
                card: None,
                reference: None,
                room: RoomGuard::Enough,
                is_closed: false,
            };
            let plan = payments::refund::plan(&refund, terms, &cx(2)).unwrap();
            all.push(assemble(&plan.draft, &by_merchant(Operation::Refund)));
        }
    }

    let topup = cards::topup::CardTopup {
        tenant: tenant(),
        terminal: terminal(),
        at: TerminalTerms::Till(merchant()),
        card: card(),
        charge: yen(amount),
    };
    let topup = assemble(&cards::topup::plan(&topup, terms, &cx_).unwrap().draft, &by_terminal(Operation::CardTopup));
    let card_pay = cards::pay::CardPay {
        tenant: tenant(),
        terminal: terminal(),
        shop: None,
        merchant: merchant(),
        card: card(),
        amount: yen(amount),
    };
    let card_pay = assemble(&cards::pay::plan(&card_pay, terms, &cx_).unwrap().draft, &by_terminal(Operation::CardPay));
    for (original, operation) in [(&topup, Operation::CardTopup), (&card_pay, Operation::CardPay)] {
        let marker = Marker::read(&put(&original.items()[0]).unwrap()).unwrap();
        let payment = (operation == Operation::CardPay).then(|| recorded(original));
        let reverse = CardReverse {
            tenant: &tenant(),
            terminal: Partition::terminal(&tenant(), terminal()),
            at: &TerminalTerms::Till(merchant()),
            original: &by_terminal(operation),
            seen: Seen::Marker(&marker, Some(&entry(original).unwrap()), payment.as_ref()),
            card: Some(&item_of_card()),
            bonus: None,
            by: ReversedBy::Terminal,
        };
        let plan = cards::reverse::plan(&reverse, terms, &cx(3)).unwrap();
        all.push(assemble(&plan.draft, &by_terminal(Operation::CardReverse)));
    }
    all.extend([topup, card_pay]);

    for granted in [points(amount), regional(amount)] {
        let grant = grants::grant::Grant {
            tenant: tenant(),
            actor: Actor::Staff(staff(1)),
            customer: a,
            amount: granted,
            reason: text("why"),
        };
        all.push(assemble(&grants::grant::plan(&grant, terms, &cx_).unwrap().draft, &by_staff(Operation::Grant)));
    }
    for (account, delta) in [(Account::Customer(a), yen(amount).debit()), (Account::Card(card()), yen(amount).credit())]
    {
        let adjustment = Adjustment::posting(account, delta, ReasonCode::Fraud);
        let (tenant, reason) = (&tenant(), &text("why"));
        let adjust = Adjust { tenant, requested_by: staff(1), adjustment: &adjustment, reason };
        let draft = adjustments::plan(&adjust, terms, &cx_).unwrap();
        all.push(assemble(&draft, &by_staff(Operation::Adjustment)));
    }
    all
}

/// An authorization, and each of its possible ends.
fn held(terms: &TenantTerms, split: Split, share: u64, code: &PaymentCode) -> Vec<Transaction> {
    let (t, m) = (tenant(), merchant());
    let assembled = |draft: &Draft, operation| assemble(draft, &claim(Principal::Merchant(m.id), operation, "k"));
    let (parts, memo) = (split.parts(terms), Some(text("memo")));
    let authorize = payments::authorize::Authorize {
        tenant: tenant(),
        merchant: merchant(),
        code: code.clone(),
        shop: None,
        parts,
        memo,
    };
    let authorized = payments::authorize::plan(&authorize, terms, &cx(1)).unwrap();
    let mut all = vec![assembled(&authorized.draft, Operation::Charge)];
    let payment = recorded(&all[0]);
    let part = yen((split.total() * share / 100).max(1));
    for amount in [None, Some(&part)] {
        let capture = payments::capture::Capture {
            tenant: &t,
            merchant: &m,
            payment: &payment,
            wallet: &wallets::SeenWallet::default(),
            amount,
        };
        all.push(assembled(&payments::capture::plan(&capture, terms, &cx(2)).unwrap().draft, Operation::Capture));
    }
    let void = payments::void::Void {
        tenant: &t,
        payment: &payment,
        wallet: &wallets::SeenWallet::default(),
        reason: Some(&text("why")),
    };
    all.push(assembled(&payments::void::plan(&void, terms, &cx(2)).unwrap().draft, Operation::Void));
    let late = plan::Context { now: payment.expires_at.unwrap(), ..cx(2) };
    let expired = payments::expire::plan(&t, (&payment, &wallets::SeenWallet::default()), terms, &late).unwrap();
    all.push(assembled(&expired.draft, Operation::HoldExpire));
    all
}

/// Every operation that moves no value.
fn others(terms: &TenantTerms, amount: u64, customers: u128) -> Vec<Transaction> {
    let (a, cx_) = (customer(0xa), cx(1));
    let actor = Actor::Staff(staff(1));
    let by_staff = |operation| claim(Principal::Staff(staff(1)), operation, "k");
    let assembled = |draft: Draft, operation| assemble(&draft, &by_staff(operation));
    let patch = ProfilePatch { name: Some(text("Hana")), ..ProfilePatch::default() };
    let keys = declared::keys();
    let wallet = WalletView { accounts: 3, assets: terms.assets.keys().cloned().collect() };
    let bulk = grants::bulk::BulkGrant {
        tenant: tenant(),
        staff: staff(1),
        customers: (1..=customers).map(customer).collect(),
        amount: points(amount),
        reason: text("why"),
    };
    let open = customers::open::CustomerOpen {
        tenant: tenant(),
        actor,
        customer: None,
        name: text("Hana"),
        kana: None,
        email: None,
        phone: None,
    };
    let previous = Contact { email: Some(Masked::new("old@example.jp".to_owned())), phone: None };
    let fields = ProfileChange { patch: &patch, previous: Some(&previous), keys: &keys };
    let (t, m) = (tenant(), merchant().id);
    let issue = cards::record::CardIssue { tenant: &t, card: None, owner: Some(a), expires_at: None, actor };
    let frozen = Some((Status::Frozen, &wallet));
    let suspend = MerchantChange { status: Some(MerchantStatus::Suspended), ..MerchantChange::default() };
    vec![
        assembled(grants::bulk::plan(&bulk, terms, &cx_).unwrap(), Operation::BulkGrant),
        assembled(customers::open::plan(&open, terms, &keys, &cx_).unwrap().draft, Operation::CustomerOpen),
        assembled(customers::profile::plan_own(&t, a, fields, &cx_).unwrap().draft, Operation::ProfilePatch),
        assembled(
            customers::profile::plan_by_operator(&t, a, fields, frozen, actor, None, &cx_).unwrap().draft,
            Operation::CustomerPatch,
        ),
        assembled(payments::code::plan(&t, a, None, &cx_).unwrap().draft, Operation::PaymentCode),
        assembled(cards::record::plan_issue(&issue, &cx_).unwrap().draft, Operation::CardIssue),
        assembled(
            cards::record::plan_own_status(&t, a, card(), Status::Active, &cx_).unwrap().draft,
            Operation::CardPatch,
        ),
        assembled(
            cards::record::plan_status(&t, card(), Status::Frozen, actor, None, &cx_).unwrap().draft,
            Operation::CardAdminPatch,
        ),
        assembled(
            merchants::plan_open(&t, None, &text("Aoba"), Shards::ONE, terms, actor, &cx_).unwrap().draft,
            Operation::MerchantOpen,
        ),
        assembled(merchants::plan_patch(&t, m, suspend, (actor, None), &cx_).unwrap().draft, Operation::MerchantPatch),
        assembled(terminals::plan_open(&t, None, m, actor, &cx_).unwrap().draft, Operation::TerminalOpen),
        assembled(
            terminals::plan_status(&t, terminal(), Status::Frozen, (actor, None), &cx_).unwrap().draft,
            Operation::TerminalPatch,
        ),
        assembled(
            terminals::plan_code(&t, terminal(), (staff(1), actor), &cx_).unwrap().draft,
            Operation::EnrolmentCode,
        ),
    ]
}

fn entry(transaction: &Transaction) -> Option<JournalEntry> {
    let journal = transaction.items().iter().find(|item| item.role() == Role::Journal)?;
    Some(JournalEntry::read(&put(journal).unwrap()).unwrap())
}

/// Asserts what holds for every transaction.
fn check(transaction: &Transaction) {
    let items = transaction.items();
    assert!(items.len() <= MAX_ITEMS);
    assert_eq!(items[0].role(), Role::Marker);
    assert!(items[1..].iter().all(|item| item.role() != Role::Marker));
    let keys: BTreeSet<_> = items.iter().map(|item| item.key().clone()).collect();
    assert_eq!(keys.len(), items.len(), "a key twice");
    let moves: Vec<&Posting> = items.iter().flat_map(|item| item.postings()).collect();
    let Some(entry) = entry(transaction) else {
        assert!(moves.is_empty());
        return;
    };
    assert!(account::unbalanced(&entry.postings).unwrap().is_empty());
    let by = |postings: &[&Posting]| {
        account::net(postings.iter().map(|p| ((p.account, p.delta.asset().clone()), &p.delta))).unwrap()
    };
    let posted: Vec<&Posting> = entry.postings.iter().filter(|p| p.account.has_balance_item()).collect();
    assert_eq!(by(&moves), by(&posted), "balances move by what is posted");
    // The marker names its entry.
    let marker: Item = put(&items[0]).unwrap();
    let id = marker.parsed("entry_id", TransactionId::parse).unwrap();
    assert_eq!(id, entry.id);
}

proptest! {
    #![proptest_config(super::cases(256))]

    #[test]
    fn value_operations_are_balanced(
        terms in terms(), split in splits(), amount in 1..1_000_000_u64, share in 1..=100_u64,
    ) {
        let all = money_moves(&terms, split, amount, share);
        prop_assert!(all.iter().all(|transaction| entry(transaction).is_some()));
        all.iter().for_each(check);
    }

    #[test]
    fn operations_without_value_have_no_entry(terms in terms(), amount in 1..1_000_000_u64, customers in 1..200_u128) {
        let all = others(&terms, amount, customers);
        prop_assert!(all.iter().all(|transaction| entry(transaction).is_none()));
        all.iter().for_each(check);
    }

    #[test]
    fn payments_of_two_customers_share_no_item(terms in terms(), one in splits(), other in splits()) {
        let keys = |transaction: Transaction| -> BTreeSet<_> {
            transaction.items().iter().map(|item| item.key().clone()).collect()
        };
        let (a, b) = (keys(pay(0xa, one, &terms)), keys(pay(0xb, other, &terms)));
        prop_assert!(a.is_disjoint(&b), "{:?}", a.intersection(&b).collect::<Vec<_>>());
    }

    #[test]
    fn grant_job_has_one_child_key_per_customer_and_takes_each_once(
        terms in terms(),
        customers in 1..50_u128,
        room in 1..24_usize,
    ) {
        let customers: Vec<CustomerId> = (1..=customers).map(customer).collect();
        let amount = Amount::parse(&AssetSpec::POINT, "1").unwrap();
        let (tenant, reason) = (tenant(), text("why"));
        let grant = grants::bulk::BulkGrant { tenant, staff: staff(1), customers: customers.clone(), amount, reason };
        let planned = grants::bulk::plan(&grant, &terms, &cx(9)).unwrap();
        let mut item = planned.items.iter().find_map(put).unwrap();
        let (mut taken, mut keys) = (Vec::new(), BTreeSet::new());
        loop {
            let job = grants::bulk::GrantJob::read(&item).unwrap();
            keys.extend(customers.iter().map(|id| job.line_key(*id).as_str().to_owned()));
            let page = job.page(&customers, room).unwrap();
            taken.extend(page.subjects);
            let Some(cursor) = page.cursor else { break };
            let _ = item.insert("cursor".to_owned(), Value::S(cursor));
        }
        let all: Vec<String> = customers.iter().map(|id| Account::Customer(*id).to_string()).collect();
        prop_assert_eq!(taken, all);
        prop_assert_eq!(keys.len(), customers.len());
    }
}
