//! JSON shapes that several APIs answer with. Amounts are canonical decimal strings, times RFC 3339 in UTC, ids UUIDs.

mod approval;
mod balance;
mod bank_file;
mod directory;
mod history;
mod job;
mod limits;
mod migration;
mod notice;
mod payment;
mod reconciliation;
mod record;
mod settlement;
mod staff;
mod timeline;
mod topup;
pub mod words;

pub use approval::{ApprovalDetail, ApprovalView, DestinationChangeView, PendingApprovalView, TieView};
pub use balance::{BalanceView, MetricsView};
pub use bank_file::{BankFileContentView, BankFileView, BankTransferView};
pub use directory::{CardChangeView, CardView, CustomerChangeView, CustomerView, MerchantView, ShopView, unclaimed_of};
pub use history::{HistoryView, OperationView, Page};
pub use job::{JobDetail, JobLineView, JobView};
pub use limits::{LimitView, LimitsView};
pub use migration::{MigrationView, PassView, StageView, StepView};
pub use notice::NoticeView;
pub use payment::{PaymentDetail, PaymentStateView, PaymentView, RefundView};
pub use reconciliation::{BreakView, FindingView, RunView};
pub use record::{HoldView, RecordView};
pub use settlement::{AssetTotalsView, SettlementView};
pub use staff::{BeneficiariesView, BeneficiaryView, STAFF_STATUSES, StaffChangeView, StaffView};
pub use timeline::{ActView, TimelineView, texts};
pub(crate) use topup::answer as topup_answer;
pub use topup::{TOPUP_OF_CUSTOMER, TOPUP_OF_OPERATOR, TopupCreatedView, TopupRefundView, TopupView};

use ledger_core::money::{Amount, Asset};
use std::collections::BTreeMap;

/// Amounts by asset, in a fixed order.
fn parts(by_asset: &BTreeMap<Asset, Amount>) -> BTreeMap<String, String> {
    by_asset.iter().map(|(asset, amount)| (asset.to_string(), amount.text())).collect()
}
