//! `tenant`: opens a tenant in a table, deployed or local; raises the shards or the version of the records of an open
//! one, requires PINs, and changes its limits. It uses the builders of the ledger.

mod card_pin;
mod config;
mod limits;
mod reindex;

pub use card_pin::{CardPinCommand, set_card_pin};
pub use limits::{LimitsCommand, LimitsError, set_limits};
pub use reindex::{ReindexCommand, ReindexError, reindex};

use self::config::{check_not_migrating, config, terms_without_versions};
use crate::operator::{CredentialsError, ledger};
use crate::terms_file::{self, TermsError};
use ledger_core::dynamo::ItemError;
use ledger_core::failure::Failure;
use ledger_core::ids::{Actor, IdError, Tenant};
use ledger_core::keys::Shards;
use ledger_core::migration::{self, Model, Phase};
use ledger_core::operation::Operation;
use ledger_core::staff::{self, Founder, Founders, FoundersError};
use ledger_core::tenants;
use ledger_core::terms::RecordVersion;
use ledger_core::transaction::BuildError;
use ledger_runtime::entropy::EntropyError;
use ledger_runtime::problem::Problem;
use std::path::PathBuf;
use std::time::Duration;

/// The arguments of `tenant open`.
#[derive(Debug, Clone)]
pub struct OpenCommand {
    /// The tenant's slug.
    pub slug: String,
    /// The file with its terms.
    pub terms: PathBuf,
    /// The legacy model of its customers; `None` for a new tenant.
    pub legacy: Option<Model>,
    /// Its first owners: at least two.
    pub owners: Vec<Founder>,
    /// The table.
    pub table: String,
    /// The endpoint URL; `None` for the AWS SDK's Region.
    pub endpoint_url: Option<String>,
}

/// The arguments of `tenant shards`.
#[derive(Debug, Clone)]
pub struct ShardsCommand {
    /// The tenant's slug.
    pub slug: String,
    /// The new number of shards of its due work.
    pub due: u32,
    /// The table.
    pub table: String,
    /// The endpoint URL; `None` for the AWS SDK's Region.
    pub endpoint_url: Option<String>,
}

/// The arguments of `tenant records`.
#[derive(Debug, Clone)]
pub struct RecordsCommand {
    /// The tenant's slug.
    pub slug: String,
    /// The new version of its records.
    pub version: u32,
    /// The table.
    pub table: String,
    /// The endpoint URL; `None` for the AWS SDK's Region.
    pub endpoint_url: Option<String>,
}

/// Why a tenant could not be opened or changed.
#[derive(Debug, thiserror::Error)]
pub enum TenantError {
    /// The slug is malformed.
    #[error("{0} is not a slug: use 1 to 32 of a-z, 0-9 and -")]
    Slug(String, #[source] IdError),
    /// The file of terms cannot be read.
    #[error("cannot read {}: {cause}; `cargo run -- tenant terms` prints one to begin with", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The terms are invalid.
    #[error("the terms cannot be used: {0}")]
    Terms(#[from] TermsError),
    /// Fewer than two owners.
    #[error("{0}: give `--owner <id>:<e-mail>` twice")]
    Owners(#[from] FoundersError),
    /// The tenant exists.
    #[error("{0} is already open in this table, and was not changed")]
    Stands(String),
    /// The number of shards is not 1 to 64.
    #[error("{0} is not a number of shards: use 1 to 64")]
    Shards(u32),
    /// The terms are kept as versions.
    #[error(
        "the terms of {0} are kept as versions: change them with `POST /v1/admin/terms/changes`; nothing was changed"
    )]
    Versioned(String),
    /// The tenant has as many shards already, or more.
    #[error(
        "{0} already has as many shards for due work, or more, and their number is never lowered: nothing was changed"
    )]
    NotRaised(String),
    /// This release does not know the version of the records.
    #[error("{0} is not a version of the records that this release writes: use {oldest} to {newest}", oldest = RecordVersion::V4.number(), newest = RecordVersion::NEWEST.number())]
    Version(u32),
    /// The tenant's records have this version already, or a later one.
    #[error(
        "{0} already writes records of this version, or of a later one, and it is never lowered: nothing was changed"
    )]
    VersionNotRaised(String),
    /// The tenant migrates from a legacy model, which has no place for what would be written.
    #[error(
        "{slug} is in phase {phase} of {last} of its migration: end it first with `migrate next` to phase {last}, and \
         then `migrate contract`; nothing was changed"
    )]
    Migrating {
        /// The tenant.
        slug: String,
        /// Its present phase.
        phase: Phase,
        /// The last phase.
        last: Phase,
    },
    /// The tenant's configuration changed between its read and the write.
    #[error("the configuration of {0} has just been changed: run the command again")]
    Changed(String),
    /// The tenant's configuration cannot be read.
    #[error("the configuration of {0} cannot be read by this release: {1}")]
    Config(String, ItemError),
    /// The tenant does not exist in this table.
    #[error("{0} is not open in this table")]
    NotOpen(String),
    /// Limits cannot be changed.
    #[error(transparent)]
    Limits(#[from] LimitsError),
    /// Records cannot be added to the lists.
    #[error(transparent)]
    Reindex(#[from] ReindexError),
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

/// Opens a tenant. An existing one is not changed.
///
/// # Errors
/// [`TenantError`], whose text says what to do.
pub async fn open(command: &OpenCommand) -> Result<String, TenantError> {
    let OpenCommand { slug, terms: path, legacy, owners, table, endpoint_url } = command;
    let founders = Founders::new(owners.clone())?;
    let slug = Tenant::parse(slug).map_err(|error| TenantError::Slug(slug.clone(), error))?;
    let text = std::fs::read_to_string(path).map_err(|cause| TenantError::Unreadable { path: path.clone(), cause })?;
    let terms = terms_file::parse(&text)?;
    let ledger = ledger(table, endpoint_url.as_deref()).await?;
    let cx = ledger.context(ledger.clock().now())?;
    let opening = migration::open_tenant(&slug, &terms, *legacy, cx.now)?;
    let transaction = staff::with_founders(opening, &slug, &founders, &cx)?;
    match ledger.apply(&slug, Operation::TenantConfigure, &transaction).await {
        Ok(()) => Ok(format!("{slug} is open in {table}")),
        Err(error) if error.failure() == Some(Failure::AlreadyExists) => Err(TenantError::Stands(slug.to_string())),
        Err(error) => Err(TenantError::Store(error.into())),
    }
}

/// Raises the shards of an open tenant's due work. All functions use them within 60 seconds.
///
/// # Errors
/// [`TenantError`], whose text says what to do.
pub async fn raise_shards(command: &ShardsCommand) -> Result<String, TenantError> {
    let ShardsCommand { slug, due, table, endpoint_url } = command;
    let slug = Tenant::parse(slug).map_err(|error| TenantError::Slug(slug.clone(), error))?;
    let shards = Shards::new(*due).ok_or(TenantError::Shards(*due))?;
    let ledger = ledger(table, endpoint_url.as_deref()).await?;
    let cx = ledger.context(ledger.clock().now())?;
    // CloudTrail has the person who ran the command. The audit record shows `System`: no staff member did it through
    // the API.
    let transaction = tenants::raise_due_shards(&slug, shards, Actor::System, &cx)?;
    match ledger.apply(&slug, Operation::TenantConfigure, &transaction).await {
        Ok(()) => Ok(format!("{slug}: due work is spread over {due} shards, everywhere within a minute")),
        Err(error) if error.failure() == Some(Failure::WrongState) => Err(TenantError::NotRaised(slug.to_string())),
        Err(error) if error.failure() == Some(Failure::AccountMissing) => Err(TenantError::NotOpen(slug.to_string())),
        Err(error) => Err(TenantError::Store(error.into())),
    }
}

/// Raises the version of the records that an open tenant's transactions write, and waits for `settles`: as long as a
/// function may still use the terms that it has cached. Until then both versions are written side by side.
///
/// # Errors
/// [`TenantError`], whose text says what to do.
pub async fn raise_records(
    command: &RecordsCommand,
    settles: Duration,
    progress: impl Fn(&str),
) -> Result<String, TenantError> {
    let RecordsCommand { slug, version, table, endpoint_url } = command;
    let slug = Tenant::parse(slug).map_err(|error| TenantError::Slug(slug.clone(), error))?;
    let to = RecordVersion::new(*version).ok_or(TenantError::Version(*version))?;
    let ledger = ledger(table, endpoint_url.as_deref()).await?;
    check_not_migrating(&slug, &config(&ledger, &slug).await?)?;
    let cx = ledger.context(ledger.clock().now())?;
    // CloudTrail has the person who ran the command, as for the shards.
    let transaction = migration::raise_records(&slug, to, Actor::System, &cx)?;
    match ledger.apply(&slug, Operation::TenantConfigure, &transaction).await {
        Ok(()) => {
            progress(&format!(
                "{slug} is switched to version {version} of the records; waiting {} s until no function has earlier \
                 terms. The switch stays if this command is stopped.",
                settles.as_secs()
            ));
            tokio::time::sleep(settles).await;
            Ok(format!("{slug}: every function writes records of version {version}, and reads those of every version"))
        }
        Err(error) if error.failure() == Some(Failure::WrongState) => {
            Err(TenantError::VersionNotRaised(slug.to_string()))
        }
        Err(error) if error.failure() == Some(Failure::AccountMissing) => Err(TenantError::NotOpen(slug.to_string())),
        Err(error) if error.failure() == Some(Failure::StalePlan) => Err(TenantError::Changed(slug.to_string())),
        Err(error) => Err(TenantError::Store(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Data, Engine, EngineConfig};
    use crate::testing::TempDir;
    use crate::{member_args, seed, table};
    use ledger_core::keys;
    use ledger_core::terms::TenantTerms;
    use ledger_runtime::clock::Clock;
    use ledger_runtime::dynamo::Dynamo;
    use ledger_runtime::entropy::Entropy;

    fn owners() -> Vec<Founder> {
        let owner = |last: &str, name: &str| format!("01890a5d-ac96-774b-bcce-b302099a80{last}:{name}@example.com");
        [owner("41", "hanako"), owner("42", "taro")].iter().map(|text| member_args::founder(text).unwrap()).collect()
    }

    #[tokio::test]
    async fn tenant_is_opened_once_and_not_changed() {
        let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
        let (url, dir) = (engine.url(), TempDir::make());
        let client = table::client(&url).await;
        table::ensure(&client, &url, "ledger").await.unwrap();
        let file = dir.path().join("terms.json");
        let terms = seed::terms().unwrap();
        std::fs::write(&file, terms_file::text(&terms)).unwrap();
        let command = |slug: &str, terms: PathBuf| OpenCommand {
            slug: slug.to_owned(),
            terms,
            legacy: None,
            owners: owners(),
            table: "ledger".to_owned(),
            endpoint_url: Some(url.clone()),
        };
        let alone = OpenCommand { owners: owners().split_off(1), ..command("aoba", file.clone()) };
        assert!(matches!(open(&alone).await, Err(TenantError::Owners(_))));
        assert_eq!(open(&command("aoba", file.clone())).await.unwrap(), "aoba is open in ledger");
        let dynamo = Dynamo::from_client(client, "ledger", Entropy::system());
        let item = dynamo.get(&keys::config(&Tenant::parse("aoba").unwrap())).await.unwrap().unwrap();
        assert_eq!(TenantTerms::read(&item, Clock::system().now()).unwrap(), terms);
        assert_eq!(terms.records, RecordVersion::NEWEST);
        let legacy = OpenCommand { legacy: Some(Model::HalfWay), ..command("moriya", file.clone()) };
        let _ = open(&legacy).await.unwrap();
        let item = dynamo.get(&keys::config(&Tenant::parse("moriya").unwrap())).await.unwrap().unwrap();
        assert_eq!(TenantTerms::read(&item, Clock::system().now()).unwrap(), terms, "as every other tenant");

        let mut changed = terms;
        changed.topup = None;
        std::fs::write(&file, terms_file::text(&changed)).unwrap();
        assert!(matches!(open(&command("aoba", file.clone())).await, Err(TenantError::Stands(_))));
        assert!(matches!(open(&command("a#b", file)).await, Err(TenantError::Slug(..))));
        let missing = dir.path().join("none.json");
        assert!(matches!(open(&command("aoba", missing)).await, Err(TenantError::Unreadable { .. })));
        engine.stop().await;
    }

    #[tokio::test]
    async fn records_of_an_open_tenant_are_raised_and_never_lowered() {
        let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
        let url = engine.url();
        let client = table::client(&url).await;
        table::ensure(&client, &url, "ledger").await.unwrap();
        let ledger = ledger("ledger", Some(&url)).await.unwrap();
        let first = TenantTerms { records: RecordVersion::V4, ..seed::terms().unwrap() };
        let slug = |slug: &str| Tenant::parse(slug).unwrap();
        for (tenant, legacy) in [("aoba", None), ("legacy", Some(Model::GodRecord))] {
            let opened = migration::open_tenant(&slug(tenant), &first, legacy, ledger.clock().now()).unwrap();
            ledger.apply(&slug(tenant), Operation::TenantConfigure, &opened).await.unwrap();
        }
        let raise = async |slug: &str, version: u32| {
            let (slug, table, endpoint_url) = (slug.to_owned(), "ledger".to_owned(), Some(url.clone()));
            let said = std::sync::Mutex::new(Vec::new());
            let command = RecordsCommand { slug, version, table, endpoint_url };
            let progress = |line: &str| said.lock().unwrap().push(line.to_owned());
            let done = raise_records(&command, Duration::from_millis(1), progress).await;
            // The wait is announced if the version was raised, and only then.
            assert_eq!(said.into_inner().unwrap().len(), usize::from(done.is_ok()));
            done
        };
        let terms = async |tenant: &str| {
            let item = ledger.dynamo().get(&keys::config(&slug(tenant))).await.unwrap().unwrap();
            TenantTerms::read(&item, ledger.clock().now()).unwrap()
        };
        assert!(matches!(raise("aoba", 4).await, Err(TenantError::VersionNotRaised(_))));
        assert_eq!(terms("aoba").await, first);
        for (version, records) in [(5, RecordVersion::V5), (6, RecordVersion::V6), (7, RecordVersion::V7)] {
            let raised = raise("aoba", version).await.unwrap();
            assert!(raised.contains(&format!("every function writes records of version {version}")), "{raised}");
            assert_eq!(terms("aoba").await, TenantTerms { records, ..first.clone() });
        }
        for version in [6, 5, 4] {
            assert!(matches!(raise("aoba", version).await, Err(TenantError::VersionNotRaised(_))), "{version}");
        }
        for version in [0, 3, 8] {
            assert!(matches!(raise("aoba", version).await, Err(TenantError::Version(_))), "{version}");
        }
        assert!(matches!(raise("unopened", 5).await, Err(TenantError::NotOpen(_))));
        let migrating = raise("legacy", 5).await.unwrap_err();
        assert!(matches!(migrating, TenantError::Migrating { .. }));
        assert!(migrating.to_string().contains("phase 0 of 28"), "{migrating}");
        assert_eq!(terms("legacy").await, first);
        engine.stop().await;
    }

    #[tokio::test]
    async fn shards_of_an_open_tenant_are_raised_and_never_lowered() {
        let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
        let url = engine.url();
        let client = table::client(&url).await;
        table::ensure(&client, &url, "ledger").await.unwrap();
        let (terms, aoba) = (seed::terms().unwrap(), Tenant::parse("aoba").unwrap());
        let ledger = ledger("ledger", Some(&url)).await.unwrap();
        let opened = tenants::open(&aoba, &terms, ledger.clock().now()).unwrap();
        ledger.apply(&aoba, Operation::TenantConfigure, &opened).await.unwrap();
        let raise = async |slug: &str, due: u32| {
            let (slug, table, endpoint_url) = (slug.to_owned(), "ledger".to_owned(), Some(url.clone()));
            raise_shards(&ShardsCommand { slug, due, table, endpoint_url }).await
        };
        let shards = async || {
            let item = ledger.dynamo().get(&keys::config(&aoba)).await.unwrap().unwrap();
            TenantTerms::read(&item, ledger.clock().now()).unwrap()
        };
        assert!(raise("aoba", 64).await.unwrap().contains("64 shards"));
        assert_eq!(shards().await, TenantTerms { due_shards: Shards::new(64).unwrap(), ..terms.clone() });
        for due in [64, 16, 1] {
            assert!(matches!(raise("aoba", due).await, Err(TenantError::NotRaised(_))), "{due}");
        }
        assert!(matches!(raise("aoba", 65).await, Err(TenantError::Shards(65))));
        assert!(matches!(raise("nobody", 64).await, Err(TenantError::NotOpen(_))));
        assert_eq!(shards().await.due_shards.count(), 64);
        engine.stop().await;
    }
}
