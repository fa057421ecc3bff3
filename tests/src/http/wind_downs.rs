//! Winding a tenant down.

use super::World;
use super::call::Call;
use super::endpoints::Endpoint;
use super::prepared::{Prepared, prepared};
use super::world::new_key;
use serde_json::{Value, json};

impl World {
    /// The request that starts to wind the tenant down.
    #[must_use]
    pub fn winds_down(&self) -> Call {
        let body = json!({"reason": "the programme ends"});
        Call::post("/v1/admin/wind-downs", &self.operator.who, &body).key(new_key())
    }

    /// Starts to wind the tenant down; returns the job's id.
    pub async fn started_winding_down(&self) -> String {
        let started = self.executes(&self.winds_down()).await.good().json();
        ["wind_down_id", "job_id"].iter().find_map(|id| started[id].as_str()).expect("a job").to_owned()
    }

    /// The request that stops that.
    #[must_use]
    pub fn stops_winding_down(&self, job: &str) -> Call {
        let body = json!({"reason": "too early"});
        Call::post(&format!("/v1/admin/wind-downs/{job}/stop"), &self.operator.who, &body).key(new_key())
    }

    /// A job that winds the tenant down.
    pub async fn wind_down(&self, job: &str) -> Value {
        let call = Call::get(&format!("/v1/admin/wind-downs/{job}"), &self.operator.who);
        self.api.send(&call).await.good().json()
    }

    /// The lines of a job: those with a status, or all of them, over pages of `limit`.
    ///
    /// # Panics
    /// When a page has no list of lines.
    pub async fn wind_down_lines(&self, job: &str, status: Option<&str>, limit: usize) -> Vec<Value> {
        let status = status.map(|status| format!("&status={status}")).unwrap_or_default();
        let (mut lines, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("/v1/admin/wind-downs/{job}/accounts?limit={limit}{status}{cursor}");
            let page = self.api.send(&Call::get(&path, &self.operator.who)).await.good().json();
            lines.extend(page["items"].as_array().expect("lines").iter().cloned());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return lines,
            }
        }
    }
}

/// The request of an endpoint.
pub(super) async fn prepare(endpoint: Endpoint, world: &World) -> Prepared {
    let made = match endpoint {
        Endpoint::WindDown => prepared(world.winds_down(), 201, 0),
        Endpoint::WindDownStop => prepared(world.stops_winding_down(&world.started_winding_down().await), 200, 0),
        other => panic!("{other:?} does not wind a tenant down"),
    };
    made.with_other("reason", "another reason")
}
