//! Audits the balances of customers and cards, in either model, against postings, holds and unpaid top-ups.

use super::Checked;
use super::holds::held_for_merchants;
use super::index::Audit;
use super::postings::Sums;
use super::rows::Row;
use super::topup_refunds::held_for_refunds;
use super::topups::reserved_for_topups;
use rust_decimal::Decimal;
use std::collections::BTreeSet;

/// The numbers of a balance in either model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Numbers {
    pub(super) balance: Decimal,
    pub(super) held: Decimal,
    pub(super) reserved: Decimal,
    pub(super) exposure: Decimal,
}

/// A balance of a customer or a card.
#[derive(Clone, Debug)]
pub(super) struct Balance<'a> {
    /// The row that holds it: a balance item, a card, or a legacy record.
    pub(super) row: Row<'a>,
    /// `customer:<id>` or `card:<id>`, and the asset.
    pub(super) account: (String, String),
    pub(super) numbers: Numbers,
}

impl Numbers {
    /// The numbers of a balance item or a card.
    pub(super) fn of_split(row: Row<'_>) -> Result<Self, String> {
        // A card has no cap, so no exposure is counted.
        let exposure = if row.kind() == "card" { Decimal::ZERO } else { row.number("exposure")? };
        let (held, reserved) = (row.opt_number("held")?, row.opt_number("reserved")?);
        Ok(Self { balance: row.number("balance")?, held, reserved, exposure })
    }
}

/// Checks that the balance of each customer and card is the sum of its postings, and not negative.
pub(super) fn balances_equal_postings(audit: &Audit<'_>) -> Checked {
    for Balance { row, account, numbers } in audit.balances()? {
        let posted = of(&audit.posted.available, account);
        ensure_eq!(numbers.balance, posted, "{row}: the balance of {account:?}");
        ensure!(numbers.balance >= Decimal::ZERO, "{row}: the balance of {account:?} is {}", numbers.balance);
    }
    Ok(())
}

/// Checks that what each balance holds is the sum of its postings, and what refunds of top-ups and authorized payments
/// hold of it.
pub(super) fn held_equals_holds(audit: &Audit<'_>) -> Checked {
    let on_hold = on_hold(audit)?;
    for Balance { row, account, numbers } in audit.balances()? {
        ensure_eq!(numbers.held, of(&audit.posted.held, account), "{row}: what {account:?} holds by postings");
        ensure_eq!(numbers.held, of(&on_hold, account), "{row}: what {account:?} holds for refunds and merchants");
        ensure!(numbers.held >= Decimal::ZERO, "{row}: {account:?} holds {}", numbers.held);
    }
    Ok(())
}

/// Checks that the headroom that each balance reserves is the sum of its unpaid top-ups.
pub(super) fn reserved_equals_unpaid_topups(audit: &Audit<'_>) -> Checked {
    let reserved = reserved_for_topups(audit)?;
    for Balance { row, account, numbers } in audit.balances()? {
        ensure_eq!(numbers.reserved, of(&reserved, account), "{row}: what {account:?} reserves");
    }
    Ok(())
}

/// Checks that the exposure of each customer is the sum of balance, held and reserved.
pub(super) fn exposure_equals_its_parts(audit: &Audit<'_>) -> Checked {
    for Balance { row, account, numbers } in audit.balances()?.iter().filter(|balance| is_of_customer(balance)) {
        let Numbers { balance, held, reserved, exposure } = numbers;
        ensure_eq!(*exposure, balance + held + reserved, "{row}: the exposure of {account:?}");
    }
    Ok(())
}

/// Checks that each customer and card that has postings, a hold or an unpaid top-up has a balance, or is closed and has nothing.
pub(super) fn accounts_have_balances(audit: &Audit<'_>) -> Checked {
    let seen: BTreeSet<_> = audit.balances()?.iter().map(|balance| &balance.account).collect();
    let (reserved, on_hold) = (reserved_for_topups(audit)?, on_hold(audit)?);
    let sums = [&audit.posted.available, &audit.posted.held, &reserved, &on_hold];
    let closed = audit.named("PROFILE").filter(|row| row.kind() == "customer" && row.text("status") == Ok("closed"));
    let closed: Vec<String> =
        closed.map(|row| row.text("customer_id").map(|id| format!("customer:{id}"))).collect::<Result<_, _>>()?;
    let closed: BTreeSet<&str> = closed.iter().map(String::as_str).collect();
    for account in sums.into_iter().flat_map(Sums::keys) {
        let has_balance = account.0.starts_with("customer:") || account.0.starts_with("card:");
        let is_gone = closed.contains(account.0.as_str()) && sums.iter().all(|sums| of(sums, account).is_zero());
        ensure!(!has_balance || seen.contains(account) || is_gone, "{account:?} has postings and no balance");
    }
    Ok(())
}

/// What refunds of top-ups and authorized payments hold, by customer and asset.
fn on_hold(audit: &Audit<'_>) -> Result<Sums, String> {
    let mut on_hold = held_for_refunds(audit)?;
    for (account, held) in held_for_merchants(audit)? {
        *on_hold.entry(account).or_default() += held;
    }
    Ok(on_hold)
}

fn is_of_customer(balance: &Balance<'_>) -> bool {
    balance.account.0.starts_with("customer:")
}

fn of(sums: &Sums, account: &(String, String)) -> Decimal {
    sums.get(account).copied().unwrap_or_default()
}
