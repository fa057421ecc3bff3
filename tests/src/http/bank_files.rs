//! Bank files: transfers that are booked, files that are written, and the requests about them.

use super::call::Who;
use super::endpoints::Endpoint;
use super::prepared::{Prepared, prepared};
use super::settling::{Settling, settled_on};
use super::world::{new_id, new_key};
use super::{Call, World};
use crate::cloud::gate;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ledger_core::calendar::{BankDeadline, PaymentWindow, bank_days_after};
use ledger_core::settlements::Task;
use ledger_core::settlements::saga::STEPS;
use ledger_runtime::settlement::SettlementRef;
use serde_json::{Value, json};
use std::time::Duration;

/// Where bank files are.
pub const PATH: &str = "/v1/admin/bank-files";
/// How many bank days the transfers of a tenant are spread over. That many are never more than 15 days ahead.
const DAYS: usize = 5;
/// How often the worker runs at most until a file is written.
const RUNS_MAX: usize = 100;
const PAUSE: Duration = Duration::from_millis(50);

impl World {
    /// A day for which a transfer is booked, the next one at each call. No file of the tenant takes transfers.
    pub async fn booked_day(&self) -> String {
        self.runs_jobs().await;
        let window = PaymentWindow::of_bank(self.app.now(), &BankDeadline::DEFAULT).expect("known holidays");
        let after = self.books().await.under("TRANSFER#").count() % DAYS;
        let after = u8::try_from(after).expect("a small number");
        let day = bank_days_after(window.first, after).expect("known holidays").to_string();
        let _ = settled_on(self, &STEPS.map(Task::Do), Some(&day)).await;
        day
    }

    /// Runs the worker of jobs.
    pub async fn runs_jobs(&self) {
        let tenant = self.slug();
        let _ = gate::as_function("jobs", jobs::run_due(&self.app, &tenant)).await.expect("the run succeeds");
    }

    /// The request that begins a day's file.
    #[must_use]
    pub fn cuts(&self, day: &str) -> Call {
        Call::post(PATH, &self.operator.who, &json!({ "pay_on": day })).key(new_key())
    }

    /// A file that is written, with one transfer.
    ///
    /// # Panics
    /// When the worker does not write it.
    pub async fn written_file(&self) -> String {
        let day = self.booked_day().await;
        let id = self.api.settle(&self.cuts(&day)).await.good().text("/bank_file_id");
        // The worker's clock may be a second behind that of the request.
        for _ in 0..RUNS_MAX {
            self.runs_jobs().await;
            if self.bank_file(&id).await["status"] == "written" {
                return id;
            }
            tokio::time::sleep(PAUSE).await;
        }
        panic!("{id} is not written after {RUNS_MAX} runs of the worker");
    }

    /// A file that the second member of the staff recorded as accepted.
    pub async fn accepted_file(&self) -> String {
        let id = self.written_file().await;
        let _ = self.api.settle(&self.about_file(&id, "accept", &self.second.who)).await.good();
        id
    }

    /// A file that two people recorded as rejected.
    pub async fn rejected_file(&self) -> String {
        let id = self.written_file().await;
        let _ = self.executes(&self.about_file(&id, "reject", &self.operator.who)).await.good();
        id
    }

    /// A bank file.
    pub async fn bank_file(&self, id: &str) -> Value {
        self.api.send(&Call::get(&format!("{PATH}/{id}"), &self.operator.who)).await.good().json()
    }

    /// The content of a bank file.
    ///
    /// # Panics
    /// When it is not in base64.
    pub async fn content(&self, id: &str) -> Vec<u8> {
        let call = Call::get(&format!("{PATH}/{id}/content"), &self.operator.who);
        let content = self.api.send(&call).await.good().text("/content");
        STANDARD.decode(content).expect("base64")
    }

    /// A member's request about a file.
    ///
    /// # Panics
    /// For an unknown verb.
    #[must_use]
    pub fn about_file(&self, id: &str, verb: &str, who: &Who) -> Call {
        let body = match verb {
            "accept" => json!({"reference": "receipt 42"}),
            "debit" | "supersede" => json!({}),
            "reject" | "withdraw" | "reopen" => json!({"note": "as the bank says"}),
            other => panic!("{other} is nothing that is done with a file"),
        };
        Call::post(&format!("{PATH}/{id}/{verb}"), who, &body).key(new_key())
    }
}

impl Settling {
    /// Begins the file of the day on which a booked settlement is paid, and writes it; returns its id.
    ///
    /// # Panics
    /// When the worker does not write it.
    pub async fn cut(&self, at: &SettlementRef) -> String {
        let day = self.view(at).await["transfer_on"].as_str().expect("a day").to_owned();
        let begun = self.good(&self.world.cuts(&day)).await.text("/bank_file_id");
        let _ = self.run_jobs().await.expect("the run succeeds");
        assert_eq!(self.world.bank_file(&begun).await["status"], "written");
        begun
    }
}

/// The request of an endpoint.
pub(super) async fn prepare(endpoint: Endpoint, world: &World) -> Prepared {
    let owner = &world.operator.who;
    match endpoint {
        Endpoint::BankFileCut => {
            let day = world.booked_day().await;
            prepared(world.cuts(&day), 202, 0).with_other("pay_on", "2026-01-05")
        }
        Endpoint::BankFileAccept => {
            let id = world.written_file().await;
            prepared(world.about_file(&id, "accept", owner), 200, 0).with_other("reference", "receipt 43")
        }
        Endpoint::BankFileDebit => {
            let id = world.accepted_file().await;
            let other = format!("{PATH}/2026-01-05-01/debit");
            prepared(world.about_file(&id, "debit", owner), 200, 1).with_other_path(other)
        }
        Endpoint::BankFileSupersede => {
            let id = world.rejected_file().await;
            let day = world.booked_day().await;
            let call = world.about_file(&id, "supersede", owner).json(&json!({ "pay_on": day }));
            prepared(call, 202, 0).with_other("pay_on", "2026-01-05")
        }
        Endpoint::BankFileReject | Endpoint::BankFileWithdraw | Endpoint::BankFileReopen => {
            let (id, verb) = match endpoint {
                Endpoint::BankFileReject => (world.written_file().await, "reject"),
                Endpoint::BankFileWithdraw => (world.written_file().await, "withdraw"),
                _ => (world.accepted_file().await, "reopen"),
            };
            prepared(world.about_file(&id, verb, owner), 202, 0).with_other("note", format!("as {} says", new_id()))
        }
        other => panic!("{other:?} is not about a bank file"),
    }
}
