//! Moments as answers show them: RFC 3339 in UTC, to the second.
//!
//! Invariant: what is shown is read back by rule files as the same second.

/// Seconds of a day.
const DAY: u64 = 86_400;

/// Names of months, as logs have them.
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Seconds since the epoch, as `2027-01-31T18:00:00Z`.
pub(crate) fn shown(seconds: u64) -> String {
    let ([year, month, date], [hour, minute, second]) = parts(seconds);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The same as `31/Jan/2027:18:00:00 +0000`.
pub(crate) fn of_logs(seconds: u64) -> String {
    let ([year, month, date], [hour, minute, second]) = parts(seconds);
    let month = MONTHS[(month as usize - 1) % MONTHS.len()];
    format!("{date:02}/{month}/{year:04}:{hour:02}:{minute:02}:{second:02} +0000")
}

/// Year, month and date; hour, minute and second.
fn parts(seconds: u64) -> ([u64; 3], [u64; 3]) {
    // The last second of the year 9999, beyond which there is no form.
    let seconds = seconds.min(253_402_300_799);
    let (days, second) = (seconds / DAY, seconds % DAY);
    // Years that begin in March end with their leap day; an era has 400 of them.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + next;
    ([year, month, date], [second / 3_600, second / 60 % 60, second % 60])
}

#[cfg(test)]
mod tests {
    use super::{of_logs, shown};
    use ratekeeper::rule::file::time;

    /// Goal: a moment is shown as its date, and read back as itself, on every kind of day.
    /// Method: dates set by hand, and a long stride over four centuries against the reader of rule files.
    #[test]
    fn a_moment_is_shown_as_it_is_read() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (u64::MAX, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(shown(seconds), text);
        }
        for seconds in (0..400 * 31_557_600_u64).step_by(7_654_321) {
            assert_eq!(time(&shown(seconds)), Some(seconds), "{}", shown(seconds));
        }
        assert_eq!(of_logs(951_782_400), "29/Feb/2000:00:00:00 +0000");
        assert_eq!(of_logs(1_798_761_599), "31/Dec/2026:23:59:59 +0000");
    }
}
