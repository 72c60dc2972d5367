//! The interval in which most was admitted beyond what may be.
//!
//! The instant of a decision lies between the question and its answer, so a unit is counted in an interval
//! only if all of that lies inside. Invariant: what is found to be too much is too much, whatever the delays
//! were. With n operations it takes n log n steps: operations come in the order of their answers, each adds
//! its cost to all starts up to its own question, and the highest of the starts is asked for.

use super::peaks::Peaks;

/// Units that were admitted; times are ticks, and both count.
#[derive(Clone, Copy, Debug)]
pub struct Spend {
    /// The first tick in which it can have been decided.
    pub asked: i64,
    /// The last tick.
    pub answered: i64,
    /// Units.
    pub cost: u64,
}

/// What may be admitted from one tick to another: a sum, and so much for each period between them.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Units in any case.
    pub units: u64,
    /// Units for each period.
    pub amount: u64,
    /// The period, in ticks.
    pub period: u64,
    /// The longest interval that this holds for; any, unless said.
    pub reach: Option<u64>,
}

/// What may be admitted beside that, if the interval meets this time.
#[derive(Clone, Copy, Debug)]
pub struct Extra {
    /// The first tick.
    pub from: i64,
    /// The last tick.
    pub to: i64,
    /// Units in any case.
    pub units: u64,
    /// Units for each period that both have in common.
    pub amount: u64,
}

/// The worst interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    /// Units beyond what may be, rounded up; not above 0 if all is well.
    pub excess: i128,
    /// Its first tick.
    pub from: i64,
    /// Its last tick.
    pub to: i64,
}

/// The worst interval of all; `None` if there is none. The steps it took are added to `steps`.
pub fn worst(spends: &[Spend], line: &Line, extras: &[Extra], steps: &mut u64) -> Option<Worst> {
    let mut starts: Vec<i64> = spends.iter().map(|spend| spend.asked).collect();
    starts.sort_unstable();
    starts.dedup();
    let mut ends: Vec<&Spend> = spends.iter().collect();
    ends.sort_unstable_by_key(|spend| spend.answered);

    let bases = bases(&starts, line, extras);
    let mut peaks = Peaks::new(&bases);
    let mut sweep = Sweep::new(&starts, line, extras);
    let mut found: Option<(i128, i64)> = None;
    for spend in &ends {
        let end = spend.answered;
        sweep.go_to(end, |place, units| peaks.add(place, units));
        sweep.spend(spend, |place, units| peaks.add(place, units));
        let (from, to) = reach(&starts, line, end);
        let Some(highest) = peaks.highest(from, to) else { continue };
        let beyond = highest - sweep.allowed(end);
        if found.is_none_or(|(most, _)| beyond > most) {
            found = Some((beyond, end));
        }
    }
    *steps += peaks.steps;

    // Once more, up to that end, without the tree: which start it was.
    let (beyond, end) = found?;
    let mut values = vec![0; starts.len()];
    let mut sweep = Sweep::new(&starts, line, extras);
    sweep.go_to(end, |place, units| values[place] += units);
    for spend in ends.iter().take_while(|spend| spend.answered <= end) {
        sweep.spend(spend, |place, units| values[place] += units);
    }
    let (from, to) = reach(&starts, line, end);
    let mut sum: i128 = values[to..].iter().sum();
    let mut start = end;
    for place in (from..to).rev() {
        sum += values[place];
        if sum + bases[place] - sweep.allowed(end) == beyond {
            start = starts[place];
        }
    }
    let period = i128::from(line.period.max(1));
    Some(Worst { excess: -(-beyond).div_euclid(period), from: start, to: end })
}

/// The places of the starts from which an interval can reach this end.
fn reach(starts: &[i64], line: &Line, end: i64) -> (usize, usize) {
    let first = line.reach.map_or(i64::MIN, |reach| end.saturating_sub_unsigned(reach));
    (starts.partition_point(|start| *start < first), starts.partition_point(|start| *start <= end))
}

/// What each start has beforehand: the drain up to it, less what times that it lies in allow.
fn bases(starts: &[i64], line: &Line, extras: &[Extra]) -> Vec<i128> {
    let period = i128::from(line.period.max(1));
    let mut begins: Vec<&Extra> = extras.iter().collect();
    begins.sort_unstable_by_key(|extra| extra.from);
    let mut stops: Vec<&Extra> = extras.iter().collect();
    stops.sort_unstable_by_key(|extra| extra.to);
    let (mut begins, mut stops) = (begins.into_iter().peekable(), stops.into_iter().peekable());
    let (mut units, mut amount) = (0, i128::from(line.amount));
    let base = |start: &i64| {
        while let Some(extra) = begins.next_if(|extra| extra.from <= *start) {
            units += i128::from(extra.units) * period;
            amount += i128::from(extra.amount);
        }
        while let Some(extra) = stops.next_if(|extra| extra.to < *start) {
            units -= i128::from(extra.units) * period;
            amount -= i128::from(extra.amount);
        }
        amount * i128::from(*start) - units
    };
    starts.iter().map(base).collect()
}

/// The end of the interval on its way through time: which extras it meets.
struct Sweep<'a> {
    starts: &'a [i64],
    begins: Vec<&'a Extra>,
    stops: Vec<&'a Extra>,
    begun: usize,
    stopped: usize,
    units: i128,
    amount: i128,
    period: i128,
}

impl<'a> Sweep<'a> {
    fn new(starts: &'a [i64], line: &Line, extras: &'a [Extra]) -> Sweep<'a> {
        let mut begins: Vec<&Extra> = extras.iter().collect();
        begins.sort_unstable_by_key(|extra| extra.from);
        let mut stops: Vec<&Extra> = extras.iter().collect();
        stops.sort_unstable_by_key(|extra| extra.to);
        let period = i128::from(line.period.max(1));
        let (units, amount) = (i128::from(line.units) * period, i128::from(line.amount));
        Sweep { starts, begins, stops, begun: 0, stopped: 0, units, amount, period }
    }

    /// Moves the end to this tick: starts before a time that has begun have all of what it allows up to
    /// the end, or to its own.
    fn go_to(&mut self, end: i64, mut add: impl FnMut(usize, i128)) {
        while let Some(extra) = self.begins.get(self.begun).filter(|extra| extra.from <= end) {
            let before = self.starts.partition_point(|start| *start < extra.from);
            if before > 0 {
                let less = i128::from(extra.units) * self.period;
                add(before - 1, i128::from(extra.amount) * i128::from(extra.from) - less);
            }
            self.amount += i128::from(extra.amount);
            self.begun += 1;
        }
        while let Some(extra) = self.stops.get(self.stopped).filter(|extra| extra.to < end) {
            let before = self.starts.partition_point(|start| *start <= extra.to);
            if before > 0 {
                add(before - 1, -i128::from(extra.amount) * i128::from(extra.to));
            }
            self.amount -= i128::from(extra.amount);
            self.stopped += 1;
        }
    }

    /// Counts a spend in all intervals that begin no later than it.
    fn spend(&self, spend: &Spend, mut add: impl FnMut(usize, i128)) {
        let upto = self.starts.partition_point(|start| *start <= spend.asked);
        if upto > 0 {
            add(upto - 1, i128::from(spend.cost) * self.period);
        }
    }

    /// What is allowed up to this end, whatever the start.
    fn allowed(&self, end: i64) -> i128 {
        self.units + self.amount * i128::from(end)
    }
}
