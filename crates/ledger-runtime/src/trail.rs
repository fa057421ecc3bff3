//! Reads the audit trail of one resource, in order: its journal entries, and the trail records of its calls to the
//! outside.

use crate::app::App;
use crate::problem::Problem;
use crate::sealed_heads;
use ledger_core::account::Account;
use ledger_core::cards::record::CardRecord;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::{MerchantId, PaymentId, SettlementId, Tenant, TopupId, least_born_at};
use ledger_core::journal::expanded;
use ledger_core::keys::{self, Key, Partition, attr, sk};
use ledger_core::payments::PaymentRecord;
use ledger_core::reads;
use ledger_core::sealing::lanes::{Binding, BindingLink, Heads, LaneLink};
use ledger_core::time::{Timestamp, UtcDay};
use ledger_core::topups::TopupRecord;
use std::time::Duration;
use uuid::Uuid;

/// The largest difference between the time in an entry's id and the times of its records.
const MARGIN: Duration = Duration::from_secs(10 * 60);
/// The largest number of bindings whose days a list of seals has.
const PAGE_ITEMS: usize = 100;
/// The largest number of an account's entries that one trail searches.
const ENTRIES_MAX: usize = 10_000;

/// A resource with an audit trail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A payment, with its captures and refunds.
    Payment(PaymentId),
    /// A top-up, with its refunds and clawbacks.
    Topup(TopupId),
    /// A merchant's settlement.
    Settlement(MerchantId, SettlementId),
}

impl Resource {
    /// Parses `payment:<id>`, `topup:<id>` or `settlement:<merchant>/<id>`.
    ///
    /// # Errors
    /// 400 that names the parameter, if the text has none of these forms.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let parsed = text.split_once(':').and_then(|(kind, id)| match kind {
            "payment" => PaymentId::parse(id).ok().map(Self::Payment),
            "topup" => TopupId::parse(id).ok().map(Self::Topup),
            "settlement" => {
                let (merchant, id) = id.split_once('/')?;
                Some(Self::Settlement(MerchantId::parse(merchant).ok()?, SettlementId::parse(id).ok()?))
            }
            _ => None,
        });
        let forms = "must be payment:<id>, topup:<id> or settlement:<merchant>/<id>";
        parsed.ok_or_else(|| Problem::invalid_field("resource", forms))
    }

    fn id(self) -> Uuid {
        match self {
            Self::Payment(id) => id.uuid(),
            Self::Topup(id) => id.uuid(),
            Self::Settlement(_, id) => id.uuid(),
        }
    }

    /// The attribute in which an entry has the resource's id.
    fn link(self) -> &'static str {
        match self {
            Self::Payment(_) => "payment_id",
            Self::Topup(_) => "topup_id",
            Self::Settlement(..) => "settlement_id",
        }
    }
}

/// The state of the sealing of a tenant's trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seals {
    /// The number of segments.
    pub segments: u64,
    /// The last binding; `None` if nothing is sealed.
    pub last: Option<BindingLink>,
    /// The last binding of each day, newest first.
    pub days: Vec<Binding>,
    /// The last segment of each lane.
    pub lanes: Vec<LaneLink>,
}

impl App {
    /// The records of a resource, ordered by time: journal entries expanded, and trail records.
    ///
    /// # Errors
    /// 404 if the resource does not exist, 400 if its account has 10,000 entries or more in the resource's time span,
    /// 503 if the store cannot be read.
    pub async fn trail(&self, tenant: &Tenant, resource: Resource) -> Result<Vec<Item>, Problem> {
        let (home, partition, steps_only) = match resource {
            Resource::Payment(id) => {
                let item = self.dynamo().get(&keys::payment(tenant, id)).await?.ok_or_else(Problem::not_found)?;
                (PaymentRecord::read(&item)?.payer, Partition::payment(tenant, id), false)
            }
            Resource::Topup(id) => {
                let item = self.dynamo().get(&keys::topup(tenant, id)).await?.ok_or_else(Problem::not_found)?;
                (TopupRecord::read(&item)?.wallet(), Partition::topup(tenant, id), false)
            }
            Resource::Settlement(merchant, id) => {
                let _ = self.settlement(tenant, merchant, id).await?;
                (Account::Merchant(merchant), Partition::merchant(tenant, merchant), true)
            }
        };
        let records = match resource {
            // A merchant's partition has many settlements: only the record of this one is read.
            Resource::Settlement(merchant, id) => {
                self.dynamo().get(&keys::settlement(tenant, merchant, id)).await?.into_iter().collect()
            }
            Resource::Payment(id) => self.dynamo().query(&reads::payment_items(tenant, id)).await?,
            Resource::Topup(id) => self.dynamo().query(&reads::topup_items(tenant, id)).await?,
        };
        let is_step = |item: &Item| item.key_text(attr::SK).is_some_and(|key| key.starts_with(sk::TRAIL));
        let span = span(&records)?;
        let mut found: Vec<Item> = records.into_iter().filter(is_step).collect();
        if steps_only {
            found.extend(self.dynamo().query(&reads::steps_of(&partition, resource.id())).await?);
        }
        for (home, (from, to)) in self.homes(tenant, home).await?.into_iter().zip(span.into_iter().cycle()) {
            let (from, to) = (least_born_at(from.minus(MARGIN)), least_born_at(to.plus(MARGIN)));
            let entries = reads::account_entries_between(&home, from, to).limit(ENTRIES_MAX);
            let entries = self.dynamo().query(&entries).await?;
            if entries.len() >= ENTRIES_MAX {
                return Err(Problem::invalid_field("resource", "has too many entries to search"));
            }
            let id = resource.id().to_string();
            for entry in entries {
                let entry = expanded(entry)?;
                if entry.opt_text(resource.link())? == Some(&id) {
                    found.push(entry);
                }
            }
        }
        let mut ordered = Vec::with_capacity(found.len());
        for item in found {
            let created_at = item.opt_string(attr::CREATED_AT)?;
            ordered.push(((created_at, item.key_text(attr::SK).map(str::to_owned)), item));
        }
        ordered.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(ordered.into_iter().map(|(_, item)| item).collect())
    }

    /// The partitions that have the entries of a resource of an account: of a card, those of the cards that replaced it too.
    async fn homes(&self, tenant: &Tenant, account: Account) -> Result<Vec<Partition>, Problem> {
        match account {
            Account::Card(card) => {
                let items = self.card_and_replacements(tenant, card).await?;
                let ids = items.iter().map(|item| CardRecord::read(item).map(|card| Partition::card(tenant, card.id)));
                Ok(ids.collect::<Result<_, _>>()?)
            }
            Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => {
                Ok(Partition::account(tenant, account).into_iter().collect())
            }
        }
    }

    /// The state of the sealing of a tenant's trail, with one day or the days of the last hundred bindings.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn seals(&self, tenant: &Tenant, day: Option<UtcDay>) -> Result<Seals, Problem> {
        let (from, to) = (day.unwrap_or(UtcDay::MIN), day.unwrap_or(UtcDay::MAX));
        let heads = sealed_heads::heads(self.dynamo(), tenant).await?;
        let bindings = reads::bindings(tenant, from, to).newest_first().limit(PAGE_ITEMS);
        let bindings = self.dynamo().query(&bindings).await?;
        let mut days: Vec<Binding> =
            bindings.iter().map(|item| read_binding(tenant, item)).collect::<Result<_, ItemError>>()?;
        // Of each day the newest, which is the first.
        days.dedup_by_key(|binding| binding.link.day);
        let lanes = heads.iter().flat_map(|heads| &heads.lanes).map(|lane| lane.link);
        Ok(Seals {
            segments: heads.as_ref().map_or(0, Heads::segments),
            last: heads.as_ref().map(|heads| heads.trail.last.clone()),
            days,
            lanes: lanes.filter(|link| link.number > 0).collect(),
        })
    }
}

fn read_binding(tenant: &Tenant, item: &Item) -> Result<Binding, ItemError> {
    let key = Key::stored(tenant, item.text(attr::PK)?, item.text(attr::SK)?);
    Binding::read(tenant, &key.ok_or_else(|| ItemError::invalid(attr::PK))?, item)
}

/// The earliest and the latest time in the records.
fn span(records: &[Item]) -> Result<Option<(Timestamp, Timestamp)>, ItemError> {
    let mut times = Vec::new();
    for item in records {
        for name in [attr::CREATED_AT, attr::UPDATED_AT] {
            times.extend(item.opt_timestamp(name)?);
        }
    }
    Ok(times.iter().min().copied().zip(times.iter().max().copied()))
}
