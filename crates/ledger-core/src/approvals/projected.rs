//! What a command would post and change as at its request. It is stored for the person who decides on it.

use super::command::Command;
use super::draft::Seen;
use super::effect::joined;
use super::previous::PreviousDestination;
use crate::account::Posting;
use crate::bank_files::BankFile;
use crate::calendar::OwnSchedule;
use crate::cash_rooms::CashRooms;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::Employer;
use crate::journal::{posting, posting_item};
use crate::keys::Key;
use crate::limits::{LimitValue, Rule};
use crate::merchants;
use crate::money::{Asset, Balance};
use crate::plan::{Context, PlanRefusal};
use crate::staff::{self, StaffMember};
use crate::terms::TermsSchedule;
use crate::transaction::Draft;
use std::collections::BTreeMap;

const POSTINGS: &str = "postings";
const CHANGES: &str = "changes";
const KNOWN: &str = "known";
const NAME: &str = "name";
const FROM: &str = "from";
const TO: &str = "to";

/// What a command would do as at its request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Projected {
    /// The postings of its entry; none if it writes none.
    pub postings: Vec<Posting>,
    /// The values that it would change, beside what follows from the postings.
    pub changes: Vec<ValueChange>,
    /// What its subject's records said beside these, and what it comes to in all, by name. A bank account is masked.
    pub known: BTreeMap<String, String>,
    /// The payout destination that it would replace.
    pub(super) previous: Option<PreviousDestination>,
}

/// The change of one value: a setting, or an attribute of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueChange {
    /// The name of the value.
    pub name: String,
    /// The value that was seen; `None`: there was none.
    pub from: Option<String>,
    /// The value after the command; `None`: it is cleared.
    pub to: Option<String>,
}

impl Projected {
    /// What a command would do, by its draft and what it was drafted from. `at` is the key of its approval.
    pub(super) fn of(
        (command, at): (&Command, &Key),
        seen: &Seen<'_>,
        draft: Draft,
        cx: &Context,
    ) -> Result<Self, PlanRefusal> {
        let postings = draft.entry.map(|entry| entry.postings).unwrap_or_default();
        let previous = command.previous_destination(at, seen)?;
        Ok(Self { postings, changes: command.changes(seen, cx)?, known: command.known(seen)?, previous })
    }

    /// Reads what an approval stores.
    pub(super) fn read(item: &Item) -> Result<Self, ItemError> {
        let postings = if item.contains_key(POSTINGS) { item.maps(POSTINGS, posting)? } else { Vec::new() };
        let changes = if item.contains_key(CHANGES) { item.maps(CHANGES, ValueChange::read)? } else { Vec::new() };
        let known = item.opt_map(KNOWN)?.into_iter().flatten();
        let known = known.map(|(name, _)| Ok((name.clone(), item.map(KNOWN)?.string(name)?)));
        let previous = item.opt_map(PreviousDestination::ATTRIBUTE)?.map(PreviousDestination::read).transpose()?;
        Ok(Self { postings, changes, known: known.collect::<Result<_, ItemError>>()?, previous })
    }

    /// The attributes that an approval stores: those of what there is.
    pub(super) fn attributes(&self) -> impl Iterator<Item = (String, Value)> {
        let postings = self.postings.iter().map(|posting| Value::M(posting_item(posting))).collect();
        let changes = self.changes.iter().map(|change| Value::M(change.item())).collect();
        let lists: [(_, Vec<Value>); 2] = [(POSTINGS, postings), (CHANGES, changes)];
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty()).map(|(name, list)| (name, Value::L(list)));
        let known: Item = self.known.iter().map(|(name, text)| (name.clone(), Value::s(text))).collect();
        let known = (!known.is_empty()).then_some((KNOWN, Value::M(known)));
        let previous = self.previous.as_ref();
        let previous = previous.map(|previous| (PreviousDestination::ATTRIBUTE, Value::M(previous.item())));
        lists.chain(known).chain(previous).map(|(name, value)| (name.to_owned(), value))
    }
}

impl ValueChange {
    fn new(name: impl ToString, from: Option<String>, to: Option<String>) -> Self {
        Self { name: name.to_string(), from, to }
    }

    fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self { name: item.string(NAME)?, from: item.opt_string(FROM)?, to: item.opt_string(TO)? })
    }

    fn item(&self) -> Item {
        let of = [(NAME, Some(&self.name)), (FROM, self.from.as_ref()), (TO, self.to.as_ref())];
        of.into_iter().filter_map(|(name, text)| Some((name.to_owned(), Value::s(text?)))).collect()
    }
}

impl Command {
    /// The values that it would change. A bank account is masked.
    fn changes(&self, seen: &Seen<'_>, cx: &Context) -> Result<Vec<ValueChange>, PlanRefusal> {
        let one = |name: &str, from: Option<String>, to: String| Ok(vec![ValueChange::new(name, from, Some(to))]);
        match self {
            Self::CashCeiling { ceiling, seen: before, .. } => {
                one("ceiling", before.as_ref().map(Balance::text), ceiling.text())
            }
            Self::RefundCeiling { ceiling, seen: before, .. } => one("ceiling", Some(before.text()), ceiling.text()),
            Self::AssetBudget { budget, seen: before } => one("budget", Some(before.text()), budget.text()),
            Self::Destination { destination, .. } => {
                let before = merchants::destination(seen.must(0)?)?;
                one("payout_destination", before.map(|before| before.shown()), destination.shown())
            }
            Self::BankFile(of) => {
                let (file, to) = (BankFile::read(seen.must(0)?)?, of.change.to());
                one("status", Some(file.state.name().to_owned()), to.name().to_owned())
            }
            Self::SettlementSchedule { schedule, seen: before, .. } => {
                let text = |own: &OwnSchedule| own.to_string();
                let (from, to) = (before.as_ref().map(text), schedule.as_ref().map(text));
                Ok(vec![ValueChange::new("settlement_schedule", from, to)])
            }
            Self::StaffChange { roles, beneficiary_of, state, .. } => {
                let member = StaffMember::read(Employer::Operator, seen.must(0)?)?;
                let of = [
                    ("roles", joined(&member.roles), roles.as_ref().map(joined)),
                    (
                        "beneficiary_of",
                        staff::kinds_text(&staff::kinds_of(&member.beneficiary_of)),
                        beneficiary_of.as_ref().map(staff::kinds_text),
                    ),
                    ("status", member.state.name().to_owned(), state.map(|state| state.name().to_owned())),
                ];
                let changed = of.into_iter().filter_map(|(name, from, to)| Some((name, from, to?)));
                Ok(changed.map(|(name, from, to)| ValueChange::new(name, Some(from), Some(to))).collect())
            }
            Self::TermsChange { changes, .. } => {
                let of = changes.iter().map(|change| (&change.field, change.from.clone(), change.to.clone()));
                Ok(of.map(|(field, from, to)| ValueChange::new(field, from, to)).collect())
            }
            Self::AccountLimits { changes, seen: own, .. } => {
                let own = |rule: Rule| own.values().find_map(|(of, value)| (of == rule).then_some(value));
                let before = |rule| own(rule).unwrap_or_else(|| LimitValue::Default.text());
                let of = changes.iter().map(|change| (change.rule, before(change.rule), change.value()));
                Ok(of.map(|(rule, from, to)| ValueChange::new(rule, Some(from), Some(to))).collect())
            }
            Self::Adjustment(adjustment) => {
                let changed = adjustment.exposure_change(seen.item(0))?;
                let changed =
                    changed.map(|(from, to)| ValueChange::new("exposure", Some(from.text()), Some(to.text())));
                Ok(changed.into_iter().collect())
            }
            Self::SignInMove(of) => one("subject", Some(of.seen.to_string()), of.subject.to_string()),
            Self::CashRoom { terminal, room, .. } => {
                let Some(rooms) = seen.item(0).map(CashRooms::read).transpose()? else { return Ok(Vec::new()) };
                let before = rooms.allotted.get(terminal).cloned().unwrap_or_else(|| Balance::zero(Asset::Ecopay));
                let of = [
                    ("cash_room", before.checked_apply(&room.credit())?, before),
                    ("unallotted_room", rooms.unallotted.checked_apply(&room.debit())?, rooms.unallotted),
                ];
                Ok(of.map(|(name, to, from)| ValueChange::new(name, Some(from.text()), Some(to.text()))).to_vec())
            }
            Self::TermsCancel { .. } => {
                let schedule = TermsSchedule::read(seen.must(0)?)?;
                let Some(next) = schedule.scheduled(cx.now) else { return Ok(Vec::new()) };
                let (mut kept, cancelled) = (schedule.at(cx.now).fields(), next.terms.fields());
                let mut changes = Vec::new();
                for (field, from) in cancelled {
                    let to = kept.remove(&field);
                    if to.as_ref() != Some(&from) {
                        changes.push(ValueChange::new(field, Some(from), to));
                    }
                }
                changes.extend(kept.into_iter().map(|(field, to)| ValueChange::new(field, None, Some(to))));
                Ok(changes)
            }
            Self::Grant { .. }
            | Self::BulkGrant { .. }
            | Self::TopupDecision(_)
            | Self::Refund(_)
            | Self::CashReversal(_)
            | Self::CashDeposit { .. }
            | Self::CashDepositReversal { .. }
            | Self::CounterOpen { .. }
            | Self::CashCollection { .. }
            | Self::SettlementOpen { .. }
            | Self::SettlementReturn(_)
            | Self::SettlementRun { .. }
            | Self::EnrolmentCode { .. }
            | Self::StaffInvite { .. }
            | Self::CardReplace(_)
            | Self::CustomerClose(_)
            | Self::CustomerErase { .. }
            | Self::CardClose(_)
            | Self::UnclaimedClaim(_)
            | Self::UnclaimedPayout(_)
            | Self::WindDown
            | Self::MerchantOwner { .. } => Ok(Vec::new()),
        }
    }

    /// What its subject's records say beside the values that it would change, and what it comes to in all.
    fn known(&self, seen: &Seen<'_>) -> Result<BTreeMap<String, String>, PlanRefusal> {
        if let Self::BulkGrant { customers, amount } = self {
            return Ok(BTreeMap::from([("total".to_owned(), amount.times(customers.len())?.text())]));
        }
        if let Self::BankFile(_) = self {
            let file = BankFile::read(seen.must(0)?)?;
            let of = [("transfers", file.left().to_string()), ("total", file.left_sum()?.text())];
            return Ok(of.map(|(name, text)| (name.to_owned(), text)).into());
        }
        let Self::SettlementOpen { .. } = self else { return Ok(BTreeMap::new()) };
        let destination = merchants::destination(seen.must(0)?)?;
        let destination = destination.map(|paid| ("payout_destination".to_owned(), paid.shown()));
        let owed = seen.owed.iter().filter(|(_, owed)| owed.as_delta().is_some());
        Ok(owed.map(|(asset, owed)| (format!("owed.{asset}"), owed.text())).chain(destination).collect())
    }

    /// The payout destination that it would replace.
    fn previous_destination(&self, at: &Key, seen: &Seen<'_>) -> Result<Option<PreviousDestination>, PlanRefusal> {
        let Self::Destination { .. } = self else { return Ok(None) };
        let before = merchants::destination(seen.must(0)?)?;
        let encrypted = before.map(|before| PreviousDestination::encrypt(&before, at, seen.keys)).transpose();
        encrypted.map_err(|_| PlanRefusal::Stored(ItemError::invalid(PreviousDestination::ATTRIBUTE)))
    }
}
