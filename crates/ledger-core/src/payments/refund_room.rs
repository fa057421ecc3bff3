//! What a return of a payment takes from the refund room of its merchant.

use crate::dynamo::Value;
use crate::forms::{self, RoomGuard};
use crate::ids::{MerchantId, Tenant};
use crate::journal::REFUND_ROOM;
use crate::keys::Partition;
use crate::money::{Amount, Asset, Balance, Delta, MoneyError};
use crate::time::Timestamp;
use crate::transaction::TransactItem;

/// The room that a return takes, in yen.
#[derive(Clone, Debug)]
pub(crate) struct TakenRoom(Amount);

impl TakenRoom {
    /// The room for amounts that a merchant returns; `None` if they need none.
    ///
    /// Points and regional currency count one to one, as settlements pay them, and the sum is rounded up to the yen. Carbon
    /// credits need no room: they are never paid out, so the merchant still has them.
    pub(crate) fn of<'a>(returned: impl IntoIterator<Item = &'a Amount>) -> Result<Option<Self>, MoneyError> {
        let paid_out = returned.into_iter().filter(|part| *part.asset() != Asset::Jcredit);
        let sum = paid_out.map(|part| part.as_balance().counted_as(Asset::Ecopay));
        let sum = sum.into_iter().try_fold(Balance::zero(Asset::Ecopay), |sum, part| sum.checked_plus(&part))?;
        let whole = sum.truncated(0);
        let yen = if whole == sum { whole } else { whole.checked_apply(&Delta::from_stored(Asset::Ecopay, "1")?)? };
        Ok(yen.as_amount().map(Self))
    }

    /// The action that takes it.
    pub(crate) fn taken(
        &self,
        (tenant, merchant): (&Tenant, MerchantId),
        guard: RoomGuard,
        now: Timestamp,
    ) -> TransactItem {
        forms::take_refund_room(&Partition::merchant(tenant, merchant), &self.0, guard, now)
    }

    /// The attribute that says so, of the entry and of the return's record.
    pub(crate) fn attribute(&self) -> (String, Value) {
        (REFUND_ROOM.to_owned(), Value::N(self.0.text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::{AssetSpec, RegionalKey};

    fn taken(parts: &[Amount]) -> Option<String> {
        TakenRoom::of(parts).unwrap().map(|TakenRoom(room)| room.text())
    }

    #[test]
    fn room_is_the_sum_in_yen_rounded_up_without_carbon_credits() {
        let amount = |spec: &AssetSpec, text: &str| Amount::parse(spec, text).unwrap();
        let regional = AssetSpec::regional(RegionalKey::parse("aoba").unwrap(), 2).unwrap();
        let (yen, points) = (amount(&AssetSpec::ECOPAY, "600"), amount(&AssetSpec::POINT, "50"));
        let credits = amount(&AssetSpec::JCREDIT, "7.5");
        assert_eq!(taken(std::slice::from_ref(&yen)).as_deref(), Some("600"));
        assert_eq!(taken(&[yen.clone(), points.clone(), credits.clone()]).as_deref(), Some("650"));
        assert_eq!(taken(&[points, amount(&regional, "10.01")]).as_deref(), Some("61"));
        assert_eq!(taken(&[amount(&regional, "0.5"), amount(&regional, "0.5")]).as_deref(), Some("1"));
        assert_eq!(taken(&[credits]), None, "they are never paid out");
    }
}
