//! Several rules, one decision: against the model, for random rules, keys, costs and times.

use super::model::{Ask, Kind, Mode, Model, Plan, Said, Wait};
use super::{Site, by, get, ip, rule};
use proptest::prelude::*;
use ratekeeper::decision::UNLIMITED;
use ratekeeper::rule::{CostSpec, KeyKind, KeySpec, Limits, Rollout, RuleSpec};
use ratekeeper::{Algorithm, Decision, Limit, Request};
use std::time::Duration;

fn plans(modes: &'static [Mode]) -> impl Strategy<Value = Vec<Plan>> {
    let period = prop::sample::select(vec![7, 60, 3600, 86_400]);
    let kind = prop::sample::select(vec![Kind::User, Kind::Ip, Kind::Global]);
    let trial = prop::option::weighted(0.3, 1..9_u64);
    let plan = (1..9_u64, period, 1..4_u64, kind, prop::sample::select(modes), trial);
    let plan = plan.prop_map(|(amount, period, cost, kind, rollout, trial)| Plan {
        amount,
        period,
        cost,
        kind,
        rollout,
        trial,
    });
    prop::collection::vec(plan, 0..6)
}

fn asks() -> impl Strategy<Value = Vec<(Ask, u64)>> {
    let user = prop::option::weighted(0.8, 0..3_u8);
    let ask = (user, 0..2_u8, 0..4_u64).prop_map(|(user, ip, units)| Ask { user, ip, units });
    let later = prop_oneof![4 => Just(0), 1 => 1..90_u64];
    prop::collection::vec((ask, later), 1..24)
}

fn limit(amount: u64, period: u64) -> Limits {
    let limit = Limit::per(amount, Duration::from_secs(period)).algorithm(Algorithm::FixedWindow);
    Limits::Same(vec![limit.build().unwrap()])
}

fn spec(number: usize, plan: &Plan) -> RuleSpec {
    let kind = match plan.kind {
        Kind::User => KeyKind::User,
        Kind::Ip => KeyKind::Ip,
        Kind::Global => KeyKind::Global,
    };
    RuleSpec {
        key: KeySpec::of(kind),
        cost: CostSpec::Fixed(plan.cost),
        trial: plan.trial.map(|amount| limit(amount, plan.period)),
        rollout: match plan.rollout {
            Mode::Off => Rollout::Off,
            Mode::Shadow => Rollout::Shadow,
            Mode::Enforced => Rollout::Percent(100),
        },
        ..RuleSpec::new(format!("r{number}"), limit(plan.amount, plan.period))
    }
}

fn same_figures(decision: &Decision, said: &Said) -> Result<(), TestCaseError> {
    let wait = match said.wait {
        Wait::Seconds(seconds) => Some(Duration::from_secs(seconds)),
        Wait::None | Wait::Never => None,
    };
    prop_assert_eq!(decision.is_allowed(), said.wait == Wait::None, "{}", said.id);
    prop_assert_eq!(decision.is_never(), said.wait == Wait::Never, "{}", said.id);
    prop_assert_eq!(decision.retry_after(), wait, "{}", said.id);
    prop_assert_eq!((decision.limit(), decision.remaining()), (said.limit, said.remaining));
    Ok(())
}

fn follows_the_model(plans: &[Plan], asks: &[(Ask, u64)]) -> Result<(), TestCaseError> {
    let site = Site::of(plans.iter().enumerate().map(|(number, plan)| spec(number, plan)));
    let mut model = Model::default();
    for (ask, later) in asks {
        site.clock.advance(Duration::from_secs(*later));
        let user = ask.user.map(|user| format!("u{user}"));
        let peer = Some(ip(&format!("192.0.2.{}", ask.ip)));
        let cost = Some(ask.units);
        let decisions =
            site.ask(&Request { user: user.as_deref(), peer, cost, ..Request::new("GET", "/") });
        let said = model.ask(plans, *ask, site.clock.now().as_secs());
        let ids: Vec<&str> = decisions.results().map(|(id, _)| id).collect();
        prop_assert_eq!(ids, said.iter().map(|own| &*own.id).collect::<Vec<_>>());
        for (result, own) in decisions.rules().iter().zip(&said) {
            prop_assert_eq!(result.is_shadow(), own.shadow);
            same_figures(result, own)?;
        }
        match Model::top(&said) {
            Some(top) => {
                prop_assert_eq!(decisions.rule(), Some(&*top.id));
                same_figures(&decisions, top)?;
            }
            None => {
                prop_assert_eq!(decisions.rule(), None);
                prop_assert!(decisions.is_allowed());
                prop_assert_eq!(decisions.remaining(), UNLIMITED);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(crate::laws::cases(600))]

    /// Goal: all rules that apply charge or none does; results are in the order of the file; the top
    /// figures are those of the longest wait, or of the least left.
    /// Method: enforced rules against the model.
    #[test]
    fn enforced_rules_follow_the_model(plans in plans(&[Mode::Enforced]), asks in asks()) {
        follows_the_model(&plans, &asks)?;
    }

    /// Goal: enforced rules decide first; if they admit, each in shadow charges when it alone admits, else
    /// none does; and a rule that is off is as good as none.
    /// Method: rules in every mode against the model.
    #[test]
    fn rules_in_every_mode_follow_the_model(
        plans in plans(&[Mode::Enforced, Mode::Shadow, Mode::Off]),
        asks in asks(),
    ) {
        follows_the_model(&plans, &asks)?;
    }

    /// Goal: what one key does changes nothing for another.
    /// Method: the answers to one user with and without the traffic of others in between, by every
    /// algorithm.
    #[test]
    fn traffic_of_one_key_changes_nothing_for_another(
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
        steps in prop::collection::vec((0..4_u8, 0..4_u64, 0..2_000_u64), 1..40),
    ) {
        let limit = Limit::per_second(5).algorithm(algorithm).build().unwrap();
        let keyed = RuleSpec { limits: Limits::Same(vec![limit]), ..rule("user", "1/day") };
        let (crowd, alone) = (Site::of([keyed.clone()]), Site::of([keyed]));
        for (user, cost, millis) in steps {
            let name = format!("u{user}");
            let request = Request { cost: Some(cost), ..by(&name) };
            let seen = crowd.ask(&request);
            if user == 0 {
                let own = alone.ask(&request);
                prop_assert_eq!(own.is_allowed(), seen.is_allowed());
                prop_assert_eq!(own.remaining(), seen.remaining());
                prop_assert_eq!(own.retry_after(), seen.retry_after());
                prop_assert_eq!(own.reset_after(), seen.reset_after());
            }
            for site in [&crowd, &alone] {
                site.clock.advance(Duration::from_millis(millis));
            }
        }
    }
}

/// Goal: without a rule that matches, nothing decides.
/// Method: no rules at all, and one that is elsewhere.
#[test]
fn without_a_rule_nothing_decides() {
    let elsewhere = RuleSpec { matches: super::on_paths(&["/a"]), ..rule("a", "1/day") };
    for rules in [vec![], vec![elsewhere]] {
        let decisions = Site::of(rules).ask(&get("/b"));
        assert!(decisions.is_allowed() && decisions.rules().is_empty());
        assert_eq!((decisions.rule(), decisions.retry_after()), (None, None));
        assert_eq!(decisions.version(), 1);
    }
}

/// Goal: a wait without end is longer than any, and what has no end that is known is longer than a time.
/// Method: a rule whose cost never fits, between rules that refuse for an hour and for a day.
#[test]
fn never_is_the_longest_wait() {
    let costly = |id, limit, cost| RuleSpec { cost: CostSpec::Fixed(cost), ..rule(id, limit) };
    let rules = [costly("hour", "1/hour", 1), costly("never", "2/second", 3), rule("day", "1/day")];
    let site = Site::of(rules);
    let decisions = site.ask(&by("alice"));
    assert_eq!(decisions.rule(), Some("never"));
    assert!(decisions.is_never() && decisions.retry_after().is_none());
    let allowed: Vec<bool> = decisions.results().map(|(_, own)| own.is_allowed()).collect();
    assert_eq!(allowed, [true, false, true], "nothing was charged to the others");
}
