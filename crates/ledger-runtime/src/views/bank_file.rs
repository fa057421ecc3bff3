//! Bank files and their transfers, as the operator API shows them.

use super::words;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ledger_core::bank_files::{BankFile, BankTransfer, Content};
use ledger_core::ids::BankFileId;
use ledger_core::money::Amount;
use serde::Serialize;
use utoipa::ToSchema;

/// A file that asks the tenant's bank to pay merchants.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BankFileView {
    /// The file's id: its payment day and its number on that day.
    pub bank_file_id: String,
    /// The day on which the bank pays it.
    pub pay_on: String,
    /// `assigning`, `written`, `accepted`, `debited`, `rejected`, `withdrawn` or `empty`.
    #[schema(value_type = words::BankFileStatus)]
    pub status: &'static str,
    /// The account that is paid from: bank, branch, and the end of the account number.
    pub sender: String,
    /// The number of its transfers.
    pub transfers: u32,
    /// Their sum, in yen.
    pub total: String,
    /// The SHA-256 of its content, in hexadecimal, once that is fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The file whose transfers it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// The file that takes its transfers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// The time before which the bank takes it.
    pub accept_by: String,
    /// The job that takes transfers into it.
    pub job_id: String,
    /// The staff member who began it; absent: it was begun at the cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begun_by: Option<String>,
    /// The time at which it was begun.
    pub created_at: String,
    /// The time at which its content was fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_at: Option<String>,
    /// The time at which it was recorded as accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<String>,
    /// The staff member who recorded that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_by: Option<String>,
    /// What the bank calls the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank_reference: Option<String>,
    /// The time at which it was recorded as debited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debited_at: Option<String>,
    /// The staff member who recorded that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debited_by: Option<String>,
    /// What was debited, in yen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debited_total: Option<String>,
    /// The time at which it was recorded as rejected or withdrawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The staff member who asked for that; another one approved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    /// The number of its transfers that were returned.
    pub returned_transfers: u32,
    /// Their sum, in yen.
    pub returned_total: String,
}

/// A transfer of a bank file.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BankTransferView {
    /// The settlement that is paid out.
    pub settlement_id: String,
    /// Its merchant.
    pub merchant_id: String,
    /// The amount, in yen.
    pub amount: String,
    /// The account that is paid: bank, branch, and the end of the account number.
    pub destination: String,
    /// The time at which it was recorded as returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned_at: Option<String>,
}

/// The content of a bank file.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BankFileContentView {
    /// The file's id.
    pub bank_file_id: String,
    /// A name under which the bank takes it.
    pub name: String,
    /// The SHA-256 of the content, in hexadecimal.
    pub sha256: String,
    /// The content, in base64: records of 120 bytes in JIS X 0201, each ended by CR LF.
    pub content: String,
}

impl BankFileContentView {
    /// The content of a file, with its hash.
    #[must_use]
    pub fn new(id: BankFileId, sha256: String, content: &Content) -> Self {
        Self {
            bank_file_id: id.to_string(),
            name: format!("transfers-{id}.txt"),
            sha256,
            content: STANDARD.encode(&content.bytes),
        }
    }
}

impl From<&BankFile> for BankFileView {
    fn from(file: &BankFile) -> Self {
        Self {
            bank_file_id: file.id.to_string(),
            pay_on: file.id.pay_on.to_string(),
            status: file.state.name(),
            sender: file.from.shown(),
            transfers: file.transfers,
            total: file.sum.text(),
            sha256: file.sha256.clone(),
            supersedes: file.supersedes.map(|id| id.to_string()),
            superseded_by: file.superseded_by.map(|id| id.to_string()),
            accept_by: file.accept_by.to_string(),
            job_id: file.job.to_string(),
            begun_by: file.begun_by.map(|id| id.to_string()),
            created_at: file.created_at.to_string(),
            written_at: file.written_at.map(|at| at.to_string()),
            accepted_at: file.accepted_at.map(|at| at.to_string()),
            accepted_by: file.accepted_by.map(|id| id.to_string()),
            bank_reference: file.reference.as_ref().map(|text| text.expose().to_owned()),
            debited_at: file.debited_at.map(|at| at.to_string()),
            debited_by: file.debited_by.map(|id| id.to_string()),
            debited_total: file.debited_sum.as_ref().map(Amount::text),
            ended_at: file.ended_at.map(|at| at.to_string()),
            ended_by: file.ended_by.map(|id| id.to_string()),
            returned_transfers: file.returned,
            returned_total: file.returned_sum.text(),
        }
    }
}

impl From<&BankTransfer> for BankTransferView {
    fn from(transfer: &BankTransfer) -> Self {
        Self {
            settlement_id: transfer.settlement.to_string(),
            merchant_id: transfer.merchant.to_string(),
            amount: transfer.amount.text(),
            destination: transfer.to.shown(),
            returned_at: transfer.returned_at.map(|at| at.to_string()),
        }
    }
}
