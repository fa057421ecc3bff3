//! The actions of a vector's command in its tenant's layout, and the meaning of the store's reasons for them.

use super::build::Built;
use super::judge;
use super::vector::Given;
use crate::engine::primary_key;
use crate::wire;
use ledger_core::keys;
use ledger_core::migration::{Cancelled, Layout, Placed, Stale};
use ledger_core::transaction::{Reason, ReasonCode, TransactItem};
use serde_json::Value as Json;

/// The actions that a command writes.
pub struct Written<'a> {
    built: &'a Built,
    placed: Option<Placed>,
}

/// The layout of a vector's tenant, from its `CONFIG` if the state has one.
#[must_use]
pub fn layout(given: &Given) -> Layout {
    let config = keys::config(&ledger_core::ids::Tenant::parse(&given.command.tenant).unwrap());
    let key = (config.pk().to_owned(), config.sk().to_owned());
    let found = given.state.iter().map(wire::item_from_json).find(|item| primary_key(item) == key);
    // Without a migration the `CONFIG` of a vector need not be complete.
    let migrating = found.filter(|config| config.contains_key("migration"));
    migrating.map_or(Layout::Split, |config| Layout::read(&config).unwrap())
}

impl<'a> Written<'a> {
    /// The actions of a built command.
    #[must_use]
    pub fn of(given: &Given, built: &'a Built) -> Self {
        let placed = match built {
            Built::Transaction(transaction, _) => Some(transaction.placed(&layout(given)).unwrap()),
            Built::Change(_) | Built::Nothing | Built::Refused(_) => None,
        };
        Self { built, placed }
    }

    /// The actions.
    #[must_use]
    pub fn items(&self) -> &[TransactItem] {
        match (&self.placed, self.built) {
            (Some(placed), _) => placed.items(),
            (None, Built::Change(change)) => change.items(),
            (None, Built::Transaction(..) | Built::Nothing | Built::Refused(_)) => &[],
        }
    }

    /// The actions as DynamoDB's JSON.
    #[must_use]
    pub fn actions(&self) -> Vec<Json> {
        self.items().iter().map(wire::action).collect()
    }

    /// The outcome if the store applies the actions.
    #[must_use]
    pub fn done(&self) -> &'static str {
        match self.built {
            Built::Change(_) => "written",
            Built::Transaction(..) | Built::Nothing | Built::Refused(_) => "applied",
        }
    }

    /// The outcome of these reasons, one for each action.
    #[must_use]
    pub fn judge(&self, reasons: Vec<Reason>) -> String {
        let (Some(placed), Built::Transaction(transaction, claim)) = (&self.placed, self.built) else {
            return self.as_read(&reasons);
        };
        match placed.cancelled(reasons) {
            Cancelled::For(reasons) => judge::judge(transaction, claim.as_deref(), &reasons),
            Cancelled::Stale(Stale::NotAdopted(_), _) => "stale not_adopted".to_owned(),
            Cancelled::Stale(Stale::Fenced, _) => "stale fenced".to_owned(),
            Cancelled::Stale(Stale::NotCopied(_, concern), _) => format!("stale not_copied {}", concern.name()),
            Cancelled::Stale(Stale::Unreadable(error), _) => panic!("{error}"),
        }
    }

    /// A migration's change fails only because an item is not as it was read; asserts that its guards say so.
    fn as_read(&self, reasons: &[Reason]) -> String {
        for (item, reason) in self.items().iter().zip(reasons) {
            if reason.code != ReasonCode::None {
                assert_eq!(reason.code, ReasonCode::ConditionalCheckFailed);
                assert!(item.failure_on(reason.item.as_ref()).is_some(), "a guard fails: {reason:?}");
            }
        }
        "not_as_read".to_owned()
    }
}
