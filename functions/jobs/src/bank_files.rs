//! Bank files. At the cut of a payment day a file is begun for what is booked; a job takes the transfers into it, and fixes its
//! content. A file that a person has not recorded in time is reported.

use crate::slices::{self, Sliced};
use ledger_core::bank::Sender;
use ledger_core::bank_files::{
    self, BankFile, BankFileState, BankTransfer, FileJob, FilePart, FileStart, FileStep, Overdue,
};
use ledger_core::dynamo::{Item, ItemError};
use ledger_core::ids::{BankFileId, JobId, Tenant};
use ledger_core::keys::{self, Key, Work};
use ledger_core::operation::Operation;
use ledger_core::terms::TenantTerms;
use ledger_core::time::BusinessDate;
use ledger_core::transaction::Transaction;
use ledger_runtime::app::App;
use ledger_runtime::due::DueList;
use ledger_runtime::metrics::Metric;
use ledger_runtime::problem::Problem;
use std::collections::BTreeSet;

/// The booked transfers of one sender that one file pays.
struct Group {
    from: Sender,
    pay_on: BusinessDate,
    days: BTreeSet<BusinessDate>,
}

/// Begins the files of transfers whose cut has come. A file of a day is not begun while another one of the day takes transfers: what is
/// left goes into the next one.
///
/// # Errors
/// A problem of the store.
pub(crate) async fn begin_due(
    app: &App,
    tenant: &Tenant,
    (terms, due): (&TenantTerms, &mut DueList),
) -> Result<(), Problem> {
    let mut booked: Vec<Key> = Vec::new();
    for listed in due.next(Work::BankTransfer).await? {
        booked.push(listed.key);
    }
    if booked.is_empty() {
        return Ok(());
    }
    let (now, deadline) = (app.now(), terms.settlement.as_ref().map(|terms| terms.deadline).unwrap_or_default());
    let mut groups: Vec<Group> = Vec::new();
    // The index may be behind, so the transfers themselves are read.
    for item in app.dynamo().get_many(&booked).await?.iter().flatten() {
        let transfer = BankTransfer::read(item)?;
        if transfer.file.is_some() || transfer.returned_at.is_some() {
            continue;
        }
        let pay_on = BankTransfer::day_of(transfer.day, &deadline, now);
        match groups.iter_mut().find(|group| group.pay_on == pay_on && group.from == transfer.from) {
            Some(group) => drop(group.days.insert(transfer.day)),
            None => groups.push(Group { from: transfer.from, pay_on, days: BTreeSet::from([transfer.day]) }),
        }
    }
    for group in groups {
        let Ok(times) = deadline.file_times(group.pay_on) else {
            app.metrics().count(Metric::BankHolidaysEnd, tenant, Operation::BankFileCut);
            tracing::error!(%tenant, pay_on = %group.pay_on, "bank holidays of a payment day are not known");
            continue;
        };
        if now < times.cut_at {
            continue;
        }
        let Some(id) = app.next_bank_file(tenant, group.pay_on).await? else { continue };
        let days: Vec<BusinessDate> = group.days.into_iter().collect();
        let start = FileStart {
            tenant,
            id,
            from: &group.from,
            days: &days,
            source: None,
            by: None,
            accept_by: times.accept_by,
        };
        begin(app, &start).await?;
    }
    Ok(())
}

async fn begin(app: &App, start: &FileStart<'_>) -> Result<(), Problem> {
    let cx = app.ledger().context(app.now())?;
    let planned = bank_files::plan_start(start, &cx).map_err(|error| broken(start.tenant, start.id, &error))?;
    let written = Transaction::unkeyed(planned.draft.items).map_err(|error| broken(start.tenant, start.id, &error))?;
    // If not written, another worker has begun the file.
    let _ = app.ledger().apply_as_read(start.tenant, Operation::BankFileCut, &written).await?;
    Ok(())
}

fn broken(tenant: &Tenant, file: BankFileId, error: &dyn std::error::Error) -> Problem {
    tracing::error!(%tenant, %file, %error, "a bank file cannot be written");
    Problem::internal()
}

/// Reports the files that a person has not recorded in time.
///
/// # Errors
/// A problem of the store.
pub(crate) async fn report_overdue(app: &App, tenant: &Tenant, due: &mut DueList) -> Result<(), Problem> {
    for listed in due.next(Work::BankFile).await? {
        // The index may be behind, so the file itself is read.
        let Some(item) = app.dynamo().get(&listed.key).await? else { continue };
        if !listed.is_still_due(&item) {
            continue;
        }
        let (file, now) = (BankFile::read(&item)?, app.now());
        match file.overdue(now) {
            Some(Overdue::NotAccepted) => {
                app.metrics().count(Metric::BankFileNotAccepted, tenant, Operation::BankFileAccept);
                tracing::error!(%tenant, file = %file.id, "the bank has not accepted a file in time");
            }
            Some(Overdue::NotDebited) => {
                app.metrics().count(Metric::BankFileNotDebited, tenant, Operation::BankFileDebit);
                tracing::error!(%tenant, file = %file.id, "a file was not recorded as debited in time");
            }
            None => {}
        }
        let again = Transaction::unkeyed(vec![file.reported(tenant, now)]);
        let again = again.map_err(|error| broken(tenant, file.id, &error))?;
        // If not written, a person has recorded something meanwhile.
        let _ = app.ledger().apply_as_read(tenant, Operation::JobRun, &again).await?;
    }
    Ok(())
}

/// Takes the next transfers into a file, or fixes its content; returns how many transfers it took. `None` if the job is over, or another
/// worker or a return has changed what it takes.
pub(crate) async fn slice(app: &App, tenant: &Tenant, id: JobId) -> Result<Option<usize>, Problem> {
    // The index may be behind, so the job itself is read.
    let Some(item) = app.dynamo().get(&keys::job(tenant, id)).await? else { return Ok(None) };
    let job = FileJob::read(&item)?;
    if !slices::begins(app, tenant, &job).await? {
        return Ok(None);
    }
    let (file, now) = (app.bank_file(tenant, job.details.file).await?, app.now());
    if file.state != BankFileState::Assigning {
        let left = slices::write(app, tenant, job.leave(tenant, now)).await?;
        return written(app, tenant, (&job, 0), left).await;
    }
    let found = match job.step(tenant)? {
        FileStep::Fix => {
            let content = app.bank_file_content(tenant, &file).await?;
            let slice = job.fix(tenant, (&file, &content), now);
            return written(app, tenant, (&job, 0), slices::write(app, tenant, slice).await?).await;
        }
        FileStep::Booked(query) => app.dynamo().query(&query).await?,
        FileStep::Superseded(part) => {
            let part = app.dynamo().get(&part).await?.ok_or_else(Problem::internal)?;
            app.dynamo()
                .get_many(&FilePart::read(&part)?.keys(tenant))
                .await?
                .into_iter()
                .flatten()
                .collect::<Vec<Item>>()
        }
    };
    let transfers = found.iter().map(BankTransfer::read).collect::<Result<Vec<_>, ItemError>>()?;
    let slice = job.assign(tenant, (&file, &transfers), now);
    written(app, tenant, (&job, transfers.len()), slices::write(app, tenant, slice).await?).await
}

async fn written(
    app: &App,
    tenant: &Tenant,
    (job, count): (&FileJob, usize),
    sliced: Sliced,
) -> Result<Option<usize>, Problem> {
    match sliced {
        Sliced::Written => Ok(Some(count)),
        Sliced::Stale => Ok(None),
        Sliced::Refused(problem) => {
            slices::pause(app, tenant, (job, &problem)).await?;
            Ok(None)
        }
    }
}
