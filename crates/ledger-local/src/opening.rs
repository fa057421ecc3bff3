//! Opens a tenant: takes its name in the registry, writes its terms and first owners, and records that it is open.
//!
//! Each step may be repeated. A run that ended between two of them is continued by the next.

use ledger_core::dynamo::{Attributes, ItemError};
use ledger_core::failure::Failure;
use ledger_core::idempotency::MarkerKeys;
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, attr};
use ledger_core::migration::{self, Model};
use ledger_core::operation::Operation;
use ledger_core::registry::{TenantHome, TenantState, begin_opening, finish_opening};
use ledger_core::staff::{Founders, with_founders};
use ledger_core::terms::TenantTerms;
use ledger_core::transaction::BuildError;
use ledger_runtime::dynamo::{ReadError, Registry, RegistryWriteError};
use ledger_runtime::entropy::EntropyError;
use ledger_runtime::execute::Ledger;
use ledger_runtime::problem::Problem;

/// The home Region of what a local stack or an engine at an endpoint keeps.
pub(crate) const LOCAL: &str = "local";

/// A tenant to be opened.
#[derive(Debug)]
pub struct Opening<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The Region that it lives in.
    pub region: &'a str,
    /// Its first terms.
    pub terms: &'a TenantTerms,
    /// The legacy model of its customers; `None` for a new tenant.
    pub legacy: Option<Model>,
    /// Its first owners, and the keys that their records are named by.
    pub founders: (&'a Founders, &'a MarkerKeys),
}

/// What a run found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// This run wrote the terms.
    Written,
    /// An earlier run wrote them and did not end. This run ended it; its own terms and owners were not used.
    Continued,
    /// The tenant was open. Nothing was written.
    Before,
}

/// Why a tenant was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpeningError {
    /// The name is taken by a tenant whose money is elsewhere.
    #[error(
        "the name is taken by a tenant of table {} in {}: choose another name, or name that table", .0.table, .0.region
    )]
    Elsewhere(TenantHome),
    /// The registry says that the tenant is open, and its table does not have it.
    #[error(
        "the registry says that the tenant is open in this table, and the table does not have its terms: was the table \
         restored to a time before? Nothing was written"
    )]
    TermsMissing,
    /// The registry was not written.
    #[error("registry {table}: {cause}; repeating the command is safe")]
    Registry {
        /// The registry's table.
        table: String,
        /// Why.
        cause: RegistryWriteError,
    },
    /// A read failed.
    #[error("{0}; repeating the command is safe")]
    Read(#[from] ReadError),
    /// The stored terms cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ItemError),
    /// The system provides no randomness.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The write cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The store rejected the terms, or the outcome is unknown.
    #[error("{}: {}; repeating the command is safe", .0.code(), .0.detail())]
    Store(Problem),
}

/// Opens a tenant in the ledger's table.
///
/// # Errors
/// [`OpeningError`], whose text says what to do.
pub async fn open_tenant(
    (ledger, registry): (&Ledger, &Registry),
    opening: &Opening<'_>,
) -> Result<Opened, OpeningError> {
    let Opening { tenant, region, terms, legacy, founders } = *opening;
    let home = TenantHome { region: region.to_owned(), table: ledger.dynamo().table().to_owned() };
    let now = ledger.clock().now();
    let not_written = |cause| OpeningError::Registry { table: registry.table().to_owned(), cause };
    match registry.write(&begin_opening(tenant, &home, now)).await {
        // An attempt of this write may have been applied without an answer. The item says what is there.
        Ok(()) | Err(RegistryWriteError::Failed(_)) => {}
        Err(cause) => return Err(not_written(cause)),
    }
    let unknown = || not_written(RegistryWriteError::Unknown("NotThere".to_owned()));
    let registered = registry.get(tenant).await?.ok_or_else(unknown)?;
    if registered.home != home {
        return Err(OpeningError::Elsewhere(registered.home));
    }
    let key = keys::config(tenant);
    if registered.state == TenantState::Open {
        return match ledger.dynamo().get(&key).await? {
            Some(_) => Ok(Opened::Before),
            None => Err(OpeningError::TermsMissing),
        };
    }
    let cx = ledger.context(now)?;
    let transaction = migration::open_tenant(tenant, terms, legacy, cx.now)?;
    let transaction = with_founders(transaction, tenant, founders, &cx)?;
    let opened = match ledger.apply(tenant, Operation::TenantConfigure, &transaction).await {
        Ok(()) => Opened::Written,
        Err(error) if error.failure() == Some(Failure::AlreadyExists) => Opened::Continued,
        Err(error) => return Err(OpeningError::Store(error.into())),
    };
    let terms = ledger.dynamo().get(&key).await?.ok_or(OpeningError::TermsMissing)?;
    match registry.write(&finish_opening(tenant, terms.timestamp(attr::CREATED_AT)?, now)).await {
        // Another run has ended it, or an attempt of this write.
        Ok(()) | Err(RegistryWriteError::Failed(Failure::WrongState)) => Ok(opened),
        Err(cause) => Err(not_written(cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Data, Engine, EngineConfig};
    use crate::operator::ledger;
    use crate::{marker_keys, member_args, seed, table};
    use ledger_core::registry::RegisteredTenant;
    use ledger_core::staff::Founder;

    /// A ledger over a table of its own, and what a tenant is opened with.
    struct Office {
        engine: Engine,
        ledger: Ledger,
        registry: Registry,
        keys: MarkerKeys,
        terms: TenantTerms,
        aoba: Tenant,
    }

    fn founders(last: [&str; 2]) -> Founders {
        let owner = |last: &str| format!("01890a5d-ac96-774b-bcce-b302099a80{last}:owner-{last}@example.com");
        let founder = |last: &str| -> Founder { member_args::founder(&owner(last)).unwrap() };
        Founders::new(last.map(founder).to_vec()).unwrap()
    }

    impl Office {
        async fn new() -> Self {
            let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
            let url = engine.url();
            table::ensure(&table::client(&url).await, &url, "ledger").await.unwrap();
            let ledger = ledger("ledger", Some(&url)).await.unwrap();
            let registry = Registry::of(ledger.dynamo());
            let keys = MarkerKeys::parse(marker_keys::in_memory().expose()).unwrap();
            let aoba = Tenant::parse("aoba").unwrap();
            Self { engine, ledger, registry, keys, terms: seed::terms().unwrap(), aoba }
        }

        async fn open(&self, founders: &Founders) -> Result<Opened, OpeningError> {
            let founders = (founders, &self.keys);
            let (tenant, terms) = (&self.aoba, &self.terms);
            let opening = Opening { tenant, region: LOCAL, terms, legacy: None, founders };
            open_tenant((&self.ledger, &self.registry), &opening).await
        }

        fn home(&self) -> TenantHome {
            TenantHome { region: LOCAL.to_owned(), table: "ledger".to_owned() }
        }

        async fn registered(&self) -> RegisteredTenant {
            self.registry.get(&self.aoba).await.unwrap().unwrap()
        }
    }

    #[tokio::test]
    async fn opening_that_ended_between_two_steps_is_continued() {
        let office = Office::new().await;
        let now = office.ledger.clock().now();
        office.registry.write(&begin_opening(&office.aoba, &office.home(), now)).await.unwrap();
        assert_eq!(office.registered().await.state, TenantState::Opening);
        assert_eq!(office.open(&founders(["41", "42"])).await.unwrap(), Opened::Written);
        assert_eq!(office.registered().await.state, TenantState::Open);
        assert_eq!(office.open(&founders(["43", "44"])).await.unwrap(), Opened::Before);
        office.engine.stop().await;

        let office = Office::new().await;
        office.registry.write(&begin_opening(&office.aoba, &office.home(), now)).await.unwrap();
        let cx = office.ledger.context(now).unwrap();
        let first = migration::open_tenant(&office.aoba, &office.terms, None, now).unwrap();
        let first = with_founders(first, &office.aoba, (&founders(["41", "42"]), &office.keys), &cx).unwrap();
        office.ledger.apply(&office.aoba, Operation::TenantConfigure, &first).await.unwrap();
        assert_eq!(office.open(&founders(["43", "44"])).await.unwrap(), Opened::Continued);
        let registered = office.registered().await;
        assert_eq!((registered.state, registered.opened_at), (TenantState::Open, Some(now)));
        office.engine.stop().await;
    }

    #[tokio::test]
    async fn tenant_that_is_opened_at_once_by_many_is_opened_once() {
        let office = Office::new().await;
        let (one, other) = (founders(["41", "42"]), founders(["43", "44"]));
        let runs = (0..8).map(|run| office.open(if run % 2 == 0 { &one } else { &other }));
        let ends = futures::future::join_all(runs).await;
        let written = ends.iter().filter(|end| matches!(end, Ok(Opened::Written))).count();
        assert_eq!(written, 1, "{ends:?}");
        assert_eq!(office.registered().await.state, TenantState::Open);
        office.engine.stop().await;
    }

    #[tokio::test]
    async fn name_is_not_given_to_another_tenant() {
        let office = Office::new().await;
        let now = office.ledger.clock().now();
        let elsewhere = TenantHome { table: "other".to_owned(), ..office.home() };
        office.registry.write(&begin_opening(&office.aoba, &elsewhere, now)).await.unwrap();
        let refused = office.open(&founders(["41", "42"])).await.unwrap_err();
        assert!(matches!(refused, OpeningError::Elsewhere(home) if home == elsewhere));
        assert_eq!(office.ledger.dynamo().get(&keys::config(&office.aoba)).await.unwrap(), None);
        office.engine.stop().await;
    }

    #[tokio::test]
    async fn tenant_that_the_registry_calls_open_is_not_opened_again_in_a_table_without_it() {
        let office = Office::new().await;
        let now = office.ledger.clock().now();
        office.registry.write(&begin_opening(&office.aoba, &office.home(), now)).await.unwrap();
        office.registry.write(&finish_opening(&office.aoba, now, now)).await.unwrap();
        let refused = office.open(&founders(["41", "42"])).await.unwrap_err();
        assert!(matches!(refused, OpeningError::TermsMissing));
        assert_eq!(office.ledger.dynamo().get(&keys::config(&office.aoba)).await.unwrap(), None);
        office.engine.stop().await;
    }
}
