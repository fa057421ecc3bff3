//! Builds what is done about bank files but by their jobs and by two people. Files and transfers are read from the state.

use super::build::{Made, NoPlan};
use super::build_jobs::transfer;
use super::decode::{self, World};
use ledger_core::bank_files::{self, BankFile, FileAcceptance, FileDebit, FileStart};
use ledger_core::ids::{Actor, BankFileId, StaffId};
use ledger_core::keys;
use ledger_core::time::{BusinessDate, Timestamp};
use ledger_core::transaction::Transaction;
use serde::{Deserialize, Serialize};

/// An optional field, `null` in the file if it is `None`.
type Maybe<T> = Option<T>;

/// What is done about a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum BankFileDoes {
    /// Begins a file, by a member of staff or by a worker. Its sender is that of a transfer or of the file that it supersedes.
    Start {
        by: Maybe<String>,
        file: String,
        /// A transfer, by its day and settlement.
        like: Maybe<String>,
        days: Vec<String>,
        source: Maybe<String>,
        accept_by: String,
    },
    /// Records that the bank has accepted it.
    Accept { by: String, file: String, reference: String },
    /// Records that the bank has debited it.
    Debit { by: String, file: String },
    /// Records that its content is read.
    Reading { by: String, file: String },
    /// A worker has reported it.
    Reported { file: String },
}

pub(super) fn make(world: &World, does: &BankFileDoes) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let id = |text: &str| BankFileId::parse(text).unwrap();
    let read = |text: &str| BankFile::read(world.must(&keys::bank_file(tenant, id(text)))).unwrap();
    let member = |text: &str| StaffId::parse(text).unwrap();
    let draft = match does {
        BankFileDoes::Start { by, file, like, days, source, accept_by } => {
            let source = source.as_deref().map(read);
            let from = match (&source, like) {
                (Some(source), _) => source.from.clone(),
                (None, like) => transfer(world, like.as_deref().expect("a transfer")).from,
            };
            let days: Vec<BusinessDate> = days.iter().map(|day| BusinessDate::parse(day).unwrap()).collect();
            let start = FileStart {
                tenant,
                id: id(file),
                from: &from,
                days: &days,
                source: source.as_ref(),
                by: by.as_deref().map(member),
                accept_by: Timestamp::parse(accept_by).unwrap(),
            };
            let draft = bank_files::plan_start(&start, cx)?.draft;
            if by.is_none() {
                return Ok(Made::Whole(Transaction::unkeyed(draft.items).unwrap()));
            }
            draft
        }
        BankFileDoes::Accept { by, file, reference } => {
            let reference = decode::text(reference);
            let of = FileAcceptance { tenant, by: member(by), reference: &reference };
            bank_files::plan_accept(&of, &read(file), cx)?.draft
        }
        BankFileDoes::Debit { by, file } => {
            let of = FileDebit { tenant, by: member(by) };
            bank_files::plan_debit(&of, &read(file), &world.terms(), cx)?.draft
        }
        BankFileDoes::Reading { by, file } => {
            let reading = bank_files::reading(tenant, Actor::Staff(member(by)), &read(file), cx);
            return Ok(Made::Whole(reading.unwrap()));
        }
        BankFileDoes::Reported { file } => {
            let reported = read(file).reported(tenant, cx.now);
            return Ok(Made::Whole(Transaction::unkeyed(vec![reported]).unwrap()));
        }
    };
    Ok(Made::Draft(draft))
}
