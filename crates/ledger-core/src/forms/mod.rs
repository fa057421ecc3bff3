//! The forms: the ways in which builders change balances, codes and fields.

mod approval;
mod balance;
mod cash_room;
mod correction;
mod hold;
mod merchant;
mod one_time_code;
mod patch;
mod refund_room;
mod sign_in;

pub(crate) use approval::pending_of_another;
pub(crate) use balance::{
    Adjusted, EXPIRES_AT, adjust, balance_key, card_active, card_in_date, card_not_ended, check_balance, close,
    debitable, holds, not_frozen, open,
};
pub use balance::{credit, debit, return_credit, settle, top_up};
pub(crate) use cash_room::{
    CASH_OUTSTANDING, CASH_ROOM, CASH_ROOM_AT, COUNTER, COVERED, TERMINAL_KIND, UNALLOTTED,
    changed as changed_cash_room, collect_cash, owned_by, return_cash_room,
};
pub use cash_room::{TerminalGuard, give_cash_room_back, take_cash_room};
pub use correction::SeenCorrections;
pub(crate) use correction::correction;
pub use hold::{capture_hold, hold, pay_out, receive, receive_instead, release, release_hold, reserve};
pub use merchant::settle_merchant;
pub use one_time_code::{code_hash, consume_code, end_code, issue_code};
pub use patch::{Patch, patch_text};
pub(crate) use refund_room::{OUTSTANDING, ROOM, return_refund_room};
pub use refund_room::{RoomGuard, take_refund_room};
pub(crate) use sign_in::{SUBJECT, signs_in_with};
