//! Builds the requests for files.

use super::build::{Made, NoPlan};
use super::decode::{self, World};
use ledger_core::files::{self, FileContent, FileRequest};
use ledger_core::ids::{CustomerId, StaffId};
use ledger_core::time::{BusinessDate, BusinessMonth};
use serde::{Deserialize, Serialize};

/// An optional field, `null` in the file if it is `None`.
type Maybe<T> = Option<T>;

/// A request for a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum FileDoes {
    /// Asks for a file: of a customer, of days, of a month, or of two of them.
    Request { staff: String, customer: Maybe<String>, days: Maybe<(String, String)>, month: Maybe<String> },
}

pub(super) fn make(world: &World, does: &FileDoes) -> Result<Made, NoPlan> {
    let FileDoes::Request { staff, customer, days, month } = does;
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
    let request = FileRequest { tenant: &world.tenant, staff, content, reason: &reason };
    Ok(Made::Draft(files::plan(&request, &world.cx)?.draft))
}
