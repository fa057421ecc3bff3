//! `tenant approvals`: requires another person's approval of the commands of an open tenant's staff.

use super::{TenantError, config, terms_of};
use crate::operator::ledger;
use ledger_core::failure::Failure;
use ledger_core::ids::{Actor, Tenant};
use ledger_core::money::{Amount, Asset};
use ledger_core::operation::Operation;
use ledger_core::tenants;
use ledger_core::terms::{GrantLimits, StaffSource, TenantTerms};
use std::collections::BTreeMap;
use std::time::Duration;

/// The arguments of `tenant approvals`.
#[derive(Debug, Clone)]
pub struct ApprovalsCommand {
    /// The tenant's slug.
    pub slug: String,
    /// The most that one request grants without approval: `POINT=1000`.
    pub grant_limits: Vec<String>,
    /// The table.
    pub table: String,
    /// The endpoint URL; `None` for the AWS SDK's Region.
    pub endpoint_url: Option<String>,
}

/// Why approvals could not be required.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalsError {
    /// A limit is malformed, or its asset is not enabled for the tenant.
    #[error("{0} is not a limit of an asset of this tenant: use for example POINT=1000; nothing was changed")]
    Limit(String),
    /// Tokens decide what the tenant's staff may do.
    #[error("the staff of {0} has no records that decide: run `tenant staff {0} --enforce` first; nothing was changed")]
    NoRecords(String),
    /// Approvals are required already.
    #[error("{0} already requires approvals: nothing was changed")]
    Required(String),
}

/// Requires approvals of an open tenant, and waits for `settles`, as [`raise_records`](super::raise_records) does.
///
/// # Errors
/// [`TenantError`], whose text says what to do.
pub async fn require_approvals(
    command: &ApprovalsCommand,
    settles: Duration,
    progress: impl Fn(&str),
) -> Result<String, TenantError> {
    let ApprovalsCommand { slug, grant_limits, table, endpoint_url } = command;
    let slug = Tenant::parse(slug).map_err(|error| TenantError::Slug(slug.clone(), error))?;
    let ledger = ledger(table, endpoint_url.as_deref()).await?;
    let config = config(&ledger, &slug).await?;
    let terms = terms_of(&config, &slug, &ledger)?;
    let limit =
        |text: &String| limit(&terms, text).ok_or_else(|| TenantError::Approvals(ApprovalsError::Limit(text.clone())));
    let limits = GrantLimits(grant_limits.iter().map(limit).collect::<Result<BTreeMap<Asset, Amount>, _>>()?);
    match terms.staff {
        StaffSource::Records => {}
        StaffSource::Tokens => return Err(ApprovalsError::NoRecords(slug.to_string()).into()),
    }
    let cx = ledger.context(ledger.clock().now())?;
    // CloudTrail has the person who ran the command, as for the shards.
    let transaction = tenants::require_approvals(&slug, &limits, Actor::System, &cx)?;
    match ledger.apply(&slug, Operation::TenantConfigure, &transaction).await {
        Ok(()) => {
            progress(&format!(
                "{slug} requires approvals; waiting {} s until no function has earlier terms. The switch stays if this \
                 command is stopped.",
                settles.as_secs()
            ));
            tokio::time::sleep(settles).await;
            Ok(format!("{slug}: every function stores commands of the list until another person approves them"))
        }
        Err(error) if error.failure() == Some(Failure::WrongState) => {
            Err(ApprovalsError::Required(slug.to_string()).into())
        }
        Err(error) if error.failure() == Some(Failure::StalePlan) => Err(TenantError::Changed(slug.to_string())),
        Err(error) => Err(TenantError::Store(error.into())),
    }
}

fn limit(terms: &TenantTerms, text: &str) -> Option<(Asset, Amount)> {
    let (asset, amount) = text.split_once('=')?;
    let asset = Asset::parse(asset).ok()?;
    let amount = Amount::parse(terms.spec(&asset)?, amount).ok()?;
    Some((asset, amount))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Data, Engine, EngineConfig};
    use crate::{seed, table};
    use ledger_core::keys;
    use ledger_core::migration;
    use ledger_core::terms::ApprovalTerms;

    #[tokio::test]
    async fn approvals_are_required_once_and_after_the_records() {
        let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
        let url = engine.url();
        table::ensure(&table::client(&url).await, &url, "ledger").await.unwrap();
        let ledger = ledger("ledger", Some(&url)).await.unwrap();
        for (slug, staff) in [("aoba", StaffSource::Records), ("tokens", StaffSource::Tokens)] {
            let tenant = Tenant::parse(slug).unwrap();
            let terms = TenantTerms { staff, approvals: ApprovalTerms::NotRequired, ..seed::terms().unwrap() };
            let opened = migration::open_tenant(&tenant, &terms, None, ledger.clock().now()).unwrap();
            ledger.apply(&tenant, Operation::TenantConfigure, &opened).await.unwrap();
        }
        let run = async |slug: &str, limits: &[&str]| {
            let command = ApprovalsCommand {
                slug: slug.to_owned(),
                grant_limits: limits.iter().map(|&limit| limit.to_owned()).collect(),
                table: "ledger".to_owned(),
                endpoint_url: Some(url.clone()),
            };
            require_approvals(&command, Duration::ZERO, |_| {}).await
        };
        let of = |error| match error {
            Err(TenantError::Approvals(error)) => error,
            other => panic!("{other:?}"),
        };
        assert!(matches!(of(run("tokens", &[]).await), ApprovalsError::NoRecords(_)));
        for wrong in ["POINT", "POINT=0", "POINT=1.5", "REGIONAL#none=1", "=1"] {
            assert!(matches!(of(run("aoba", &[wrong]).await), ApprovalsError::Limit(_)), "{wrong}");
        }
        assert!(matches!(run("nowhere", &[]).await, Err(TenantError::NotOpen(_))));
        run("aoba", &["POINT=1000"]).await.unwrap();
        let item = ledger.dynamo().get(&keys::config(&Tenant::parse("aoba").unwrap())).await.unwrap().unwrap();
        let terms = TenantTerms::read(&item, ledger.clock().now()).unwrap();
        let point = |text| Amount::parse(terms.spec(&Asset::Point).unwrap(), text).unwrap();
        assert!(matches!(terms.approvals, ApprovalTerms::Required(_)));
        assert!(!terms.approvals.covers_grant(&point("1000")) && terms.approvals.covers_grant(&point("1001")));
        assert!(matches!(of(run("aoba", &[]).await), ApprovalsError::Required(_)));
        engine.stop().await;
    }
}
