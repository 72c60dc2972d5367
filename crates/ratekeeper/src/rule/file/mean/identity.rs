//! How callers are recognised.
//!
//! Invariant: no fault quotes a key or a hash.

use super::super::error::{Place, quoted};
use super::super::shape;
use super::super::tree::{self, Node, Value};
use super::Reader;
use crate::identity::{ApiKey, Identity, IdentityError};
use std::collections::HashSet;
use std::io;
use std::sync::Arc;

/// Most API keys.
const KEYS_MAX: usize = 100_000;

/// The header field of API keys, unless said.
const KEY_HEADER: &str = "X-Api-Key";

impl Reader<'_> {
    /// `identity`.
    pub(super) fn identity(&mut self, node: &Node<'_>) -> Identity {
        let mut identity = Identity::default();
        let Some(fields) = self.fields(node, &shape::IDENTITY) else { return identity };
        if let Some(node) = fields.get("trusted_proxies") {
            identity = identity.trusted_proxies(self.networks(node, "trusted_proxies"));
        }
        if let Some(node) = fields.get("client_ip_header")
            && let Some(text) = self.text(node, "client_ip_header")
        {
            identity = self.kept(node.at, identity, |own| own.client_ip_header(text));
        }
        if let Some(node) = fields.get("ipv6_prefix")
            && let Some(bits) = self.whole(node, "ipv6_prefix", 1..=128)
        {
            identity = self.kept(node.at, identity, |own| own.ipv6_prefix(bits as u8));
        }
        if let Some(node) = fields.get("api_key") {
            identity = self.api_keys(node, identity);
        }
        if let Some(node) = fields.get("jwt") {
            // Whatever is wrong with it, there are to be claims.
            self.claims = true;
            identity = self.tokens(node, identity);
        }
        identity
    }

    /// What becomes of an identity, or its fault and what it was.
    fn kept(
        &mut self,
        at: Place,
        identity: Identity,
        change: impl FnOnce(Identity) -> Result<Identity, IdentityError>,
    ) -> Identity {
        match change(identity.clone()) {
            Ok(changed) => changed,
            Err(error) => {
                self.passed_on(at, &error.to_string(), "write another");
                identity
            }
        }
    }

    fn api_keys(&mut self, node: &Node<'_>, identity: Identity) -> Identity {
        let Some(fields) = self.fields(node, &shape::API_KEY) else { return identity };
        let header =
            fields.get("header").map_or(Some(KEY_HEADER), |node| self.text(node, "header"));
        let keys = fields.get("keys").and_then(|node| match node.value() {
            Value::Scalar { .. } => self.keys_file(node),
            _ => Some(self.key_entries(node)),
        });
        let (Some(header), Some(keys)) = (header, keys) else { return identity };
        let at = fields.get("header").map_or(fields.at, |node| node.at);
        self.kept(at, identity, |own| own.api_keys(header, keys))
    }

    fn keys_file(&mut self, node: &Node<'_>) -> Option<Vec<ApiKey>> {
        let name = self.text(node, "keys")?;
        let bytes = self.opened(node.at, name, false)?;
        let Ok(text) = String::from_utf8(bytes) else {
            let fault = format!("`{name}` is not text");
            self.fault(node.at, fault, "write a list of keys in YAML");
            return None;
        };
        let file = self.sources.len() + self.opened.len();
        self.opened.push(name.to_owned());
        let tree = tree::read(u16::try_from(file).ok()?, &text, &mut self.faults)?;
        Some(self.key_entries(&tree))
    }

    fn key_entries(&mut self, node: &Node<'_>) -> Vec<ApiKey> {
        let items = self.list(node, "keys");
        if items.len() > KEYS_MAX {
            let fault = format!("there are more than {KEYS_MAX} API keys");
            self.fault(node.at, fault, "use tokens for so many callers");
            return Vec::new();
        }
        let mut ids: HashSet<Arc<str>> = HashSet::with_capacity(items.len());
        let mut keys = Vec::with_capacity(items.len());
        for item in items {
            let Some(key) = self.key_entry(item) else { continue };
            if !ids.insert(Arc::clone(&key.id)) {
                let fault = format!("the API key `{}` is there twice", key.id);
                self.fault(item.at, fault, "give one of them another id");
            }
            keys.push(key);
        }
        keys
    }

    fn key_entry(&mut self, node: &Node<'_>) -> Option<ApiKey> {
        let fields = self.fields(node, &shape::KEY_ENTRY)?;
        let id = fields.get("id").and_then(|node| self.text(node, "id")).map(Arc::from);
        let owner = fields.get("owner").and_then(|node| self.text(node, "owner")).map(Arc::from);
        let tier = fields.get("tier").and_then(|node| self.tier(node));
        let tier = tier.and_then(|tier| self.tiers.get(tier).cloned());
        let hash = fields.get("hash").and_then(|node| {
            let text = self.text(node, "hash")?;
            let hash = ApiKey::parse_hash(text);
            if hash.is_err() {
                let fault = "`hash` is not a hash of SHA-256";
                self.fault(node.at, fault, "write `sha256:` and 64 digits from 0 to f");
            }
            hash.ok()
        });
        Some(ApiKey { id: id?, owner: owner?, tier, hash: hash? })
    }

    /// What a file that is named here has in it.
    /// It is not named where it may be the secret itself.
    fn opened(&mut self, at: Place, name: &str, secret: bool) -> Option<Vec<u8>> {
        let shown = if secret { "the file that `key` names".into() } else { quoted(name) };
        let (fault, repair) = match (self.open)(name) {
            Ok(bytes) if bytes.len() <= self.room => {
                self.room -= bytes.len();
                return Some(bytes);
            }
            Ok(_) => {
                (format!("{shown} makes the rule files too large"), "use a smaller one".into())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (
                format!("{shown} is not there"),
                "write its path, from the folder of this file".into(),
            ),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                (format!("{shown} cannot be opened here"), "write what is in it instead".into())
            }
            Err(error) => {
                (format!("{shown} cannot be read: {error}"), "let this process read it".to_owned())
            }
        };
        self.fault(at, fault, repair);
        None
    }

    #[cfg(feature = "jwt")]
    fn tokens(&mut self, node: &Node<'_>, identity: Identity) -> Identity {
        use crate::identity::Tokens;

        let Some(fields) = self.fields(node, &shape::JWT) else { return identity };
        let items = fields.get("algorithms").map_or(&[][..], |node| self.items(node, "algorithms"));
        let algorithms: Vec<_> = items.iter().map(|item| self.text(item, "algorithms")).collect();
        let algorithms: Option<Vec<&str>> = algorithms.into_iter().collect();
        let key = fields.get("key").and_then(|node| {
            let text = self.long_text(node, "key", PEM_MAX)?;
            if text.contains("-----BEGIN ") {
                return Some(text.as_bytes().to_vec());
            }
            // The end of its line is not part of a secret.
            let mut key = self.opened(node.at, text, true)?;
            key.truncate(key.trim_ascii_end().len());
            Some(key)
        });
        let user = fields.get("user").map_or(Some("sub"), |node| self.text(node, "user"));
        let mut said = |field| fields.get(field).and_then(|node| self.text(node, field));
        let (tier, issuer, audience) = (said("tier"), said("issuer"), said("audience"));
        let (Some(algorithms), Some(key), Some(user)) = (algorithms, key, user) else {
            return identity;
        };
        match Tokens::new(&algorithms, &key, user, tier) {
            Ok(mut tokens) => {
                if let Some(issuer) = issuer {
                    tokens = tokens.issuer(issuer);
                }
                if let Some(audience) = audience {
                    tokens = tokens.audience(audience);
                }
                identity.tokens(tokens)
            }
            Err(error) => {
                let message = error.to_string();
                self.passed_on(
                    node.at,
                    &message,
                    "write algorithms and a key that belong together",
                );
                identity
            }
        }
    }

    #[cfg(not(feature = "jwt"))]
    fn tokens(&mut self, node: &Node<'_>, identity: Identity) -> Identity {
        let fault = "`jwt` needs the feature `jwt`, which this build leaves out";
        self.fault(node.at, fault, "turn it on, or leave `jwt` out");
        identity
    }
}

/// Longest key that stands in the file itself.
#[cfg(feature = "jwt")]
const PEM_MAX: usize = 64 * 1024;
