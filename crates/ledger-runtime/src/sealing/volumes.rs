//! Judging merchants' volumes: what payments have on a day, against the tenant's limit.

use super::writer::Writer;
use crate::execute::WriteOutcome;
use crate::metrics::Metric;
use crate::problem::Problem;
use ledger_core::crediting::{LaneCredit, VolumeLimits};
use ledger_core::ids::MerchantId;
use ledger_core::keys::Partition;
use ledger_core::merchant_state::MerchantState;
use ledger_core::operation::Operation;
use ledger_core::{merchants, reads};
use std::collections::BTreeSet;

/// Judges the merchants whose payments a run has sealed. One that passed its limit is recorded once a day, rings an alarm, and
/// is suspended if the tenant says so. A run that fails here is followed by the next payment's.
pub(super) async fn judge(
    writer: Writer<'_>,
    limits: &VolumeLimits,
    credited: &BTreeSet<MerchantId>,
) -> Result<(), Problem> {
    let (app, tenant) = (writer.app, writer.tenant);
    let today = app.now().business_date();
    for merchant in credited {
        let items = app.dynamo().query(&reads::lane_credits(tenant, *merchant)).await?;
        let lanes = LaneCredit::all(&items)?;
        // Entries of the evening are sealed after midnight.
        for date in [today.days_before(1), today] {
            let exceeded =
                limits.exceeded(*merchant, date, &lanes).map_err(|error| writer.broken(&error.to_string()))?;
            let Some(exceeded) = exceeded else { continue };
            let cx = app.ledger().context(app.now())?;
            let profile = app.dynamo().get(&Partition::merchant(tenant, *merchant).profile()).await?;
            let state = MerchantState::read(&profile.ok_or_else(|| writer.broken("a merchant without a profile"))?)?;
            let record = writer.built(merchants::record_volume(tenant, &exceeded, state, &cx))?;
            match app.ledger().attempt(tenant, Operation::VolumeExceeded, &record).await? {
                WriteOutcome::Applied => {
                    app.metrics().count(Metric::VolumeExceeded, tenant, Operation::VolumeExceeded);
                    app.records().forget_merchant(tenant, *merchant);
                }
                // It is recorded for this day or a later one; or its state has changed, and the next run judges it again.
                WriteOutcome::Rejected(_) => {}
                WriteOutcome::MarkerExists(_) => return Err(writer.broken("a merchant's volume found a marker")),
            }
        }
    }
    Ok(())
}
