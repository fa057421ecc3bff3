//! Which items show who holds the accounts of an act, and what they show.

use super::holders::Holders;
use super::scope::ActScope;
use super::tie::{Tie, TieKind};
use crate::account::Account;
use crate::card_state::{REPLACED_BY, REPLACEMENTS_MAX, successor};
use crate::customers::sign_in::SignIn;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Value};
use crate::failure::Failure;
use crate::idempotency::MarkerKeys;
use crate::ids::{CardId, CustomerId, Employer, MerchantId, StaffId, SubjectId, Tenant};
use crate::keys::{self, Key, attr};
use crate::plan::PlanRefusal;
use crate::staff::{self, StaffMember};
use crate::transaction::{Clause, Role, TransactItem};
use std::collections::{BTreeMap, BTreeSet};

/// The most items that a transaction checks for ties.
pub const GUARDS_MAX: usize = 20;

const OWNER: &str = "owner";

/// Finds the ties of members to the accounts of an act: [`Resolver::needs`] says which items to read, [`Resolver::take`] takes
/// them, until nothing is needed and [`Resolver::holders`] has the result.
#[derive(Clone, Debug)]
pub struct Resolver<'a> {
    tenant: &'a Tenant,
    members: Vec<&'a StaffMember>,
    scope: ActScope,
    wanted: Vec<(Wanted, Key)>,
    sign_ins: BTreeMap<StaffId, CustomerId>,
    staff: BTreeSet<(StaffId, MerchantId)>,
    cards: BTreeMap<CardId, Chain>,
    guards: BTreeMap<Key, TransactItem>,
    is_guarded: bool,
}

/// An item that is wanted, by what it shows.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    /// The customer that the subject of a member signs in to.
    SignIn(StaffId),
    /// Whether a member accepted an invitation of a merchant: the item of the address, or the record of the subject.
    Acceptance(StaffId, MerchantId, Role),
    /// The owner of a card, or the card that replaced it. `first` is the account's.
    Card { first: CardId, card: CardId, follows: i64 },
}

/// A card and those that replaced it, with their owners.
#[derive(Clone, Debug, Default)]
struct Chain {
    cards: BTreeSet<CardId>,
    owners: BTreeSet<CustomerId>,
}

impl<'a> Resolver<'a> {
    /// Begins with the members whose ties are asked, and what the act is for. `keys` are those that persons are found by.
    #[must_use]
    pub fn new(
        tenant: &'a Tenant,
        members: impl IntoIterator<Item = &'a StaffMember>,
        scope: ActScope,
        keys: &MarkerKeys,
    ) -> Self {
        let by_id: BTreeMap<StaffId, &StaffMember> = members.into_iter().map(|member| (member.id, member)).collect();
        let members: Vec<&StaffMember> = by_id.into_values().collect();
        let mut wanted = BTreeMap::new();
        for account in scope.accounts() {
            match account {
                Account::Customer(_) | Account::Card(_) => {
                    for member in &members {
                        let key = keys::sign_in(tenant, SubjectId::new(member.id.uuid()));
                        wanted.insert(key, Wanted::SignIn(member.id));
                    }
                }
                Account::Merchant(_) | Account::Tenant(_) => {}
            }
            match account {
                Account::Card(card) => {
                    let (first, card) = (*card, *card);
                    wanted.insert(keys::card(tenant, card), Wanted::Card { first, card, follows: 0 });
                }
                Account::Merchant(merchant) => {
                    let employer = Employer::Merchant(*merchant);
                    for member in &members {
                        for name in staff::person_names(tenant, employer, &member.email, keys) {
                            // INVARIANT: two members with one address are one person, and a person has one record.
                            wanted.insert(name, Wanted::Acceptance(member.id, *merchant, Role::Person));
                        }
                        let record = keys::staff_member(tenant, employer, member.id);
                        wanted.insert(record, Wanted::Acceptance(member.id, *merchant, Role::Staff));
                    }
                }
                Account::Customer(_) | Account::Tenant(_) => {}
            }
        }
        Self {
            tenant,
            members,
            scope,
            wanted: wanted.into_iter().map(|(key, wanted)| (wanted, key)).collect(),
            sign_ins: BTreeMap::new(),
            staff: BTreeSet::new(),
            cards: BTreeMap::new(),
            guards: BTreeMap::new(),
            is_guarded: true,
        }
    }

    /// Those of the first items that [`Resolver::needs`] names which follow from the members' ids alone, so that they can be read
    /// with the members' records: the subjects' and the cards'.
    #[must_use]
    pub fn first_of(tenant: &Tenant, members: &[StaffId], scope: &ActScope) -> Vec<Key> {
        let cards = scope.accounts().iter().filter_map(|account| match account {
            Account::Card(card) => Some(keys::card(tenant, *card)),
            Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => None,
        });
        let has_wallet = |account: &Account| matches!(account, Account::Customer(_) | Account::Card(_));
        let members = members.iter().filter(|_| scope.accounts().iter().any(has_wallet));
        members.map(|id| keys::sign_in(tenant, SubjectId::new(id.uuid()))).chain(cards).collect()
    }

    /// Leaves the checks out: for members who do nothing themselves.
    #[must_use]
    pub fn unguarded(self) -> Self {
        Self { is_guarded: false, ..self }
    }

    /// The items to read next; `None` once all are known.
    #[must_use]
    pub fn needs(&self) -> Option<Vec<Key>> {
        (!self.wanted.is_empty()).then(|| self.wanted.iter().map(|(_, key)| key.clone()).collect())
    }

    /// Takes the items of [`Resolver::needs`], as read, in their order.
    ///
    /// # Errors
    /// [`PlanRefusal`] if an item is malformed, or a card was replaced more often than a card can be.
    pub fn take(&mut self, items: &[Option<Item>]) -> Result<(), PlanRefusal> {
        let wanted = std::mem::take(&mut self.wanted);
        if wanted.len() != items.len() {
            return Err(PlanRefusal::Refused(Failure::StalePlan));
        }
        for ((wanted, key), item) in wanted.into_iter().zip(items) {
            let item = item.as_ref();
            match wanted {
                Wanted::SignIn(member) => self.take_sign_in(member, key, item)?,
                Wanted::Acceptance(member, merchant, role) => {
                    if item.is_some_and(staff::has_accepted) {
                        self.staff.insert((member, merchant));
                    } else {
                        let guard = staff::not_accepted(role, key.clone(), Failure::FourEyes);
                        self.guards.insert(key, guard);
                    }
                }
                Wanted::Card { first, card, follows } => self.take_card((first, card, follows), key, item)?,
            }
        }
        Ok(())
    }

    fn take_sign_in(&mut self, member: StaffId, key: Key, item: Option<&Item>) -> Result<(), PlanRefusal> {
        let customer = match SignIn::read(item)? {
            SignIn::Own => {
                let none = Clause { condition: Condition::absent(attr::PK), failure: Failure::StalePlan };
                self.guards.insert(key.clone(), TransactItem::check(Role::Lookup, key, vec![none]));
                CustomerId::new(member.uuid())
            }
            // Which customer an item names never changes, so there is nothing to check again.
            SignIn::Of(customer) | SignIn::Ended(customer) => customer,
        };
        self.sign_ins.insert(member, customer);
        Ok(())
    }

    fn take_card(
        &mut self,
        (first, card, follows): (CardId, CardId, i64),
        key: Key,
        item: Option<&Item>,
    ) -> Result<(), PlanRefusal> {
        let chain = self.cards.entry(first).or_default();
        chain.cards.insert(card);
        let Some(item) = item else { return Ok(()) };
        let owner = item.opt_parsed(OWNER, CustomerId::parse)?;
        chain.owners.extend(owner);
        if let Some(next) = successor(item)? {
            if follows >= REPLACEMENTS_MAX {
                return Err(ItemError::invalid(REPLACED_BY).into());
            }
            // The card that replaced another is set once, so there is nothing to check again.
            let wanted = Wanted::Card { first, card: next, follows: follows.saturating_add(1) };
            self.wanted.push((wanted, keys::card(self.tenant, next)));
            return Ok(());
        }
        let owner = match owner {
            Some(owner) => Condition::compare(OWNER, Cmp::Eq, "tied_owner", Value::s(owner)),
            None => Condition::absent(OWNER),
        };
        let guards = [owner, Condition::absent(REPLACED_BY)];
        let guards = guards.map(|condition| Clause { condition, failure: Failure::StalePlan }).to_vec();
        self.guards.insert(key.clone(), TransactItem::check(Role::Card, key, guards));
        Ok(())
    }

    /// The ties of the members, once nothing more is needed.
    ///
    /// # Errors
    /// `StalePlan` if items are needed; [`PlanRefusal::Invalid`] if more than [`GUARDS_MAX`] items are to be checked.
    pub fn holders(self) -> Result<Holders, PlanRefusal> {
        if !self.wanted.is_empty() {
            return Err(PlanRefusal::Refused(Failure::StalePlan));
        }
        let ties = self.members.iter().map(|member| (member.id, self.ties_of(member))).collect();
        let guards: Vec<TransactItem> =
            if self.scope.is_named() && self.is_guarded { self.guards.into_values().collect() } else { Vec::new() };
        if guards.len() > GUARDS_MAX {
            return Err(PlanRefusal::Invalid { field: "account", why: "takes more than 20 checks of who holds it" });
        }
        Ok(Holders { scope: self.scope, ties, guards, another: None })
    }

    /// Reads all items that are needed by `read`, and returns the result.
    ///
    /// # Errors
    /// As [`Resolver::take`] and [`Resolver::holders`].
    pub fn resolve(mut self, read: impl Fn(&Key) -> Option<Item>) -> Result<Holders, PlanRefusal> {
        while let Some(keys) = self.needs() {
            self.take(&keys.iter().map(&read).collect::<Vec<_>>())?;
        }
        self.holders()
    }

    /// The ties of a member: for each account the one that binds most.
    fn ties_of(&self, member: &StaffMember) -> Vec<Tie> {
        let mut listed: Vec<Account> = self.scope.accounts().to_vec();
        listed.extend(member.beneficiary_of.keys().filter(|account| self.scope.includes(account)));
        let all: BTreeSet<Account> = listed.into_iter().collect();
        let tie = |account: Account| Some(Tie { member: member.id, account, kind: self.kind(member, account)? });
        all.into_iter().filter_map(tie).collect()
    }

    fn kind(&self, member: &StaffMember, account: Account) -> Option<TieKind> {
        let sign_in = self.sign_ins.get(&member.id);
        let declared = |account: Account| member.beneficiary_of.get(&account).map(|of| TieKind::from(of.kind));
        let kinds: Vec<Option<TieKind>> = match account {
            Account::Customer(customer) => {
                vec![(sign_in == Some(&customer)).then_some(TieKind::SignIn), declared(account)]
            }
            Account::Card(card) => {
                let chain = self.cards.get(&card);
                let is_own = chain.zip(sign_in).is_some_and(|(chain, customer)| chain.owners.contains(customer));
                let cards = chain.iter().flat_map(|chain| &chain.cards).map(|card| declared(Account::Card(*card)));
                let owners =
                    chain.iter().flat_map(|chain| &chain.owners).map(|owner| declared(Account::Customer(*owner)));
                let own = is_own.then_some(TieKind::Card);
                [own, declared(account)].into_iter().chain(cards).chain(owners).collect()
            }
            Account::Merchant(merchant) => {
                let is_staff = self.staff.contains(&(member.id, merchant));
                vec![is_staff.then_some(TieKind::Staff), declared(account)]
            }
            Account::Tenant(_) => Vec::new(),
        };
        // The kinds are in the order of what binds most.
        kinds.into_iter().flatten().min()
    }
}
