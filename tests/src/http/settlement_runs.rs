//! Settlement on schedule.

use super::World;
use super::call::Call;
use super::endpoints::Endpoint;
use super::prepared::{Prepared, prepared};
use super::world::new_key;
use serde_json::{Value, json};

impl World {
    /// The request that sets a merchant's schedule.
    #[must_use]
    pub fn schedules(&self, merchant: &str, schedule: Option<&str>) -> Call {
        let path = format!("/v1/admin/merchants/{merchant}/settlement-schedule");
        let body = json!({"schedule": schedule, "reason": "agreed in May"});
        Call::post(&path, &self.operator.who, &body).key(new_key())
    }

    /// The request that closes the periods of a day.
    #[must_use]
    pub fn runs_settlements(&self, closing_on: &str) -> Call {
        let body = json!({"closing_on": closing_on, "reason": "set a day late"});
        Call::post("/v1/admin/settlement-runs", &self.operator.who, &body).key(new_key())
    }

    /// A run.
    pub async fn settlement_run(&self, run: &str) -> Value {
        let call = Call::get(&format!("/v1/admin/settlement-runs/{run}"), &self.operator.who);
        self.api.send(&call).await.good().json()
    }

    /// The merchants of a run: those with a status, or all of them, over pages of `limit`.
    pub async fn settlement_run_merchants(&self, run: &str, status: Option<&str>, limit: usize) -> Vec<Value> {
        self.lines(&format!("/v1/admin/settlement-runs/{run}/merchants"), status, limit).await
    }
}

/// The request of an endpoint.
pub(super) async fn prepare(endpoint: Endpoint, world: &World) -> Prepared {
    let made = match endpoint {
        Endpoint::SettlementRunStart => prepared(world.runs_settlements("2026-11-20"), 201, 0),
        Endpoint::SettlementSchedule => {
            let merchant = world.merchant().await.id;
            prepared(world.schedules(&merchant, Some("monthly:month_end bank_days:3")), 200, 0)
        }
        other => panic!("{other:?} does not settle on schedule"),
    };
    made.with_other("reason", "another reason")
}
