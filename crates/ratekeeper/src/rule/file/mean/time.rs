//! Dates and times as RFC 3339 writes them.
//!
//! Invariant: a date that is no day of the calendar is refused.

/// Seconds since the epoch of a date, which is its first moment in UTC, or of a time.
pub fn read(text: &str) -> Option<u64> {
    let (date, time) = match text.split_at_checked(10)? {
        (date, "") => (date, None),
        (date, rest) => (date, Some(rest.strip_prefix(['T', 't', ' '])?)),
    };
    let days = days(date)?;
    let seconds = time.map_or(Some(0), seconds)?;
    u64::try_from(days * 86_400 + seconds).ok()
}

fn number(text: &str) -> Option<i64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Days from the epoch to `YYYY-MM-DD`.
fn days(date: &str) -> Option<i64> {
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || (year.len(), month.len(), day.len()) != (4, 2, 2) {
        return None;
    }
    let (year, month, day) = (number(year)?, number(month)?, number(day)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let most = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=most).contains(&day) {
        return None;
    }
    // Years that begin in March end with their leap day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_years = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(of_years + (153 * month + 2) / 5 + day - 1 - 719_468)
}

/// Seconds from midnight in UTC to `HH:MM:SS` with a zone.
fn seconds(time: &str) -> Option<i64> {
    let (clock, rest) = time.split_at_checked(8)?;
    let mut parts = clock.split(':');
    let (hour, minute, second) = (two(&mut parts)?, two(&mut parts)?, two(&mut parts)?);
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let zone = match rest.strip_prefix('.') {
        Some(rest) => {
            let zone = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            (zone.len() < rest.len()).then_some(zone)?
        }
        None => rest,
    };
    let seconds = hour * 3_600 + minute * 60 + second;
    if matches!(zone, "Z" | "z") {
        return Some(seconds);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let mut parts = zone.strip_prefix(['+', '-'])?.split(':');
    let (hour, minute) = (two(&mut parts)?, two(&mut parts)?);
    (parts.next().is_none() && hour <= 23 && minute <= 59)
        .then_some(seconds - sign * (hour * 3_600 + minute * 60))
}

fn two<'t>(parts: &mut impl Iterator<Item = &'t str>) -> Option<i64> {
    parts.next().filter(|text| text.len() == 2).and_then(number)
}
