//! The roles that items have in transactions. A refusal names the role of the item whose guard failed.

/// What an item is for in its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The idempotency marker, always first.
    Marker,
    /// A journal entry.
    Journal,
    /// A reference to it for another party's history.
    JournalReference,
    /// A balance that is debited.
    Payer,
    /// A balance that is credited.
    Payee,
    /// A balance of points.
    Points,
    /// A customer's aggregates.
    Metrics,
    /// A payment.
    Payment,
    /// A refund of a payment, or a reversal.
    Refund,
    /// A profile.
    Profile,
    /// An item by which a customer, merchant or terminal is looked up.
    Lookup,
    /// A stored-value card.
    Card,
    /// The PIN of a card, with its attempts.
    CardPin,
    /// A one-time code.
    Code,
    /// An audit record.
    Audit,
    /// A notice of a changed address.
    Notice,
    /// A tenant's configuration.
    Config,
    /// A tenant's item in the registry.
    RegisteredTenant,
    /// A version of a tenant's terms.
    Terms,
    /// The marker of the operation that is reversed.
    OriginalMarker,
    /// A job, or the customers of a bulk grant.
    Job,
    /// A top-up through the PSP.
    Topup,
    /// Money that the PSP took by itself: a dispute, or a refund made at the PSP.
    Clawback,
    /// The marker of an operation that is still in flight.
    Flight,
    /// A kept event of the PSP, which needs review.
    KeptEvent,
    /// The number of a tenant's requests in a window that have been leased.
    Rate,
    /// What a merchant is credited with in a lane of the audit trail.
    Crediting,
    /// A merchant's balance.
    MerchantBalance,
    /// The hold of a payment.
    Hold,
    /// A settlement, a merchant's open settlement, or the list of records that one has taken.
    Settlement,
    /// A trail record: a step of an operation that calls outside.
    Trail,
    /// A head of the audit trail's lanes: of one, or of all.
    Sealing,
    /// A segment or a binding of the audit trail's lanes.
    Seal,
    /// A record that is sealed.
    Sealed,
    /// A record whose text is erased.
    Erased,
    /// A transfer to a merchant's bank account.
    BankTransfer,
    /// A bank file, or the list of transfers that one transaction took into it.
    BankFile,
    /// Money of a paid settlement that was returned.
    Returned,
    /// A merchant's closed period.
    Period,
    /// A terminal with its cash room, the cash rooms of a merchant or of the operator, or a collection of a counter's cash.
    CashRoom,
    /// The refund room of a merchant.
    RefundRoom,
    /// The budget of an asset.
    Budget,
    /// The bonus on cash that a merchant owes.
    Bonus,
    /// A reconciliation run, or a break that it found.
    Reconciliation,
    /// A God Record, or an item of the legacy history.
    GodRecord,
    /// A closed posting day, the totals of a day, or how far they are folded.
    Figures,
    /// A pass over all customers of a migrating tenant.
    Migration,
    /// A staff member's record.
    Staff,
    /// The item that keeps a person from having two records.
    Person,
    /// The number of active owners and deciders.
    StaffCounts,
    /// The number of a person's denials that are recorded in an hour.
    Denials,
    /// A command that another person must approve.
    Approval,
    /// The recovery of a tenant's owners.
    Recovery,
    /// A shop of a merchant, with the number of what is assigned to it.
    Shop,
    /// The line of a subject of a job.
    JobLine,
    /// Up to which day a tenant's closing days were dealt with.
    SettlementCalendar,
}
