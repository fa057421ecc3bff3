//! `tenant card-pin`: which payments of cards need the card's PIN.

use super::{TenantError, config, terms_without_versions};
use crate::operator::ledger;
use crate::terms_file;
use ledger_core::failure::Failure;
use ledger_core::ids::{Actor, Tenant};
use ledger_core::operation::Operation;
use ledger_core::tenants;
use ledger_core::terms::CardPinTerms;
use std::time::Duration;

/// The arguments of `tenant card-pin`.
#[derive(Debug, Clone)]
pub struct CardPinCommand {
    /// The tenant's slug.
    pub slug: String,
    /// The amount in yen above which a payment needs the PIN; `None`: no payment needs it.
    pub above: Option<String>,
    /// The table.
    pub table: String,
    /// The endpoint URL; `None` for the AWS SDK's Region.
    pub endpoint_url: Option<String>,
}

/// Sets which payments of cards need the card's PIN, and waits for `settles`: as long as a function may still use the terms
/// that it has cached.
///
/// # Errors
/// [`TenantError`], whose text says what to do.
pub async fn set_card_pin(
    command: &CardPinCommand,
    settles: Duration,
    progress: impl Fn(&str),
) -> Result<String, TenantError> {
    let CardPinCommand { slug, above, table, endpoint_url } = command;
    let slug = Tenant::parse(slug).map_err(|error| TenantError::Slug(slug.clone(), error))?;
    let to = terms_file::card_pin_terms("--above", above.as_deref())?;
    let ledger = ledger(table, endpoint_url.as_deref()).await?;
    let config = config(&ledger, &slug).await?;
    let terms = terms_without_versions(&config, &slug, &ledger)?;
    let said = match &to {
        CardPinTerms::NotUsed => "no payment of a card needs a PIN".to_owned(),
        CardPinTerms::Above(most) => format!("a card's payment of more than {} yen needs its PIN", most.text()),
    };
    if terms.card_pin == to {
        return Ok(format!("{slug}: {said}, as before"));
    }
    let cx = ledger.context(ledger.clock().now())?;
    // CloudTrail has the person who ran the command, as for the shards.
    let transaction = tenants::set_card_pin(&slug, &terms.card_pin, &to, Actor::System, &cx)?;
    match ledger.apply(&slug, Operation::TenantConfigure, &transaction).await {
        Ok(()) => {
            progress(&format!(
                "{slug}: waiting {} s until no function has earlier terms. The change stays if this command is stopped.",
                settles.as_secs()
            ));
            tokio::time::sleep(settles).await;
            Ok(format!("{slug}: {said}"))
        }
        Err(error) if error.failure() == Some(Failure::StalePlan) => Err(TenantError::Changed(slug.to_string())),
        Err(error) => Err(TenantError::Store(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Data, Engine, EngineConfig};
    use crate::{seed, table};
    use ledger_core::keys;
    use ledger_core::terms::TenantTerms;

    #[tokio::test]
    async fn amount_of_an_open_tenant_is_set_changed_and_removed() {
        let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
        let url = engine.url();
        table::ensure(&table::client(&url).await, &url, "ledger").await.unwrap();
        let (ledger, aoba) = (ledger("ledger", Some(&url)).await.unwrap(), Tenant::parse("aoba").unwrap());
        let opened = tenants::open(&aoba, &seed::terms().unwrap(), ledger.clock().now()).unwrap();
        ledger.apply(&aoba, Operation::TenantConfigure, &opened).await.unwrap();
        let set = async |slug: &str, above: Option<&str>| {
            let (slug, above) = (slug.to_owned(), above.map(str::to_owned));
            let command = CardPinCommand { slug, above, table: "ledger".to_owned(), endpoint_url: Some(url.clone()) };
            set_card_pin(&command, Duration::from_millis(1), |_| {}).await
        };
        let stored = async || {
            let item = ledger.dynamo().get(&keys::config(&aoba)).await.unwrap().unwrap();
            TenantTerms::read(&item, ledger.clock().now()).unwrap().card_pin.text()
        };
        assert_eq!(stored().await, "none");
        for (above, said) in [
            (Some("10000"), "aoba: a card's payment of more than 10000 yen needs its PIN"),
            (Some("10000"), "aoba: a card's payment of more than 10000 yen needs its PIN, as before"),
            (Some("0"), "aoba: a card's payment of more than 0 yen needs its PIN"),
            (None, "aoba: no payment of a card needs a PIN"),
        ] {
            assert_eq!(set("aoba", above).await.unwrap(), said);
            assert_eq!(stored().await, above.unwrap_or("none"));
        }
        for above in ["-1", "1.5", "many", ""] {
            let refused = set("aoba", Some(above)).await.unwrap_err();
            assert!(refused.to_string().contains("--above: "), "{above}: {refused}");
        }
        assert!(matches!(set("unopened", Some("1")).await, Err(TenantError::NotOpen(_))));
        super::super::config::tests::schedule_terms(&ledger, &aoba).await;
        assert!(matches!(set("aoba", Some("1")).await, Err(TenantError::Versioned(_))));
        assert_eq!(stored().await, "none");
        engine.stop().await;
    }
}
