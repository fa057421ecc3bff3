//! Builds the commands that move money from and to the PSP, and the steps of operations in flight. Each reads what the
//! runtime reads, and assembles the plan under its marker.

use super::build::{Made, NoPlan};
use super::command::{Does, FactJson, FlightStep, MarkerJson, PspJson};
use super::decode::{self, World};
use crate::declared;
use crate::declared::stored;
use crate::holders;
use ledger_core::account::Account;
use ledger_core::dynamo::Attributes;
use ledger_core::idempotency::{Answer, Claim, ClaimKey, EventClaim, Flight, Marker, MarkerState, Parked, PlannedCall};
use ledger_core::ids::{RefundId, TopupId};
use ledger_core::keys::{self, Key, Partition, attr};
use ledger_core::money::{Asset, Balance};
use ledger_core::operation::Operation;
use ledger_core::plan::PlanRefusal;
use ledger_core::psp::{
    Dispute, EventId, Fact, IntentStatus, PaymentIntent, PspId, PspMoney, PspRefund, PspTerms, RefundStatus, Tags,
};
use ledger_core::topups::attention::{self, Decider, KeptEvent};
use ledger_core::topups::{
    Clawback, Effect, Routed, TopupRecord, TopupRefund, View, cancel, check, claim as topup_claim,
    refund as topup_refund, refused, route,
};
use ledger_core::transaction::Transaction;
use ledger_core::wallets::SeenWallet;

#[expect(clippy::wildcard_enum_match_arm, reason = "`build::make` lists every command and passes these only")]
pub(super) fn make(
    world: &World,
    does: &Does,
    (claim, answer): (Option<&Claim>, Option<&Answer>),
) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let answer = || answer.expect("an answer");
    let draft = match does {
        Does::TopupClaim { customer, charge, psp } => {
            let command = topup_claim::Topup { customer: decode::customer(customer), charge: world.amount(charge)? };
            let claim = claim.expect("a claim");
            let terms = world.terms_for(Account::Customer(command.customer));
            return claimed(&topup_claim::plan(&command, claim, &terms, &psp_terms(psp), cx)?, claim);
        }
        Does::TopupRefund { actor, topup, amount, reason, psp } => {
            let records = Records::read(world, topup, None)?;
            let amount = amount.as_ref().map(|amount| world.amount(amount)).transpose()?;
            let points = balance(world, &records.topup, Asset::Point);
            let command = topup_refund::RefundTopup {
                actor: decode::actor(actor),
                topup: &records.topup,
                amount: amount.as_ref(),
                points: points.as_ref(),
                reason: &decode::text(reason),
            };
            let claim = claim.expect("a claim");
            return claimed(&topup_refund::plan(&command, claim, &world.terms(), &psp_terms(psp), cx)?, claim);
        }
        Does::TopupEvent { event, kind, fact, topup, refund } => {
            let records = Records::read(world, topup, refund.as_deref())?;
            let mut effect = records.route(world, fact)?;
            if let (true, Some(flight)) = (effect.lands, records.flight(world)) {
                let stored = stored(&flight, answer());
                effect.draft.items.push(flight.land_from_outside(stored, false, cx.now));
            }
            let event = EventClaim {
                tenant: tenant.clone(),
                event: EventId::parse(event).unwrap(),
                kind: kind.clone(),
                now: cx.now,
            };
            let from = effect.provenance(tenant, cx.now);
            return Ok(Made::Whole(Transaction::of_event(effect.draft.clone(), &event, &from).unwrap()));
        }
        Does::TopupLanding { fact, topup, refund } => {
            let records = Records::read(world, topup, refund.as_deref())?;
            let effect = records.route(world, fact)?;
            return Ok(landed(world, &records, &effect, answer(), false));
        }
        Does::TopupRefused { topup, refund } => {
            let records = Records::read(world, topup, refund.as_deref())?;
            let effect = match &records.refund {
                Some(refund) => {
                    refused::refund(tenant, (&records.topup, refund), &world.wallet(records.topup.wallet()), cx.now)?
                }
                None => refused::topup(tenant, &records.topup, cx.now)?,
            };
            let effect = effect.ok_or_else(|| NoPlan("known".to_owned()))?;
            return Ok(landed(world, &records, &effect, answer(), true));
        }
        Does::Flight { marker, step } => {
            return step_of(&flight_at(world, &marker_key(world, marker)).unwrap(), step, world);
        }
        Does::ParkedRetry { marker, actor, reason } => {
            let flight = flight_at(world, &marker_key(world, marker)).unwrap();
            let reason = decode::text(reason);
            attention::retry(&flight, &Decider { actor: decode::actor(actor), reason: &reason }, cx)?.draft
        }
        Does::ParkedGiveUp { marker, topup, refund, refusal, actor, reason } => {
            let records = Records::read(world, topup, refund.as_deref())?;
            let flight = flight_at(world, &marker_key(world, marker)).unwrap();
            let (reason, refusal) = (decode::text(reason), decode::answer(refusal));
            let decider = Decider { actor: decode::actor(actor), reason: &reason };
            let (topup, wallet) = (&records.topup, world.wallet(records.topup.wallet()));
            attention::give_up(&flight, (topup, records.refund.as_ref()), &wallet, &refusal, &decider, cx)?.draft
        }
        Does::EventKeep { event, kind, why, object } => {
            let kept = KeptEvent {
                id: EventId::parse(event).unwrap(),
                kind: kind.clone(),
                why: why.clone(),
                object: object.clone(),
                received_at: cx.now,
            };
            return Ok(Made::Whole(kept.keep(tenant).unwrap()));
        }
        Does::EventDismiss { event, actor, reason } => {
            let reason = decode::text(reason);
            let decider = Decider { actor: decode::actor(actor), reason: &reason };
            attention::dismiss(tenant, &EventId::parse(event).unwrap(), &decider, cx)?.draft
        }
        Does::TopupCheck { topup, burnt } => {
            let records = Records::read(world, topup, None)?;
            return Ok(Made::Whole(check::topup_again(tenant, &records.topup, *burnt, cx.now).unwrap()));
        }
        Does::TopupCancel { topup } => cancel::plan(tenant, &Records::read(world, topup, None)?.topup, cx)?.draft,
        Does::TopupRefundCheck { topup, refund } => {
            let refund = Records::read(world, topup, Some(refund))?.refund.unwrap();
            return Ok(Made::Whole(check::refund_again(tenant, &refund, cx.now).unwrap()));
        }
        other => panic!("built elsewhere: {other:?}"),
    };
    Ok(Made::Draft(draft))
}

/// The records of a top-up, as the runtime reads them.
pub(super) struct Records {
    pub(super) topup: TopupRecord,
    refund: Option<TopupRefund>,
}

impl Records {
    pub(super) fn read(world: &World, topup: &str, refund: Option<&str>) -> Result<Self, NoPlan> {
        let id = TopupId::parse(topup).unwrap();
        let topup = TopupRecord::read(world.must(&keys::topup(&world.tenant, id))).map_err(PlanRefusal::from)?;
        let refund = refund.map(|refund| {
            let key = keys::topup_refund(&world.tenant, id, RefundId::parse(refund).unwrap());
            TopupRefund::read(world.must(&key)).map_err(PlanRefusal::from)
        });
        Ok(Self { topup, refund: refund.transpose()? })
    }

    /// The operation in flight that made the refund, or else the top-up; `None` once its response is stored.
    pub(super) fn flight(&self, world: &World) -> Option<Flight> {
        let key = match &self.refund {
            Some(refund) => refund.marker_key(&world.tenant),
            None => self.topup.marker_key(&world.tenant),
        };
        flight_at(world, &key)
    }

    pub(super) fn view<'a>(
        &'a self,
        world: &'a World,
        wallet: &'a SeenWallet,
        clawback: Option<&'a Clawback>,
    ) -> View<'a> {
        View {
            tenant: &world.tenant,
            topup: &self.topup,
            refund: self.refund.as_ref(),
            clawback,
            wallet,
            spent_points: world.spent_points(),
            terms_version: world.terms_version(),
        }
    }

    fn route(&self, world: &World, fact: &FactJson) -> Result<Effect, NoPlan> {
        let fact = self.fact(world, fact);
        let clawback = match &fact {
            Fact::Intent(_) => None,
            Fact::Refund(refund) => self.refund.is_none().then_some(&refund.id),
            Fact::Withdrawn(dispute) | Fact::Reinstated(dispute) => Some(&dispute.id),
        };
        let clawback = clawback.and_then(|id| world.get(&keys::clawback(&world.tenant, self.topup.id, id)));
        let clawback = clawback.map(|item| Clawback::read(item).unwrap());
        let wallet = world.wallet(self.topup.wallet());
        let view = self.view(world, &wallet, clawback.as_ref());
        match route::route(&fact, &view, world.cx.now)? {
            Routed::Apply(effect) => Ok(*effect),
            Routed::Behind => Err(NoPlan("behind".to_owned())),
            Routed::Ahead => Err(NoPlan("ahead".to_owned())),
            Routed::Contradiction(contradiction) => Err(NoPlan(format!("odd {}", contradiction.name()))),
        }
    }

    /// The fact, with the metadata that our objects have.
    pub(super) fn fact(&self, world: &World, fact: &FactJson) -> Fact {
        let id = |text: &str| PspId::parse(text).unwrap();
        let maybe = |text: &Option<String>| text.as_deref().map(id);
        let money =
            |amount: &str, currency: &str| PspMoney { minor: amount.parse().unwrap(), currency: currency.to_owned() };
        let tags = |refund| Some(Tags { tenant: world.tenant.clone(), topup: self.topup.id, refund });
        let dispute = |of: &str, intent: &Option<String>, money: PspMoney, livemode: bool, listed: &Option<String>| {
            let movements = listed.as_deref().map_or(0, |count| count.parse().unwrap());
            Dispute { id: id(of), intent: maybe(intent), amount: money, livemode, movements }
        };
        match fact {
            FactJson::Intent { id: of, amount, currency, received, status, livemode } => Fact::Intent(PaymentIntent {
                id: id(of),
                amount: money(amount, currency),
                received: received.parse().unwrap(),
                status: IntentStatus::reported(status),
                livemode: *livemode,
                client_secret: None,
                tags: tags(None),
            }),
            FactJson::Refund { id: of, intent, amount, currency, status } => Fact::Refund(PspRefund {
                id: id(of),
                intent: maybe(intent),
                amount: money(amount, currency),
                status: RefundStatus::reported(status),
                tags: self.refund.as_ref().and_then(|refund| tags(Some(refund.id))),
            }),
            FactJson::Withdrawn { id, intent, amount, currency, livemode, movements } => {
                Fact::Withdrawn(dispute(id, intent, money(amount, currency), *livemode, movements))
            }
            FactJson::Reinstated { id, intent, amount, currency, livemode, movements } => {
                Fact::Reinstated(dispute(id, intent, money(amount, currency), *livemode, movements))
            }
        }
    }
}

fn claimed(call: &PlannedCall, claim: &Claim) -> Result<Made, NoPlan> {
    let flight = Flight::begin(claim, call, &declared::keys()).unwrap();
    Ok(Made::Whole(Transaction::claimed(call.draft.clone(), claim, &flight).unwrap()))
}

/// Stores the response as the holder of the fencing token that was read.
fn landed(world: &World, records: &Records, effect: &Effect, answer: &Answer, refused: bool) -> Made {
    let held = holders::of_claim(&records.flight(world).expect("a marker in flight"));
    let landing = match refused {
        true => held.land(answer, refused, world.cx.now),
        false => held.land(stored(&held, answer), refused, world.cx.now),
    };
    let from = effect.provenance(&world.tenant, world.cx.now);
    Made::Whole(Transaction::landed(effect.draft.clone(), landing, &from).unwrap())
}

fn step_of(flight: &Flight, step: &FlightStep, world: &World) -> Result<Made, NoPlan> {
    let now = world.cx.now;
    let (next, transaction) = match step {
        FlightStep::Heartbeat {} => {
            let beat = holders::of_claim(flight).heartbeat(now).unwrap();
            let (next, transaction) = beat.ok_or_else(|| NoPlan("past its ceiling".to_owned()))?;
            (next.into_record(), transaction)
        }
        FlightStep::TakeOver {} => {
            let taken = flight.take_over(now).unwrap().ok_or_else(|| NoPlan("not free".to_owned()))?;
            (taken.0.into_record(), taken.1)
        }
        FlightStep::LetGo {} => holders::of_claim(flight).release(now).unwrap(),
        FlightStep::FailRetryably { burnt } => holders::of_claim(flight).fail_retryably(*burnt, now).unwrap(),
        FlightStep::Park { why } => {
            let all = [Parked::Attempts, Parked::NotFound, Parked::Contradiction];
            holders::of_claim(flight).park(all.into_iter().find(|parked| parked.name() == why).unwrap(), now).unwrap()
        }
    };
    assert_eq!(next.resource, flight.resource);
    Ok(Made::Whole(transaction))
}

pub(super) fn marker_key(world: &World, marker: &MarkerJson) -> Key {
    let key = ClaimKey::parse(&marker.key).unwrap();
    let operation = Operation::parse(&marker.operation).unwrap();
    keys::marker(&world.tenant, decode::principal(&marker.principal), operation, &key)
}

pub(super) fn flight_at(world: &World, key: &Key) -> Option<Flight> {
    match Marker::read(world.get(key)?).unwrap().state {
        MarkerState::InFlight(flight) => Some(*flight),
        MarkerState::Completed { .. } | MarkerState::Reversed => None,
    }
}

fn balance(world: &World, topup: &TopupRecord, asset: Asset) -> Option<Balance> {
    let item = world.get(&Partition::customer(&world.tenant, topup.customer).balance(&asset))?;
    Some(Balance::from_stored(asset, item.number(attr::BALANCE).unwrap()).unwrap())
}

pub(super) fn psp_terms(psp: &PspJson) -> PspTerms {
    PspTerms { ledger: psp.ledger.clone(), livemode: psp.livemode, account: psp.account.clone() }
}
