//! The operator opens a customer's wallet: the profile and one balance item per asset. Credits require these items,
//! so money cannot go to a mistyped id.

use super::sign_in;
use crate::audit::Act;
use crate::dynamo::{Item, Value};
use crate::failure::Failure;
use crate::finding;
use crate::idempotency::MarkerKeys;
use crate::ids::{Actor, CustomerId, Tenant};
use crate::keys::{Lookup, Partition, attr};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::TenantTerms;
use crate::time::Timestamp;
use crate::transaction::{Draft, Planned, Role, TransactItem};

/// A customer to be created.
#[derive(Clone, Debug)]
pub struct CustomerOpen {
    /// The tenant.
    pub tenant: Tenant,
    /// Who opens the wallet.
    pub actor: Actor,
    /// The id that the identity provider gave; `None`: a new one is generated.
    pub customer: Option<CustomerId>,
    /// The customer's name.
    pub name: FreeText,
    /// How the name is read.
    pub kana: Option<FreeText>,
    /// The customer's e-mail address.
    pub email: Option<FreeText>,
    /// The customer's telephone number.
    pub phone: Option<FreeText>,
}

/// What a response says about a new customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CustomerReceipt {
    /// The customer.
    pub customer: CustomerId,
    /// When it was created.
    pub created_at: Timestamp,
}

/// Builds the opening's transaction. `keys` are those of what customers are looked up by.
///
/// # Errors
/// Never, at present; the signature is that of every builder.
pub fn plan(
    command: &CustomerOpen,
    terms: &TenantTerms,
    keys: &MarkerKeys,
    cx: &Context,
) -> Result<Planned<CustomerReceipt>, PlanRefusal> {
    let customer = command.customer.unwrap_or(CustomerId::new(cx.resource_id));
    let partition = Partition::customer(&command.tenant, customer);
    // What is retired is not credited.
    let assets = || terms.assets.values().filter(|terms| terms.is_credited()).map(|terms| terms.spec.asset());
    let accounts = i64::try_from(assets().count()).unwrap_or(i64::MAX);
    let mut profile = Item::from([
        ("customer_id".to_owned(), Value::s(customer)),
        ("name".to_owned(), Value::s(command.name.expose())),
        ("status".to_owned(), Value::s("active")),
        ("accounts".to_owned(), Value::int(accounts)),
        (attr::CREATED_AT.to_owned(), Value::s(cx.now)),
        (attr::UPDATED_AT.to_owned(), Value::s(cx.now)),
    ]);
    let texts = [
        (Lookup::Email, command.email.as_ref()),
        (Lookup::Phone, command.phone.as_ref()),
        (Lookup::Kana, command.kana.as_ref()),
    ];
    for (attribute, text) in texts {
        if let Some(text) = text {
            profile.insert(attribute.name().to_owned(), Value::s(text.expose()));
        }
    }
    profile.extend(finding::customer(&command.tenant, customer, cx.now));
    let values = texts.into_iter().chain([(Lookup::Name, Some(&command.name))]);
    let given = values.filter_map(|(lookup, text)| Some((lookup, text?)));
    let write = |(lookup, text): (Lookup, &FreeText)| {
        finding::write_customer(&command.tenant, customer, (lookup, Some(text.expose())), keys)
    };
    let found_by: Vec<_> = given.map(write).collect();
    let mut items = vec![TransactItem::put_new(Role::Profile, partition.profile(), profile, Failure::AlreadyExists)];
    for asset in assets() {
        let balance = Item::from([
            (attr::BALANCE.to_owned(), Value::int(0)),
            (attr::HELD.to_owned(), Value::int(0)),
            (attr::EXPOSURE.to_owned(), Value::int(0)),
            (attr::CREATED_AT.to_owned(), Value::s(cx.now)),
            (attr::UPDATED_AT.to_owned(), Value::s(cx.now)),
        ]);
        items.push(TransactItem::put_new(Role::Payee, partition.balance(asset), balance, Failure::AlreadyExists));
    }
    items.extend(found_by);
    // An id that is made here is no one's subject.
    items.extend(command.customer.and_then(|given| sign_in::not_taken(&command.tenant, given, terms)));
    let act = Act::new(command.actor, Operation::CustomerOpen, format!("customer:{customer}"));
    items.push(act.record(&command.tenant, cx));
    Ok(Planned { draft: Draft { entry: None, items }, receipt: CustomerReceipt { customer, created_at: cx.now } })
}
