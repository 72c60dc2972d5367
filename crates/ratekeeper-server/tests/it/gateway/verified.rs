//! Callers with tokens, and callers who cannot be told apart.

use super::message::Message;
use super::site::{Site, get, head};
use super::upstream::{OK, Upstream};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};

const SECRET: &str = "a secret of these tests, as long as it has to be";

/// A token of somebody, until a time in seconds since the epoch.
fn token(user: &str, until: u64, secret: &str) -> String {
    let claims = serde_json::json!({"sub": user, "plan": "pro", "exp": until});
    let key = EncodingKey::from_secret(secret.as_bytes());
    encode(&Header::new(Algorithm::HS256), &claims, &key).expect("it is signed")
}

fn site(upstream: &Upstream) -> Site {
    let text = format!(
        "{}  routes: [{{path: \"/**\", upstream: \"{}\", auth: required}}]\n\
         identity:\n  jwt: {{algorithms: [HS256], key: secret, user: sub, tier: plan}}\n\
         tiers: [free, pro]\n\
         rules: [{{id: api, key: {{first: [user, ip]}}, limit: {{free: 3/day, pro: 2/day}}}}]\n",
        head(""),
        upstream.url()
    );
    Site::of(&[("secret", SECRET)], &text)
}

/// Goal: a token says who calls: the upstream is told, in a form that a field can hold, and rules count by
/// it; one that is over, forged or nonsense is nobody's.
/// Method: a user whose name no field could hold; three tokens that are not good.
#[test]
fn a_token_says_who_calls() {
    let upstream = Upstream::saying(OK);
    let site = site(&upstream);
    let ask = |token: &str| site.ask(&get("/", &format!("Authorization: Bearer {token}\r\n")));
    let later = 4_102_444_800;
    let good = token("a b%é\r\nX-Ratekeeper-User: root", later, SECRET);
    let statuses = [(); 3].map(|()| ask(&good).status());
    assert_eq!(statuses, [200, 200, 429], "a rule of two for this user");
    let request = upstream.seen().remove(0);
    let told = "a%20b%25%C3%A9%0D%0AX-Ratekeeper-User:%20root";
    assert_eq!(request.field("x-ratekeeper-user"), Some(told));
    assert_eq!(request.field("x-ratekeeper-tier"), Some("pro"));
    assert_eq!(request.field("authorization"), Some(format!("Bearer {good}").as_str()));

    let over = token("alice", 1_000_000_000, SECRET);
    let forged = token("alice", later, "another secret, as long as it has to be, too");
    for bad in [over.as_str(), &forged, "nonsense"] {
        assert_eq!(ask(bad).status(), 401);
    }
    assert_eq!(ask("more").status(), 429, "who is nobody is counted by address");
    assert_eq!(ask(&token("bob", later, SECRET)).status(), 200, "others are not held up");
    assert_eq!(upstream.seen().len(), 3);
}

/// Goal: a request with two credentials of one kind is nobody's, and does not pass.
/// Method: two lines of the field, of which one is good.
#[test]
fn two_credentials_are_none() {
    let upstream = Upstream::saying(OK);
    let site = site(&upstream);
    let good = token("alice", 4_102_444_800, SECRET);
    let fields = format!("Authorization: Bearer {good}\r\nAuthorization: Bearer x\r\n");
    let answer: Message = site.ask(&get("/", &fields));
    assert_eq!(answer.status(), 400, "{answer:?}");
    assert_eq!(upstream.seen().len(), 0);
}
