//! Builds what becomes of a file that staff ask for. The job is read from the state.

use super::build::{Made, NoPlan};
use super::decode::{self, World};
use ledger_core::files::{self, FileContent, FileJob, FileRequest};
use ledger_core::ids::{CustomerId, JobId, StaffId};
use ledger_core::keys;
use ledger_core::time::{BusinessDate, BusinessMonth};
use serde::{Deserialize, Serialize};

/// An optional field, `null` in the file if it is `None`.
type Maybe<T> = Option<T>;

/// A step of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum FileDoes {
    /// Asks for a file: of a customer, of days, of a month, or of two of them.
    Request { staff: String, customer: Maybe<String>, days: Maybe<(String, String)>, month: Maybe<String> },
    /// A worker takes the job.
    Take { file: String },
    /// A worker records its progress.
    Advance { file: String, rows: u64 },
    /// A worker ends the job.
    Finish { file: String, rows: u64 },
}

pub(super) fn make(world: &World, does: &FileDoes) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let read = |id: &str| FileJob::read(world.must(&keys::job(tenant, JobId::parse(id).unwrap()))).unwrap();
    let made = match does {
        FileDoes::Request { staff, customer, days, month } => {
            let date = |text: &String| BusinessDate::parse(text).unwrap();
            let days = days.as_ref().map(|(from, to)| (date(from), date(to)));
            let customer = customer.as_deref().map(|id| CustomerId::parse(id).unwrap());
            let content = match (customer, days, month) {
                (Some(customer), None, None) => FileContent::CustomerData(customer),
                (Some(customer), Some(days), None) => FileContent::CustomerHistory(customer, days),
                (None, Some(days), None) => FileContent::Payouts(days),
                (None, None, Some(month)) => FileContent::Statements(BusinessMonth::parse(month).unwrap()),
                (None, None, None) => FileContent::Payees,
                other => panic!("no file has {other:?}"),
            };
            let (staff, reason) = (StaffId::parse(staff).unwrap(), decode::text("asked for by letter"));
            let request = FileRequest { tenant, staff, content, reason: &reason };
            return Ok(Made::Draft(files::plan(&request, cx)?.draft));
        }
        FileDoes::Take { file } => read(file).take(tenant, cx.now).unwrap().expect("the job is free").1,
        FileDoes::Advance { file, rows } => read(file).advance(tenant, *rows, cx.now).unwrap().1,
        FileDoes::Finish { file, rows } => read(file).finish(tenant, *rows, cx.now).unwrap(),
    };
    Ok(Made::Whole(made))
}
