//! `tenant limits`: changes the limits of a tenant's customers, cards or staff.

use super::{TenantError, config, ledger, terms_without_versions};
use ledger_core::failure::Failure;
use ledger_core::ids::{Actor, Tenant};
use ledger_core::limits::{Holder, LimitChange};
use ledger_core::money::{Asset, AssetSpec};
use ledger_core::operation::Operation;
use ledger_core::tenants;
use ledger_core::terms::TenantTerms;
use ledger_runtime::execute::Ledger;

/// The arguments of `tenant limits`.
#[derive(Debug, Clone)]
pub struct LimitsCommand {
    /// The tenant's slug.
    pub slug: String,
    /// The rules to change, `pay_day=50000`.
    pub rules: Vec<String>,
    /// Whether merchants above their limit of a day are suspended; `None` keeps it.
    pub suspend: Option<bool>,
    /// Whose limits they are: `customer`, `card`, `merchant`, `terminal`, or a role, `merchant_manager`, `merchant_owner`, `treasurer` or `owner`.
    pub holder: String,
    /// The asset.
    pub asset: String,
    /// The table.
    pub table: String,
    /// The endpoint URL; `None` for the AWS SDK's Region.
    pub endpoint_url: Option<String>,
}

/// Why limits could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum LimitsError {
    /// A rule is malformed.
    #[error("{0}: {1}")]
    Rule(String, &'static str),
    /// The holder is none of those that have limits.
    #[error(
        "{0} is not a holder of limits: use customer, card, merchant, terminal, merchant_manager, merchant_owner, treasurer or \
         owner"
    )]
    Holder(String),
    /// The asset is not enabled for the tenant.
    #[error("{0} is not an asset of this tenant: use ECOPAY, POINT, JCREDIT or REGIONAL#<key>")]
    Asset(String),
}

/// Changes the limits of a tenant. All functions use them within 60 seconds.
///
/// # Errors
/// [`TenantError`], whose text says what to do.
pub async fn set_limits(command: &LimitsCommand) -> Result<String, TenantError> {
    let slug = &command.slug;
    let slug = Tenant::parse(slug).map_err(|error| TenantError::Slug(slug.clone(), error))?;
    let holder = Holder::parse(&command.holder).ok_or_else(|| LimitsError::Holder(command.holder.clone()))?;
    let ledger = ledger(&command.table, command.endpoint_url.as_deref()).await?;
    let config = config(&ledger, &slug).await?;
    let terms = terms_without_versions(&config, &slug, &ledger)?;
    let unknown = || LimitsError::Asset(command.asset.clone());
    let asset = Asset::parse(&command.asset).map_err(|_| unknown())?;
    let changes = changes(&command.rules, holder, terms.spec(&asset).ok_or_else(unknown)?)?;
    set_of_tenant(&ledger, &slug, &terms, (holder, &asset), (&changes, command.suspend)).await
}

fn changes(rules: &[String], holder: Holder, spec: &AssetSpec) -> Result<Vec<LimitChange>, LimitsError> {
    let one =
        |rule: &String| LimitChange::parse(holder, spec, rule).map_err(|why| LimitsError::Rule(rule.clone(), why));
    rules.iter().map(one).collect()
}

async fn set_of_tenant(
    ledger: &Ledger,
    slug: &Tenant,
    terms: &TenantTerms,
    (holder, asset): (Holder, &Asset),
    changes: (&[LimitChange], Option<bool>),
) -> Result<String, TenantError> {
    let cx = ledger.context(ledger.clock().now())?;
    // CloudTrail has the person who ran the command. The audit record shows `System`: no staff member did it through
    // the API.
    let seen = terms.limits.as_ref();
    let transaction = tenants::set_limits(slug, seen, (holder, asset), changes, Actor::System, &cx)?;
    match ledger.apply(slug, Operation::TenantConfigure, &transaction).await {
        Ok(()) => Ok(format!(
            "{slug}: the limits of every {} in {asset} are changed, everywhere within a minute",
            holder.name()
        )),
        Err(error) if error.failure() == Some(Failure::AccountMissing) => Err(TenantError::NotOpen(slug.to_string())),
        Err(error) if error.failure() == Some(Failure::StalePlan) => Err(TenantError::Changed(slug.to_string())),
        Err(error) => Err(TenantError::Store(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Data, Engine, EngineConfig};
    use crate::{seed, table};
    use ledger_core::limits::Rule;

    #[tokio::test]
    async fn limits_of_a_tenant_are_changed() {
        let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
        let url = engine.url();
        let client = table::client(&url).await;
        table::ensure(&client, &url, "ledger").await.unwrap();
        let ledger = ledger("ledger", Some(&url)).await.unwrap();
        let (seeded, aoba) = (seed::terms().unwrap(), Tenant::parse("aoba").unwrap());
        let opened = tenants::open(&aoba, &seeded, ledger.clock().now()).unwrap();
        ledger.apply(&aoba, Operation::TenantConfigure, &opened).await.unwrap();
        let set = async |rules: &[&str], holder: &str| {
            set_limits(&LimitsCommand {
                slug: "aoba".to_owned(),
                rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
                suspend: None,
                holder: holder.to_owned(),
                asset: "ECOPAY".to_owned(),
                table: "ledger".to_owned(),
                endpoint_url: Some(url.clone()),
            })
            .await
        };
        let terms = async || TenantTerms::read(&config(&ledger, &aoba).await.unwrap(), ledger.clock().now()).unwrap();
        let refused = |done: Result<String, TenantError>| match done {
            Err(TenantError::Limits(error)) => error,
            other => panic!("{other:?}"),
        };
        assert!(set(&["pay_day=5000", "topup_month=60000"], "customer").await.unwrap().contains("every customer"));
        let _ = set(&["cash_topup_day=3000"], "card").await.unwrap();
        let _ = set(&["topup_month=none"], "customer").await.unwrap();
        let limits = terms().await.limits.unwrap();
        let most =
            |holder, rule| limits.most(holder, &Asset::Ecopay, Rule::parse(rule).unwrap()).map(|most| most.text());
        assert_eq!(most(Holder::Customer, "pay_day").as_deref(), Some("5000"));
        assert_eq!(most(Holder::Customer, "topup_month"), None);
        assert_eq!(most(Holder::Card, "cash_topup_day").as_deref(), Some("3000"));
        assert!(matches!(refused(set(&["pay_day=x"], "customer").await), LimitsError::Rule(..)));
        assert!(matches!(refused(set(&["pay_day=1"], "shop").await), LimitsError::Holder(_)));
        let before = terms().await;
        super::super::config::tests::schedule_terms(&ledger, &aoba).await;
        assert!(matches!(set(&["pay_day=1"], "customer").await, Err(TenantError::Versioned(_))));
        assert_eq!(terms().await.fields(), before.fields());
        engine.stop().await;
    }
}
