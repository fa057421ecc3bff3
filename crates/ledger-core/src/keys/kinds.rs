//! Every kind of item in the table: where it is, what it is called, and which list of the index by owner has it.

/// A kind of item, declared once. [`ITEM_FORMS`] has all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemForm {
    /// The partition without the tenant: `customer#<id>`.
    pub partition: &'static str,
    /// The sort key: `TXN#<id>`. What is in angle brackets differs from item to item.
    pub sort_key: &'static str,
    /// What it is, in words.
    pub name: &'static str,
    /// The partition of the index by owner that lists it, without the tenant; `None` if it is in no list.
    pub listed: Option<&'static str>,
}

/// Every kind of item, by partition.
pub const ITEM_FORMS: [ItemForm; 92] = [
    // What the tenant is: it stays small.
    form(TENANT, "CONFIG", "configuration"),
    form(TENANT, "TERMS#<version>", "version of the terms"),
    form(TENANT, "BUDGET#<asset>", "budget of an asset"),
    form(TENANT, "CALENDAR", "settlement calendar"),
    form(TENANT, "CASH_ROOM", "cash rooms of counters"),
    form(TENANT, "STAFF#<id>", "member of the operator's staff"),
    form(TENANT, "PERSON#<key>#<hash>", "reserved e-mail address, once"),
    form(TENANT, "STAFF_COUNTS", "number of owners and deciders"),
    form(TENANT, "DENIED#<id>#<hour>", "denials of a member in an hour"),
    form(TENANT, "OWNER_RECOVERY", "last recovery of the owners"),
    form(TENANT, "MIGRATION#<kind>", "last pass of a migration"),
    form("rate#<window>", "RATE", "requests of a window"),
    // Jobs.
    listed("job#<id>", "JOB", "job", "jobs#<kind>#0"),
    form("job#<id>", "LINE#<place>", "line of a job"),
    form("job#<id>", "CUSTOMERS", "customers of a bulk grant"),
    // Transfers to merchants' bank accounts.
    form("bank_transfers#<day>", "TRANSFER#<settlement>", "transfer to a merchant"),
    listed("bank_file#<id>", "FILE", "bank file", "bank_files#0"),
    form("bank_file#<id>", "PART#<number>", "transfers of a bank file"),
    form("own#<account>", ENTRY, "journal entry"),
    // What the staff does.
    listed("audit#<day>#<shard>", "AUDIT#<id>", "act of the staff", "acts_of#<customer>#0"),
    form("audit#<day>#<shard>", "NOTICE#<id>", "notice of a change"),
    form("approvals#<month>", "APPROVAL#<id>", "command that takes two people"),
    form("staff#<id>", MARKER, "marker"),
    form("staff#<id>", LEDGERS_MARKER, "marker of a derived key"),
    // The audit trail, figures and reconciliation.
    form("bindings#root", "LANES", "head of all lanes"),
    form("bindings#root", "BINDING#<day>#<number>", "binding of the lanes"),
    form("lane#<number>", "HEAD", "head of a lane"),
    form("lane#<number>", "SEGMENT#<number>", "segment of a lane"),
    form("fold#root", "FOLD", "how far entries are folded"),
    form("batch#<number>", "BATCH", "batch of the fold"),
    form("totals#<of>", "DAY#<date>", "closed day"),
    form("totals#<of>", "TOTALS#<date>", "totals of a day"),
    form("totals_of#<group>", "SUBJECT#<of>", "what has totals"),
    form("active#<date>", "ACTIVE#<batch>", "active accounts of a day"),
    listed("reconciliation#<id>", "RECONCILIATION", "reconciliation run", "reconciliations#0"),
    listed("reconciliation#<id>", "BREAK#<id>", "break of a run", "breaks#0"),
    // Customers.
    listed(CUSTOMER, "PROFILE", "customer", "customers#<shard>"),
    listed(CUSTOMER, "LOOKUP#<what>", "what a customer is found by", "<what>#..."),
    form(CUSTOMER, "LOOKUP#sign_in", "whose sign-in a subject is"),
    form(CUSTOMER, "CODE", "payment code"),
    form(CUSTOMER, "BALANCE#<asset>", "balance"),
    form(CUSTOMER, "METRICS", "aggregates of the legacy model"),
    form(CUSTOMER, "customer", "God Record"),
    form(CUSTOMER, "history#<milliseconds>#<operation>", "line of the legacy history"),
    form(CUSTOMER, ENTRY, "journal entry"),
    form(CUSTOMER, REFERENCE, "reference to an entry"),
    listed(CUSTOMER, MARKER, "marker", "refused#<shard>"),
    form(CUSTOMER, LEDGERS_MARKER, "marker of a derived key"),
    // Cards.
    listed(CARD, "card", "card", "cards#<shard>"),
    form(CARD, "PIN", "PIN of a card"),
    form(CARD, ENTRY, "journal entry"),
    form(CARD, REFERENCE, "reference to an entry"),
    // Merchants.
    listed(MERCHANT, "PROFILE", "merchant", "merchants#0"),
    listed(MERCHANT, "LOOKUP#<what>", "what a merchant is found by", "merchant_names#0"),
    form(MERCHANT, "SHOP#<id>", "shop"),
    form(MERCHANT, "STAFF#<id>", "member of a merchant's staff"),
    form(MERCHANT, "PERSON#<key>#<hash>", "reserved e-mail address, once"),
    form(MERCHANT, "STAFF_COUNTS", "number of owners and deciders"),
    form(MERCHANT, "DENIED#<id>#<hour>", "denials of a member in an hour"),
    form(MERCHANT, "BALANCE#<asset>", "balance"),
    form(MERCHANT, "CREDITED#<lane>", "what a lane has credited"),
    form(MERCHANT, "PERIOD#<id>", "closed period"),
    form(MERCHANT, "PERIOD_BACK#<id>", "period that was given back"),
    form(MERCHANT, "SETTLING", "open settlement"),
    listed(MERCHANT, "SETTLEMENT#<id>", "settlement", "settlements#0"),
    form(MERCHANT, "SETTLED#<id>#<batch>", "records and periods of a settlement"),
    form(MERCHANT, "RETURNED#<id>", "returned payout"),
    form(MERCHANT, "CASH_ROOM", "cash rooms of a merchant"),
    form(MERCHANT, "REFUND_ROOM", "refund room"),
    form(MERCHANT, "CASH_BONUS#<entry>", "bonus on cash"),
    form(MERCHANT, "DEPOSIT_REVERSED#<entry>", "deposit that was taken back"),
    form(MERCHANT, ENTRY, "journal entry"),
    form(MERCHANT, REFERENCE, "reference to an entry"),
    form(MERCHANT, TRAIL, "step of a settlement"),
    listed(MERCHANT, MARKER, "marker", "refused#<shard>"),
    form(MERCHANT, LEDGERS_MARKER, "marker of a derived key"),
    // Terminals.
    listed(TERMINAL, "PROFILE", "terminal", "terminals#<shard>"),
    listed(TERMINAL, "LOOKUP#<what>", "what a terminal is found by", "terminals_of#<merchant>"),
    form(TERMINAL, "ENROLMENT", "enrolment code"),
    form(TERMINAL, "COLLECTION#<id>", "collection of a counter's cash"),
    form(TERMINAL, REFERENCE, "reference to an entry"),
    listed(TERMINAL, MARKER, "marker", "refused#<shard>"),
    // Payments and top-ups.
    listed(PAYMENT, "PAYMENT", "payment", "merchant#<merchant>#<shard>"),
    form(PAYMENT, "HOLD", "hold of a payment"),
    listed(PAYMENT, "REFUND#<id>", "refund of a payment", "merchant#<merchant>#<shard>"),
    form(PAYMENT, TRAIL, "step of a payment"),
    listed(TOPUP, "TOPUP", "top-up", "topups_of#<customer>#0"),
    form(TOPUP, "REFUND#<id>", "refund of a top-up"),
    form(TOPUP, "CLAWBACK#<id>", "clawback of a top-up"),
    form(TOPUP, TRAIL, "step of a top-up"),
    form("stripe_event#<id>", "event", "event that was applied"),
    form("stripe_event#<id>", "kept", "event that needs review"),
];

const TENANT: &str = "tenant#root";
const CUSTOMER: &str = "customer#<id>";
const CARD: &str = "card#<id>";
const MERCHANT: &str = "merchant#<id>";
const TERMINAL: &str = "terminal#<id>";
const PAYMENT: &str = "payment#<id>";
const TOPUP: &str = "topup#<id>";
const ENTRY: &str = "TXN#<id>";
const REFERENCE: &str = "TXNREF#<id>";
const MARKER: &str = "card_op_idem#<operation>#<key>";
const LEDGERS_MARKER: &str = "ledger_idem#<operation>#<key>";
const TRAIL: &str = "TRAIL#<resource>#<time>#<place>";

const fn form(partition: &'static str, sort_key: &'static str, name: &'static str) -> ItemForm {
    ItemForm { partition, sort_key, name, listed: None }
}

const fn listed(partition: &'static str, sort_key: &'static str, name: &'static str, list: &'static str) -> ItemForm {
    ItemForm { partition, sort_key, name, listed: Some(list) }
}

/// The kind of the item under a key of the table; `None` if the ledger writes no such item.
#[must_use]
pub fn kind_of(partition_key: &str, sort_key: &str) -> Option<&'static ItemForm> {
    let (_, partition) = partition_key.split_once('#')?;
    let is_of = |form: &&ItemForm| fits(form.partition, partition) && fits(form.sort_key, sort_key);
    // `LOOKUP#sign_in` is more than `LOOKUP#<what>`.
    ITEM_FORMS.iter().filter(is_of).max_by_key(|form| fixed(form.sort_key).len())
}

/// Whether a text has a form: it is the form, or begins with the form's fixed part and has at least as many parts.
fn fits(form: &str, text: &str) -> bool {
    let parts = |text: &str| text.split('#').count();
    if form.contains('<') { text.starts_with(fixed(form)) && parts(text) >= parts(form) } else { text == form }
}

/// What every text of a form begins with.
fn fixed(form: &str) -> &str {
    form.split('<').next().unwrap_or(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_is_that_of_the_longest_form() {
        let id = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";
        for (partition, sort_key, name) in [
            ("job#1", "JOB".to_owned(), Some("job")),
            ("job#1", format!("LINE#customer:{id}"), Some("line of a job")),
            ("job#1", "LINE".to_owned(), None),
            ("tenant#root", "TERMS#0000000001".to_owned(), Some("version of the terms")),
            ("customer#1", "LOOKUP#sign_in".to_owned(), Some("whose sign-in a subject is")),
            ("customer#1", "LOOKUP#email".to_owned(), Some("what a customer is found by")),
            ("customer#1", "card_op_idem#pay#a#b".to_owned(), Some("marker")),
            ("audit#2026-11-21#3", format!("AUDIT#{id}"), Some("act of the staff")),
            ("lane#3", "HEAD".to_owned(), Some("head of a lane")),
            ("lane", "HEAD".to_owned(), None),
            ("tenant#root", "CONFIGURATION".to_owned(), None),
            ("tenant#other", "CONFIG".to_owned(), None),
            ("customer#1", "TXN".to_owned(), None),
        ] {
            let found = kind_of(&format!("demo#{partition}"), &sort_key).map(|form| form.name);
            assert_eq!(found, name, "{partition} {sort_key}");
        }
    }

    #[test]
    fn every_form_is_found_by_itself() {
        for form in &ITEM_FORMS {
            assert_eq!(kind_of(&format!("demo#{}", form.partition), form.sort_key), Some(form));
        }
    }
}
