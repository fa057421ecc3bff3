//! The acts of a tenant's staff, newest first, from the partitions of their days.

use crate::app::App;
use crate::cursor::Cursor;
use crate::dynamo::{Dynamo, ReadError};
use crate::problem::Problem;
use crate::request::Page;
use futures::future::try_join_all;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::{Tenant, least_born_at, parse_uuid};
use ledger_core::keys::{self, AUDIT_SHARDS, attr, day_of_act};
use ledger_core::reads;
use ledger_core::time::{CLOCK_SKEW, Timestamp};
use std::cmp::Reverse;
use std::time::Duration;

/// The days that a request reads back.
const DAYS_MAX: usize = 31;
/// The longest time between two clocks of which one wrote a tenant's configuration and the other made an id before that: more
/// than any clock is behind.
const BEFORE_OPENING: Duration = Duration::from_secs(24 * 60 * 60);

/// The instant before which a tenant's staff has done nothing: a day before the tenant was opened, or `now` if it is not open.
///
/// # Errors
/// [`ReadError`] if the store cannot be read.
pub(crate) async fn first_acts(dynamo: &Dynamo, tenant: &Tenant, now: Timestamp) -> Result<Timestamp, ReadError> {
    let config = dynamo.get(&keys::config(tenant)).await?;
    let opened = config.map(|config| config.timestamp(attr::CREATED_AT)).transpose()?;
    Ok(opened.map_or(now, |opened| opened.minus(BEFORE_OPENING)))
}

impl App {
    /// A page of the acts of a tenant's staff, newest first. It reads 31 days back at most, so a page may be short, and still
    /// have a cursor.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn audit_records(&self, tenant: &Tenant, page: Page) -> Result<(Vec<Item>, Option<String>), Problem> {
        let first = first_acts(self.dynamo(), tenant, self.now()).await?.utc_day();
        let after = page.cursor.map(Cursor::id);
        // No act has a later time in its id, whatever a cursor says.
        let latest = self.now().plus(CLOCK_SKEW).utc_day();
        let mut day = after.map_or(latest, |id| day_of_act(id).min(latest));
        let wanted = page.limit.saturating_add(1);
        let mut found = Vec::new();
        for _ in 0..DAYS_MAX {
            let acts = |shard| reads::audit_records(tenant, (day, shard), after).limit(wanted);
            let shards: Vec<_> = (0..AUDIT_SHARDS.count()).map(acts).collect();
            let of_day = try_join_all(shards.iter().map(|query| self.dynamo().query(query))).await?;
            let of_day = of_day.into_iter().flatten().map(|item| Ok((item.parsed("audit_id", parse_uuid)?, item)));
            let mut of_day = of_day.collect::<Result<Vec<_>, ItemError>>()?;
            of_day.sort_by_key(|(id, _)| Reverse(*id));
            found.extend(of_day);
            if found.len() > page.limit {
                found.truncate(page.limit);
                let last = found.last().map(|(id, _)| Cursor::after(*id).to_string());
                return Ok((found.into_iter().map(|(_, item)| item).collect(), last));
            }
            match day.previous().filter(|_| day > first) {
                Some(previous) => day = previous,
                None => return Ok((found.into_iter().map(|(_, item)| item).collect(), None)),
            }
        }
        // The days before are of the next page.
        let rest = Cursor::after(least_born_at(day.end())).to_string();
        Ok((found.into_iter().map(|(_, item)| item).collect(), Some(rest)))
    }
}
