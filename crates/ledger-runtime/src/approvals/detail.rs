//! A command as a person sees it who may decide on it: names beside ids, and a payout destination whole while it is pending.
//! What is personal is shown once the reading is on the trail.

use crate::app::App;
use crate::identity::Member;
use crate::permission;
use crate::problem::Problem;
use crate::ties::ReadBefore;
use crate::views::{ApprovalDetail, CustomerView, DestinationChangeView, TieView};
use ledger_core::account::Account;
use ledger_core::approvals::{Approval, ApprovalState, Command, may_approve, plan_read};
use ledger_core::customers;
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::ids::{CustomerId, Employer, MerchantId, StaffId, Tenant};
use ledger_core::keys::{self, Key, Partition};
use ledger_core::operation::Operation;
use ledger_core::permission::Permission;
use ledger_core::staff::StaffMember;
use ledger_core::ties::Holders;
use ledger_core::time::Timestamp;
use ledger_core::transaction::{BuildError, Transaction};
use std::collections::{BTreeMap, BTreeSet};

/// The most customers that are named: a command about more names its rule.
const CUSTOMERS_MAX: usize = 20;

/// What a member may see of commands.
#[derive(Clone, Copy, Debug)]
pub struct Viewer {
    /// The member, who sees the own ties.
    id: StaffId,
    /// Whether the member may decide: then addresses are shown.
    decides: bool,
    /// Whether the member reads the audit trail: then the ties of others are shown.
    audits: bool,
}

impl Viewer {
    /// Whether the member sees a tie of a command.
    pub(super) fn sees_ties_of(self, approval: &Approval) -> bool {
        approval.ties.iter().any(|tie| self.audits || tie.member == self.id)
    }
}

/// The accounts that a command is about or posts to.
fn accounts_of(approval: &Approval) -> BTreeSet<Account> {
    let posted = approval.projected.postings.iter().map(|posting| posting.account);
    let of = approval.command.effect().account.into_iter().chain(posted);
    of.chain(approval.command.scope().accounts().iter().copied()).collect()
}

fn merchants_of(approval: &Approval) -> impl Iterator<Item = MerchantId> + use<> {
    accounts_of(approval).into_iter().filter_map(|account| match account {
        Account::Merchant(id) => Some(id),
        Account::Customer(_) | Account::Card(_) | Account::Tenant(_) => None,
    })
}

/// The members of the operator's staff that a command names.
fn staff_of(approval: &Approval) -> impl Iterator<Item = StaffId> + use<> {
    let changed = if let Command::StaffChange { id, .. } = &approval.command { Some(*id) } else { None };
    [Some(approval.requested_by), approval.decided_by, changed].into_iter().flatten()
}

/// The customers that a command is about; none if they are many.
fn customers_of(approval: &Approval) -> Vec<CustomerId> {
    let customers = accounts_of(approval).into_iter().filter_map(|account| match account {
        Account::Customer(id) => Some(id),
        Account::Card(_) | Account::Merchant(_) | Account::Tenant(_) => None,
    });
    let customers: Vec<CustomerId> = customers.collect();
    if customers.len() > CUSTOMERS_MAX { Vec::new() } else { customers }
}

/// The names beside ids, by id.
#[derive(Default)]
pub(super) struct Names {
    merchants: BTreeMap<MerchantId, String>,
    staff: BTreeMap<StaffId, String>,
}

impl Names {
    /// Those that a command names.
    fn of(&self, approval: &Approval) -> BTreeMap<String, String> {
        let merchants = merchants_of(approval)
            .filter_map(|id| Some((Account::Merchant(id).to_string(), self.merchants.get(&id)?.clone())));
        let staff = staff_of(approval).filter_map(|id| Some((format!("staff:{id}"), self.staff.get(&id)?.clone())));
        merchants.chain(staff).collect()
    }

    /// What the operator API shows of a command at an instant.
    pub(super) fn shown(&self, approval: &Approval, (viewer, now): (Viewer, Timestamp)) -> ApprovalDetail {
        let view = ApprovalDetail::at(approval, now);
        let mut view = if viewer.decides { view } else { view.without_addresses() };
        let own = viewer.id.to_string();
        view.ties.retain(|tie| viewer.audits || tie.member == own);
        ApprovalDetail { names: self.of(approval), ..view }
    }
}

impl App {
    /// The names of what commands name: merchants, and for those who may decide the addresses of staff.
    pub(super) async fn names(&self, tenant: &Tenant, found: &[Approval], viewer: Viewer) -> Result<Names, Problem> {
        let merchants: BTreeSet<MerchantId> = found.iter().flat_map(merchants_of).collect();
        let staff: BTreeSet<StaffId> = found.iter().filter(|_| viewer.decides).flat_map(staff_of).collect();
        let profiles = merchants.iter().map(|id| Partition::merchant(tenant, *id).profile());
        let members = staff.iter().map(|id| keys::staff_member(tenant, Employer::Operator, *id));
        let wanted: Vec<Key> = profiles.chain(members).collect();
        if wanted.is_empty() {
            return Ok(Names::default());
        }
        let mut items = self.dynamo().get_many(&wanted).await?.into_iter();
        let name = |item: Option<Option<Item>>, name| item.flatten().map(|item| item.string(name)).transpose();
        let mut names = Names::default();
        for id in merchants {
            names.merchants.extend(name(items.next(), "name")?.map(|name| (id, name)));
        }
        for id in staff {
            names.staff.extend(name(items.next(), "email")?.map(|name| (id, name)));
        }
        Ok(names)
    }

    /// What a member may see of commands.
    ///
    /// # Errors
    /// 503 if the member's record cannot be read.
    pub async fn viewer(&self, who: &Member) -> Result<Viewer, Problem> {
        Ok(Viewer {
            id: who.id(),
            decides: permission::permits(self, who, Permission::ApprovalsDecide).await?,
            audits: permission::permits(self, who, Permission::AuditRead).await?,
        })
    }

    /// What a member sees of a command. While it is pending, the member sees the own ties to what it is for.
    ///
    /// # Errors
    /// 503 if the store cannot be read, or the record of a reading cannot be written: then nothing personal is shown.
    pub async fn approval_detail(&self, who: &Member, approval: &Approval) -> Result<ApprovalDetail, Problem> {
        let (tenant, now) = (who.tenant(), self.now());
        let viewer = self.viewer(who).await?;
        let names = self.names(tenant, std::slice::from_ref(approval), viewer).await?;
        let mut view = names.shown(approval, (viewer, now));
        if approval.state(now) != ApprovalState::Pending {
            return Ok(view);
        }
        let by = self.staff_member(who, who.id()).await?;
        // What cannot be resolved is shown to no one whole.
        let holders = self.holders_at_decision(tenant, approval, (&by, None), &ReadBefore::new()).await?;
        let Ok(holders) = holders else { return Ok(view) };
        let of_viewer = holders.ties(by.id).unwrap_or_default().iter().filter(|tie| !approval.ties.contains(tie));
        view.ties.extend(of_viewer.map(TieView::from));
        view.payout_destination = self.whole_destination(tenant, approval, (&by, &holders)).await?;
        if may_approve(approval, &by, &holders, now).is_ok() {
            for customer in customers_of(approval) {
                let name = self.recorded_name(tenant, &by, customer).await?;
                view.names.extend(name.map(|name| (Account::Customer(customer).to_string(), name)));
            }
        }
        Ok(view)
    }

    /// A payout destination that is to be changed, whole, if the member may see it.
    async fn whole_destination(
        &self,
        tenant: &Tenant,
        approval: &Approval,
        by: (&StaffMember, &Holders),
    ) -> Result<Option<DestinationChangeView>, Problem> {
        let Command::Destination { .. } = approval.command else { return Ok(None) };
        let (keys, cx) = (self.ledger().marker_keys().await?, self.ledger().context(self.now())?);
        let read = plan_read(tenant, approval, by, &keys, &cx).map_err(|error| {
            tracing::error!(%error, "a destination that an approval keeps cannot be shown");
            Problem::internal()
        })?;
        let Some((change, record)) = read else { return Ok(None) };
        if let Some(record) = record {
            self.ledger().apply(tenant, Operation::ApprovalRead, &record).await?;
        }
        Ok(Some(DestinationChangeView::from(&change)))
    }

    /// A customer's name, once the reading is on the trail; `None` if the customer has none.
    async fn recorded_name(
        &self,
        tenant: &Tenant,
        by: &StaffMember,
        customer: CustomerId,
    ) -> Result<Option<String>, Problem> {
        let Some(profile) = self.dynamo().get(&Partition::customer(tenant, customer).profile()).await? else {
            return Ok(None);
        };
        let Some(name) = CustomerView::read(&profile)?.name else { return Ok(None) };
        let cx = self.ledger().context(self.now())?;
        let record = customers::read::record(tenant, by.actor(), customer, &cx);
        self.ledger().apply(tenant, Operation::CustomerRead, &built(record)?).await?;
        Ok(Some(name))
    }
}

fn built(record: Result<Transaction, BuildError>) -> Result<Transaction, Problem> {
    record.map_err(|error| {
        tracing::error!(%error, "a reading cannot be put on record");
        Problem::internal()
    })
}
