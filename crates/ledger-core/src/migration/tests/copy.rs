use super::*;
use crate::dynamo::{AttributeKind, ItemError};
use Concern::{Points, Profile, Regional};

/// What copying a concern at a stage needs, under fence 3.
fn look(concern: Concern, stage: Stage, items: &[(Key, Item)]) -> Copying {
    let migration = migration(Model::GodRecord, at_stage(concern, stage), 3);
    copy(&migration, &customer_ref(), concern, &seen(items), now()).unwrap()
}

/// The written actions without the marker, which is checked here.
fn copied(concern: Concern, stage: Stage, items: &[(Key, Item)]) -> Vec<String> {
    let Copying::Copy(change) = look(concern, stage, items) else { panic!("{concern:?}") };
    let mut texts = action_texts(&change);
    let marker = texts.remove(0);
    assert!(marker.starts_with(&format!("ledger_idem#migration_copy#copy {} 3: PUT ", concern.name())), "{marker}");
    assert!(marker.contains(" IF (attribute_not_exists(uuid) OR ttl < "), "{marker}");
    texts
}

fn split(asset: &str) -> Key {
    Key::stored(&customer_ref().tenant, partition().as_str(), &format!("BALANCE#{asset}")).unwrap()
}

#[test]
fn stage_and_truth_decide_the_direction_of_a_copy() {
    for stage in Stage::ALL {
        let ways = BalanceLocation::ALL.map(|truth| {
            let record = adopted(3, &[(Points, truth.name())], &[("point", n("5"))]);
            let wallet = item(&[("balance", n("7")), ("held", n("0")), ("exposure", n("7"))]);
            match look(Points, stage, &[(god(), record), (split("POINT"), wallet)]) {
                Copying::Copy(change) => match action_texts(&change).iter().find(|action| action.contains("ADD")) {
                    Some(to_split) if to_split.starts_with("BALANCE#POINT: ADD balance -2,") => "split",
                    Some(to_legacy) if to_legacy.starts_with("customer: ADD point 2,") => "legacy",
                    other => panic!("{other:?}"),
                },
                Copying::Done => "done",
                other @ (Copying::NotAdopted | Copying::Fenced | Copying::Raise(_)) => panic!("{other:?}"),
            }
        });
        let want = match stage {
            Stage::LegacyOnly => ["done", "done", "legacy"],
            Stage::DualWrite | Stage::Backfilled | Stage::ReadNew => ["split", "done", "legacy"],
            Stage::NewOnly => ["split", "done", "done"],
        };
        assert_eq!(ways, want, "{stage:?}");
    }
}

#[test]
fn copy_reports_missing_adoption_later_fence_and_raise() {
    let look = |record: Option<Item>| {
        let items: Vec<(Key, Item)> = record.map(|record| (god(), record)).into_iter().collect();
        look(Points, Stage::DualWrite, &items)
    };
    assert_eq!(look(None), Copying::NotAdopted);
    assert_eq!(look(Some(item(&[("point", n("5"))]))), Copying::NotAdopted);
    assert_eq!(look(Some(adopted(4, &[], &[]))), Copying::Fenced);
    // An emptied God Record does not say where the concern is.
    assert_eq!(look(Some(item(&[("fence_phase", n("3"))]))), Copying::Done);
    // If the concern is already where the phase needs it, the fence is not raised.
    assert_eq!(look(Some(adopted(2, &[(Points, "both")], &[]))), Copying::Done);
    let Copying::Raise(raise) = look(Some(adopted(2, &[], &[]))) else { panic!() };
    assert_eq!(action_texts(&raise), ["customer: SET fence_phase = 3 IF fence_phase < 3"]);
}

#[test]
fn difference_of_sums_is_added_whatever_writers_have_added() {
    let companions = [("point_held", n("0")), ("created_at", s("2024-05-06T07:08:09.000Z"))];
    let legacy = |sum: &str| {
        let own = [("point", n(sum)), ("point_exposure", n(sum)), ("point_updated_at", s("then"))];
        (god(), adopted(3, &[], &[&own[..], &companions].concat()))
    };
    let record = "customer: SET truth_points = 'both' IF fence_phase = 3 AND truth_points = 'legacy' \
         AND attribute_not_exists(point_frozen) AND attribute_not_exists(point_closed_at) \
         AND attribute_not_exists(point_corrected_at)";
    let stamps = "SET created_at = if_not_exists(created_at, '2024-05-06T07:08:09.000Z'), \
         updated_at = if_not_exists(updated_at, 'then')";
    let first = format!("BALANCE#POINT: ADD balance 500.5, held 0, exposure 500.5 {stamps}");
    assert_eq!(copied(Points, Stage::DualWrite, &[legacy("500.50")]), [record, &first]);
    // Since the first copy, another writer has spent 20 in both models, or added 3 before the record existed.
    for (legacy_has, split_has) in [("480.5", "-20"), ("503.5", "3"), ("500.5", "0.0")] {
        let made =
            item(&[("balance", n(split_has)), ("held", n("0")), ("exposure", n(split_has)), ("created_at", s("c"))]);
        let again =
            "BALANCE#POINT: ADD balance 500.5, exposure 500.5 SET updated_at = if_not_exists(updated_at, 'then')";
        assert_eq!(copied(Points, Stage::DualWrite, &[legacy(legacy_has), (split("POINT"), made)]), [record, again]);
    }
    // The models are already equal: only the location of the concern is written.
    let same = item(&[
        ("balance", n("7")),
        ("held", n("0")),
        ("exposure", n("7")),
        ("created_at", s("c")),
        ("updated_at", s("c")),
    ]);
    assert_eq!(copied(Points, Stage::ReadNew, &[legacy("7.0"), (split("POINT"), same)]), [record]);
}

#[test]
fn balance_is_copied_back_into_the_god_record() {
    let wallet = item(&[
        ("balance", n("12.3")),
        ("held", n("1")),
        ("exposure", n("13.3")),
        ("frozen", s("by_staff")),
        ("updated_at", s("then")),
    ]);
    let held = [("regional", m(&[("aoba", n("12.34"))])), ("regional_aoba_corrected_at", s("once"))];
    let record = (god(), adopted(3, &[(Regional, "split")], &held));
    let texts = copied(Regional, Stage::LegacyOnly, &[record, (split("REGIONAL#aoba"), wallet)]);
    let to_legacy = "customer: ADD regional_aoba_held 1, regional_aoba_exposure 13.3 \
         SET truth_regional = 'both', regional_aoba_frozen = 'by_staff', \
         regional_aoba_updated_at = if_not_exists(regional_aoba_updated_at, 'then'), \
         regional.aoba = if_not_exists(regional.aoba, 0) + -0.04 REMOVE regional_aoba_corrected_at \
         IF fence_phase = 3 AND truth_regional = 'split'";
    let guard = "BALANCE#REGIONAL#aoba: CHECK IF frozen = 'by_staff' AND attribute_not_exists(closed_at) \
         AND attribute_not_exists(corrected_at)";
    assert_eq!(texts, [to_legacy, guard]);
}

#[test]
fn profile_is_copied_guarded_on_the_fields_that_were_read() {
    let there =
        [("name", s("Hana")), ("email", s("new@example.jp")), ("created_at", s("then")), ("updated_at", s("later"))];
    let profile = item(&[
        ("customer_id", s(ID)),
        ("name", s("Hana")),
        ("email", s("old@example.jp")),
        ("phone", s("+81312345678")),
        ("status", s("active")),
        ("created_at", s("then")),
        ("updated_at", s("later")),
    ]);
    let record = |truth: &str| (god(), adopted(3, &[(Profile, truth)], &there));
    // A telephone number that was cleared in the God Record is removed from the profile.
    let texts = copied(Profile, Stage::DualWrite, &[record("legacy"), (partition().profile(), profile.clone())]);
    let read = "customer: SET truth_profile = 'both' IF fence_phase = 3 AND truth_profile = 'legacy' \
         AND attribute_not_exists(profile_customer_id) AND name = 'Hana' AND email = 'new@example.jp' \
         AND attribute_not_exists(phone_number) AND attribute_not_exists(profile_status) \
         AND attribute_not_exists(profile_accounts) AND attribute_not_exists(profile_frozen) \
         AND attribute_not_exists(profile_erased_at) AND created_at = 'then'";
    assert_eq!(texts, [read, "PROFILE: SET email = 'new@example.jp' REMOVE phone"]);
    let texts = copied(Profile, Stage::DualWrite, &[record("split"), (partition().profile(), profile)]);
    let to_legacy = format!(
        "customer: SET truth_profile = 'both', profile_customer_id = '{ID}', email = 'old@example.jp', \
         phone_number = '+81312345678', profile_status = 'active' IF fence_phase = 3 AND truth_profile = 'split'"
    );
    let guard = format!(
        "PROFILE: CHECK IF customer_id = '{ID}' AND name = 'Hana' AND email = 'old@example.jp' \
         AND phone = '+81312345678' AND status = 'active' AND attribute_not_exists(accounts) \
         AND attribute_not_exists(frozen) \
         AND attribute_not_exists(erased_at) AND created_at = 'then'"
    );
    assert_eq!(texts, [to_legacy, guard]);
}

#[test]
fn number_timestamp_is_copied_as_text_and_keeps_its_type_in_the_god_record() {
    let record = |truth: &str| {
        let there = [("name", s("Hana")), ("created_at", n("1617235200")), ("updated_at", n("1617235200123"))];
        (god(), adopted(3, &[(Profile, truth)], &there))
    };
    let [read, put] = copied(Profile, Stage::DualWrite, &[record("legacy")]).try_into().unwrap();
    assert!(read.ends_with(" AND created_at = 1617235200"), "{read}");
    assert!(put.contains("created_at = '2021-04-01T00:00:00.000Z'"), "{put}");
    assert!(put.contains("updated_at = if_not_exists(updated_at, '2021-04-01T00:00:00.123Z')"), "{put}");
    // Copied back: an equal instant is not written again, another one is written in the stored unit.
    let to_legacy = |at: &str| {
        let profile =
            item(&[("customer_id", s(ID)), ("name", s("Hana")), ("created_at", s(at)), ("status", s("active"))]);
        copied(Profile, Stage::DualWrite, &[record("split"), (partition().profile(), profile)]).remove(0)
    };
    assert!(!to_legacy("2021-04-01T00:00:00.000Z").contains("created_at"));
    assert!(to_legacy("2021-04-01T00:00:07.000Z").contains("created_at = 1617235207"));
}

#[test]
fn half_way_model_copies_points_from_aggregates() {
    let phase = Phase::all(Model::HalfWay).find(|phase| phase.stage(Points) == Stage::DualWrite).unwrap();
    let aggregates = item(&[("point", n("5")), ("point_exposure", n("5")), ("co2_total", n("1"))]);
    let items = [(god(), adopted(3, &[], &[("point", n("900"))])), (metrics(), aggregates)];
    let migration = migration(Model::HalfWay, phase.number(), 3);
    let Ok(Copying::Copy(change)) = copy(&migration, &customer_ref(), Points, &seen(&items), now()) else { panic!() };
    let want = [
        "customer: SET truth_points = 'both' IF fence_phase = 3 AND truth_points = 'legacy'",
        "METRICS: CHECK IF attribute_not_exists(point_frozen) AND attribute_not_exists(point_closed_at) \
         AND attribute_not_exists(point_corrected_at)",
        "BALANCE#POINT: ADD balance 5, held 0, exposure 5 SET \
         created_at = if_not_exists(created_at, '1970-01-01T00:00:00.000Z'), \
         updated_at = if_not_exists(updated_at, '1970-01-01T00:00:00.000Z')",
    ];
    assert_eq!(action_texts(&change)[1..], want);
}

#[test]
fn sum_that_cannot_be_held_exactly_is_not_copied() {
    let of = |legacy: &str, split_has: Value| {
        let items =
            [(god(), adopted(3, &[], &[("point", n(legacy))])), (split("POINT"), item(&[("balance", split_has)]))];
        let migration = migration(Model::GodRecord, at_stage(Points, Stage::DualWrite), 3);
        copy(&migration, &customer_ref(), Points, &seen(&items), now()).map(drop)
    };
    assert_eq!(of("1", n("1")), Ok(()));
    assert_eq!(of("1", s("1")), Err(ItemError::wrong_type("balance", AttributeKind::Number)));
    let long = "1.23456789012345678901234567890123E+2";
    for unreadable in ["7e99", "1E", "E5", "", long] {
        assert_eq!(of(unreadable, n("1")), Err(ItemError::invalid("balance")), "{unreadable}");
    }
    assert_eq!(of("1.25E-3", n("1E+3")), Ok(()));
    let most = "79228162514264337593543950335";
    assert_eq!(of(most, n("-1")), Err(ItemError::invalid("balance")));
    assert_eq!(of(most, n("0.5")), Err(ItemError::invalid("balance")), "rounded");
}
