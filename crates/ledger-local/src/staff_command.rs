//! `tenant staff`: writes the records of the staff of a tenant that is open already, and lets the records decide what
//! the staff may do.

use crate::member_args::{self, MemberError};
use crate::operator::{CredentialsError, ledger};
use ledger_core::failure::Failure;
use ledger_core::ids::{Actor, Employer, IdError, MerchantId, Tenant};
use ledger_core::operation::Operation;
use ledger_core::staff;
use ledger_core::transaction::BuildError;
use ledger_runtime::entropy::EntropyError;
use ledger_runtime::problem::Problem;
use std::path::PathBuf;

/// The arguments of `tenant staff`.
#[derive(Debug, Clone)]
pub struct StaffCommand {
    /// The tenant's slug.
    pub slug: String,
    /// The merchant whose staff is written; `None` for the operator's.
    pub merchant: Option<String>,
    /// The members: `<id>:<e-mail>:<role>+<role>`.
    pub members: Vec<String>,
    /// A file with one more member on each line.
    pub file: Option<PathBuf>,
    /// Whether the records decide from then on.
    pub enforce: bool,
    /// The table.
    pub table: String,
    /// The endpoint URL; `None` for the AWS SDK's Region.
    pub endpoint_url: Option<String>,
}

/// Why a record was not written, or the records do not decide.
#[derive(Debug, thiserror::Error)]
pub enum StaffError {
    /// The slug is malformed.
    #[error("{0} is not a slug: use 1 to 32 of a-z, 0-9 and -")]
    Slug(String, #[source] IdError),
    /// The merchant's id is malformed.
    #[error("{0} is not a merchant's id")]
    Merchant(String, #[source] IdError),
    /// A member is malformed. Nothing was written.
    #[error("member {0} {1}; nothing was written")]
    Member(usize, #[source] MemberError),
    /// The file cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: std::io::Error,
    },
    /// Neither a member nor `--enforce` was given.
    #[error("nothing to do: give --member, --file or --enforce")]
    Nothing,
    /// The tenant or the merchant does not exist in this table.
    #[error("{0} is not in this table")]
    Missing(String),
    /// Too few members have records.
    #[error(
        "{0} needs two active owners and two active members who can decide first (role owner or approver): write their \
         records with --member; nothing was switched"
    )]
    TooFew(String),
    /// The records decide, and members are invited.
    #[error(
        "the staff's records decide for {0}: an owner invites members; if the owners are lost, use `tenant recover`; \
         nothing was written"
    )]
    Decide(String),
    /// The records decide already.
    #[error("the staff's records decide for {0} already")]
    Enforced(String),
    /// No AWS credentials were found.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// The system provides no randomness.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The write cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The store rejected the write, or its outcome is unknown.
    #[error("{}: {}; run the same command again; repeating it is safe", .0.code(), .0.detail())]
    Store(Problem),
}

/// Writes the records of members who have none, and then lets the records decide if that is asked for.
///
/// # Errors
/// [`StaffError`], whose text says what to do. Records written before it stay.
pub async fn run(command: &StaffCommand) -> Result<String, StaffError> {
    let StaffCommand { slug, merchant, members, file, enforce, table, endpoint_url } = command;
    let tenant = Tenant::parse(slug).map_err(|error| StaffError::Slug(slug.clone(), error))?;
    let employer = match merchant {
        None => Employer::Operator,
        Some(id) => Employer::Merchant(MerchantId::parse(id).map_err(|error| StaffError::Merchant(id.clone(), error))?),
    };
    let mut texts = members.clone();
    if let Some(path) = file {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|cause| StaffError::Unreadable { path: path.clone(), cause })?;
        texts.extend(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned));
    }
    if texts.is_empty() && !enforce {
        return Err(StaffError::Nothing);
    }
    let mut parsed = Vec::with_capacity(texts.len());
    for (at, text) in texts.iter().enumerate() {
        let number = at.saturating_add(1);
        parsed.push(member_args::member(employer, text).map_err(|error| StaffError::Member(number, error))?);
    }
    let ledger = ledger(table, endpoint_url.as_deref()).await?;
    let mut lines = Vec::new();
    for (person, roles) in &parsed {
        let cx = ledger.context(ledger.clock().now())?;
        let write = staff::add_member(&tenant, employer, person, roles, &cx)?;
        match ledger.apply(&tenant, Operation::StaffInvite, &write).await {
            Ok(()) => lines.push(format!("{}: has a record", person.id)),
            Err(error) if error.failure() == Some(Failure::AlreadyExists) => {
                lines.push(format!("{}: the person had a record already, which was not changed", person.id));
            }
            Err(error) if error.failure() == Some(Failure::WrongState) => return Err(StaffError::Decide(slug.clone())),
            Err(error) if error.failure() == Some(Failure::AccountMissing) => {
                return Err(StaffError::Missing(merchant.clone().unwrap_or_else(|| slug.clone())));
            }
            Err(error) => return Err(StaffError::Store(error.into())),
        }
    }
    if *enforce {
        let cx = ledger.context(ledger.clock().now())?;
        // CloudTrail has the person who ran the command.
        let write = staff::enforce_records(&tenant, Actor::System, &cx)?;
        match ledger.apply(&tenant, Operation::TenantConfigure, &write).await {
            Ok(()) => lines.push(format!("{slug}: the staff's records decide, everywhere within a minute")),
            Err(error) if error.failure() == Some(Failure::AccountMissing) => {
                return Err(StaffError::Missing(slug.clone()));
            }
            Err(error) if error.failure() == Some(Failure::AlreadyExists) => {
                return Err(StaffError::Enforced(slug.clone()));
            }
            Err(error) if error.failure() == Some(Failure::WrongState) => return Err(StaffError::TooFew(slug.clone())),
            Err(error) => return Err(StaffError::Store(error.into())),
        }
    }
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Data, Engine, EngineConfig};
    use crate::{seed, table};
    use ledger_core::keys;
    use ledger_core::migration;
    use ledger_core::terms::{ApprovalTerms, StaffSource, TenantTerms};

    #[tokio::test]
    async fn records_decide_once_two_owners_and_deciders_have_them() {
        let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
        let url = engine.url();
        table::ensure(&table::client(&url).await, &url, "ledger").await.unwrap();
        let ledger = ledger("ledger", Some(&url)).await.unwrap();
        let tenant = Tenant::parse("aoba").unwrap();
        let (staff, approvals) = (StaffSource::Tokens, ApprovalTerms::NotRequired);
        let terms = TenantTerms { staff, approvals, ..seed::terms().unwrap() };
        let opened = migration::open_tenant(&tenant, &terms, None, ledger.clock().now()).unwrap();
        ledger.apply(&tenant, Operation::TenantConfigure, &opened).await.unwrap();
        let run = async |members: &[(&str, &str, &str)], enforce: bool| {
            let member = |(last, name, roles): &(&str, &str, &str)| {
                format!("01890a5d-ac96-774b-bcce-b302099a80{last}:{name}@example.com:{roles}")
            };
            run(&StaffCommand {
                slug: "aoba".to_owned(),
                merchant: None,
                members: members.iter().map(member).collect(),
                file: None,
                enforce,
                table: "ledger".to_owned(),
                endpoint_url: Some(url.clone()),
            })
            .await
        };
        let source = async || {
            let item = ledger.dynamo().get(&keys::config(&tenant)).await.unwrap().unwrap();
            TenantTerms::read(&item, ledger.clock().now()).unwrap().staff
        };
        assert!(matches!(run(&[], false).await, Err(StaffError::Nothing)));
        assert!(matches!(run(&[], true).await, Err(StaffError::TooFew(_))));
        assert!(matches!(
            run(&[("41", "hanako", "owner"), ("42", "taro", "cashier")], true).await,
            Err(StaffError::Member(2, _))
        ));
        let one = run(&[("41", "hanako", "owner"), ("43", "yuki", "approver")], true).await;
        assert!(matches!(one, Err(StaffError::TooFew(_))), "one owner");
        // The same person again, and another id with the same address: neither has a second record, nor counts twice.
        for again in [("41", "hanako", "owner"), ("44", "Hanako", "owner")] {
            let text = run(&[again], false).await.unwrap();
            assert!(text.contains("had a record already"), "{text}");
        }
        assert!(matches!(run(&[], true).await, Err(StaffError::TooFew(_))));
        assert_eq!(source().await, StaffSource::Tokens);
        let enforced = run(&[("42", "taro", "owner")], true).await.unwrap();
        assert!(enforced.contains("the staff's records decide"), "{enforced}");
        assert_eq!(source().await, StaffSource::Records);
        assert!(matches!(run(&[], true).await, Err(StaffError::Enforced(_))));
        engine.stop().await;
    }
}
