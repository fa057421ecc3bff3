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
];
