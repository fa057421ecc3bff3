//! What stays the same during a history (tenant, customers, settings, planted fault), and the two stores.

use crate::migration::fault::Fault;
use crate::migration::ops::id;
use ledger_core::dynamo::{Item, Value};
use ledger_core::ids::{CustomerId, Tenant};
use ledger_core::keys::{Key, attr};
use ledger_core::migration::{
    Concern, CustomerRef, Layout, Migration, Model as Legacy, Phase, Snapshot, Stage, UnsupportedType,
};
use ledger_core::psp::PspTerms;
use ledger_core::terms::TenantTerms;
use ledger_core::transaction::Reason;
use ledger_tests::engine::Table;
use ledger_tests::model::{Act, Model};
use ledger_tests::{legacy, wire};
use serde_json::{Map, Value as Json};

/// What does not change during a history.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) tenant: Tenant,
    pub(crate) terms: TenantTerms,
    pub(crate) psp: PspTerms,
    /// The tenant's settings, each of which replaces the one before.
    pub(crate) settings: Vec<Layout>,
    pub(crate) people: Vec<Person>,
    pub(crate) fault: Fault,
    all_read_new: [Phase; 2],
}

/// A customer, and the attributes of its God Record that must not change.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) id: CustomerId,
    /// Whether the customer comes from the legacy model.
    pub(crate) is_legacy: bool,
    pub(crate) unknown: Map<String, Json>,
    /// The number of items of the legacy history.
    pub(crate) history: usize,
}

/// A check that failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Broken {
    pub(crate) check: &'static str,
    pub(crate) what: String,
}

pub(crate) fn broken<T>(check: &'static str, what: impl Into<String>) -> Result<T, Broken> {
    Err(Broken { check, what: what.into() })
}

/// A table that executes a transaction, all or nothing.
pub(crate) trait Store {
    fn run(&mut self, acts: &[Act]) -> Result<(), Vec<Reason>>;
    fn put_raw(&mut self, item: &Json);
    /// The attributes of an item that the core can read.
    fn find(&self, key: &Key) -> Option<Item>;
    /// The attributes that the core cannot read.
    fn unsupported(&self, key: &Key) -> Vec<(String, UnsupportedType)>;
    /// One attribute, of any type.
    fn attribute(&self, key: &Key, name: &str) -> Option<Json>;
    fn all(&self) -> Vec<Item>;
}

impl Store for Model {
    fn run(&mut self, acts: &[Act]) -> Result<(), Vec<Reason>> {
        Self::run(self, acts)
    }

    fn put_raw(&mut self, item: &Json) {
        self.put(wire::item_from_json(item));
    }

    fn find(&self, key: &Key) -> Option<Item> {
        self.get(key).cloned()
    }

    fn unsupported(&self, _: &Key) -> Vec<(String, UnsupportedType)> {
        Vec::new()
    }

    fn attribute(&self, key: &Key, name: &str) -> Option<Json> {
        self.get(key)?.get(name).map(wire::value_to_json)
    }

    fn all(&self) -> Vec<Item> {
        self.iter().map(|(_, item)| item.clone()).collect()
    }
}

impl Store for Table {
    fn run(&mut self, acts: &[Act]) -> Result<(), Vec<Reason>> {
        // The model, to which this is compared, names no transaction.
        let unnamed = |reason: Reason| Reason { item: reason.item.map(wire::unnamed), ..reason };
        let written = self.write(&acts.iter().map(|act| wire::rendered(act.rendered.clone())).collect::<Vec<_>>());
        written.map_err(|reasons| reasons.into_iter().map(unnamed).collect())
    }

    fn put_raw(&mut self, item: &Json) {
        self.put(item);
    }

    fn find(&self, key: &Key) -> Option<Item> {
        self.get(key).map(|item| wire::unnamed(wire::readable(&item)))
    }

    fn unsupported(&self, key: &Key) -> Vec<(String, UnsupportedType)> {
        let Some(item) = self.get(key) else { return Vec::new() };
        let unsupported = item.as_object().unwrap().iter().filter(|(_, value)| !wire::is_readable(value));
        let of =
            |value: &Json| if value.get("NULL").is_some() { UnsupportedType::Null } else { UnsupportedType::Other };
        unsupported.map(|(name, value)| (name.clone(), of(value))).collect()
    }

    fn attribute(&self, key: &Key, name: &str) -> Option<Json> {
        self.get(key)?.get(name).cloned()
    }

    fn all(&self) -> Vec<Item> {
        self.stored().iter().map(|item| wire::unnamed(wire::readable(item))).collect()
    }
}

impl Scene {
    pub(crate) fn new(settings: Vec<Layout>, fault: Fault) -> Self {
        Self {
            tenant: Tenant::parse("aoba").unwrap(),
            terms: legacy::terms(),
            psp: PspTerms { ledger: "test".to_owned(), livemode: false, account: None },
            settings,
            people: Vec::new(),
            fault,
            all_read_new: Legacy::ALL.map(all_read_new),
        }
    }

    pub(crate) fn customer_ref(&self, customer: CustomerId) -> CustomerRef {
        CustomerRef { tenant: self.tenant.clone(), customer }
    }

    pub(crate) fn migration(&self, setting: usize) -> Option<&Migration> {
        match &self.settings[setting] {
            Layout::Migrating(migration) => Some(migration),
            Layout::Split => None,
        }
    }

    /// A customer's records in both models.
    pub(crate) fn snapshot(&self, store: &impl Store, migration: &Migration, who: CustomerId) -> Seen {
        let keys = migration.snapshot_keys(&self.customer_ref(who));
        let unsupported = keys.first().map(|record| store.unsupported(record)).unwrap_or_default();
        Seen { items: keys.iter().map(|key| store.find(key)).collect(), unsupported }
    }

    pub(crate) fn as_snapshot(&self, migration: &Migration, who: CustomerId, seen: &Seen) -> Snapshot {
        let keys = migration.snapshot_keys(&self.customer_ref(who));
        Snapshot::new(keys.into_iter().zip(seen.items.iter().cloned()), seen.unsupported.clone())
    }

    /// The same migration in a phase that compares every concern; `None` once it is contracting.
    pub(crate) fn comparing(&self, migration: &Migration) -> Option<Migration> {
        let phase = match migration.phase.model() {
            Legacy::GodRecord => self.all_read_new[0],
            Legacy::HalfWay => self.all_read_new[1],
        };
        (!migration.contracting).then(|| Migration { phase, ..migration.clone() })
    }
}

/// The phase of a model in which the most concerns are kept in both.
fn all_read_new(model: Legacy) -> Phase {
    let all = |phase: &Phase| Concern::ALL.into_iter().filter(|c| phase.stage(*c) == Stage::ReadNew).count();
    Phase::all(model).max_by_key(all).unwrap()
}

/// What was read of a customer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) items: Vec<Option<Item>>,
    pub(crate) unsupported: Vec<(String, UnsupportedType)>,
}

impl std::hash::Hash for Seen {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        for item in &self.items {
            item.is_some().hash(state);
            item.iter().for_each(|item| ledger_tests::model::hash_item(item, state));
        }
    }
}

/// Customers by number.
pub(crate) fn customer(number: u8) -> CustomerId {
    CustomerId::new(id(4, number.into()))
}

/// An item without the stamps of when it was created and updated.
pub(crate) fn unstamped(item: &Item) -> Item {
    let stamps = [attr::CREATED_AT, attr::UPDATED_AT];
    item.iter().filter(|(name, _)| !stamps.contains(&name.as_str())).map(|(n, v)| (n.clone(), v.clone())).collect()
}

/// A sum; zero if it is absent.
pub(crate) fn sum(item: &Item, name: &str) -> rust_decimal::Decimal {
    match item.get(name) {
        Some(Value::N(number)) => number.parse().unwrap(),
        Some(other) => panic!("{name} is {other:?}"),
        None => rust_decimal::Decimal::ZERO,
    }
}
