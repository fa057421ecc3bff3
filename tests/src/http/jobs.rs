//! Jobs of all kinds.

use super::World;
use super::call::Call;
use super::prepared::{Prepared, prepared};
use super::world::new_key;
use serde_json::{Value, json};

impl World {
    /// The request that stops a job.
    #[must_use]
    pub fn stops(&self, job: &str) -> Call {
        let body = json!({"reason": "too early"});
        Call::post(&format!("/v1/admin/jobs/{job}/stop"), &self.operator.who, &body).key(new_key())
    }

    /// A job.
    pub async fn job(&self, job: &str) -> Value {
        let call = Call::get(&format!("/v1/admin/jobs/{job}"), &self.operator.who);
        self.api.send(&call).await.good().json()
    }

    /// The jobs of a kind, newest first.
    ///
    /// # Panics
    /// When the response has no list of jobs.
    pub async fn jobs(&self, kind: &str) -> Vec<Value> {
        let call = Call::get(&format!("/v1/admin/jobs?kind={kind}&limit=100"), &self.operator.who);
        let jobs = self.api.send(&call).await.good().json();
        jobs["items"].as_array().expect("jobs").clone()
    }

    /// The lines of a job: those with a status, or all of them, over pages of `limit`.
    ///
    /// # Panics
    /// When a page has no list of lines.
    pub async fn job_lines(&self, job: &str, status: Option<&str>, limit: usize) -> Vec<Value> {
        self.lines(&format!("/v1/admin/jobs/{job}/lines"), status, limit).await
    }

    /// The lines at a path: those with a status, or all of them, over pages of `limit`.
    ///
    /// # Panics
    /// When a page has no list of lines.
    pub(super) async fn lines(&self, path: &str, status: Option<&str>, limit: usize) -> Vec<Value> {
        let status = status.map(|status| format!("&status={status}")).unwrap_or_default();
        let (mut lines, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("{path}?limit={limit}{status}{cursor}");
            let page = self.api.send(&Call::get(&path, &self.operator.who)).await.good().json();
            lines.extend(page["items"].as_array().expect("lines").iter().cloned());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return lines,
            }
        }
    }

    /// Runs the worker until a job has ended; returns it.
    ///
    /// # Panics
    /// When a run fails, or the job does not end.
    pub async fn ended(&self, job: &str) -> Value {
        for _ in 0..20 {
            let _ = self.run_jobs().await.expect("the run succeeds");
            let view = self.job(job).await;
            if view["ended_at"].is_string() {
                return view;
            }
        }
        panic!("the job does not end: {}", self.job(job).await);
    }
}

/// The request of the endpoint.
pub(super) async fn prepare(world: &World) -> Prepared {
    let batch = json!({"count": 3, "reason": "spring"});
    let batch = Call::post("/v1/admin/card-batches", &world.operator.who, &batch).key(new_key());
    let job = world.api.settle(&batch).await.good().text("/job_id");
    prepared(world.stops(&job), 200, 0).with_other("reason", "another reason")
}
