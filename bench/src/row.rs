//! What one of several did, a round each, and the table that has all of them.
//!
//! Invariant: ratios are taken within a round, so that what slows a whole round counts for both; a
//! ratio to one that is not there is a dash, as is a time that nobody told.

use crate::median;

pub struct Row {
    pub name: &'static str,
    /// Requests in a second.
    rates: Vec<f64>,
    /// Microseconds for a request, in the middle.
    p50: Vec<f64>,
}

impl Row {
    pub fn new(name: &'static str) -> Row {
        Row { name, rates: Vec::new(), p50: Vec::new() }
    }

    pub fn add(&mut self, rate: f64, p50: Option<f64>) {
        self.rates.push(rate);
        self.p50.extend(p50);
    }

    /// How many times as much as another, and the spread of that.
    fn times(&self, base: &Row) -> (f64, f64) {
        let pairs = self.rates.iter().zip(&base.rates);
        median(&pairs.map(|(own, base)| own / base).collect::<Vec<_>>())
    }
}

/// Prints all, beside the one of this name.
pub fn table(rows: &[Row], base: &str) {
    println!("| | requests/s | spread | of {base} | spread | p50 |");
    println!("|---|---:|---:|---:|---:|---:|");
    let base = rows.iter().find(|row| row.name == base);
    for row in rows {
        let (name, (rate, spread)) = (row.name, median(&row.rates));
        let times = base.map_or("– | –".into(), |base| {
            let (times, spread) = row.times(base);
            format!("{times:.2} × | {spread:.0} %")
        });
        let told = (!row.p50.is_empty()).then(|| format!("{:.0} µs", median(&row.p50).0));
        let p50 = told.unwrap_or("–".into());
        println!("| {name} | {rate:.0} | {spread:.0} % | {times} | {p50} |");
    }
}
