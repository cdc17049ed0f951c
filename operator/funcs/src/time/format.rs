//! Times in the formats of `formatdate`.

use super::rfc3339::{Civil, Time};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// The time as the layout says; the error is a clause for people.
pub(super) fn format(layout: &str, time: &Time) -> Result<String, String> {
    let civil = time.civil();
    let mut out = String::with_capacity(layout.len());
    let mut rest = layout;
    while let Some(first) = rest.chars().next() {
        if first == '\'' {
            rest = quoted(&rest[1..], &mut out).ok_or("a quote in the format is not closed")?;
        } else if first.is_ascii_alphabetic() {
            let count = rest.chars().take_while(|c| *c == first).count();
            let (verb, after) = rest.split_at(count);
            out.push_str(
                &part(verb, time, &civil).ok_or_else(|| format!("the format has no verb {verb:?}"))?,
            );
            rest = after;
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    Ok(out)
}

/// Text after an opening quote up to the closing one; two quotes stand for one, also on their own.
fn quoted<'a>(text: &'a str, out: &mut String) -> Option<&'a str> {
    if let Some(rest) = text.strip_prefix('\'') {
        out.push('\'');
        return Some(rest);
    }
    let mut text = text;
    loop {
        let (part, rest) = text.split_once('\'')?;
        out.push_str(part);
        match rest.strip_prefix('\'') {
            Some(rest) => {
                out.push('\'');
                text = rest;
            }
            None => return Some(rest),
        }
    }
}

fn part(verb: &str, time: &Time, civil: &Civil) -> Option<String> {
    let month = usize::try_from(civil.month - 1)
        .ok()
        .and_then(|at| MONTHS.get(at))?;
    let day = usize::try_from(civil.weekday).ok().and_then(|at| DAYS.get(at))?;
    let hour = if civil.hour % 12 == 0 { 12 } else { civil.hour % 12 };
    let half = if civil.hour < 12 { "am" } else { "pm" };
    Some(match verb {
        "YY" => format!("{:02}", civil.year % 100),
        "YYYY" => format!("{:04}", civil.year),
        "M" => civil.month.to_string(),
        "MM" => format!("{:02}", civil.month),
        "MMM" => month[..3].to_owned(),
        "MMMM" => (*month).to_owned(),
        "D" => civil.day.to_string(),
        "DD" => format!("{:02}", civil.day),
        "EEE" => day[..3].to_owned(),
        "EEEE" => (*day).to_owned(),
        "h" => civil.hour.to_string(),
        "hh" => format!("{:02}", civil.hour),
        "H" => hour.to_string(),
        "HH" => format!("{hour:02}"),
        "AA" => half.to_uppercase(),
        "aa" => half.to_owned(),
        "m" => civil.minute.to_string(),
        "mm" => format!("{:02}", civil.minute),
        "s" => civil.second.to_string(),
        "ss" => format!("{:02}", civil.second),
        "Z" if time.offset == 0 => "Z".to_owned(),
        "ZZZ" if time.offset == 0 => "UTC".to_owned(),
        "Z" | "ZZZZZ" => offset(time.offset, ":"),
        "ZZZ" | "ZZZZ" => offset(time.offset, ""),
        _ => return None,
    })
}

fn offset(seconds: i64, colon: &str) -> String {
    let minutes = seconds.abs() / 60;
    let sign = if seconds < 0 { '-' } else { '+' };
    format!("{sign}{:02}{colon}{:02}", minutes / 60, minutes % 60)
}
