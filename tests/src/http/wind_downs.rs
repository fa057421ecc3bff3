//! Winding a tenant down.

use super::World;
use super::call::Call;
use super::prepared::{Prepared, prepared};
use super::world::new_key;
use serde_json::json;

impl World {
    /// The request that starts to wind the tenant down.
    #[must_use]
    pub fn winds_down(&self) -> Call {
        let body = json!({"reason": "the programme ends"});
        Call::post("/v1/admin/wind-downs", &self.operator.who, &body).key(new_key())
    }

    /// Starts to wind the tenant down; returns the job's id.
    pub async fn started_winding_down(&self) -> String {
        self.executes(&self.winds_down()).await.good().text("/job_id")
    }
}

/// The request of the endpoint.
pub(super) fn prepare(world: &World) -> Prepared {
    prepared(world.winds_down(), 201, 0).with_other("reason", "another reason")
}
