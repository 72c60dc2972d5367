//! Who calls: the address behind trusted proxies, and what credentials prove.
//!
//! An [`Identity`] says what is believed; a `Caller` is one request seen through it. Invariant:
//! nothing that was not verified opens a bucket of its own. A header field counts only if the peer
//! that sent it is trusted, an API key only if its hash is known, a token only if its signature and
//! its dates hold; whoever brings something else is counted by address.

mod address;
#[cfg(feature = "yaml")]
mod api_keys;
mod caller;
mod forwarded;
#[cfg(feature = "jwt")]
mod token;
mod verified;

#[cfg(test)]
mod tests;

#[cfg(feature = "yaml")]
pub use api_keys::ApiKey;
pub(crate) use caller::Caller;
pub use forwarded::is_forwarding_name;
#[cfg(feature = "jwt")]
pub use token::Tokens;
pub use verified::Verified;

use address::Trusted;
pub use address::network;
use forwarded::Form;
use ipnet::IpNet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// Bits of an IPv6 address that are counted together, unless said: what one subscriber has.
const IPV6_PREFIX: u8 = 64;

/// The shortest prefix, what one provider has: anything shorter is half the world.
const IPV6_PREFIX_MIN: u8 = 32;

/// A single address.
const IPV6_PREFIX_MAX: u8 = 128;

/// The header in which proxies write whom they speak for, unless said.
const CLIENT_IP_HEADER: &str = "x-forwarded-for";

/// Longest name of a header field.
const NAME_MAX: usize = 64;

/// How callers are recognised.
///
/// Unless said otherwise nobody is believed: a caller is the address at the other end of the
/// connection, and IPv6 addresses of one /64 are one caller.
///
/// ```
/// use ratekeeper::Identity;
///
/// let identity = Identity::default()
///     .trusted_proxies(["10.0.0.0/8".parse()?])
///     .client_ip_header("X-Forwarded-For")?
///     .ipv6_prefix(56)?;
/// assert!(identity.trusts("10.1.2.3".parse()?));
/// assert!(!identity.trusts("192.0.2.1".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Identity {
    trusted: Arc<Trusted>,
    /// In lower case.
    pub(crate) header: Arc<str>,
    form: Form,
    ipv6_prefix: u8,
    #[cfg(feature = "yaml")]
    api_keys: Option<Arc<api_keys::ApiKeys>>,
    #[cfg(feature = "jwt")]
    tokens: Option<Arc<Tokens>>,
}

impl Identity {
    /// The peers whose word about the client's address is taken, instead of those given before.
    ///
    /// Trust only what overwrites or appends to the [header](Identity::client_ip_header): whoever is
    /// trusted can name any address. IPv4 networks and peers in IPv6 form (`::ffff:10.0.0.0/104`) are
    /// the IPv4 ones; other IPv6 networks, `::/0` too, hold IPv6 addresses only.
    #[must_use]
    pub fn trusted_proxies(self, nets: impl IntoIterator<Item = IpNet>) -> Identity {
        Identity { trusted: Arc::new(nets.into_iter().collect()), ..self }
    }

    /// The one header field from which the client's address is read, `X-Forwarded-For` unless said.
    ///
    /// `Forwarded` is read as RFC 7239 has it. Any other field but these two, such as `X-Real-IP`,
    /// holds one address or a list of them, and has to be on one line.
    ///
    /// # Errors
    ///
    /// If this is no name of a header field, or has a `_`.
    pub fn client_ip_header(self, name: &str) -> Result<Identity, IdentityError> {
        let header = header_name("client_ip_header", name, "X-Forwarded-For")?;
        Ok(Identity { form: Form::of(&header), header, ..self })
    }

    /// Bits of an IPv6 address that are counted together, from 32 to 128; 64 unless said.
    ///
    /// # Errors
    ///
    /// If it is less or more than that.
    pub fn ipv6_prefix(self, bits: u8) -> Result<Identity, IdentityError> {
        if !(IPV6_PREFIX_MIN..=IPV6_PREFIX_MAX).contains(&bits) {
            return Err(IdentityError::new(format!(
                "ipv6_prefix: {bits} is not from {IPV6_PREFIX_MIN} to {IPV6_PREFIX_MAX}; \
                 write {IPV6_PREFIX}, which is what one subscriber has"
            )));
        }
        Ok(Identity { ipv6_prefix: bits, ..self })
    }

    /// The keys that are known, and the header field that callers bring theirs in, instead of those
    /// given before.
    ///
    /// # Errors
    ///
    /// If the name is none of a header field, an id or an owner is empty or too long, or two keys
    /// have the same id or hash.
    #[cfg(feature = "yaml")]
    pub fn api_keys(
        self,
        header: &str,
        keys: impl IntoIterator<Item = ApiKey>,
    ) -> Result<Identity, IdentityError> {
        let header = header_name("api_key.header", header, "X-Api-Key")?;
        let keys = api_keys::ApiKeys::new(header, keys)?;
        Ok(Identity { api_keys: Some(Arc::new(keys)), ..self })
    }

    /// How tokens in `Authorization: Bearer` are verified.
    #[cfg(feature = "jwt")]
    #[must_use]
    pub fn tokens(self, tokens: Tokens) -> Identity {
        Identity { tokens: Some(Arc::new(tokens)), ..self }
    }

    /// Whether users can be found out.
    pub(crate) fn knows_users(&self) -> bool {
        #[cfg(feature = "yaml")]
        if self.api_keys.is_some() {
            return true;
        }
        #[cfg(feature = "jwt")]
        if self.tokens.is_some() {
            return true;
        }
        false
    }

    /// What an address is counted by.
    pub(crate) fn network(&self, address: IpAddr) -> IpAddr {
        network(address.to_canonical(), self.ipv6_prefix)
    }

    /// Whether there is any peer whose word is taken.
    pub fn trusts_anyone(&self) -> bool {
        !self.trusted.is_empty()
    }

    /// Whether this peer's word about the client's address is taken.
    pub fn trusts(&self, peer: IpAddr) -> bool {
        self.trusted.contains(peer.to_canonical())
    }
}

impl Default for Identity {
    fn default() -> Identity {
        Identity {
            trusted: Arc::default(),
            header: CLIENT_IP_HEADER.into(),
            form: Form::of(CLIENT_IP_HEADER),
            ipv6_prefix: IPV6_PREFIX,
            #[cfg(feature = "yaml")]
            api_keys: None,
            #[cfg(feature = "jwt")]
            tokens: None,
        }
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Identity");
        shown.field("trusted_proxies", &self.trusted).field("client_ip_header", &self.header);
        shown.field("ipv6_prefix", &self.ipv6_prefix);
        #[cfg(feature = "yaml")]
        shown.field("api_keys", &self.api_keys);
        #[cfg(feature = "jwt")]
        shown.field("tokens", &self.tokens);
        shown.finish()
    }
}

/// A name of a header field, in lower case. `setting` and `example` are for the error.
fn header_name(setting: &str, name: &str, example: &str) -> Result<Arc<str>, IdentityError> {
    let fault = match name {
        _ if name.len() > NAME_MAX => format!("is longer than {NAME_MAX} bytes"),
        // Servers behind a proxy take `X_Real_IP` for `X-Real-IP`, and the proxy lets it through.
        _ if name.contains('_') => "has a `_`, which can pass for a `-`".to_owned(),
        _ if name.is_empty() || !name.bytes().all(forwarded::is_token_char) => {
            "is no name of one header field".to_owned()
        }
        _ => return Ok(name.to_ascii_lowercase().into()),
    };
    Err(IdentityError::new(format!("{setting}: the name {fault}; write `{example}`")))
}

/// Why an [`Identity`] cannot be as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityError {
    fault: String,
}

impl IdentityError {
    fn new(fault: impl Into<String>) -> IdentityError {
        IdentityError { fault: fault.into() }
    }
}

impl fmt::Display for IdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fault)
    }
}

impl std::error::Error for IdentityError {}
