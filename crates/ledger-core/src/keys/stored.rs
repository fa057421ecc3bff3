//! Keys that the table returns, checked to be of one tenant.

use super::{Key, Partition, sk, tenant_of};
use crate::account::Account;
use crate::ids::{CardId, CustomerId, MerchantId, Tenant, TransactionId};
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

    /// The account and id of the journal entry under this key; `None` if it is another kind of item.
    #[must_use]
    pub fn entry(&self) -> Option<(Account, TransactionId)> {
        let tenant = tenant_of(&self.pk)?;
        let (kind, id) = self.pk.split_once('#')?.1.split_once('#')?;
        let account = match kind {
            "customer" => Account::Customer(CustomerId::parse(id).ok()?),
            "card" => Account::Card(CardId::parse(id).ok()?),
            "merchant" => Account::Merchant(MerchantId::parse(id).ok()?),
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
    fn entry_key_is_recognized_in_canonical_form_only() {
        let demo = Tenant::parse("demo").unwrap();
        let entry = |pk: &str, sk: &str| Key::stored(&demo, pk, sk).unwrap().entry();
        let id = TransactionId::parse(ID).unwrap();
        for account in [
            Account::Customer(CustomerId::parse(ID).unwrap()),
            Account::Card(CardId::parse(ID).unwrap()),
            Account::Merchant(MerchantId::parse(ID).unwrap()),
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
            ("demo#customer", &sk),
        ] {
            assert_eq!(entry(pk, sk), None, "{pk} {sk}");
        }
    }
}
