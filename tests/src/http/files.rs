//! Files that staff ask for.

use super::World;
use super::call::Call;
use super::prepared::{Prepared, prepared};
use super::world::new_key;
use crate::cloud::gate;
use ledger_runtime::problem::Problem;
use ledger_runtime::worker::Due;
use serde_json::{Value, json};

impl World {
    /// The request for a file.
    #[must_use]
    pub fn asks_for(&self, content: &Value) -> Call {
        let mut body = content.clone();
        body["reason"] = json!("asked for by letter");
        Call::post("/v1/admin/files", &self.operator.who, &body).key(new_key())
    }

    /// A file as the operator sees it.
    pub async fn file(&self, id: &str) -> Value {
        let call = Call::get(&format!("/v1/admin/files/{id}"), &self.operator.who);
        self.api.send(&call).await.good().json()
    }

    /// Makes the files that are due.
    ///
    /// # Panics
    /// When the worker fails.
    pub async fn make_files(&self) -> usize {
        self.try_make_files().await.expect("the run succeeds")
    }

    /// The same.
    ///
    /// # Errors
    /// The worker's errors.
    pub async fn try_make_files(&self) -> Result<usize, Problem> {
        let due = Due::everything(self.slug());
        let outlets = ledger_runtime::reconcile::Outlets::default();
        let settings = ledger_runtime::reconcile::Settings {
            nightly: false,
            ..ledger_runtime::reconcile::Settings::of(&self.app)
        };
        let run = reconcile::run_as((&self.app, &outlets), &due, &settings);
        gate::as_function("reconcile", run).await.map(|ran| ran.files)
    }

    /// Asks for a file, makes it, and fetches it by its link.
    ///
    /// # Panics
    /// When a step fails.
    pub async fn fetched(&self, content: &Value) -> String {
        let id = self.api.settle(&self.asks_for(content)).await.good().text("/job_id");
        assert_eq!(self.make_files().await, 1);
        let file = self.file(&id).await;
        let answer = reqwest::get(file["url"].as_str().expect("a link")).await.expect("a response");
        assert!(answer.status().is_success(), "{answer:?}");
        answer.text().await.expect("a text")
    }
}

/// The request of the endpoint.
pub(super) fn prepare(world: &World) -> Prepared {
    let call = world.asks_for(&json!({"kind": "payouts", "from": "2026-01-01", "to": "2026-01-31"}));
    prepared(call, 202, 0).with_other("reason", "another reason")
}
