//! A tenant that leaves the God Record: its setting and its customers' records, planted as the legacy system left them.

use super::books::Row;
use super::world::new_id;
use super::{Customer, World};
use aws_sdk_dynamodb::types::AttributeValue;
use ledger_core::migration::{Concern, Model, Phase, Stage};

/// A text.
#[must_use]
pub fn s(text: impl ToString) -> AttributeValue {
    AttributeValue::S(text.to_string())
}

/// A number.
#[must_use]
pub fn n(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// The first phase of a model in which a concern has come to a stage.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn phase_of(model: Model, concern: Concern, stage: Stage) -> Phase {
    Phase::all(model).find(|phase| phase.stage(concern) == stage).unwrap_or_else(|| panic!("no {stage:?}"))
}

impl World {
    /// A tenant that leaves a legacy model, in this phase from the beginning.
    pub async fn leaving(tenant: &str, phase: Phase) -> Self {
        let world = Self::new(tenant).await;
        let mut config = world.books().await.row(&format!("{tenant}#tenant#root"), "CONFIG").expect("terms").clone();
        let setting = [
            ("model", s(phase.model().name())),
            ("phase", n(phase.number())),
            ("fence", n(phase.number())),
            ("since", s("2026-01-01T00:00:00.000Z")),
        ];
        let setting = setting.map(|(name, value)| (name.to_owned(), value));
        config.insert("migration".to_owned(), AttributeValue::M(setting.into()));
        world.plant(config).await;
        world
    }

    /// A customer of the legacy system, whom the ledger has not seen. The half-way model's points are given too.
    pub async fn legacy_customer(
        &self,
        record: &[(&str, AttributeValue)],
        metrics: &[(&str, AttributeValue)],
    ) -> Customer {
        let id = new_id();
        let named = [("name", s("Hanako")), ("email", s("hanako@example.com"))];
        self.plant(self.legacy_row(&id, "customer", &[&named[..], record].concat())).await;
        if !metrics.is_empty() {
            self.plant(self.legacy_row(&id, "METRICS", metrics)).await;
        }
        Customer { who: self.token("customer", &id, None).await, id }
    }

    /// A row of a customer's.
    #[must_use]
    pub fn legacy_row(&self, customer: &str, name: &str, more: &[(&str, AttributeValue)]) -> Row {
        let keys = [("uuid", s(format!("{}#customer#{customer}", self.tenant))), ("type", s(name))];
        keys.iter().chain(more).map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }
}
