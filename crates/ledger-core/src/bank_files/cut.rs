//! The cut: a job takes booked transfers into a file, then fixes its content.

use super::content::Content;
use super::file::{BankFile, BankFileState, PARTS, SHA256, STATE, SUM, SUPERSEDED_BY, TRANSFERS, WRITTEN_AT};
use super::transfer::{BankTransfer, FilePart};
use crate::audit::Act;
use crate::bank::Sender;
use crate::dynamo::{Attributes, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, BankFileId, JobId, SettlementId, StaffId, Tenant};
use crate::jobs::{CursorJob, Details, Request, Slice, SliceError};
use crate::keys::{self, JobKind, Key};
use crate::money::{Asset, Balance};
use crate::operation::Operation;
use crate::plan::{Context, PlanRefusal};
use crate::reads::{self, Query};
use crate::time::{BusinessDate, Timestamp};
use crate::transaction::{BuildError, Draft, Planned, TransactItem, Transaction};

/// The most transfers of a file. What is left goes into the next file of the day.
pub const FILE_TRANSFERS_MAX: u32 = 5_000;
/// The most transfers that one transaction takes into a file.
pub const SLICE_TRANSFERS: usize = 40;
/// The greatest sum of a file, in yen: what its format has room for.
const SUM_MAX: &str = "999999999999";

const FILE: &str = "bank_file_id";
const DAYS: &str = "days";
const SOURCE: &str = "supersedes";

/// What a job stores of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankFileDetails {
    /// The file.
    pub file: BankFileId,
    /// The days whose booked transfers it takes, the earliest first; none if it supersedes a file.
    pub days: Vec<BusinessDate>,
    /// The file whose transfers it takes, and the number of its parts.
    pub source: Option<(BankFileId, u32)>,
}

/// A stored job.
pub type FileJob = CursorJob<BankFileDetails>;

/// The start of a file.
#[derive(Clone, Debug)]
pub struct FileStart<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The file.
    pub id: BankFileId,
    /// The account that is paid from.
    pub from: &'a Sender,
    /// The days whose booked transfers it takes.
    pub days: &'a [BusinessDate],
    /// The file whose transfers it takes, in place of booked ones.
    pub source: Option<&'a BankFile>,
    /// Who begins it; `None`: a worker.
    pub by: Option<StaffId>,
    /// The bank takes it before this instant.
    pub accept_by: Timestamp,
}

/// What a job does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileStep {
    /// Take the transfers that this query finds.
    Booked(Query),
    /// Take the transfers of this part of the file that it supersedes.
    Superseded(Key),
    /// Fix the content.
    Fix,
}

impl Details for BankFileDetails {
    const KIND: JobKind = JobKind::BankFile;

    fn read(item: &Item) -> Result<Self, ItemError> {
        let source = item.opt_parsed(SOURCE, |text| {
            let (file, parts) = text.split_once('#').ok_or(())?;
            Ok::<_, ()>((BankFileId::parse(file).map_err(|_| ())?, parts.parse().map_err(|_| ())?))
        });
        Ok(Self {
            file: item.parsed(FILE, BankFileId::parse)?,
            days: item.texts(DAYS, BusinessDate::parse)?,
            source: source?,
        })
    }

    fn attributes(&self) -> Item {
        let days = self.days.iter().map(Value::s).collect();
        let mut item = Item::from([(FILE.to_owned(), Value::s(self.file)), (DAYS.to_owned(), Value::L(days))]);
        let source = self.source.map(|(file, parts)| (SOURCE.to_owned(), Value::S(format!("{file}#{parts}"))));
        item.extend(source);
        item
    }
}

/// Stores a file and the job that takes transfers into it, due at once. A file whose transfers it takes is superseded.
///
/// # Errors
/// `WrongState` if the file to be superseded is not rejected or withdrawn, is superseded already, or has no transfers left.
pub fn plan_start(start: &FileStart<'_>, cx: &Context) -> Result<Planned<BankFile>, PlanRefusal> {
    let FileStart { tenant, id, from, days, source, by, accept_by } = *start;
    if source.is_some_and(|source| !source.is_to_supersede()) {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    let job = JobId::new(cx.resource_id);
    let zero = || Balance::zero(Asset::Ecopay);
    let file = BankFile {
        id,
        state: BankFileState::Assigning,
        from: from.clone(),
        supersedes: source.map(|source| source.id),
        superseded_by: None,
        job,
        parts: 0,
        transfers: 0,
        sum: zero(),
        sha256: None,
        accept_by,
        begun_by: by,
        created_at: cx.now,
        written_at: None,
        accepted_at: None,
        accepted_by: None,
        reference: None,
        debited_at: None,
        debited_by: None,
        debited_sum: None,
        debit_id: None,
        ended_at: None,
        ended_by: None,
        returned: 0,
        returned_sum: zero(),
        version: 1,
    };
    let details = BankFileDetails {
        file: id,
        days: if source.is_some() { Vec::new() } else { days.to_vec() },
        source: source.map(|source| (source.id, source.parts)),
    };
    let request = Request { id: job, staff: by, reason: None, total: None, now: cx.now };
    let mut items = vec![file.put(tenant), FileJob::requested(request, details).put(tenant, cx.now)];
    if let Some(source) = source {
        let update = Update::new().set(SUPERSEDED_BY, "by", Value::s(id));
        items.push(source.changed(tenant, BankFile::not_due(update), cx.now));
    }
    if let Some(by) = by {
        let operation = if source.is_some() { Operation::BankFileSupersede } else { Operation::BankFileCut };
        let subject = source.map_or(id, |source| source.id);
        let act = Act::new(Actor::Staff(by), operation, format!("bank_file:{subject}"));
        items.push(act.with("bank_file_id", id).record(tenant, cx));
    }
    Ok(Planned { draft: Draft { entry: None, items }, receipt: file })
}

impl FileJob {
    /// What it does next.
    ///
    /// # Errors
    /// [`ItemError`] if the cursor is malformed.
    pub fn step(&self, tenant: &Tenant) -> Result<FileStep, ItemError> {
        let (at, after) = self.place()?;
        let BankFileDetails { days, source, .. } = &self.details;
        Ok(match (source, usize::try_from(at).ok().and_then(|at| days.get(at))) {
            (Some((file, parts)), _) if at < *parts => {
                FileStep::Superseded(keys::bank_file_part(tenant, *file, at.saturating_add(1)))
            }
            (None, Some(day)) => FileStep::Booked(reads::bank_transfers(tenant, *day, after).limit(SLICE_TRANSFERS)),
            (Some(_) | None, _) => FileStep::Fix,
        })
    }

    /// The place in the list of days or parts, and the last settlement of the day that was dealt with.
    fn place(&self) -> Result<(u32, Option<SettlementId>), ItemError> {
        let Some(cursor) = self.cursor() else { return Ok((0, None)) };
        let malformed = || ItemError::invalid("cursor");
        let (at, after) = cursor.split_once('#').ok_or_else(malformed)?;
        let after = Some(after).filter(|after| !after.is_empty()).map(SettlementId::parse).transpose();
        Ok((at.parse().map_err(|_| malformed())?, after.map_err(|_| malformed())?))
    }

    /// Takes the transfers that a step found into the file: those that no other file has, of its own sender. At the file's greatest
    /// count or sum it takes no more.
    ///
    /// # Errors
    /// [`SliceError`] if the cursor is malformed, or a sum does not fit.
    pub fn assign(
        &self,
        tenant: &Tenant,
        (file, found): (&BankFile, &[BankTransfer]),
        now: Timestamp,
    ) -> Result<Transaction, SliceError> {
        let (at, _) = self.place()?;
        let before = self.details.source.map(|(source, _)| source);
        let most = Balance::from_stored(Asset::Ecopay, SUM_MAX).map_err(BuildError::from)?;
        let room = usize::try_from(FILE_TRANSFERS_MAX.saturating_sub(file.transfers)).unwrap_or(0);
        let (mut taken, mut sum, mut is_full) = (Vec::new(), file.sum.clone(), false);
        for transfer in found.iter().filter(|of| of.is_free(before) && of.from == file.from) {
            let more = sum.checked_plus(&transfer.amount.as_balance()).map_err(BuildError::from)?;
            if taken.len() >= room || more.checked_sub(&most).map_err(BuildError::from)?.as_amount().is_some() {
                is_full = true;
                break;
            }
            sum = more;
            taken.push(transfer);
        }
        let ends_at = match self.details.source {
            Some((_, parts)) => parts,
            None => u32::try_from(self.details.days.len()).unwrap_or(u32::MAX),
        };
        let cursor = match found.last() {
            _ if is_full => format!("{ends_at}#"),
            Some(last) if before.is_none() && found.len() >= SLICE_TRANSFERS => format!("{at}#{}", last.settlement),
            Some(_) | None => format!("{}#", at.saturating_add(1)),
        };
        let mut effects = Vec::new();
        if !taken.is_empty() {
            let parts = file.parts.saturating_add(1);
            let count = u32::try_from(taken.len()).unwrap_or(u32::MAX);
            let update = Update::new()
                .set(PARTS, PARTS, Value::int(parts.into()))
                .set(TRANSFERS, TRANSFERS, Value::int(file.transfers.saturating_add(count).into()))
                .set(SUM, SUM, Value::N(sum.text()));
            effects.push(file.changed(tenant, update, now));
            let part = FilePart(taken.iter().map(|of| (of.day, of.settlement)).collect());
            effects.push(part.put(tenant, (file.id, parts)));
            effects.extend(taken.iter().map(|of| of.assigned(tenant, file.id, now)));
        }
        let slice = Slice { done: taken.len(), lines: Vec::new(), cursor: Some(cursor) };
        Ok(self.advance_with(tenant, (slice, effects), now)?)
    }

    /// Ends the job of a file that was withdrawn meanwhile. A file of which it has not seen every part waits for another superseding
    /// file.
    ///
    /// # Errors
    /// [`SliceError`] if the cursor is malformed.
    pub fn leave(&self, tenant: &Tenant, now: Timestamp) -> Result<Transaction, SliceError> {
        let (at, _) = self.place()?;
        let source = self.details.source.filter(|(_, parts)| at < *parts);
        let given_back = source.map(|(source, _)| BankFile::given_back(tenant, (source, self.details.file), now));
        Ok(self.advance_with(tenant, (Slice::default(), given_back.into_iter().collect()), now)?)
    }

    /// Fixes the content, and ends the job. A file without transfers is empty.
    ///
    /// # Errors
    /// [`SliceError`], which a transaction of this form never causes.
    pub fn fix(
        &self,
        tenant: &Tenant,
        (file, content): (&BankFile, &Content),
        now: Timestamp,
    ) -> Result<Transaction, SliceError> {
        let update = Update::new().set(WRITTEN_AT, "ua", Value::s(now));
        let update = match file.transfers {
            0 => update.set(STATE, STATE, Value::s(BankFileState::Empty.name())),
            _ => file.due(tenant, file.accept_by).set(
                update.set(STATE, STATE, Value::s(BankFileState::Written.name())).set(
                    SHA256,
                    SHA256,
                    Value::S(content.sha256()),
                ),
            ),
        };
        let effects: Vec<TransactItem> = vec![file.changed(tenant, update, now)];
        Ok(self.advance_with(tenant, (Slice::default(), effects), now)?)
    }
}
