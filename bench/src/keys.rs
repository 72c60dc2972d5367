//! Keys, made beforehand, in the order in which they will be asked for.
//!
//! A server has just read the key from the network when it asks, so the bytes are near: the strings
//! lie in memory in the order of their use, and only the limiters' own tables are met at random.

/// How the questions spread over the keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    Uniform,
    /// The k-th key is asked for with a share of 1/k.
    Zipf,
}

/// A small generator with a good spread; not for secrets.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Twenty bytes, the first of which differ as those of hashed names do.
pub fn key(number: usize) -> String {
    format!("{:016x}:api", Random::new(number as u64 + 1).next())
}

/// `count` questions over `keys` keys.
pub fn questions(spread: Spread, keys: usize, count: usize, seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut cumulated = Vec::new();
    if spread == Spread::Zipf {
        let mut sum = 0.0;
        for rank in 1..=keys {
            sum += 1.0 / rank as f64;
            cumulated.push(sum);
        }
    }
    let mut pick = || match cumulated.last() {
        None => (random.next() % keys as u64) as usize,
        Some(total) => {
            let at = random.unit() * total;
            cumulated.partition_point(|sum| *sum < at).min(keys - 1)
        }
    };
    (0..count).map(|_| key(pick())).collect()
}
