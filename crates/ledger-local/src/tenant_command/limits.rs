//! `tenant limits`: changes the limits of a tenant's customers, cards or staff, or those of one account.

use super::{TenantError, check_not_migrating, config, ledger};
use ledger_core::account::Account;
use ledger_core::failure::Failure;
use ledger_core::ids::{Actor, Tenant};
use ledger_core::limits::{Holder, LimitChange, OwnLimits};
use ledger_core::migration;
use ledger_core::money::{Asset, AssetSpec};
use ledger_core::operation::Operation;
use ledger_core::tenants;
use ledger_core::terms::TenantTerms;
use ledger_runtime::dynamo::ReadError;
use ledger_runtime::execute::{ApplyError, Ledger};

/// The arguments of `tenant limits`.
#[derive(Debug, Clone)]
pub struct LimitsCommand {
    /// The tenant's slug.
    pub slug: String,
    /// The rules to change, `pay_day=50000`.
    pub rules: Vec<String>,
    /// Whose limits they are: `customer`, `card`, or a role, `merchant_manager`, `merchant_owner`, `treasurer` or `owner`.
    pub holder: String,
    /// The one account whose limits are changed; `None` for those of all.
    pub account: Option<String>,
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
    /// The holder is neither customers, nor cards, nor a role.
    #[error("{0} is not a holder of limits: use customer, card, merchant_manager, merchant_owner, treasurer or owner")]
    Holder(String),
    /// The account is malformed, or is of a merchant or the tenant.
    #[error("{0} is not an account with limits: use customer:<id> or card:<id>")]
    Account(String),
    /// The asset is not enabled for the tenant.
    #[error("{0} is not an asset of this tenant: use ECOPAY, POINT, JCREDIT or REGIONAL#<key>")]
    Asset(String),
    /// The tenant counts nothing.
    #[error("{0} has no limits yet: set those of all its accounts first, without --account; nothing was changed")]
    NoLimits(String),
    /// There is no such account.
    #[error("{0} does not exist: nothing was changed")]
    NoAccount(String),
}

/// Changes the limits of a tenant or of one account. All functions use them within 60 seconds.
///
/// # Errors
/// [`TenantError`], whose text says what to do.
pub async fn set_limits(command: &LimitsCommand) -> Result<String, TenantError> {
    let slug = &command.slug;
    let slug = Tenant::parse(slug).map_err(|error| TenantError::Slug(slug.clone(), error))?;
    let account = command.account.as_deref().map(account_of).transpose()?;
    let holder = match account {
        Some((_, holder)) => holder,
        None => Holder::parse(&command.holder).ok_or_else(|| LimitsError::Holder(command.holder.clone()))?,
    };
    let ledger = ledger(&command.table, command.endpoint_url.as_deref()).await?;
    let config = config(&ledger, &slug).await?;
    let terms = TenantTerms::read(&config).map_err(|error| TenantError::Config(slug.to_string(), error))?;
    let unknown = || LimitsError::Asset(command.asset.clone());
    let asset = Asset::parse(&command.asset).map_err(|_| unknown())?;
    let changes = changes(&command.rules, holder, terms.spec(&asset).ok_or_else(unknown)?)?;
    match account {
        Some((account, _)) => {
            check_not_migrating(&slug, &config)?;
            set_of_account(&ledger, &slug, account, &asset, &changes).await
        }
        None => set_of_tenant(&ledger, &slug, &terms, (holder, &asset), &changes).await,
    }
}

fn account_of(text: &str) -> Result<(Account, Holder), LimitsError> {
    let account = Account::parse(text).ok().and_then(|account| Some((account, Holder::of(account)?)));
    account.ok_or_else(|| LimitsError::Account(text.to_owned()))
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
    changes: &[LimitChange],
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
        Err(error) => Err(not_applied(slug, error)),
    }
}

async fn set_of_account(
    ledger: &Ledger,
    slug: &Tenant,
    account: Account,
    asset: &Asset,
    changes: &[LimitChange],
) -> Result<String, TenantError> {
    let missing = || LimitsError::NoAccount(account.to_string());
    let (_, key) = tenants::limited_item(slug, account, asset).ok_or_else(missing)?;
    let item = ledger.dynamo().get(&key).await.map_err(unread)?.ok_or_else(missing)?;
    let own = OwnLimits::read(&item, asset).map_err(|error| TenantError::Config(slug.to_string(), error))?;
    let cx = ledger.context(ledger.clock().now())?;
    let transaction = migration::set_account_limits(slug, account, asset, &own, changes, Actor::System, &cx)?;
    match ledger.apply(slug, Operation::TenantConfigure, &transaction).await {
        Ok(()) => Ok(format!("{slug}: the limits of {account} in {asset} are changed, everywhere within a minute")),
        Err(error) if error.failure() == Some(Failure::WrongState) => {
            Err(LimitsError::NoLimits(slug.to_string()).into())
        }
        Err(error) if error.failure() == Some(Failure::AccountMissing) => Err(missing().into()),
        Err(error) => Err(not_applied(slug, error)),
    }
}

fn unread(error: ReadError) -> TenantError {
    TenantError::Store(error.into())
}

fn not_applied(slug: &Tenant, error: ApplyError) -> TenantError {
    if error.failure() == Some(Failure::StalePlan) {
        TenantError::Changed(slug.to_string())
    } else {
        TenantError::Store(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Data, Engine, EngineConfig};
    use crate::{seed, table};
    use ledger_core::customers::open::{self, CustomerOpen};
    use ledger_core::idempotency::{Admission, Answer, CanonicalRequest, Claim, Fields, IdempotencyKey, Window};
    use ledger_core::ids::{CustomerId, Principal, StaffId};
    use ledger_core::limits::Rule;
    use ledger_core::personal::FreeText;

    #[tokio::test]
    async fn limits_of_a_tenant_and_of_an_account_are_changed() {
        let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
        let url = engine.url();
        let client = table::client(&url).await;
        table::ensure(&client, &url, "ledger").await.unwrap();
        let ledger = ledger("ledger", Some(&url)).await.unwrap();
        let (seeded, aoba) = (seed::terms().unwrap(), Tenant::parse("aoba").unwrap());
        let opened = tenants::open(&aoba, &seeded, ledger.clock().now()).unwrap();
        ledger.apply(&aoba, Operation::TenantConfigure, &opened).await.unwrap();
        let staff = StaffId::new(ledger.entropy().uuid_v7(ledger.clock().now()).unwrap());
        let claim = Claim {
            tenant: aoba.clone(),
            principal: Principal::Staff(staff),
            actor: Actor::Staff(staff),
            operation: Operation::CustomerOpen,
            key: IdempotencyKey::parse("open").unwrap(),
            request: CanonicalRequest { method: "POST", path: "/v1/admin/customers".to_owned(), fields: Fields::new() },
            window: Window::of(Operation::CustomerOpen),
            now: ledger.clock().now(),
        };
        let customer = CustomerId::new(ledger.entropy().uuid_v7(ledger.clock().now()).unwrap());
        let command = CustomerOpen {
            tenant: aoba.clone(),
            actor: Actor::Staff(staff),
            customer: Some(customer),
            name: FreeText::parse("Hanako", 140).unwrap(),
            email: None,
            phone: None,
        };
        let plan = async |cx| Ok(open::plan(&command, &seeded, &cx)?);
        let answer = || Answer {
            status: 201,
            content_type: "application/json".to_owned(),
            location: None,
            body: "{}".to_owned(),
        };
        let made = ledger.perform(claim, Admission::Execute, plan, |_| answer()).await;
        assert_eq!(made.status(), 201);

        let set = async |rules: &[&str], holder: &str, account: Option<String>| {
            set_limits(&LimitsCommand {
                slug: "aoba".to_owned(),
                rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
                holder: holder.to_owned(),
                account,
                asset: "ECOPAY".to_owned(),
                table: "ledger".to_owned(),
                endpoint_url: Some(url.clone()),
            })
            .await
        };
        let terms = async || TenantTerms::read(&config(&ledger, &aoba).await.unwrap()).unwrap();
        let own = || Some(format!("customer:{customer}"));
        let refused = |done: Result<String, TenantError>| match done {
            Err(TenantError::Limits(error)) => error,
            other => panic!("{other:?}"),
        };
        assert!(matches!(refused(set(&["pay_day=1"], "customer", own()).await), LimitsError::NoLimits(_)));
        assert!(
            set(&["pay_day=5000", "topup_month=60000"], "customer", None).await.unwrap().contains("every customer")
        );
        let _ = set(&["cash_topup_day=3000"], "card", None).await.unwrap();
        let _ = set(&["topup_month=none"], "customer", None).await.unwrap();
        let _ = set(&["pay_day=none"], "customer", own()).await.unwrap();
        let limits = terms().await.limits.unwrap();
        let most =
            |holder, rule| limits.most(holder, &Asset::Ecopay, Rule::parse(rule).unwrap()).map(|most| most.text());
        assert_eq!(most(Holder::Customer, "pay_day").as_deref(), Some("5000"));
        assert_eq!(most(Holder::Customer, "topup_month"), None);
        assert_eq!(most(Holder::Card, "cash_topup_day").as_deref(), Some("3000"));
        assert!(limits.has_own_limits());
        let (_, key) = tenants::limited_item(&aoba, Account::Customer(customer), &Asset::Ecopay).unwrap();
        let item = ledger.dynamo().get(&key).await.unwrap().unwrap();
        assert_eq!(OwnLimits::read(&item, &Asset::Ecopay).unwrap().text().as_deref(), Some("pay_day=none"));
        // The flag stays when the tenant's limits are changed again.
        let _ = set(&["pay_day=4000"], "customer", None).await.unwrap();
        assert!(terms().await.limits.unwrap().has_own_limits());

        let stranger = Some(format!("customer:{}", staff));
        assert!(matches!(refused(set(&["pay_day=1"], "customer", stranger).await), LimitsError::NoAccount(_)));
        assert!(matches!(refused(set(&["pay_day=x"], "customer", None).await), LimitsError::Rule(..)));
        assert!(matches!(refused(set(&["pay_day=1"], "shop", None).await), LimitsError::Holder(_)));
        let of_merchant = Some(format!("merchant:{customer}"));
        assert!(matches!(refused(set(&["pay_day=1"], "customer", of_merchant).await), LimitsError::Account(_)));
        engine.stop().await;
    }
}
