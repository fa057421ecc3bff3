//! `tenant`: opens a tenant in a table, deployed or local, raises the shards of an open one, adds its records to lists, and
//! records where its money is after a restore.
//! It uses the builders of the ledger. Terms of an open tenant change through the API alone.

mod home;
mod reindex;

pub use home::{HomeCommand, HomeError, record_home};
pub use reindex::{ReindexCommand, ReindexError, reindex};

use crate::marker_keys::{self, MarkerKeysTextError};
use crate::opening::{Opened, Opening, OpeningError, open_tenant};
use crate::operator::{CredentialsError, Operator, ledger, operator};
use crate::terms_file::{self, TermsError};
use ledger_core::failure::Failure;
use ledger_core::ids::{Actor, IdError, Tenant};
use ledger_core::keys::Shards;
use ledger_core::migration::Model;
use ledger_core::operation::Operation;
use ledger_core::registry::{RegisteredTenant, TenantHome};
use ledger_core::staff::{Founder, Founders, FoundersError};
use ledger_core::tenants;
use ledger_core::transaction::BuildError;
use ledger_runtime::dynamo::{ReadError, Registry};
use ledger_runtime::entropy::EntropyError;
use ledger_runtime::execute::Ledger;
use ledger_runtime::problem::Problem;
use std::path::PathBuf;

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
    /// The file with the keys of markers.
    pub marker_keys: PathBuf,
    /// The table.
    pub table: String,
    /// The registry; `None` for that of the table.
    pub registry_name: Option<String>,
    /// The endpoint URL; `None` for the AWS SDK's Region.
    pub endpoint_url: Option<String>,
}

/// The arguments of `tenant list`.
#[derive(Debug, Clone)]
pub struct ListCommand {
    /// The table.
    pub table: String,
    /// The registry; `None` for that of the table.
    pub registry_name: Option<String>,
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

/// Why a tenant could not be opened or changed.
#[derive(Debug, thiserror::Error)]
pub enum TenantError {
    /// The registry would be the table of money.
    #[error("{0} is the table of money: name the table of the registry, or leave the option out")]
    RegistryName(String),
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
    /// The tenant has as many shards already, or more.
    #[error(
        "{0} already has as many shards for due work, or more, and their number is never lowered: nothing was changed"
    )]
    NotRaised(String),
    /// The tenant does not exist in this table.
    #[error("{0} is not open in this table")]
    NotOpen(String),
    /// The keys of markers cannot be read.
    #[error(transparent)]
    Keys(#[from] MarkerKeysTextError),
    /// The tenant cannot be opened.
    #[error(transparent)]
    Opening(#[from] OpeningError),
    /// The registry cannot be read.
    #[error("registry {0}: {1}")]
    List(String, #[source] ReadError),
    /// The home of a tenant was not recorded.
    #[error(transparent)]
    Home(#[from] HomeError),
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
    let OpenCommand { slug, terms: path, legacy, owners, marker_keys, table, registry_name, endpoint_url } = command;
    let founders = Founders::new(owners.clone())?;
    let slug = Tenant::parse(slug).map_err(|error| TenantError::Slug(slug.clone(), error))?;
    let text = std::fs::read_to_string(path).map_err(|cause| TenantError::Unreadable { path: path.clone(), cause })?;
    let terms = terms_file::parse(&text, &slug)?;
    let keys = marker_keys::from_file(marker_keys)?;
    let Operator { ledger, region } = operator(table, endpoint_url.as_deref()).await?;
    let registry = registry(&ledger, registry_name.as_deref())?;
    let opening =
        Opening { tenant: &slug, region: &region, terms: &terms, legacy: *legacy, founders: (&founders, &keys) };
    match open_tenant((&ledger, &registry), &opening).await? {
        Opened::Written => Ok(format!("{slug} is open in {table}")),
        Opened::Continued => {
            Ok(format!("{slug} is open in {table}, with the terms and owners of an earlier run that had not ended"))
        }
        Opened::Before => Err(TenantError::Stands(slug.to_string())),
    }
}

/// Lists the tenants of a registry: a line each, by name. Items that cannot be read are counted last.
///
/// # Errors
/// [`TenantError`], whose text says what to do.
pub async fn list(command: &ListCommand) -> Result<String, TenantError> {
    let ListCommand { table, registry_name, endpoint_url } = command;
    let Operator { ledger, .. } = operator(table, endpoint_url.as_deref()).await?;
    let registry = registry(&ledger, registry_name.as_deref())?;
    let found = registry.tenants().await.map_err(|error| TenantError::List(registry.table().to_owned(), error))?;
    let (mut lines, mut unreadable) = (Vec::new(), 0_u64);
    for tenant in found {
        match tenant {
            Ok(tenant) => lines.push(line(&tenant)),
            Err(_) => unreadable = unreadable.saturating_add(1),
        }
    }
    if lines.is_empty() {
        lines.push(format!("registry {} has no tenants", registry.table()));
    }
    if unreadable > 0 {
        lines.push(format!("{unreadable} of a later release: run its `tenant list`"));
    }
    Ok(lines.join("\n"))
}

/// For example `aoba open 2026-11-30T03:00:00.000Z local/ecopay epoch 1`.
fn line(tenant: &RegisteredTenant) -> String {
    let RegisteredTenant { tenant, state, home: TenantHome { region, table }, epoch, created_at, opened_at } = tenant;
    let since = opened_at.unwrap_or(*created_at);
    format!("{tenant} {} {since} {region}/{table} epoch {epoch}", state.name())
}

fn registry(ledger: &Ledger, name: Option<&str>) -> Result<Registry, TenantError> {
    match name {
        Some(name) => Registry::named(name, ledger.dynamo()).ok_or_else(|| TenantError::RegistryName(name.to_owned())),
        None => Ok(Registry::of(ledger.dynamo())),
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
        let key_file = dir.path().join("keys.json");
        std::fs::write(&key_file, marker_keys::in_memory().expose()).unwrap();
        let command = |slug: &str, terms: PathBuf| OpenCommand {
            slug: slug.to_owned(),
            terms,
            legacy: None,
            owners: owners(),
            marker_keys: key_file.clone(),
            table: "ledger".to_owned(),
            registry_name: None,
            endpoint_url: Some(url.clone()),
        };
        let alone = OpenCommand { owners: owners().split_off(1), ..command("aoba", file.clone()) };
        assert!(matches!(open(&alone).await, Err(TenantError::Owners(_))));
        let of_money = OpenCommand { registry_name: Some("ledger".to_owned()), ..command("aoba", file.clone()) };
        assert!(matches!(open(&of_money).await, Err(TenantError::RegistryName(_))), "its items would be beside money");
        assert_eq!(open(&command("aoba", file.clone())).await.unwrap(), "aoba is open in ledger");
        let dynamo = Dynamo::from_client(client, "ledger", Entropy::system());
        let item = dynamo.get(&keys::config(&Tenant::parse("aoba").unwrap())).await.unwrap().unwrap();
        assert_eq!(TenantTerms::read(&item, Clock::system().now()).unwrap(), terms);
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
