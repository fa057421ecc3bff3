//! Customers who are erased by two people, and the jobs that erase their texts.

use super::prepared::{Prepared, prepared};
use super::world::new_key;
use super::{Answer, Call, World, approvals};
use ledger_core::dynamo::{Attributes, Item, Value as Stored};
use serde_json::{Value, json};

impl World {
    /// The request of the first operator to erase a customer.
    #[must_use]
    pub fn erases(&self, customer: &str, reason: &str) -> Call {
        let path = format!("/v1/admin/customers/{customer}/erase");
        Call::post(&path, &self.operator.who, &json!({ "reason": reason })).key(new_key())
    }

    /// Closes a customer, with what the customer has, by two people.
    pub async fn closed(&self, customer: &str) {
        let answer = self.api.settle(&self.closes(customer, true)).await.good();
        let _ = approvals::approve(self, answer).await;
    }

    /// A closed customer who had nothing.
    pub async fn closed_customer(&self) -> String {
        let customer = self.customer().await.id;
        self.closed(&customer).await;
        customer
    }

    /// Erases a closed customer by two people; returns the answer to the request.
    pub async fn erased(&self, customer: &str) -> Answer {
        let answer = self.api.settle(&self.erases(customer, "request 2026-117")).await.good();
        approvals::approve(self, answer).await
    }

    /// How far the erasure of a customer's texts is.
    pub async fn erasure(&self, customer: &str) -> Value {
        let path = format!("/v1/admin/customers/{customer}/erasure");
        self.api.send(&Call::get(&path, &self.operator.who)).await.good().json()
    }

    /// Makes the jobs of erasures due, as if their customers had been erased long ago.
    ///
    /// # Panics
    /// When a row is not in the table.
    pub async fn makes_erasures_due(&self) {
        let books = self.books().await;
        let is_due = |row: &Item| row.contains_key("_due_sk") && row.opt_text("kind") == Ok(Some("erasure"));
        for (pk, sk, row) in books.under("JOB").filter(|(_, _, row)| is_due(row)) {
            let mut job = books.stored(pk, sk).expect("a row").clone();
            let id = row.text("job_id").expect("an id");
            let _ = job.insert("_due_sk".to_owned(), Stored::S(format!("2026-01-02T03:04:05.678Z#job#erasure#{id}")));
            self.plant_as_written(job).await;
        }
    }

    /// Runs the jobs that erase texts until nothing is left; returns from how many items texts were erased.
    ///
    /// # Panics
    /// When a run fails.
    pub async fn erases_texts(&self) -> usize {
        self.makes_erasures_due().await;
        let mut erased = 0;
        loop {
            let progress = self.run_jobs().await.expect("the run succeeds");
            erased += progress.subjects;
            if progress.subjects == 0 {
                return erased;
            }
        }
    }
}

/// The request of the endpoint.
pub(super) async fn prepare(world: &World) -> Prepared {
    let customer = world.closed_customer().await;
    prepared(world.erases(&customer, "request 2026-117"), 202, 0).with_other("reason", "another reason")
}
