//! Laws of leases, whatever is spent, asked for, granted or given up in whatever order.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

const BUCKET: u64 = 7;

#[derive(Clone, Copy, Debug)]
enum Act {
    /// Spend, as requests do.
    Spend(u64),
    /// Ask the store, with a request of so many units.
    Wish(u64),
    /// The store answers what was asked for: with a share, or without.
    Answer(bool),
    GiveUp,
    /// What has ended is looked for.
    Sweep,
    End,
}

fn act() -> impl Strategy<Value = (u64, Act)> {
    let act = prop_oneof![
        8 => (1_u64..4).prop_map(Act::Spend),
        4 => (0_u64..4).prop_map(Act::Wish),
        4 => any::<bool>().prop_map(Act::Answer),
        1 => Just(Act::GiveUp),
        1 => Just(Act::Sweep),
        1 => Just(Act::End),
    ];
    (prop_oneof![Just(0), Just(1), 0..400_000_u64, Just(LASTS)], act)
}

/// A share that ends at a time.
fn granted(units: u64, until: u64) -> Granted {
    let stamp = crate::store::Stamp::default();
    Granted { part: Part { left: units, until, held: units, stamp }, remaining: 50, whole: until }
}

proptest! {
    /// Goal: what is held is never more than the most; what was granted is spent, held or given back, each unit
    /// once; nothing is spent after its end.
    /// Method: random traces beside a list of what was granted, of which the oldest is spent first.
    #[test]
    fn no_unit_is_lost_or_spent_twice(steps in vec(act(), 1..200), most in 0_u64..40) {
        let leases: Leases<u8> = Leases::new();
        let (mut now, mut asked, mut alone) = (1, Vec::<(u64, u64)>::new(), true);
        let (mut taken, mut spent, mut back) = (0, 0, 0);
        let mut ends: Vec<u64> = Vec::new();
        for (ticks, act) in steps {
            now += ticks;
            match act {
                Act::Spend(units) => {
                    if leases.spend(BUCKET, units, now).is_some() {
                        spent += units;
                        prop_assert!(ends.iter().any(|end| now < *end), "spent after its end");
                    }
                }
                Act::Wish(units) => {
                    let wish = Wish { units, most, nodes: 3, now };
                    let (share, left) = leases.wish(BUCKET, || 1, wish, || true);
                    back += left.iter().map(|(_, part)| part.left).sum::<u64>();
                    if let Some(share) = share {
                        prop_assert!(asked.is_empty() || !alone, "two shares on their way");
                        prop_assert_eq!(share.spare, share.units * 4);
                        asked.push((share.units, now));
                    }
                }
                Act::Answer(grants) => {
                    if !asked.is_empty() {
                        let (units, sent) = asked.remove(0);
                        let answer = grants.then(|| granted(units, sent + LASTS));
                        let claimed = leases.granted(BUCKET, answer);
                        if grants && claimed {
                            taken += units;
                            ends.push(sent + LASTS);
                        }
                    }
                }
                Act::GiveUp => {
                    asked.clear();
                    alone = true;
                    leases.unasked(BUCKET);
                }
                Act::Sweep => back += leases.ended(now).iter().map(|(_, part)| part.left).sum::<u64>(),
                Act::End => {
                    alone = asked.is_empty();
                    back += leases.end(BUCKET).iter().map(|(_, part)| part.left).sum::<u64>();
                }
            }
            prop_assert!(spent + back <= taken, "{spent} spent and {back} given back of {taken}");
            let held = taken - spent - back;
            prop_assert!(held <= 2 * most, "{held} held, half of which may have ended");
        }
        back += leases.end_all().iter().map(|(_, part)| part.left).sum::<u64>();
        prop_assert_eq!(spent + back, taken);
    }
}

/// Goal: a part is spent at its last tick, and not at the next; a request is not spent from two parts.
/// Method: two parts of three units, on both sides of the first one's end.
#[test]
fn a_part_ends_with_its_time() {
    let leases: Leases<u8> = Leases::new();
    let wish =
        |now| leases.wish(BUCKET, || 1, Wish { units: 3, most: 6, nodes: 1, now }, || true).0;
    assert!(wish(0).is_some());
    assert!(leases.granted(BUCKET, Some(granted(3, 100))));
    assert!(wish(50).is_some());
    assert!(leases.granted(BUCKET, Some(granted(3, 150))));
    assert_eq!(wish(60), None, "as much as may be is held");
    assert!(leases.spend(BUCKET, 1, 99).is_some());
    assert!(leases.spend(BUCKET, 3, 99).is_some(), "of the second, the first has two");
    assert!(leases.spend(BUCKET, 3, 99).is_none(), "no part has as many");
    assert!(leases.spend(BUCKET, 1, 100).is_none(), "the first has ended, the second is spent");
    let left = leases.ended(100);
    assert_eq!(left.iter().map(|(_, part)| part.left).collect::<Vec<_>>(), [2]);
}

/// Goal: shares are 5 % of the burst, divided by the servers, at least one unit.
/// Method: figures by hand, and the largest there are.
#[test]
fn a_share_is_a_part_of_the_burst() {
    assert_eq!(
        [(10_000, 4), (10_000, 1), (100, 4), (1, 9)].map(|(b, n)| share(b, n)),
        [125, 500, 1, 1]
    );
    assert_eq!(share(u64::MAX, 0), u64::MAX / 20);
}

/// Goal: what is taken follows use: nothing for who comes seldom, more for who comes often, less where some was left.
/// Method: keys at several paces for ten seconds, each asking the store when nothing is held.
#[test]
fn what_is_taken_follows_use() {
    let asked_at = |every: u64| {
        let leases: Leases<u8> = Leases::new();
        let (mut asked, mut requests) = (0, 0);
        for now in (0..10 * LASTS).step_by(every as usize) {
            requests += 1;
            let now = now + 1;
            if leases.spend(BUCKET, 1, now).is_some() {
                continue;
            }
            asked += 1;
            let wish = Wish { units: 1, most: 1_000, nodes: 1, now };
            if let (Some(share), _) = leases.wish(BUCKET, || 1, wish, || true) {
                leases.granted(BUCKET, Some(granted(share.units, now + LASTS)));
            }
        }
        (requests, asked)
    };
    let (requests, asked) = asked_at(2 * LASTS);
    assert_eq!(asked, requests, "who comes seldom asks each time");
    for (every, most) in [(LASTS / 4, 25), (LASTS / 10, 25), (LASTS / 100, 30), (LASTS / 1_000, 40)]
    {
        let (requests, asked) = asked_at(every);
        assert!(asked <= most, "{asked} of {requests} asked, once in {every} ticks");
    }
}
