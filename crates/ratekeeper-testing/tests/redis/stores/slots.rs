//! A cluster, where the keys of one request may be in different slots.
//!
//! Invariant: what is refused in one slot is given back in the others, and at no time is more admitted
//! than a limit allows.

use super::run;
use ratekeeper::{Algorithm, Limit, Limiter};
use ratekeeper_testing::conformance::{Dice, Figures, Place, Stand};
use ratekeeper_testing::servers::{Cluster, Kind, Server};

fn stand(cluster: &Cluster, prefix: &str) -> Stand {
    let ports: Vec<u16> = cluster.masters().iter().map(Server::port).collect();
    Stand::new(&Place::shared("a cluster", &cluster.url(), &ports), prefix)
}

/// A rule of each kind, of which ten are there.
fn limiter(stand: &Stand) -> Limiter {
    let mut builder = stand.builder();
    for algorithm in Algorithm::ALL {
        let limit = Limit::per_hour(10).algorithm(algorithm);
        builder = builder.rule(algorithm.name(), limit).unwrap();
    }
    let line = Limit::per_hour(10).shaping();
    builder.rule("line", line).unwrap().rule("slots", "10 concurrent").unwrap().build()
}

async fn left(limiter: &Limiter, rule: &str, key: &str) -> u64 {
    limiter.rule(rule).unwrap().peek(key).await.remaining()
}

/// Several keys, each in a slot of its own: all keys of one hash tag are in one slot.
async fn keys_of_different_slots(stand: &Stand, limiter: &Limiter, count: usize) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for number in 0.. {
        let key = format!("key {number}");
        let mut apart = true;
        for other in &keys {
            let both = [("token_bucket", &**other), ("token_bucket", &*key)];
            apart &= !limiter.check_all(both).unwrap().cost(0).await.is_atomic();
        }
        if apart {
            keys.push(key);
        }
        if keys.len() == count {
            break;
        }
    }
    // A server that was slow for a moment is probed, by a key that ends at once.
    let names = stand.names().into_iter().map(|name| String::from_utf8_lossy(&name).into_owned());
    let made: Vec<String> = names.filter(|name| !name.ends_with("}probe")).collect();
    assert!(made.is_empty(), "looks make nothing: {made:?}");
    keys
}

/// Goal: a request over several slots is one decision, which says that it was not one step; where all
/// keys are in one slot, it was.
/// Method: rules of every kind, over one key and over keys of different slots, admitted and refused;
/// what each server holds is counted.
#[test]
fn a_request_over_several_slots_says_so() {
    let cluster = Cluster::start(Kind::Redis, 3, 0);
    let stand = stand(&cluster, "says");
    run(async {
        let limiter = limiter(&stand);
        limiter.verify().await.unwrap();
        let keys = keys_of_different_slots(&stand, &limiter, 6).await;
        let rules = ["token_bucket", "sliding_window_log", "fixed_window", "line"];
        let one: Vec<_> = rules.iter().map(|rule| (*rule, &*keys[0])).collect();
        assert!(limiter.check_all(one).unwrap().cost(4).await.is_atomic(), "one key, one slot");
        let all: Vec<_> = keys.iter().map(|key| ("token_bucket", &**key)).collect();
        let told = limiter.check_all(all.clone()).unwrap().cost(3).await;
        assert!(told.is_allowed() && !told.is_atomic());
        assert!(told.results().all(|(_, own)| !own.is_atomic()));
        let remaining: Vec<u64> = told.results().map(|(_, own)| own.remaining()).collect();
        assert_eq!(remaining, [3, 7, 7, 7, 7, 7]);
        let refused = limiter.check_all(all).unwrap().cost(5).await;
        assert!(refused.is_refused() && !refused.is_atomic());
        let own: Vec<_> =
            refused.results().map(|(_, own)| (own.is_allowed(), own.remaining())).collect();
        assert_eq!(own[0], (false, 3));
        assert_eq!(own[1..], [(true, 7); 5]);
        let alone = limiter.rule("token_bucket").unwrap().check(&*keys[1]).await;
        assert!(alone.is_atomic() && alone.remaining() == 6, "nothing was charged by the refused");
    });
    let servers = cluster.masters().iter().filter(|node| node.text(&["DBSIZE"]) != "0").count();
    assert!(servers > 1, "keys are on more than one server");
    assert_eq!(stand.failures(), Vec::<String>::new());
}

/// Goal: a refusal in one slot leaves all others as they were.
/// Method: random costs over random rules of every kind and keys of different slots, a count of what
/// was admitted beside; every figure of every bucket is as it was after a refusal.
#[test]
fn a_refusal_in_one_slot_leaves_the_others_as_they_were() {
    let cluster = Cluster::start(Kind::Redis, 3, 0);
    let stand = stand(&cluster, "leaves");
    run(async {
        let limiter = limiter(&stand);
        limiter.verify().await.unwrap();
        let keys = keys_of_different_slots(&stand, &limiter, 4).await;
        let rules = limiter.rules();
        let names: Vec<&str> = rules.iter().map(ratekeeper::Rule::name).collect();
        let mut dice = Dice::new(4);
        let mut used = vec![[0_u64; 4]; names.len()];
        let (mut admitted, mut refused) = (0, 0);
        for round in 0..300 {
            if round % 40 == 39 {
                for (rule, used) in names.iter().zip(&mut used) {
                    for (key, used) in keys.iter().zip(used) {
                        let _ = limiter.rule(rule).unwrap().reset(&**key).await;
                        *used = 0;
                    }
                }
            }
            let mut asked: Vec<(usize, usize)> = Vec::new();
            for _ in 0..2 + dice.below(4) {
                let place = (dice.below(names.len() as u64) as usize, dice.below(4) as usize);
                if !asked.contains(&place) {
                    asked.push(place);
                }
            }
            let cost = 1 + dice.below(4);
            let call = asked.iter().map(|(rule, key)| (names[*rule], &*keys[*key]));
            let told = limiter.check_all(call).unwrap().cost(cost).await;
            let fits = asked.iter().all(|(rule, key)| used[*rule][*key] + cost <= 10);
            assert_eq!(told.is_allowed(), fits, "round {round}");
            *(if fits { &mut admitted } else { &mut refused }) += 1;
            for (rule, key) in &asked {
                used[*rule][*key] += if fits { cost } else { 0 };
                let now = limiter.rule(names[*rule]).unwrap().peek(&*keys[*key]).await;
                let left = 10 - used[*rule][*key];
                assert_eq!(Figures::of(&now).remaining, left, "round {round}: {}", names[*rule]);
            }
        }
        assert!(admitted > 50 && refused > 50, "{admitted} admitted, {refused} refused");
    });
    assert_eq!(stand.failures(), Vec::<String>::new());
}

/// Goal: many requests over two slots at once never take more than there is, and what was refused has
/// left nothing behind.
/// Method: 200 at the same time, half in the opposite order, with ten for each key, for every kind of
/// rule: at most ten are admitted, and just what they took is gone.
#[test]
fn a_race_over_two_slots_never_admits_too_much() {
    let cluster = Cluster::start(Kind::Redis, 3, 0);
    let stand = stand(&cluster, "race");
    run(async {
        let limiter = limiter(&stand);
        limiter.verify().await.unwrap();
        let keys = keys_of_different_slots(&stand, &limiter, 2).await;
        let names: Vec<String> =
            limiter.rules().iter().map(|rule| rule.name().to_owned()).collect();
        for name in &names {
            let calls = (0..200).map(|number| {
                let (limiter, name, mut keys) = (limiter.clone(), name.clone(), keys.clone());
                keys.rotate_left(number % 2);
                tokio::spawn(async move {
                    let asked = keys.iter().map(|key| (&*name, key));
                    u64::from(limiter.check_all(asked).unwrap().await.is_allowed())
                })
            });
            let calls: Vec<_> = calls.collect();
            let mut admitted = 0;
            for call in calls {
                admitted += call.await.unwrap();
            }
            assert!(admitted <= 10, "{name}: {admitted} admitted");
            for key in &keys {
                let left = left(&limiter, name, key).await;
                // A turn behind which others were told theirs cannot be given back: it stays used.
                let exact = name != "line";
                assert!(left == 10 - admitted || !exact && left < 10 - admitted, "{name}: {left}");
            }
            if name == "line" {
                continue;
            }
            // Alone, each of those that are left gets in.
            for _ in admitted..10 {
                let asked = keys.iter().map(|key| (&**name, key));
                assert!(limiter.check_all(asked).unwrap().await.is_allowed(), "{name}");
            }
            let asked = keys.iter().map(|key| (&**name, key));
            assert!(limiter.check_all(asked).unwrap().await.is_refused(), "{name}");
        }
    });
    assert_eq!(stand.failures(), Vec::<String>::new());
}
