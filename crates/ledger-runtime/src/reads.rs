//! Reads that several APIs share: balances, histories, lists over shards, the state of an idempotency key.

use crate::app::App;
use crate::cursor::Cursor;
use crate::finding::ROUNDS_MAX;
use crate::identity::Caller;
use crate::lists::read_max;
use crate::problem::Problem;
use crate::request::{self, Listing};
use crate::views::{HistoryView, OperationView, Page, SettlementView, ShopView};
use futures::future::try_join_all;
use ledger_core::account::Account;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::idempotency::{ClaimKey, IdempotencyKey, MarkerState, Phase, Window};
use ledger_core::ids::{Employer, MerchantId, Principal, SettlementId, StaffId, Tenant, TransactionId, parse_uuid};
use ledger_core::journal::HistoryLine;
use ledger_core::keys::{self, Key, Partition, attr};
use ledger_core::operation::Operation;
use ledger_core::reads::{self, Query};
use ledger_core::settlements::Settlement;
use ledger_core::shops::ShopRecord;
use ledger_core::staff::StaffMember;
use uuid::Uuid;

impl App {
    /// The balance items of a partition.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn balances(&self, partition: &Partition) -> Result<Vec<Item>, Problem> {
        Ok(self.dynamo().balances(partition).await?)
    }

    /// One journal entry from a party's side.
    ///
    /// # Errors
    /// 404 if the party has no such entry, 503 if the store cannot be read.
    pub async fn history_line(
        &self,
        partition: &Partition,
        party: Account,
        id: TransactionId,
    ) -> Result<HistoryView, Problem> {
        let found = self.dynamo().history_line(partition, id).await?;
        Ok(HistoryLine::read(&found.ok_or_else(Problem::not_found)?, Some(party))?.into())
    }

    /// A page of an employer's staff, largest id first, with a status or with any. A page of some members only may be short, and
    /// still have a cursor.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn staff<T: for<'a> From<&'a StaffMember>>(
        &self,
        (tenant, employer): (&Tenant, Employer),
        page: request::Page,
        status: Option<&str>,
    ) -> Result<Page<T>, Problem> {
        let after = page.cursor.map(Cursor::id).map(StaffId::new);
        let query = reads::staff_members(tenant, employer, after);
        let view = |item: &Item| {
            let member = StaffMember::read(employer, item)?;
            Ok(status.is_none_or(|status| member.state.name() == status).then(|| T::from(&member)))
        };
        let listing = Listing { page, from: None, until: None };
        self.sifted_list(query, "staff_id", (listing, read_max(page.limit, status.is_none())), view).await
    }

    /// A page of a merchant's shops, newest first.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn shops(
        &self,
        tenant: &Tenant,
        merchant: MerchantId,
        page: request::Page,
    ) -> Result<Page<ShopView>, Problem> {
        let after = page.cursor.map(Cursor::id);
        let query = reads::shops(tenant, merchant, after).limit(page.limit.saturating_add(1));
        let (items, next_cursor) = self.newest(vec![query], page.limit, attr::SHOP).await?;
        let view = |item| ShopRecord::read(item).map(|shop| ShopView::from(&shop));
        Ok(Page { items: items.iter().map(view).collect::<Result<_, ItemError>>()?, next_cursor })
    }

    /// A page of a tenant's merchants, the largest id first. `keep` makes the view of a record, or leaves it out. A page may
    /// be short, and still have a cursor.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn merchants<T>(
        &self,
        tenant: &Tenant,
        page: request::Page,
        keep: impl Fn(&Item) -> Result<Option<T>, ItemError>,
    ) -> Result<Page<T>, Problem> {
        let mut after = page.cursor.map(Cursor::id);
        let mut items = Vec::new();
        for _ in 0..ROUNDS_MAX {
            let query = reads::merchants(tenant).newest_first();
            let query = query.after(after.map(|id| id.to_string())).limit(page.limit.saturating_add(1));
            let (entries, next) = self.newest(vec![query], page.limit, attr::OWNER_SK).await?;
            let places = entries.iter().map(|entry| entry.parsed(attr::OWNER_SK, parse_uuid));
            let places = places.collect::<Result<Vec<_>, ItemError>>()?;
            let read: Vec<Key> =
                places.iter().map(|id| Partition::merchant(tenant, MerchantId::new(*id)).profile()).collect();
            let last = places.last().copied();
            for (place, record) in places.into_iter().zip(self.dynamo().get_many(&read).await?) {
                after = Some(place);
                items.extend(record.as_ref().map(&keep).transpose()?.flatten());
                if items.len() >= page.limit {
                    let is_end = next.is_none() && last == after;
                    return Ok(Page { items, next_cursor: after.filter(|_| !is_end).map(cursor_after) });
                }
            }
            if next.is_none() {
                return Ok(Page { items, next_cursor: None });
            }
        }
        Ok(Page { items, next_cursor: after.map(cursor_after) })
    }

    /// A page of a merchant's settlements, newest first.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn settlements(
        &self,
        tenant: &Tenant,
        merchant: MerchantId,
        page: request::Page,
    ) -> Result<Page<SettlementView>, Problem> {
        let after = page.cursor.map(Cursor::id);
        let query = reads::settlements(tenant, merchant, after).limit(page.limit.saturating_add(1));
        let (items, next_cursor) = self.newest(vec![query], page.limit, "settlement_id").await?;
        let settlements = items.iter().map(Settlement::read).collect::<Result<Vec<_>, ItemError>>()?;
        Ok(Page { items: self.settlement_views(tenant, &settlements).await?, next_cursor })
    }

    /// A merchant's settlement.
    ///
    /// # Errors
    /// 404 if it does not exist, 503 if the store cannot be read.
    pub async fn settlement(
        &self,
        tenant: &Tenant,
        merchant: MerchantId,
        id: SettlementId,
    ) -> Result<Settlement, Problem> {
        let item = self.dynamo().get(&keys::settlement(tenant, merchant, id)).await?.ok_or_else(Problem::not_found)?;
        Ok(Settlement::read(&item)?)
    }

    /// The state of a caller's idempotency key that was read from the request's path.
    ///
    /// `otherwise` is the message for a key that is not safe in a path: it says where to send the key instead.
    ///
    /// # Errors
    /// 400 if the key is malformed or not safe in a path; otherwise as [`App::operation`].
    pub async fn operation_in_path(
        &self,
        caller: &impl Caller,
        (operation, key): (&str, &str),
        otherwise: &'static str,
    ) -> Result<OperationView, Problem> {
        // INVARIANT: a key not safe in a path is never looked up, for it may be a truncated or decoded other key.
        match IdempotencyKey::parse(key) {
            Ok(parsed) if parsed.is_safe_in_path() => self.operation(caller, operation, key).await,
            Ok(_) | Err(_) => Err(Problem::invalid_field("key", otherwise)),
        }
    }

    /// The state of a caller's idempotency key.
    ///
    /// # Errors
    /// 404 if the operation does not exist, 400 if the key is malformed, 503 if the store cannot be read.
    pub async fn operation(&self, caller: &impl Caller, operation: &str, key: &str) -> Result<OperationView, Problem> {
        self.operation_of(caller.tenant(), caller.principal(), operation, key).await
    }

    /// The state of a principal's idempotency key.
    ///
    /// # Errors
    /// As [`App::operation`].
    pub async fn operation_of(
        &self,
        tenant: &Tenant,
        principal: Principal,
        operation: &str,
        key: &str,
    ) -> Result<OperationView, Problem> {
        let operation = Operation::parse(operation).ok_or_else(Problem::not_found)?;
        let key = ClaimKey::from(IdempotencyKey::parse(key).map_err(Problem::key)?);
        let marker = self.ledger().marker(tenant, principal, operation, &key).await?;
        let state = |state| OperationView {
            state,
            key: key.as_str().to_owned(),
            status: None,
            answer: None,
            answered_at: None,
        };
        let Some(marker) = marker else { return Ok(state("not_known_yet")) };
        let answered_at = Some(marker.processed_at.to_string());
        Ok(match marker.state {
            MarkerState::Reversed => OperationView { answered_at, ..state("reversed") },
            MarkerState::InFlight(flight) => match flight.phase {
                Phase::InFlight | Phase::FailedRetry => state("in_flight"),
                Phase::Parked => state("parked"),
            },
            MarkerState::Completed { .. } if marker.processed_at.plus(Window::of(operation).replay) <= self.now() => {
                OperationView { answered_at, ..state("expired") }
            }
            MarkerState::Completed { answer, fingerprint, .. } => {
                let marker = keys::marker(tenant, principal, operation, &key);
                let answer = self.ledger().open(&answer, &marker, fingerprint.as_ref()).await?;
                OperationView {
                    status: Some(answer.status),
                    answer: serde_json::value::RawValue::from_string(answer.body).ok(),
                    answered_at,
                    ..state("done")
                }
            }
        })
    }

    /// The newest `limit` items of several queries, ordered by the id in `id_attribute`, and the next cursor.
    pub(crate) async fn newest(
        &self,
        queries: Vec<Query>,
        limit: usize,
        id_attribute: &str,
    ) -> Result<(Vec<Item>, Option<String>), Problem> {
        let found = try_join_all(queries.iter().map(|query| self.dynamo().query(query))).await?;
        Ok(cut(found.into_iter().flatten().collect(), limit, id_attribute)?)
    }
}

fn cursor_after(id: Uuid) -> String {
    Cursor::after(id).to_string()
}

/// The newest `limit` of these items, ordered by the id in `id_attribute`, and the next cursor.
fn cut(items: Vec<Item>, limit: usize, id_attribute: &str) -> Result<(Vec<Item>, Option<String>), ItemError> {
    let mut items = items
        .into_iter()
        .map(|item| Ok((item.parsed(id_attribute, parse_uuid)?, item)))
        .collect::<Result<Vec<_>, ItemError>>()?;
    items.sort_by(|(a, _), (b, _)| b.cmp(a));
    let more = items.len() > limit;
    items.truncate(limit);
    let last = items.last().filter(|_| more).map(|(id, _)| Cursor::after(*id).to_string());
    Ok((items.into_iter().map(|(_, item)| item).collect(), last))
}
