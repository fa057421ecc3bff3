//! Keys that the table returns, checked to be of one tenant.

use super::{Key, OWN, Partition, sk, tenant_of};
use crate::account::Account;
use crate::ids::{CardId, CustomerId, MerchantId, Tenant, TopupId, TransactionId};
use crate::psp::Step;
use uuid::Uuid;

/// Sorts after every character of an id.
const LAST: char = '~';

impl Key {
    /// The key of a stored item; `None` if it is another tenant's.
    #[must_use]
    pub fn stored(tenant: &Tenant, pk: &str, sk: &str) -> Option<Self> {
        (tenant_of(pk).as_ref() == Some(tenant)).then(|| Self { pk: pk.to_owned(), sk: sk.to_owned() })
    }

    /// The partition of the item.
    #[must_use]
    pub fn partition(&self) -> Partition {
        Partition(self.pk.clone())
    }

    /// The kind of its partition, such as `customer`; `None` if it has no tenant's form.
    #[must_use]
    pub fn partition_kind(&self) -> Option<&str> {
        self.pk.split_once('#')?.1.split_once('#').map(|(kind, _)| kind)
    }

    /// The customer whose partition it is in; `None` if it is another kind of partition.
    #[must_use]
    pub fn customer(&self) -> Option<CustomerId> {
        let (kind, id) = self.pk.split_once('#')?.1.split_once('#')?;
        if kind == "customer" { CustomerId::parse(id).ok() } else { None }
    }

    /// The top-up whose first step this trail record is; `None` for any other key.
    ///
    /// The first step of a top-up is its claim: the creation of the PaymentIntent under the first fencing token. Its refunds
    /// have steps of their own in the same partition.
    #[must_use]
    pub fn claimed_topup(&self) -> Option<TopupId> {
        let tenant = tenant_of(&self.pk)?;
        let id = self.pk.split_once('#')?.1.strip_prefix("topup#")?;
        let step = self.sk.strip_prefix(sk::TRAIL)?.strip_prefix(id)?.strip_prefix('#')?;
        let id = TopupId::parse(id).ok()?;
        let is_claim = step.ends_with(&format!("#{}#0001.00", Step::CreateIntent.name()));
        (is_claim && Partition::topup(&tenant, id) == self.partition()).then_some(id)
    }

    /// The account and id of the journal entry under this key; `None` if it is another kind of item.
    #[must_use]
    pub fn entry(&self) -> Option<(Account, TransactionId)> {
        let tenant = tenant_of(&self.pk)?;
        let (kind, id) = self.pk.split_once('#')?.1.split_once('#')?;
        let account = match kind {
            "customer" => Account::Customer(CustomerId::parse(id).ok()?),
            "card" => Account::Card(CardId::parse(id).ok()?),
            "merchant" => Account::Merchant(MerchantId::parse(id).ok()?),
            OWN => Account::parse(id).ok()?,
            _ => return None,
        };
        let id = TransactionId::parse(self.sk.strip_prefix(sk::TXN)?).ok()?;
        // Accept the canonical form only: a key that merely parses the same is another item.
        let same = Partition::account(&tenant, account)?.entry(id);
        (same == *self).then_some((account, id))
    }
}

impl Partition {
    /// The smallest and the largest sort key of a journal entry with this id or a later one.
    #[must_use]
    pub fn entries_from(id: Uuid) -> (String, String) {
        (format!("{}{id}", sk::TXN), format!("{}{LAST}", sk::TXN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::TenantAccount;

    const ID: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";

    #[test]
    fn stored_key_of_another_tenant_is_refused() {
        let demo = Tenant::parse("demo").unwrap();
        let pk = format!("demo#customer#{ID}");
        assert!(Key::stored(&demo, &pk, "TXN#x").is_some());
        for other in ["other#customer#1", "demo2#customer#1", "demo", "", "#customer#1", "DEMO#customer#1"] {
            assert_eq!(Key::stored(&demo, other, "TXN#x"), None, "{other}");
        }
    }

    #[test]
    fn first_step_of_a_topup_is_recognized_and_no_other_step() {
        let demo = Tenant::parse("demo").unwrap();
        let (id, other) = (TopupId::parse(ID).unwrap(), ID.replace("5e", "5f"));
        let claimed = |pk: &str, sk: &str| Key::stored(&demo, pk, sk).unwrap().claimed_topup();
        let (pk, at) = (format!("demo#topup#{ID}"), "2026-11-21T03:00:00.000Z");
        let step = |of: &str, place: &str| format!("TRAIL#{of}#{at}#{place}");
        assert_eq!(claimed(&pk, &step(ID, "create_intent#0001.00")), Some(id));
        for (pk, sk) in [
            (pk.as_str(), step(ID, "create_intent#0001.99")),
            (&pk, step(ID, "create_intent#0002.00")),
            (&pk, step(ID, "create_refund#0001.00")),
            (&pk, step(&other, "create_intent#0001.00")),
            (&pk, step(ID, "cancel0001.sent")),
            (&pk, "TOPUP".to_owned()),
            (&format!("demo#topup#{}", ID.to_uppercase()), step(&ID.to_uppercase(), "create_intent#0001.00")),
            (&format!("demo#payment#{ID}"), step(ID, "create_intent#0001.00")),
        ] {
            assert_eq!(claimed(pk, &sk), None, "{pk} {sk}");
        }
    }

    #[test]
    fn entry_key_is_recognized_in_canonical_form_only() {
        let demo = Tenant::parse("demo").unwrap();
        let entry = |pk: &str, sk: &str| Key::stored(&demo, pk, sk).unwrap().entry();
        let id = TransactionId::parse(ID).unwrap();
        for account in [
            Account::Customer(CustomerId::parse(ID).unwrap()),
            Account::Card(CardId::parse(ID).unwrap()),
            Account::Merchant(MerchantId::parse(ID).unwrap()),
            Account::Tenant(TenantAccount::Bank),
        ] {
            let key = Partition::account(&demo, account).unwrap().entry(id);
            assert_eq!(entry(key.pk(), key.sk()), Some((account, id)));
            let (low, high) = Partition::entries_from(id.uuid());
            assert!(low.as_str() <= key.sk() && key.sk() < high.as_str());
        }
        let (pk, sk) = (format!("demo#customer#{ID}"), format!("TXN#{ID}"));
        for (pk, sk) in [
            (pk.as_str(), "PROFILE"),
            (&pk, "TXN#"),
            (&pk, &format!("TXNREF#{ID}")),
            (&pk, &sk.to_uppercase()),
            (&format!("demo#customer#{}", ID.to_uppercase()), &sk),
            (&format!("demo#staff#{ID}"), &sk),
            ("demo#own#fees", &sk),
            (&format!("demo#own#customer:{ID}"), &sk),
            ("demo#customer", &sk),
        ] {
            assert_eq!(entry(pk, sk), None, "{pk} {sk}");
        }
    }
}
