//! The stored form of commands. It is read strictly: an attribute that this release does not know is an error.

mod kind;

use self::kind::{KIND, Kind};
use super::command::Command;
use crate::account::Account;
use crate::adjustments::Adjustment;
use crate::bank_files::FileEnd;
use crate::cards::replace::ReplacedCard;
use crate::cards::reverse_cash::CashTopup;
use crate::closing::{CardClosing, CustomerClosing};
use crate::customers::sign_in::SignInMove;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::idempotency::ClaimKey;
use crate::ids::{
    BankFileId, CardId, CustomerId, MerchantId, PaymentId, SettlementId, StaffId, SubjectId, TerminalId, TerminalOwner,
    TransactionId,
};
use crate::limits::{LimitChange, OwnLimits};
use crate::money::{Amount, Asset};
use crate::payments::by_operator::OrderedRefund;
use crate::permission::Staff;
use crate::personal::FreeText;
use crate::settlements::{Destination, ReturnedTransfer};
use crate::staff::{self, MemberState, StaffRole};
use crate::terms::{TermsChanges, TermsVersion};
use crate::time::BusinessDate;
use crate::topups::TopupDecision;
use crate::unclaimed::{Claimed, PaidOut};
use std::collections::BTreeSet;

const SEEN: &str = "seen";
/// The operator, where a command is about its terminals and not about a merchant's.
const OWNER: &str = "owner";

impl Command {
    /// The stored attributes.
    #[must_use]
    pub fn item(&self) -> Item {
        let id = |name: &str, id: &dyn ToString| (name.to_owned(), Value::S(id.to_string()));
        let mut item = Item::from([(KIND.to_owned(), Value::s(self.operation()))]);
        match self {
            Self::Grant { customer, amount } => {
                item.extend([id("customer_id", customer)]);
                item.extend(amount_of(amount));
            }
            Self::BulkGrant { customers, amount } => {
                item.insert("customers".to_owned(), Value::L(customers.iter().map(Value::s).collect()));
                item.extend(amount_of(amount));
            }
            Self::Adjustment(adjustment) => item.extend(adjustment.item()),
            Self::TopupDecision(decision) => item.extend(decision.item()),
            Self::CashCeiling { owner, ceiling, seen } => {
                item.extend([owner_of(*owner)]);
                item.extend(amount_of(ceiling));
                item.extend(seen.as_ref().map(|seen| (SEEN.to_owned(), Value::N(seen.text()))));
            }
            Self::RefundCeiling { merchant, ceiling, seen } => {
                item.extend([id("merchant_id", merchant)]);
                item.extend(amount_of(ceiling));
                item.insert(SEEN.to_owned(), Value::N(seen.text()));
            }
            Self::AssetBudget { budget, seen } => {
                item.extend(amount_of(budget));
                item.insert(SEEN.to_owned(), Value::N(seen.text()));
            }
            Self::CashDeposit { merchant, amount } => {
                item.extend([id("merchant_id", merchant)]);
                item.extend(amount_of(amount));
            }
            Self::CashDepositReversal { merchant, deposit, amount } => {
                item.extend([id("merchant_id", merchant), id("deposit_id", deposit)]);
                item.extend(amount_of(amount));
            }
            Self::Refund(OrderedRefund { merchant, payment, payer, amount }) => {
                item.extend([id("merchant_id", merchant), id("payment_id", payment), id("payer", payer)]);
                item.extend(amount_of(amount));
            }
            Self::CashReversal(CashTopup { terminal, owner, transaction, key, card, amount }) => {
                item.extend([id("terminal_id", terminal), owner_of(*owner), id("card_id", card)]);
                item.extend([id("original_transaction_id", transaction), id("original_key", &key.as_str())]);
                item.extend(amount_of(amount));
            }
            Self::CounterOpen { terminal } => item.extend(terminal.iter().map(|terminal| id("terminal_id", terminal))),
            Self::CashCollection { terminal, amount } => {
                item.extend([id("terminal_id", terminal)]);
                item.extend(amount_of(amount));
            }
            Self::CashRoom { terminal, owner, room } => {
                item.extend([id("terminal_id", terminal), owner_of(*owner)]);
                item.extend(amount_of(room));
            }
            Self::Destination { merchant, destination, seen } => {
                item.extend([id("merchant_id", merchant)]);
                item.insert("destination".to_owned(), Value::M(destination.item()));
                item.extend(seen.as_ref().map(|seen| id(SEEN, seen)));
            }
            Self::SettlementOpen { merchant, pay_on, seen } => {
                item.extend([id("merchant_id", merchant)]);
                item.extend(pay_on.as_ref().map(|day| id("pay_on", day)));
                item.extend(seen.as_ref().map(|seen| id(SEEN, seen)));
            }
            Self::SettlementReturn(ReturnedTransfer { merchant, settlement, amount, day, file }) => {
                item.extend([id("merchant_id", merchant), id("settlement_id", settlement), id("transfer_on", day)]);
                item.extend(file.as_ref().map(|file| id(SEEN, file)));
                item.extend(amount_of(amount));
            }
            Self::BankFile(FileEnd { file, change: _, seen }) => {
                item.extend([id("bank_file_id", file)]);
                item.insert(SEEN.to_owned(), Value::int((*seen).into()));
            }
            Self::SettlementRun { closing, seen } => {
                item.extend([id("closing_on", closing), id(SEEN, seen)]);
            }
            Self::SettlementSchedule { merchant, schedule, seen } => {
                item.extend([id("merchant_id", merchant)]);
                item.extend(schedule.as_ref().map(|schedule| id("schedule", schedule)));
                item.extend(seen.as_ref().map(|seen| id(SEEN, seen)));
            }
            Self::EnrolmentCode { terminal, owner } => {
                item.extend([id("terminal_id", terminal), owner_of(*owner)]);
            }
            Self::StaffInvite { id: person, email, roles, beneficiary_of } => {
                item.extend([id("staff_id", person), id("email", &email.expose())]);
                item.insert("roles".to_owned(), names(roles));
                item.insert("beneficiary_of".to_owned(), staff::kinds_value(beneficiary_of));
            }
            Self::StaffChange { id: person, roles, beneficiary_of, state, seen } => {
                item.extend([id("staff_id", person)]);
                item.extend(roles.as_ref().map(|roles| ("roles".to_owned(), names(roles))));
                item.extend(beneficiary_of.as_ref().map(|all| ("beneficiary_of".to_owned(), staff::kinds_value(all))));
                item.extend(state.map(|state| id("state", &state.name())));
                item.insert(SEEN.to_owned(), Value::int(*seen));
            }
            Self::TermsChange { changes, from, seen } => {
                item.extend([id("from", from)]);
                item.insert("changes".to_owned(), changes.item());
                item.insert(SEEN.to_owned(), Value::int(seen.number().into()));
            }
            Self::TermsCancel { version } => {
                item.insert("version".to_owned(), Value::int(version.number().into()));
            }
            Self::AccountLimits { account, asset, changes, seen } => {
                item.extend([id("account", account), id("asset", asset)]);
                item.insert("limits".to_owned(), Value::L(changes.iter().map(Value::s).collect()));
                item.extend(seen.text().map(|seen| id(SEEN, &seen)));
            }
            Self::CardReplace(ReplacedCard { card, by, owner }) => {
                item.extend([id("card_id", card), id("new_card_id", by)]);
                item.extend(owner.as_ref().map(|owner| id(SEEN, owner)));
            }
            Self::SignInMove(SignInMove { customer, subject, seen }) => {
                item.extend([id("customer_id", customer), id("subject", subject), id(SEEN, seen)]);
            }
            Self::CustomerClose(CustomerClosing { customer, seen }) => {
                item.extend([id("customer_id", customer)]);
                let seen = seen.iter().map(|(asset, balance)| (asset.to_string(), Value::N(balance.text())));
                item.insert("balances".to_owned(), Value::M(seen.collect()));
            }
            Self::CustomerErase { customer } => item.extend([id("customer_id", customer)]),
            Self::CardClose(CardClosing { card, owner, seen }) => {
                item.extend([id("card_id", card), ("balance".to_owned(), Value::N(seen.text()))]);
                item.extend(owner.as_ref().map(|owner| id(SEEN, owner)));
            }
            Self::UnclaimedClaim(Claimed { from, to, amount }) => {
                item.extend([id("account", from), id("customer_id", to)]);
                item.extend(amount_of(amount));
            }
            Self::UnclaimedPayout(PaidOut { from, amount }) => {
                item.extend([id("account", from)]);
                item.extend(amount_of(amount));
            }
            Self::WindDown => {}
            Self::MerchantOwner { merchant, id: person, email } => {
                item.extend([id("merchant_id", merchant), id("staff_id", person), id("email", &email.expose())]);
            }
        }
        item
    }

    /// Reads a stored command.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing, malformed or unknown.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let merchant = || item.parsed("merchant_id", MerchantId::parse);
        let terminal = || item.parsed("terminal_id", TerminalId::parse);
        let person = || item.parsed("staff_id", StaffId::parse);
        let email = || item.parsed("email", FreeText::email);
        let digest = || item.opt_string(SEEN);
        let command = match Kind::of(item)? {
            Kind::Grant => {
                Self::Grant { customer: item.parsed("customer_id", CustomerId::parse)?, amount: amount(item)? }
            }
            Kind::BulkGrant => {
                Self::BulkGrant { customers: item.texts("customers", CustomerId::parse)?, amount: amount(item)? }
            }
            Kind::Adjustment => Self::Adjustment(Adjustment::read(item)?),
            Kind::TopupDecision => Self::TopupDecision(TopupDecision::read(item)?),
            Kind::CashCeiling => Self::CashCeiling {
                owner: owner(item)?,
                ceiling: amount(item)?,
                seen: item.opt_balance(SEEN, Asset::Ecopay)?,
            },
            Kind::RefundCeiling => Self::RefundCeiling {
                merchant: merchant()?,
                ceiling: amount(item)?,
                seen: item.balance(SEEN, Asset::Ecopay)?,
            },
            Kind::AssetBudget => {
                let budget = amount(item)?;
                Self::AssetBudget { seen: item.balance(SEEN, budget.asset().clone())?, budget }
            }
            Kind::CashDeposit => Self::CashDeposit { merchant: merchant()?, amount: amount(item)? },
            Kind::CashDepositReversal => Self::CashDepositReversal {
                merchant: merchant()?,
                deposit: item.parsed("deposit_id", TransactionId::parse)?,
                amount: amount(item)?,
            },
            Kind::Refund => Self::Refund(OrderedRefund {
                merchant: merchant()?,
                payment: item.parsed("payment_id", PaymentId::parse)?,
                payer: item.parsed("payer", Account::parse)?,
                amount: amount(item)?,
            }),
            Kind::CashReversal => Self::CashReversal(CashTopup {
                terminal: terminal()?,
                owner: owner(item)?,
                transaction: item.parsed("original_transaction_id", TransactionId::parse)?,
                key: item.parsed("original_key", ClaimKey::parse)?,
                card: item.parsed("card_id", CardId::parse)?,
                amount: amount(item)?,
            }),
            Kind::CounterOpen => Self::CounterOpen { terminal: item.opt_parsed("terminal_id", TerminalId::parse)? },
            Kind::CashCollection => Self::CashCollection { terminal: terminal()?, amount: amount(item)? },
            Kind::CashRoom => Self::CashRoom { terminal: terminal()?, owner: owner(item)?, room: amount(item)? },
            Kind::Destination => Self::Destination {
                merchant: merchant()?,
                destination: Destination::read(item.map("destination")?)?,
                seen: digest()?,
            },
            Kind::SettlementOpen => Self::SettlementOpen {
                merchant: merchant()?,
                pay_on: item.opt_parsed("pay_on", BusinessDate::parse)?,
                seen: digest()?,
            },
            Kind::SettlementReturn => Self::SettlementReturn(ReturnedTransfer {
                merchant: merchant()?,
                settlement: item.parsed("settlement_id", SettlementId::parse)?,
                amount: amount(item)?,
                day: item.parsed("transfer_on", BusinessDate::parse)?,
                file: item.opt_parsed(SEEN, BankFileId::parse)?,
            }),
            Kind::BankFile(change) => Self::BankFile(FileEnd {
                file: item.parsed("bank_file_id", BankFileId::parse)?,
                change,
                seen: item.int(SEEN)?,
            }),
            Kind::SettlementRun => Self::SettlementRun {
                closing: item.parsed("closing_on", BusinessDate::parse)?,
                seen: item.string(SEEN)?,
            },
            Kind::SettlementSchedule => Self::SettlementSchedule {
                merchant: merchant()?,
                schedule: item.opt_parsed("schedule", str::parse)?,
                seen: item.opt_parsed(SEEN, str::parse)?,
            },
            Kind::EnrolmentCode => Self::EnrolmentCode { terminal: terminal()?, owner: owner(item)? },
            Kind::StaffInvite => Self::StaffInvite {
                id: person()?,
                email: email()?,
                roles: roles(item)?.unwrap_or_default(),
                beneficiary_of: staff::read_kinds(item, "beneficiary_of")?.unwrap_or_default(),
            },
            Kind::StaffChange => Self::StaffChange {
                id: person()?,
                roles: roles(item)?,
                beneficiary_of: staff::read_kinds(item, "beneficiary_of")?,
                state: item.opt_named("state", MemberState::parse)?,
                seen: item.int(SEEN)?,
            },
            Kind::TermsChange => Self::TermsChange {
                changes: TermsChanges::read(item, "changes")?,
                from: item.timestamp("from")?,
                seen: item.checked_int(SEEN, TermsVersion::new)?,
            },
            Kind::TermsCancel => Self::TermsCancel { version: item.checked_int("version", TermsVersion::new)? },
            Kind::AccountLimits => {
                let asset = item.parsed("asset", Asset::parse)?;
                let change = |text: &str| LimitChange::from_stored(&asset, text).ok_or(());
                let changes = item.texts("limits", change)?;
                let seen = OwnLimits::parse(item.opt_text(SEEN)?.unwrap_or_default(), &asset);
                let seen = seen.ok_or_else(|| ItemError::invalid(SEEN))?;
                Self::AccountLimits { account: item.parsed("account", Account::parse)?, asset, changes, seen }
            }
            Kind::CardReplace => Self::CardReplace(ReplacedCard {
                card: item.parsed("card_id", CardId::parse)?,
                by: item.parsed("new_card_id", CardId::parse)?,
                owner: item.opt_parsed(SEEN, CustomerId::parse)?,
            }),
            Kind::SignInMove => Self::SignInMove(SignInMove {
                customer: item.parsed("customer_id", CustomerId::parse)?,
                subject: item.parsed("subject", SubjectId::parse)?,
                seen: item.parsed(SEEN, SubjectId::parse)?,
            }),
            Kind::CustomerClose => {
                let balance = |(asset, _): (&String, &Value)| {
                    let asset = Asset::parse(asset).map_err(|_| ItemError::invalid("balances"))?;
                    Ok((asset.clone(), item.map("balances")?.balance(&asset.to_string(), asset)?))
                };
                let seen = item.map("balances")?.iter().map(balance).collect::<Result<_, ItemError>>()?;
                Self::CustomerClose(CustomerClosing { customer: item.parsed("customer_id", CustomerId::parse)?, seen })
            }
            Kind::CustomerErase => Self::CustomerErase { customer: item.parsed("customer_id", CustomerId::parse)? },
            Kind::CardClose => Self::CardClose(CardClosing {
                card: item.parsed("card_id", CardId::parse)?,
                owner: item.opt_parsed(SEEN, CustomerId::parse)?,
                seen: item.balance("balance", Asset::Ecopay)?,
            }),
            Kind::UnclaimedClaim => Self::UnclaimedClaim(Claimed {
                from: item.parsed("account", Account::parse)?,
                to: item.parsed("customer_id", CustomerId::parse)?,
                amount: amount(item)?,
            }),
            Kind::UnclaimedPayout => {
                Self::UnclaimedPayout(PaidOut { from: item.parsed("account", Account::parse)?, amount: amount(item)? })
            }
            Kind::WindDown => Self::WindDown,
            Kind::MerchantOwner => Self::MerchantOwner { merchant: merchant()?, id: person()?, email: email()? },
        };
        if command.item() == *item { Ok(command) } else { Err(ItemError::invalid("command")) }
    }
}

fn amount_of(amount: &Amount) -> [(String, Value); 2] {
    [("asset".to_owned(), Value::s(amount.asset())), ("amount".to_owned(), Value::N(amount.text()))]
}

fn owner_of(owner: TerminalOwner) -> (String, Value) {
    match owner {
        TerminalOwner::Merchant(id) => ("merchant_id".to_owned(), Value::s(id)),
        TerminalOwner::Operator => (OWNER.to_owned(), Value::s(owner)),
    }
}

fn owner(item: &Item) -> Result<TerminalOwner, ItemError> {
    let is_operator = |text: &str| (text == TerminalOwner::Operator.to_string()).then_some(TerminalOwner::Operator);
    match item.opt_named(OWNER, is_operator)? {
        Some(operator) => Ok(operator),
        None => item.parsed("merchant_id", MerchantId::parse).map(TerminalOwner::Merchant),
    }
}

fn amount(item: &Item) -> Result<Amount, ItemError> {
    item.amount("amount", item.parsed("asset", Asset::parse)?)
}

fn names<T: ToString>(names: &BTreeSet<T>) -> Value {
    Value::L(names.iter().map(|name| Value::S(name.to_string())).collect())
}

fn roles(item: &Item) -> Result<Option<BTreeSet<StaffRole>>, ItemError> {
    let role = |name: &str| StaffRole::parse(Staff::Operator, name).ok_or(());
    present(item, "roles", || item.texts("roles", role))
}

fn present<T: Ord>(
    item: &Item,
    name: &str,
    read: impl FnOnce() -> Result<Vec<T>, ItemError>,
) -> Result<Option<BTreeSet<T>>, ItemError> {
    if item.contains_key(name) { Ok(Some(read()?.into_iter().collect())) } else { Ok(None) }
}
