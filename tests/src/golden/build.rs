//! Builds the core's transaction for a vector. Commands that move value and the forms are here.

use super::command::{Does, Money};
use super::decode::{self, World};
use super::vector::Given;
use super::{
    build_approvals, build_bank_files, build_card_life, build_card_pin, build_cash, build_charge, build_figures,
    build_hold, build_jobs, build_lanes, build_merchants, build_migration, build_more, build_notices, build_reconcile,
    build_registry, build_scale, build_settlement, build_shops, build_staff, build_terms, build_topup, build_trail,
};
use crate::declared::{self, declared};
use ledger_core::account::{Account, Posting, TenantAccount};
use ledger_core::cards::bonus::CashBonus;
use ledger_core::cards::pay::CardPay;
use ledger_core::cards::reverse::{CardReverse, ReversedBy, Seen};
use ledger_core::cards::topup::CardTopup;
use ledger_core::customers::transfer::Transfer;
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::failure::Failure;
use ledger_core::forms;
use ledger_core::grants::grant::Grant;
use ledger_core::idempotency::{Answer, Claim, Marker, MarkerState};
use ledger_core::ids::{CardId, MerchantId, PaymentId, StaffId, TerminalId, TerminalOwner};
use ledger_core::journal::JournalEntry;
use ledger_core::keys::{self, Partition, Shards, attr};
use ledger_core::migration::Change;
use ledger_core::money::{Amount, AmountError, Asset, Balance};
use ledger_core::payments::charge::Charge;
use ledger_core::payments::code::PaymentCode;
use ledger_core::payments::pay::Pay;
use ledger_core::payments::refund::Refund;
use ledger_core::payments::{self, Parts, PaymentRecord};
use ledger_core::plan::PlanRefusal;
use ledger_core::terms::{EntryTerms, TerminalTerms, TermsVersion};
use ledger_core::transaction::{Draft, Entry, Role, TransactItem, Transaction};
use ledger_core::{cards, customers, grants};

/// The result of a command.
pub enum Built {
    /// A transaction, with the claim that decides the outcome if its marker exists.
    Transaction(Box<Transaction>, Option<Box<Claim>>),
    /// The change that a customer's migration requires.
    Change(Box<Change>),
    /// There is nothing to do.
    Nothing,
    /// There is no plan: the command is refused before a write.
    Refused(String),
}

/// The reason why there is no plan.
pub struct NoPlan(pub String);

impl From<AmountError> for NoPlan {
    fn from(error: AmountError) -> Self {
        let why = match error {
            AmountError::NotADecimal => "not_a_decimal",
            AmountError::Exponent => "exponent",
            AmountError::TooManyDecimals { .. } => "too_many_decimals",
            AmountError::NotPositive => "not_positive",
            AmountError::TooLarge => "too_large",
        };
        Self(format!("invalid amount: {why}"))
    }
}

impl From<PlanRefusal> for NoPlan {
    fn from(refusal: PlanRefusal) -> Self {
        Self(match refusal {
            PlanRefusal::Refused(failure) => format!("refused {}", crate::names::failure(failure)),
            PlanRefusal::InState { .. } => "refused wrong_state".to_owned(),
            PlanRefusal::StillOpen(open) => format!("still open {}", open.join(" ")),
            PlanRefusal::Limit(_) => "refused limit_exceeded".to_owned(),
            PlanRefusal::OfPayment { refusal, .. } => return Self::from(*refusal),
            PlanRefusal::Invalid { field, why } => format!("invalid {field}: {why}"),
            PlanRefusal::PaymentDay { field, why } => format!("invalid {field}: {why}"),
            PlanRefusal::Denied(permission) => format!("denied {}", permission.name()),
            PlanRefusal::Stored(error) => format!("unreadable {}", error.attribute),
            PlanRefusal::Money(error) => format!("money: {error}"),
        })
    }
}

/// The result of a builder.
pub enum Made {
    /// A draft, to be assembled with marker and response.
    Draft(Draft),
    /// A complete transaction.
    Whole(Transaction),
    /// A change that is written without a marker.
    Change(Change),
    /// There is nothing to do.
    Nothing,
}

/// Decodes a vector's command and builds its transaction.
#[must_use]
pub fn build(given: &Given) -> Built {
    let world = World::new(given);
    let command = &given.command;
    let claim = command.claim.as_ref().map(|claim| decode::claim(&world.tenant, claim, world.cx.now));
    let answer = command.answer.as_ref().map(decode::answer);
    let both = || (claim.clone().expect("a claim"), answer.clone().expect("an answer"));
    match make(&world, &command.does, both, (claim.as_ref(), answer.as_ref())) {
        Err(NoPlan(why)) => Built::Refused(why),
        Ok(Made::Nothing) => Built::Nothing,
        Ok(Made::Change(change)) => Built::Change(Box::new(change)),
        Ok(Made::Whole(whole)) => Built::Transaction(Box::new(whole), claim.map(Box::new)),
        Ok(Made::Draft(draft)) => {
            let (claim, answer) = both();
            let answer = declared(claim.operation, answer);
            let assembled = Transaction::assemble(draft.clone(), &claim, &answer, &declared::keys());
            let assembled = assembled.expect("the core assembles its draft");
            Built::Transaction(Box::new(assembled), Some(Box::new(claim)))
        }
    }
}

fn make(
    world: &World,
    does: &Does,
    both: impl FnOnce() -> (Claim, Answer),
    given: (Option<&Claim>, Option<&Answer>),
) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let draft = match does {
        Does::Refusal {} => {
            let (claim, answer) = both();
            return Ok(Made::Whole(Transaction::refusal(&claim, &answer, &declared::keys(), None).unwrap()));
        }
        Does::RefusedPayment { payment, code } => {
            let (claim, answer) = both();
            let both: Box<dyn FnOnce() -> (Claim, Answer)> = Box::new(|| (claim.clone(), answer.clone()));
            let Made::Draft(draft) = make(world, payment, both, given)? else {
                panic!("a payment is a draft");
            };
            let of =
                Transaction::assemble(draft, &claim, &answer, &declared::keys()).expect("the core assembles its draft");
            let of = of.refused_payment().expect("a payment");
            let refusal = Transaction::refusal(&claim, &answer, &declared::keys(), Some((&of, code)));
            return Ok(Made::Whole(refusal.expect("a refusal")));
        }
        Does::Deduct { .. } | Does::Credit { .. } | Does::TopUp { .. } | Does::Settle { .. } => {
            return form(world, does);
        }
        Does::Pay { customer, merchant, amount, points, regional, memo } => {
            let terms = world.terms_for(Account::Customer(decode::customer(customer)));
            let of = |money: &Money| world.amount(money);
            let points = points.clone().map(|amount| of(&Money { amount, asset: "POINT".to_owned() })).transpose()?;
            let regional = regional.iter().map(of).collect::<Result<_, _>>()?;
            let command = Pay {
                tenant: tenant.clone(),
                customer: decode::customer(customer),
                merchant: world.merchant(merchant),
                parts: Parts::split(of(amount)?, points, regional, &terms)?,
                memo: decode::maybe_text(memo),
            };
            payments::pay::plan(&command, &terms, cx)?.draft
        }
        Does::Transfer { from, to, amount, memo } => {
            let command = Transfer {
                tenant: tenant.clone(),
                from: decode::customer(from),
                to: decode::customer(to),
                amount: world.amount(amount)?,
                memo: decode::maybe_text(memo),
            };
            customers::transfer::plan(&command, &world.terms_for(Account::Customer(command.from)), cx)?.draft
        }
        Does::Charge { merchant, code, amount, memo } => {
            let command = Charge {
                tenant: tenant.clone(),
                merchant: world.merchant(merchant),
                terminal: None,
                shop: None,
                code: PaymentCode::parse(code).unwrap(),
                amount: world.amount(amount)?,
                memo: decode::maybe_text(memo),
            };
            payments::charge::plan(&command, &world.terms_for(Account::Customer(command.code.customer())), cx)?.draft
        }
        Does::TerminalCharge { .. } | Does::TerminalChargeReverse { .. } => build_charge::make(world, does)?,
        Does::Refund { merchant, payment, amount, reason, terminal } => {
            let key = keys::payment(tenant, PaymentId::parse(payment).unwrap());
            let payment = PaymentRecord::read(world.must(&key)).map_err(PlanRefusal::from)?;
            let points = points_of(world, payment.payer);
            let amount = amount.as_ref().map(|amount| world.amount(amount)).transpose()?;
            let (reason, wallet) = (decode::maybe_text(reason), world.wallet(payment.payer));
            let command = Refund {
                tenant,
                merchant: &world.merchant(merchant),
                payment: &payment,
                amount: amount.as_ref(),
                points: points.as_ref(),
                wallet: &wallet,
                reason: reason.as_ref(),
                card: card_of(world, payment.payer),
                reference: terminal.as_ref().map(|id| Partition::terminal(tenant, TerminalId::parse(id).unwrap())),
                room: forms::RoomGuard::Enough,
                is_closed: is_closed(world, payment.payer),
            };
            payments::refund::plan(&command, &world.terms(), cx)?.draft
        }
        Does::CardTopup { terminal, merchant, card, charge } => {
            let command = CardTopup {
                tenant: tenant.clone(),
                terminal: TerminalId::parse(terminal).unwrap(),
                at: at(world, merchant),
                card: CardId::parse(card).unwrap(),
                charge: world.amount(charge)?,
            };
            cards::topup::plan(&command, &world.terms_for(Account::Card(command.card)), cx)?.draft
        }
        Does::CardPay { terminal, merchant, card, amount } => {
            let command = CardPay {
                tenant: tenant.clone(),
                terminal: TerminalId::parse(terminal).unwrap(),
                shop: world.shop_of(terminal),
                merchant: world.merchant(merchant),
                card: CardId::parse(card).unwrap(),
                amount: world.amount(amount)?,
            };
            cards::pay::plan(&command, &world.terms_for(Account::Card(command.card)), cx)?.draft
        }
        Does::CardReverse { terminal, merchant, original } => {
            let original = decode::claim(tenant, original, cx.now);
            reverse(world, terminal, merchant, &original)?
        }
        Does::Grant { staff, customer, amount, reason } => {
            let command = Grant {
                tenant: tenant.clone(),
                actor: ledger_core::ids::Actor::Staff(StaffId::parse(staff).unwrap()),
                customer: decode::customer(customer),
                amount: world.amount(amount)?,
                reason: decode::text(reason),
            };
            grants::grant::plan(&command, &world.terms(), cx)?.draft
        }
        Does::BulkGrant { .. }
        | Does::ProfilePatch { .. }
        | Does::CustomerPatch { .. }
        | Does::CustomerOpen { .. }
        | Does::PaymentCode { .. }
        | Does::CardIssue { .. }
        | Does::CardOwnStatus { .. }
        | Does::CardStatus { .. }
        | Does::MerchantOpen { .. }
        | Does::MerchantPatch { .. }
        | Does::TerminalOpen { .. }
        | Does::TerminalStatus { .. }
        | Does::EnrolmentCode { .. }
        | Does::Enrol { .. }
        | Does::TenantOpen { .. }
        | Does::KeyPhase { .. }
        | Does::VolumeExceeded { .. }
        | Does::AccountLimits { .. }
        | Does::RateLease { .. } => return build_more::make(world, does),
        Does::TopupClaim { .. }
        | Does::TopupRefund { .. }
        | Does::TopupEvent { .. }
        | Does::TopupLanding { .. }
        | Does::TopupRefused { .. }
        | Does::Flight { .. }
        | Does::ParkedRetry { .. }
        | Does::ParkedGiveUp { .. }
        | Does::EventKeep { .. }
        | Does::EventDismiss { .. }
        | Does::TopupCheck { .. }
        | Does::TopupCancel { .. }
        | Does::TopupRefundCheck { .. } => return build_topup::make(world, does, given),
        Does::Settlement { merchant, settlement, step } => {
            return build_settlement::step(world, merchant, settlement, step);
        }
        Does::SettlementAdmin { staff, does } => {
            return build_settlement::make(world, StaffId::parse(staff).unwrap(), does);
        }
        Does::Reconcile(does) => return build_reconcile::make(world, does),
        Does::Registry(does) => return Ok(build_registry::make(world, does)),
        Does::Scale(does) => return build_scale::make(world, does),
        Does::BankFile(does) => return build_bank_files::make(world, does),
        Does::Cash(does) => return build_cash::make(world, does),
        Does::CardLife(does) => return build_card_life::make(world, does),
        Does::CardPin(does) => return build_card_pin::make(world, does, given.0),
        Does::Notice(does) => return build_notices::make(world, does),
        Does::Terms(does) => return build_terms::make(world, does),
        Does::Closing(does) => return build_merchants::make(world, does),
        Does::Job(does) => return build_jobs::make(world, does),
        Does::Shop(does) => return build_shops::make(world, does),
        Does::Staff(does) => return build_staff::make(world, does),
        Does::Approval(does) => return build_approvals::make(world, does, both),
        Does::Hold(does) => return Ok(Made::Draft(build_hold::make(world, does)?)),
        Does::Migration(does) => return build_migration::make(world, does),
        Does::Trail(does) => return build_trail::make(world, does, given),
        Does::Lanes(does) => return Ok(build_lanes::make(world, does)),
        Does::Figures(does) => return build_figures::make(world, does),
    };
    Ok(Made::Draft(draft))
}

/// Whose terminal it is: a merchant's, or of `operator`.
fn at(world: &World, owner: &str) -> TerminalTerms {
    match TerminalOwner::parse(owner).unwrap() {
        TerminalOwner::Merchant(_) => TerminalTerms::Till(world.merchant(owner)),
        TerminalOwner::Operator => TerminalTerms::Counter,
    }
}

/// Reads what a terminal's reversal needs: the original's marker, its entry and its payment.
fn reverse(world: &World, terminal: &str, merchant: &str, original: &Claim) -> Result<Draft, NoPlan> {
    let tenant = &world.tenant;
    let (marker, home_and_entry, payment) = original_of(world, original);
    let (home, entry) = home_and_entry.unzip();
    let seen = match &marker {
        Some(marker) => Seen::Marker(marker, entry.as_ref(), payment.as_ref()),
        None => Seen::Nothing,
    };
    let bonus = entry.as_ref().filter(|entry| entry.bonus_due.is_some()).map(|entry| {
        let merchant = MerchantId::parse(merchant).unwrap();
        CashBonus::read(world.must(&keys::cash_bonus(tenant, merchant, entry.id))).unwrap()
    });
    let command = CardReverse {
        tenant,
        terminal: Partition::terminal(tenant, TerminalId::parse(terminal).unwrap()),
        at: &at(world, merchant),
        original,
        seen,
        card: home.and_then(|home| card_of(world, home)),
        bonus: bonus.as_ref(),
        by: ReversedBy::Terminal,
    };
    Ok(cards::reverse::plan(&command, &world.terms(), &world.cx)?.draft)
}

/// What is under the key of an operation that a terminal reverses, with its entry and its payment.
pub(super) fn original_of(
    world: &World,
    original: &Claim,
) -> (Option<Marker>, Option<(Account, JournalEntry)>, Option<PaymentRecord>) {
    let tenant = &world.tenant;
    let marker = world.get(&original.marker_key()).map(|item| Marker::read(item).unwrap());
    let link = marker.as_ref().and_then(|marker| match &marker.state {
        MarkerState::Completed { journal, .. } => *journal,
        MarkerState::Reversed | MarkerState::InFlight(_) => None,
    });
    let entry = link.map(|link| {
        let home = Partition::account(tenant, link.home).unwrap();
        (link.home, JournalEntry::read(world.must(&home.entry(link.id))).unwrap())
    });
    let payment = entry.as_ref().and_then(|(_, entry)| entry.payment_id);
    let payment = payment.map(|id| PaymentRecord::read(world.must(&keys::payment(tenant, id))).unwrap());
    (marker, entry, payment)
}

/// The payer's points.
pub(super) fn points_of(world: &World, payer: Account) -> Option<Balance> {
    let item = match payer {
        Account::Customer(id) => world.get(&Partition::customer(&world.tenant, id).balance(&Asset::Point))?,
        Account::Card(_) | Account::Merchant(_) | Account::Tenant(_) => return None,
    };
    Some(Balance::from_stored(Asset::Point, item.number(attr::BALANCE).unwrap()).unwrap())
}

/// The item of the card that gets what is returned to an account.
fn card_of(world: &World, account: Account) -> Option<&Item> {
    match account {
        Account::Card(card) => world.card_in_use(card),
        Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => None,
    }
}

/// Builds a form alone, in an entry against the tenant's account `adjustments`.
#[expect(clippy::wildcard_enum_match_arm, reason = "`make` lists every command and passes the forms only")]
fn form(world: &World, does: &Does) -> Result<Made, NoPlan> {
    let (tenant, now) = (&world.tenant, world.cx.now);
    let maybe = |money: &Option<Money>| money.as_ref().map(|money| world.amount(money)).transpose();
    let refused = |failure| NoPlan(format!("refused {}", crate::names::failure(failure)));
    let item: TransactItem = match does {
        Does::Deduct { account, amount } => {
            forms::debit(tenant, Role::Payer, decode::account(account), &world.amount(amount)?, now).unwrap()
        }
        Does::Credit { account, amount } => {
            forms::credit(tenant, Role::Payee, decode::account(account), &world.amount(amount)?, now).unwrap()
        }
        Does::TopUp { account, charge, bonus, cap } => {
            let (charge, bonus, cap) = (world.amount(charge)?, maybe(bonus)?, world.amount(cap)?);
            let account = decode::account(account);
            forms::top_up(tenant, Role::Payee, account, &charge, bonus.as_ref(), &cap, now)
                .ok_or_else(|| refused(Failure::CapExceeded))?
        }
        Does::Settle { account, out, r#in, short, frozen_too } => {
            let short = *Failure::ALL.iter().find(|failure| crate::names::failure(**failure) == short).unwrap();
            let (out, in_): (Option<Amount>, Option<Amount>) = (maybe(out)?, maybe(r#in)?);
            let both = (out.as_ref(), in_.as_ref());
            match forms::settle(tenant, Role::Points, decode::account(account), both, short, *frozen_too, now) {
                Some(item) => item,
                None => return Ok(Made::Nothing),
            }
        }
        other => panic!("not a form: {other:?}"),
    };
    let entry = item.postings().next().map(|moved| Entry {
        id: world.cx.transaction_id,
        home: moved.account,
        postings: vec![moved.clone(), Posting::new(Account::Tenant(TenantAccount::Adjustments), moved.delta.inverse())],
        references: Vec::new(),
        details: ledger_core::dynamo::Item::new(),
        memo: None,
        terms: EntryTerms { due_shards: Shards::ONE, version: TermsVersion::FIRST },
    });
    Ok(Made::Draft(Draft { entry, items: vec![item] }))
}

/// Whether the payer is a customer whose wallet is closed.
pub(super) fn is_closed(world: &World, payer: Account) -> bool {
    match payer {
        Account::Customer(customer) => {
            let profile = world.get(&Partition::customer(&world.tenant, customer).profile());
            profile.is_some_and(ledger_core::customer_state::is_closed_wallet)
        }
        Account::Card(_) | Account::Merchant(_) | Account::Tenant(_) => false,
    }
}
