//! A point in time with the offset it was written with; its RFC 3339 form.

use std::fmt;

const DAY: i64 = 86_400;

/// How exactly a text must follow RFC 3339.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Strictness {
    /// To the letter.
    Exact,
    /// As Go's own parser: one digit for the hour, a comma before the fraction and offsets of up to 24:60 go as well.
    AsGo,
}

/// A point in time and an offset from UTC, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Time {
    /// Seconds since 1970 in UTC.
    pub(crate) seconds: i64,
    /// Nanoseconds of the second.
    pub(crate) nanoseconds: i64,
    /// The offset, in seconds.
    pub(crate) offset: i64,
}

/// A time of day and date at the time's own offset.
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
    /// Days since Sunday.
    pub(crate) weekday: i64,
}

impl Time {
    /// Reads RFC 3339; the error is a clause for people.
    pub(crate) fn parse(text: &str, strictness: Strictness) -> Result<Self, String> {
        Reader {
            rest: text.as_bytes(),
        }
        .time(strictness)
        .ok_or_else(|| "the time is not valid RFC 3339, such as 2006-01-02T15:04:05Z".to_owned())
    }

    pub(crate) fn of(civil: [i64; 6], nanoseconds: i64, offset: i64) -> Self {
        let [year, month, day, hour, minute, second] = civil;
        let seconds = days(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset;
        Self {
            seconds,
            nanoseconds,
            offset,
        }
    }

    /// What is compared: seconds and nanoseconds in UTC.
    pub(crate) fn instant(&self) -> (i64, i64) {
        (self.seconds, self.nanoseconds)
    }

    /// So many nanoseconds later.
    pub(crate) fn plus(self, nanoseconds: i64) -> Self {
        let total = self.nanoseconds + nanoseconds % 1_000_000_000;
        Self {
            seconds: self.seconds + nanoseconds / 1_000_000_000 + total.div_euclid(1_000_000_000),
            nanoseconds: total.rem_euclid(1_000_000_000),
            ..self
        }
    }

    pub(crate) fn civil(&self) -> Civil {
        let local = self.seconds + self.offset;
        let (days, time) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let (year, month, day) = date(days);
        Civil {
            year,
            month,
            day,
            hour: time / 3600,
            minute: time / 60 % 60,
            second: time % 60,
            weekday: (days + 4).rem_euclid(7),
        }
    }
}

/// RFC 3339 in whole seconds.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil {
            year,
            month,
            day,
            hour,
            minute,
            second,
            weekday: _,
        } = self.civil();
        let sign = if year < 0 { "-" } else { "" };
        write!(
            f,
            "{sign}{:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}",
            year.abs()
        )?;
        if self.offset == 0 {
            return f.write_str("Z");
        }
        let sign = if self.offset < 0 { '-' } else { '+' };
        let minutes = self.offset.abs() / 60;
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is the last one.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day of a number of days since 1970-01-01.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Days in a month.
pub(crate) fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Takes a text apart from the front.
pub(crate) struct Reader<'a> {
    pub(crate) rest: &'a [u8],
}

impl Reader<'_> {
    fn time(mut self, strictness: Strictness) -> Option<Time> {
        let year = self.number(4, 4)?;
        self.byte(b'-')?;
        let month = self.number(2, 2).filter(|month| (1..=12).contains(month))?;
        self.byte(b'-')?;
        let day = self
            .number(2, 2)
            .filter(|day| (1..=days_in(year, month)).contains(day))?;
        self.byte(b'T')?;
        let hour_digits = if strictness == Strictness::Exact { 2 } else { 1 };
        let hour = self.number(hour_digits, 2).filter(|hour| *hour <= 23)?;
        self.byte(b':')?;
        let minute = self.number(2, 2).filter(|minute| *minute <= 59)?;
        self.byte(b':')?;
        let second = self.number(2, 2).filter(|second| *second <= 59)?;
        let nanoseconds = self.fraction(strictness == Strictness::AsGo)?;
        let (hours, minutes) = if strictness == Strictness::Exact {
            (23, 59)
        } else {
            (24, 60)
        };
        let offset = self.offset(hours, minutes)?;
        self.rest
            .is_empty()
            .then(|| Time::of([year, month, day, hour, minute, second], nanoseconds, offset))
    }

    pub(crate) fn byte(&mut self, wanted: u8) -> Option<()> {
        let (first, rest) = self.rest.split_first()?;
        (*first == wanted).then(|| self.rest = rest)
    }

    /// A number of at least and at most so many digits.
    pub(crate) fn number(&mut self, least: usize, most: usize) -> Option<i64> {
        let count = self
            .rest
            .iter()
            .take(most)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        (count >= least).then(|| {
            digits
                .iter()
                .fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))
        })
    }

    /// The nanoseconds of a fraction, if there is one: a point and digits, of which nine count.
    pub(crate) fn fraction(&mut self, comma: bool) -> Option<i64> {
        let rest = match self.rest {
            [b'.', rest @ ..] => rest,
            [b',', rest @ ..] if comma => rest,
            _ => return Some(0),
        };
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return None;
        }
        self.rest = &rest[count..];
        let digits = rest[..count]
            .iter()
            .map(|digit| i64::from(digit - b'0'))
            .chain(std::iter::repeat(0));
        Some(digits.take(9).fold(0, |number, digit| number * 10 + digit))
    }

    /// `Z`, or a sign, hours and minutes; in seconds.
    pub(crate) fn offset(&mut self, most_hours: i64, most_minutes: i64) -> Option<i64> {
        if self.byte(b'Z').is_some() {
            return Some(0);
        }
        let sign = if self.byte(b'-').is_some() {
            -1
        } else {
            self.byte(b'+')?;
            1
        };
        let hours = self.number(2, 2).filter(|hours| *hours <= most_hours)?;
        self.byte(b':')?;
        let minutes = self.number(2, 2).filter(|minutes| *minutes <= most_minutes)?;
        Some(sign * (hours * 3600 + minutes * 60))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back() {
        let check = |text: &str, shown: &str| {
            assert_eq!(
                Time::parse(text, Strictness::Exact)
                    .map(|time| time.to_string())
                    .as_deref(),
                Ok(shown)
            );
        };
        check("2018-01-02T23:12:01Z", "2018-01-02T23:12:01Z");
        check(
            "2000-02-29T00:00:00.123456789012+05:30",
            "2000-02-29T00:00:00+05:30",
        );
        check("0001-01-01T00:00:00-00:00", "0001-01-01T00:00:00Z");
        check("9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59-23:59");
    }

    #[test]
    fn exact_and_lenient() {
        let check = |text: &str, exact: bool, lenient: bool| {
            assert_eq!(Time::parse(text, Strictness::Exact).is_ok(), exact, "{text}");
            assert_eq!(Time::parse(text, Strictness::AsGo).is_ok(), lenient, "{text}");
        };
        check("2018-01-02T23:12:01", false, false);
        check("2018-01-02 23:12:01Z", false, false);
        check("2018-02-29T23:12:01Z", false, false);
        check("2018-01-02t23:12:01z", false, false);
        check("2018-01-02T3:12:01Z", false, true);
        check("2018-01-02T23:12:01,5Z", false, true);
        check("2018-01-02T23:12:01+24:00", false, true);
        check("2018-01-02T24:12:01Z", false, false);
    }
}
