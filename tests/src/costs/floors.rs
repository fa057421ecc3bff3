//! The fewest write units with which an operation could keep its promise, and what today's design adds to them.
//!
//! The promise: one transaction; a replay in one round trip with the stored bytes; no item shared between payers; each
//! record credited once; each account's events in order; every record in the chain.

/// Write units, and what they are for.
pub type Part = (&'static str, u64);

/// The floor of an operation, and what its requests take beyond it.
pub struct Floor {
    /// The operation, as `tests/costs.txt` names it.
    pub operation: &'static str,
    /// What its transactions must write.
    pub parts: &'static [Part],
    /// Its records of the audit trail, each of which is stamped when it is sealed.
    pub records: u64,
    /// What its transactions write besides.
    pub above: &'static [Part],
}

/// For a record of the audit trail after its request, in tenths: 2 for its stamp, 1 for its entry in `due`, and its
/// share of a full segment, 0.2.
pub(super) const STAMP_TENTHS: u64 = 32;

const MARKER: Part = ("marker", 2);
const WALLET: Part = ("wallet", 2);
const CARD: Part = ("card", 2);
const ENTRY: Part = ("journal entry", 2);
const LIST: Part = ("merchant's list", 1);
const WORK: Part = ("work to be done", 1);
const POINTS: Part = ("points are an item of their own", 2);
const PAYMENT: Part = ("`PAYMENT` beside the entry", 2);
const REFERENCE: Part = ("the other history's entry is an item, not an index entry", 1);

/// The floors of the operations whose lives are measured, in their order.
pub const FLOORS: [Floor; 10] = [
    Floor {
        operation: "payment in money",
        parts: &[MARKER, WALLET, ENTRY, LIST, WORK],
        records: 1,
        above: &[POINTS, PAYMENT],
    },
    Floor {
        operation: "payment in three assets",
        parts: &[MARKER, WALLET, ENTRY, LIST, WORK],
        records: 1,
        above: &[POINTS, ("so is regional currency", 2), PAYMENT],
    },
    Floor {
        operation: "charge of a one-time code",
        parts: &[MARKER, ("code", 2), WALLET, ENTRY, LIST, WORK],
        records: 1,
        above: &[POINTS, PAYMENT],
    },
    Floor {
        operation: "authorization and capture",
        parts: &[
            ("two markers", 4),
            ("code", 2),
            ("wallet, twice", 4),
            ("two journal entries", 4),
            ("hold, twice", 4),
            ("its expiry, set and removed", 2),
            LIST,
            ("work to be done, twice", 2),
        ],
        records: 2,
        above: &[
            POINTS,
            ("`PAYMENT` beside the hold, twice", 4),
            ("the hold is in the list of open holds, set and removed", 2),
        ],
    },
    Floor {
        operation: "refund",
        parts: &[MARKER, WALLET, ENTRY, ("what may still be refunded of the payment", 2), LIST, WORK],
        records: 1,
        above: &[POINTS, ("`REFUND` beside the entry", 2), ("the merchant's refund room", 2)],
    },
    Floor {
        operation: "card payment",
        parts: &[MARKER, CARD, ENTRY, LIST, ("terminal's history", 1), WORK],
        records: 1,
        above: &[PAYMENT, REFERENCE],
    },
    Floor {
        operation: "card top-up",
        parts: &[MARKER, CARD, ENTRY, ("terminal's history", 1), WORK],
        records: 1,
        above: &[REFERENCE, ("the terminal's cash room", 2)],
    },
    Floor {
        operation: "transfer",
        parts: &[MARKER, ("two wallets", 4), ENTRY, ("recipient's history", 1), WORK],
        records: 1,
        above: &[REFERENCE],
    },
    Floor {
        operation: "top-up and its event",
        parts: &[
            ("claim: marker", 2),
            ("headroom in the wallet", 2),
            ("top-up", 2),
            ("what must be looked up", 1),
            ("step on record, with its work", 3),
            ("answer: marker", 2),
            ("step on record, with its work", 3),
            ("event: wallet", 2),
            ("top-up, and its lookup's end", 3),
            ("journal entry, with its work", 3),
        ],
        records: 3,
        above: &[
            ("the claim is found by an index entry, set and removed", 2),
            ("the marker is larger than 1 KB, without and with the answer", 4),
            ("the top-up is in its customer's list", 1),
            ("the top-up notes the PaymentIntent", 2),
            POINTS,
            ("the event's step is a record besides the entry", 3),
            ("the event's own marker", 2),
        ],
    },
    Floor {
        operation: "grant of points",
        parts: &[MARKER, WALLET, ENTRY, ("list of the staff's acts", 1), WORK],
        records: 1,
        above: &[
            ("what the member grants alone in the day", 2),
            ("the check that the wallet is not the member's own", 2),
            ("the act is an item, not an index entry of the journal's", 1),
            ("the act is in the list of those on its customer", 1),
        ],
    },
];

impl Floor {
    /// The write units of the transactions at the floor.
    #[must_use]
    pub fn request(&self) -> u64 {
        sum(self.parts)
    }

    /// The whole floor, in tenths.
    #[must_use]
    pub fn tenths(&self) -> u64 {
        self.request() * 10 + self.records * STAMP_TENTHS
    }

    /// The write units of the transactions above the floor.
    #[must_use]
    pub fn above(&self) -> u64 {
        sum(self.above)
    }
}

fn sum(parts: &[Part]) -> u64 {
    parts.iter().map(|(_, units)| units).sum()
}
