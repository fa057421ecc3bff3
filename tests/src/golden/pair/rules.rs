//! The differences that changes of forms may make.

/// Differences that a change of forms may make.
#[derive(Debug)]
pub struct Rule {
    /// Why they are right.
    pub name: &'static str,
    /// Their lines; `*` matches any text.
    pub lines: &'static [&'static str],
}

/// The rules.
pub const RULES: &[Rule] = &[
    Rule { name: "a vector is added", lines: &["vector added: *"] },
    Rule { name: "an item of the tenant's root partition has another key", lines: &["moved: tenant *"] },
    Rule {
        name: "runs and breaks are listed through the index by owner",
        lines: &["Put reconciliation * with attribute owner_pk S", "Put reconciliation * with attribute owner_sk S"],
    },
    Rule {
        name: "the first totals of a day list what they are of",
        lines: &["action added: Put totals_of SUBJECT", "row added: *totals_of SUBJECT*"],
    },
    Rule {
        name: "a read names another partition, or a list",
        lines: &["request of reads/*", "vector removed: reads/next_with_totals", "vector removed: reads/seal_heads"],
    },
    Rule {
        name: "text that a person typed is outside the seal, and its hash is not",
        lines: &[
            "Put * with attribute _memo M",
            "Put * with attribute memo_hash B",
            "Put * without attribute memo S",
            "Put * without attribute reason S",
        ],
    },
    Rule { name: "due work is one list, and its reads are two", lines: &["vector removed: reads/*"] },
    Rule {
        name: "open holds and what needs review are listed by owner",
        lines: &[
            "Put payment HOLD with attribute owner_pk S",
            "Put payment HOLD with attribute owner_sk S",
            "Put stripe_event kept with attribute owner_pk S",
            "Put stripe_event kept with attribute owner_sk S",
            "Put stripe_event kept without attribute _due_pk S",
            "Put stripe_event kept without attribute _due_sk S",
            "Update * card_op_idem with update REMOVE #_due_pk",
            "Update * card_op_idem with update REMOVE #_due_sk",
            "Update * card_op_idem with update REMOVE #owner_pk",
            "Update * card_op_idem with update REMOVE #owner_sk",
            "Update * card_op_idem with update SET #owner_pk = :owner_pk",
            "Update * card_op_idem with update SET #owner_sk = :owner_sk",
            "Update * card_op_idem with value :owner_pk S",
            "Update * card_op_idem with value :owner_sk S",
            "Update * card_op_idem without update SET #_due_pk = :due_pk",
            "Update * card_op_idem without update SET #_due_sk = :due_sk",
            "Update * card_op_idem without value :due_pk S",
            "Update * card_op_idem without value :due_sk S",
            "Update payment HOLD with update REMOVE #owner_pk",
            "Update payment HOLD with update REMOVE #owner_sk",
            "Update stripe_event kept with update REMOVE #owner_pk",
            "Update stripe_event kept with update REMOVE #owner_sk",
            "Update stripe_event kept without update REMOVE #_due_pk",
            "Update stripe_event kept without update REMOVE #_due_sk",
            "request of reads/open_holds",
        ],
    },
    Rule {
        name: "what a settlement or a bonus run takes is in its merchant's partition",
        lines: &[
            "Put merchant CASH_BONUS without attribute _due_pk S",
            "Put merchant CASH_BONUS without attribute _due_sk S",
            "Put merchant RETURNED without attribute _due_pk S",
            "Put merchant RETURNED without attribute _due_sk S",
            "Update merchant CASH_BONUS without update REMOVE #_due_pk",
            "Update merchant CASH_BONUS without update REMOVE #_due_sk",
            "Update merchant PERIOD without update *",
            "Update merchant PERIOD without value :due_pk S",
            "Update merchant PERIOD without value :due_sk S",
            "Update merchant RETURNED without update *",
            "Update merchant RETURNED without value :due_pk S",
            "Update merchant RETURNED without value :due_sk S",
            "Update merchant SETTLING with update SET #bonuses_from = :from",
            "Update merchant SETTLING with value :from S",
            "action added: Put merchant CASH_BONUS",
            "action added: Put merchant PERIOD_BACK",
            "action added: Update merchant CASH_BONUS",
            "action removed: Put tenant JOB",
            "action removed: Update tenant JOB",
            "row added: *merchant CASH_BONUS *",
            "row added: merchant PERIOD_BACK key: rejected already_exists by period",
            "row removed: *tenant JOB *",
        ],
    },
    Rule {
        name: "an entry has one form, which says nothing of itself",
        lines: &["Put * TXN without attribute v N", "Put * TXNREF without attribute v N"],
    },
    Rule { name: "CONFIG says which format the tenant has", lines: &["Put tenant CONFIG with attribute format N"] },
];
