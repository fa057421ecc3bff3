//! `audit verify` and `audit proof`: verify a tenant's audit trail in a table, deployed or local, and prove that an entry is
//! in it. They read only.

use crate::item_json::json_of;
use crate::opened::{OpenedTable, Place, PlaceError};
use crate::proof_file::{self, ProofFileError};
use ledger_core::account::Account;
use ledger_core::dynamo::ItemError;
use ledger_core::ids::{IdError, Tenant, TransactionId};
use ledger_core::journal::expanded;
use ledger_core::keys::{self, Partition};
use ledger_core::sealing::SealHash;
use ledger_core::terms::TenantTerms;
use ledger_core::time::UtcDay;
use ledger_runtime::clock::Clock;
use ledger_runtime::dynamo::{Dynamo, ReadError};
use ledger_runtime::sealing::{self, ProveError, Verified, Verify, verify};
use std::fmt::Write;
use std::io;
use std::path::PathBuf;

/// The arguments of `audit verify`.
#[derive(Debug, Clone)]
pub struct VerifyCommand {
    /// The tenant's slug.
    pub slug: String,
    /// The first day; `None` begins with the first sealed day.
    pub from: Option<String>,
    /// The last day, included; `None` ends with the last sealed day.
    pub to: Option<String>,
    /// The hash of a segment or binding that must be in the chain.
    pub head: Option<String>,
    /// The table.
    pub place: Place,
}

/// The arguments of `audit proof`.
#[derive(Debug, Clone)]
pub struct ProveCommand {
    /// The tenant's slug.
    pub slug: String,
    /// The entry: the account in whose partition it is, and its id, `customer:<id>/<transaction id>`.
    pub entry: String,
    /// The hash of a binding.
    pub head: String,
    /// The table.
    pub place: Place,
}

/// The arguments of `audit verify --proof`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckCommand {
    /// The file, or `-` for standard input.
    pub proof: PathBuf,
    /// The hash of a binding that was noted before.
    pub head: String,
}

/// Why a trail could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The slug is malformed.
    #[error("{0} is not a slug: use 1 to 32 of a-z, 0-9 and -")]
    Slug(String, #[source] IdError),
    /// A day is malformed.
    #[error("{0} is not a day: write it like 2026-11-21")]
    Day(String),
    /// The table cannot be opened.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The tenant does not exist in this table.
    #[error("{0} is not open in this table")]
    NoTenant(String),
    /// The tenant's terms cannot be read.
    #[error("the tenant's terms cannot be read: {0}")]
    Terms(#[from] ItemError),
    /// The entry is malformed.
    #[error("{0} is not an entry: write its account and its id, like customer:<id>/<transaction id>")]
    Entry(String),
    /// A hash is malformed.
    #[error("{0} is not the hash of a binding: write its 64 hexadecimal digits, in lower case")]
    Head(String),
    /// The entry cannot be proven.
    #[error(transparent)]
    Proof(#[from] ProveError),
    /// The proof cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    NoProof {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The file is no proof.
    #[error(transparent)]
    ProofFile(#[from] ProofFileError),
    /// The table could not be read.
    #[error("{0}")]
    Store(#[from] ReadError),
}

/// Verifies a trail. Returns the findings as lines of text, and `true` if the trail is whole.
///
/// # Errors
/// [`VerifyError`] if the trail could not be verified; its text says what to do.
pub async fn run(command: &VerifyCommand) -> Result<(String, bool), VerifyError> {
    let opened = OpenedTable::open(&command.place).await?;
    let done = verify_in(&opened.store(), command).await;
    opened.close().await;
    done
}

/// Proves that an entry is in a trail. Returns the proof as JSON.
///
/// # Errors
/// [`VerifyError`] if it is not, or is not shown to be; its text says what to do.
pub async fn prove(command: &ProveCommand) -> Result<String, VerifyError> {
    let tenant = tenant_of(&command.slug)?;
    let head = head_of(&command.head)?;
    let malformed = || VerifyError::Entry(command.entry.clone());
    let (account, id) = command.entry.split_once('/').ok_or_else(malformed)?;
    let account = Account::parse(account).map_err(|_| malformed())?;
    let id = TransactionId::parse(id).map_err(|_| malformed())?;
    let key = Partition::account(&tenant, account).ok_or_else(malformed)?.entry(id);
    let opened = OpenedTable::open(&command.place).await?;
    let proof = sealing::prove(&opened.store(), &tenant, &key, head).await;
    opened.close().await;
    Ok(proof_file::text(&proof?)?)
}

/// Verifies a proof without a table. Returns what it shows, and `true` if it leads to the head.
///
/// # Errors
/// [`VerifyError`] if the file is no proof.
pub fn check(command: &CheckCommand) -> Result<(String, bool), VerifyError> {
    let head = head_of(&command.head)?;
    let text = match command.proof.as_os_str() == "-" {
        true => io::read_to_string(io::stdin()),
        false => std::fs::read_to_string(&command.proof),
    };
    let text = text.map_err(|cause| VerifyError::NoProof { path: command.proof.clone(), cause })?;
    let proof = proof_file::read(&text)?;
    Ok(match proof.verify(head) {
        Ok(()) => {
            let full = expanded(proof.record).unwrap_or_default();
            let shown = full.iter().map(|(name, value)| format!("{name} {}", json_of(value)));
            (format!("{}\nproven: sealed before the binding {head}", shown.collect::<Vec<_>>().join("\n")), true)
        }
        Err(fault) => (format!("not proven: {fault}"), false),
    })
}

fn tenant_of(slug: &str) -> Result<Tenant, VerifyError> {
    Tenant::parse(slug).map_err(|error| VerifyError::Slug(slug.to_owned(), error))
}

fn head_of(text: &str) -> Result<SealHash, VerifyError> {
    SealHash::parse(text).ok_or_else(|| VerifyError::Head(text.to_owned()))
}

async fn verify_in(store: &Dynamo, command: &VerifyCommand) -> Result<(String, bool), VerifyError> {
    let slug = &command.slug;
    let tenant = tenant_of(slug)?;
    let day = |text: &Option<String>, otherwise| match text {
        Some(text) => UtcDay::parse(text).map_err(|_| VerifyError::Day(text.clone())),
        None => Ok(otherwise),
    };
    let (from, to) = (day(&command.from, UtcDay::MIN)?, day(&command.to, UtcDay::MAX)?);
    let terms = store.get(&keys::config(&tenant)).await?.ok_or_else(|| VerifyError::NoTenant(slug.clone()))?;
    let now = Clock::system().now();
    let shards = TenantTerms::read(&terms, now)?.due_shards;
    let request = Verify { tenant, from, to, head: command.head.clone(), shards, now };
    let verified = verify(store, &request).await?;
    Ok((text(&verified), verified.findings.is_empty()))
}

/// A line for each finding, then the heads to record elsewhere, and a summary.
fn text(verified: &Verified) -> String {
    let mut text = String::new();
    for finding in &verified.findings {
        let _ = writeln!(text, "{finding}");
    }
    for head in &verified.heads {
        let _ = writeln!(text, "day {head}");
    }
    for lane in &verified.lanes {
        let _ = writeln!(text, "lane {lane}");
    }
    if let Some(last) = &verified.last {
        let _ = writeln!(text, "head {last}");
    }
    let verdict = match verified.findings.len() {
        0 => "nothing is wrong".to_owned(),
        some => format!("{some} findings"),
    };
    let _ = write!(text, "{} segments, {} records: {verdict}", verified.segments, verified.records);
    text
}
