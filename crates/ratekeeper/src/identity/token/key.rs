//! The key that tokens are verified with.
//!
//! Invariant: a key that is accepted can verify tokens of each algorithm that was named, and is not
//! too weak to; what it is shows in no error.

use super::{Algorithm, DecodingKey, IdentityError};
use jsonwebtoken::AlgorithmFamily;

/// Largest file with a key.
const FILE_MAX: usize = 16 * 1024;

/// Shortest secret: as long as the shortest hash.
const SECRET_MIN: usize = 32;

/// Bits of an RSA key: fewer can be broken, more are not verified.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=4096;

/// The key for these algorithms, which are of one family.
pub(super) fn read(algorithms: &[Algorithm], key: &[u8]) -> Result<DecodingKey, IdentityError> {
    let read = if key.len() > FILE_MAX {
        Err("is larger than any key; give the key alone")
    } else {
        match algorithms.first().map(|algorithm| algorithm.family()) {
            None => Err("has no algorithm; name one"),
            Some(AlgorithmFamily::Hmac) => secret(key),
            Some(family) => public(family, algorithms, key),
        }
    };
    read.map_err(|fault| IdentityError::new(format!("jwt.key: it {fault}")))
}

fn secret(key: &[u8]) -> Result<DecodingKey, &'static str> {
    if label(key).is_some() {
        return Err(
            "is in PEM, and a public key is no secret; give a secret for the HS algorithms, \
                    or name the algorithms of this key, such as RS256",
        );
    }
    if key.len() < SECRET_MIN {
        return Err(
            "is a secret of less than 32 bytes, which can be guessed; give 32 random bytes, \
                    as `openssl rand -hex 32` prints them",
        );
    }
    Ok(DecodingKey::from_secret(key))
}

fn public(
    family: AlgorithmFamily,
    algorithms: &[Algorithm],
    key: &[u8],
) -> Result<DecodingKey, &'static str> {
    match label(key) {
        Some("PUBLIC KEY" | "RSA PUBLIC KEY") => {}
        Some("CERTIFICATE") => {
            return Err(
                "is a certificate; give its key, which `openssl x509 -pubkey -noout` prints",
            );
        }
        Some(label) if label.ends_with("PRIVATE KEY") => {
            return Err(
                "is a private key, which has no business here; give the public one, which \
                        `openssl pkey -pubout` prints",
            );
        }
        _ => {
            return Err(
                "is no public key in PEM; give one that begins `-----BEGIN PUBLIC KEY-----`",
            );
        }
    }
    let (read, fault) = match family {
        AlgorithmFamily::Rsa => (
            DecodingKey::from_rsa_pem(key),
            "is no RSA key; give one, or name the algorithms of this key",
        ),
        AlgorithmFamily::Ec => (
            DecodingKey::from_ec_pem(key),
            "is no EC key; give one, or name the algorithms of this key",
        ),
        _ => (
            DecodingKey::from_ed_pem(key),
            "is no Ed25519 key; give one, or name the algorithms of this key",
        ),
    };
    let read = read.map_err(|_| fault)?;
    let bytes = read.try_get_as_bytes().map_err(|_| fault)?;
    match family {
        AlgorithmFamily::Rsa if !RSA_BITS.contains(&rsa_bits(bytes).ok_or(fault)?) => {
            Err("is an RSA key of less than 2048 or more than 4096 bits; give one between")
        }
        AlgorithmFamily::Ec if !algorithms.iter().all(|each| is_point_for(*each, bytes)) => {
            Err("is on another curve; give one on P-256 for ES256, or on P-384 for ES384, not both")
        }
        _ => Ok(read),
    }
}

/// What stands in the first line of a text in PEM.
fn label(key: &[u8]) -> Option<&str> {
    let (_, label) = str::from_utf8(key).ok()?.split_once("-----BEGIN ")?;
    label.split_once("-----").map(|(label, _)| label)
}

/// Whether this is a point, uncompressed, on the algorithm's curve, as far as its length tells.
fn is_point_for(algorithm: Algorithm, point: &[u8]) -> bool {
    let coordinate = if algorithm == Algorithm::ES256 { 32 } else { 48 };
    point.len() == 1 + 2 * coordinate
}

/// Bits of the modulus of an RSA key in DER: a sequence, and the modulus as its first integer.
fn rsa_bits(der: &[u8]) -> Option<usize> {
    let sequence = value(der, 0x30)?;
    let modulus = value(sequence, 0x02)?;
    let zeros = modulus.iter().take_while(|byte| **byte == 0).count();
    let first = modulus.get(zeros)?;
    let rest = modulus.len().checked_sub(zeros + 1)?;
    usize::try_from(u8::BITS - first.leading_zeros()).ok()?.checked_add(rest.checked_mul(8)?)
}

/// The value that begins here in DER, if it has this tag.
fn value(der: &[u8], tag: u8) -> Option<&[u8]> {
    let [own, length, rest @ ..] = der else { return None };
    let (length, rest) = match *length {
        0x00..=0x7f => (usize::from(*length), rest),
        0x81 => (usize::from(*rest.first()?), rest.get(1..)?),
        0x82 => (usize::from(*rest.first()?) << 8 | usize::from(*rest.get(1)?), rest.get(2..)?),
        _ => return None,
    };
    if *own == tag { rest.get(..length) } else { None }
}
