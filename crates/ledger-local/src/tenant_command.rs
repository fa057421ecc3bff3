//! `tenant`: opens a tenant in a table, deployed or local, through the builder that everything else
//! reads its terms by.

use crate::terms_file::{self, TermsError};
use ledger_core::failure::Failure;
use ledger_core::ids::{IdError, Tenant};
use ledger_core::migration::Model;
use ledger_core::operation::Operation;
use ledger_core::ops::tenant;
use ledger_core::transaction::BuildError;
use ledger_runtime::clock::Clock;
use ledger_runtime::dynamo::{self, Dynamo};
use ledger_runtime::entropy::Entropy;
use ledger_runtime::execute::Ledger;
use ledger_runtime::metrics::{Counting, Metrics};
use ledger_runtime::problem::Problem;
use std::path::PathBuf;

/// Opening a tenant.
#[derive(Debug, Clone)]
pub struct OpenCommand {
    /// Its slug.
    pub slug: String,
    /// The file with its terms.
    pub terms: PathBuf,
    /// The legacy model that its customers come from, if they do.
    pub legacy: Option<Model>,
    /// The table.
    pub table: String,
    /// Another DynamoDB than that of the Region.
    pub endpoint_url: Option<String>,
}

/// Why a tenant was not opened.
#[derive(Debug, thiserror::Error)]
pub enum TenantError {
    /// The slug is none.
    #[error("{0} is no slug: 1 to 32 of a-z, 0-9 and -")]
    Slug(String, #[source] IdError),
    /// The file cannot be read.
    #[error("cannot read {}: {cause}; `cargo run -- tenant terms` prints one to begin with", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The terms cannot be used.
    #[error("the terms cannot be used: {0}")]
    Terms(#[from] TermsError),
    /// It stands.
    #[error("{0} stands in this table already, and was left as it is")]
    Stands(String),
    /// The write cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The store did not take it, or did not say.
    #[error("{}: {}; run the same command again, it opens a tenant once", .0.code(), .0.detail())]
    Store(Problem),
}

/// Opens a tenant; one that stands is not touched.
///
/// # Errors
/// [`TenantError`] says what to do.
pub async fn open(command: &OpenCommand) -> Result<String, TenantError> {
    let OpenCommand { slug, terms: path, legacy, table, endpoint_url } = command;
    let slug = Tenant::parse(slug).map_err(|error| TenantError::Slug(slug.clone(), error))?;
    let text = std::fs::read_to_string(path).map_err(|cause| TenantError::Unreadable { path: path.clone(), cause })?;
    let terms = terms_file::parse(&text)?;
    let (clock, entropy) = (Clock::system(), Entropy::system());
    let sdk = dynamo::sdk_config(endpoint_url.as_deref()).await;
    let client = dynamo::client(&sdk, endpoint_url.as_deref());
    let dynamo = Dynamo::from_client(client, table, entropy.clone());
    let ledger = Ledger::new(dynamo, clock.clone(), entropy, Metrics::to(Counting::new(clock.clone())));
    let transaction = tenant::open(&slug, &terms, *legacy, clock.now())?;
    match ledger.apply(&slug, Operation::TenantConfigure, &transaction).await {
        Ok(()) => Ok(format!("{slug} is open in {table}")),
        Err(error) if error.failure() == Some(Failure::AlreadyExists) => Err(TenantError::Stands(slug.to_string())),
        Err(error) => Err(TenantError::Store(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Data, Engine, EngineConfig};
    use crate::testing::TempDir;
    use crate::{seed, table};
    use ledger_core::keys;
    use ledger_core::ops::TenantTerms;

    #[tokio::test]
    async fn a_tenant_is_opened_once() {
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
            table: "ledger".to_owned(),
            endpoint_url: Some(url.clone()),
        };
        assert_eq!(open(&command("aoba", file.clone())).await.unwrap(), "aoba is open in ledger");
        let dynamo = Dynamo::from_client(client, "ledger", Entropy::system());
        let item = dynamo.get(&keys::config(&Tenant::parse("aoba").unwrap())).await.unwrap().unwrap();
        assert_eq!(TenantTerms::read(&item).unwrap(), terms);

        let mut changed = terms;
        changed.topup = None;
        std::fs::write(&file, terms_file::text(&changed)).unwrap();
        assert!(matches!(open(&command("aoba", file.clone())).await, Err(TenantError::Stands(_))));
        assert!(matches!(open(&command("a#b", file)).await, Err(TenantError::Slug(..))));
        let missing = dir.path().join("none.json");
        assert!(matches!(open(&command("aoba", missing)).await, Err(TenantError::Unreadable { .. })));
        engine.stop().await;
    }
}
