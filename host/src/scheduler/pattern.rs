//! The grammar of a cron pattern: which five fields are one, which days they name, how close two firings
//! can come.
//!
//! Stricter than the library that finds the times, so that a pattern means the same here and in crontab(5) or
//! is refused: no seconds, no `@daily`, no `L`, `W`, `#` and `?`, no empty items. Pure, and without time zones:
//! everything here is about the clock's face.

use std::fmt::Write as _;

use crate::manifest::visible;

/// Patterns that people write have some 20 characters; a list of all minutes has 170.
const MAX_PATTERN: usize = 256;

/// Characters of a wrong item that are shown again.
const MAX_SHOWN: usize = 40;

/// The weekdays repeat against the dates of a leap year after so many years.
const CYCLE_YEARS: u32 = 28;

/// The first year of a cycle without a missing leap day, and the weekday it begins with: Monday.
const CYCLE_START: (u32, u32) = (2001, 1);

const MINUTES_OF_DAY: u32 = 24 * 60;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// A pattern that follows the grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    /// Sunday is 0.
    weekdays: u64,
    /// The day field is `*`, so the weekday alone decides.
    is_any_day: bool,
    /// The weekday field is `*`, so the day alone decides.
    is_any_weekday: bool,
    /// The same pattern in digits, five fields one space apart.
    digits: String,
}

/// One of the five fields.
struct Field {
    name: &'static str,
    first: u32,
    last: u32,
    /// Words for the values from `first` on.
    words: &'static [&'static str],
}

/// In their order.
const FIELDS: [Field; 5] = [
    Field { name: "minute", first: 0, last: 59, words: &[] },
    Field { name: "hour", first: 0, last: 23, words: &[] },
    Field { name: "day of the month", first: 1, last: 31, words: &[] },
    Field { name: "month", first: 1, last: 12, words: &MONTHS },
    // 7 is Sunday, too.
    Field { name: "weekday", first: 0, last: 7, words: &WEEKDAYS },
];

impl Pattern {
    /// Reads a pattern, or says what is wrong with it.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        if text.len() > MAX_PATTERN {
            return Err(format!("shorten the pattern to {MAX_PATTERN} characters"));
        }
        let fields: Vec<&str> = text.split(' ').filter(|field| !field.is_empty()).collect();
        if fields.iter().any(|field| field.starts_with('@')) {
            return Err("write the five fields: names such as `@daily` are not understood".to_owned());
        }
        let Ok([minute, hour, day, month, weekday]) = <[&str; 5]>::try_from(fields.as_slice()) else {
            return Err(format!("write five fields, `minute hour day month weekday`; this has {}", fields.len()));
        };
        let mut digits = String::new();
        let mut bits = [0; 5];
        for (index, (field, text)) in FIELDS.iter().zip([minute, hour, day, month, weekday]).enumerate() {
            let separator = if index == 0 { "" } else { " " };
            let _ = write!(digits, "{separator}{}", field.read(text, &mut bits[index])?);
        }
        let [minutes, hours, days, months, weekdays] = bits;
        Ok(Self {
            minutes,
            hours,
            days,
            months,
            weekdays: (weekdays | weekdays >> 7) & 0x7f,
            is_any_day: day == "*",
            is_any_weekday: weekday == "*",
            digits,
        })
    }

    /// The same pattern without words.
    pub(super) fn digits(&self) -> &str {
        &self.digits
    }

    /// The least number of minutes between two firings, on the clock's face; `None` when there is no day on
    /// which it fires.
    pub(super) fn closest(&self) -> Option<u32> {
        let days = self.days_between()?;
        let times: Vec<u32> = (0..MINUTES_OF_DAY)
            .filter(|minute| has(self.hours, minute / 60) && has(self.minutes, minute % 60))
            .collect();
        let (first, last) = (times.first()?, times.last()?);
        let over_night = days * MINUTES_OF_DAY + first - last;
        times.windows(2).map(|pair| pair[1] - pair[0]).chain([over_night]).min()
    }

    /// The least number of days between two days on which it fires. One that fires on a single day of the whole
    /// cycle has the length of the cycle.
    fn days_between(&self) -> Option<u32> {
        let (start, mut weekday) = CYCLE_START;
        let (mut day_number, mut last, mut least) = (0, None, None);
        // One year more, so that the last firing of the cycle meets the first of the next.
        for year in start..=start + CYCLE_YEARS {
            for month in 1..=12 {
                for day in 1..=days_in(year, month) {
                    if self.fires_on(month, day, weekday) {
                        let gap = last.map(|last| day_number - last);
                        least = gap.into_iter().chain(least).min();
                        last = Some(day_number);
                    }
                    day_number += 1;
                    weekday = (weekday + 1) % 7;
                }
            }
        }
        last.map(|_| least.unwrap_or(day_number))
    }

    /// Whether it fires on this day: where both the day and the weekday are restricted, one is enough.
    fn fires_on(&self, month: u32, day: u32, weekday: u32) -> bool {
        let (by_day, by_weekday) = (has(self.days, day), has(self.weekdays, weekday));
        has(self.months, month)
            && match (self.is_any_day, self.is_any_weekday) {
                (false, false) => by_day || by_weekday,
                _ => by_day && by_weekday,
            }
    }
}

impl Field {
    /// Sets the bits of a field's text, and gives the text without words.
    fn read(&self, text: &str, bits: &mut u64) -> Result<String, String> {
        let mut items = Vec::new();
        for item in text.split(',') {
            let Some((first, last, step, digits)) = self.item(item) else {
                return Err(format!(
                    "{}: `{}` is not understood; {}",
                    self.name,
                    visible(item, MAX_SHOWN),
                    self.help()
                ));
            };
            *bits |= (first..=last).step_by(step as usize).fold(0, |bits, value| bits | 1 << value);
            items.push(digits);
        }
        Ok(items.join(","))
    }

    /// `*`, `5`, `1-5`, and the last with a step: first, last, step, and the item in digits.
    fn item(&self, item: &str) -> Option<(u32, u32, u32, String)> {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(number(step).filter(|step| (1..=self.last).contains(step))?)),
            None => (item, None),
        };
        let (first, last, mut digits) = match range.split_once('-') {
            // A weekday's 7 is for ranges and people; `*` means each once.
            None if range == "*" => {
                (self.first, self.last.min(if self.last == 7 { 6 } else { 59 }), "*".to_owned())
            }
            None => {
                let value = self.value(range).filter(|_| step.is_none())?;
                (value, value, value.to_string())
            }
            Some((first, last)) => {
                let first = self.value(first)?;
                let last = match self.value(last)? {
                    // Up to Sunday, by its word.
                    0 if self.last == 7 && first > 0 => 7,
                    last => last,
                };
                (first, last, format!("{first}-{last}"))
            }
        };
        if first > last {
            return None;
        }
        if let Some(step) = step {
            let _ = write!(digits, "/{step}");
        }
        Some((first, last, step.unwrap_or(1), digits))
    }

    fn value(&self, text: &str) -> Option<u32> {
        let word = self.words.iter().position(|word| text.eq_ignore_ascii_case(word));
        let value = match word {
            Some(position) => self.first + u32::try_from(position).ok()?,
            None => number(text)?,
        };
        (self.first..=self.last).contains(&value).then_some(value)
    }

    fn help(&self) -> String {
        let words = match self.words {
            [first, .., last] => format!(", or `{first}` to `{last}`"),
            _ => String::new(),
        };
        format!(
            "write `*`, `*/STEP`, numbers from {} to {}{words}, ranges `A-B` and `A-B/STEP`, with commas between",
            self.first, self.last
        )
    }
}

/// One or two digits and nothing else.
fn number(text: &str) -> Option<u32> {
    let is_short = (1..=2).contains(&text.len());
    (is_short && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

fn has(bits: u64, value: u32) -> bool {
    bits >> value & 1 == 1
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits(text: &str) -> Result<String, String> {
        Pattern::read(text).map(|pattern| pattern.digits)
    }

    /// L-11.
    #[test]
    fn what_is_a_pattern() {
        let minutes: Vec<String> = (0..60).map(|minute| minute.to_string()).collect();
        let all_minutes = format!("{} * * * *", minutes.join(","));
        let good = [
            ("* * * * *", "* * * * *"),
            ("  0  8 * * 1-5 ", "0 8 * * 1-5"),
            ("00 08 01 01 *", "0 8 1 1 *"),
            ("*/15 9-17/2 1,15 * *", "*/15 9-17/2 1,15 * *"),
            ("0-59/59 0-23/23 1-31/31 1-12/12 0-7/7", "0-59/59 0-23/23 1-31/31 1-12/12 0-7/7"),
            ("0 0 * JAN,Jul-sep MON", "0 0 * 1,7-9 1"),
            ("0 0 * * fri-sun", "0 0 * * 5-7"),
            ("0 0 * * sun,sat", "0 0 * * 0,6"),
            ("0 0 * * 7", "0 0 * * 7"),
            ("0 0 * * sun-tue", "0 0 * * 0-2"),
            ("0 0 * * 5-7/2", "0 0 * * 5-7/2"),
            (&all_minutes, &all_minutes),
        ];
        for (text, expected) in good {
            assert_eq!(digits(text).as_deref(), Ok(expected), "{text}");
        }
        let sixty_one_fields = vec!["*"; 61].join(" ");
        let long = format!("{}0 0 * * *", "0,".repeat(200));
        let bad = [
            "",
            " ",
            "*",
            "* * * *",
            "* * * * * *",
            "0 * * * * *",
            "0 0 1 1 * 2030",
            &sixty_one_fields,
            "@reboot",
            "@hourly",
            "@daily",
            "@every 5m",
            "@yearly * * * *",
            "0 0 L * *",
            "0 0 15W * *",
            "0 0 LW * *",
            "0 0 * * 5L",
            "0 0 * * 1#2",
            "0 0 ? * *",
            "0 0 * * ?",
            "0 0 1 * +MON",
            "0-60 * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * 32 * *",
            "* * * 0 *",
            "* * * 13 *",
            "* * * * 8",
            "*/0 * * * *",
            "*/60 * * * *",
            "* */24 * * *",
            "* * * */13 *",
            "1/5 * * * *",
            "/5 * * * *",
            "*/ * * * *",
            "*/-5 * * * *",
            "5-1 * * * *",
            "22-2 * * * *",
            "1-2-3 * * * *",
            "1- * * * *",
            "-1 * * * *",
            ", * * * *",
            "1, * * * *",
            "1,,2 * * * *",
            "+1 * * * *",
            "1.5 * * * *",
            "a * * * *",
            "JAN * * * *",
            "* * * MON *",
            "* * * * JAN",
            "* * * 1JAN *",
            "* * * * MONDAY",
            "* * * * MO",
            "0 0 * * mon-",
            "001 * * * *",
            "１ * * * *",
            "*\t*\t*\t*\t*",
            "* * * *\n*",
            "* * * * *; rm",
            "* * * * *\u{202e}",
            "TZ=UTC * * * * *",
            "** * * * *",
            "*-5 * * * *",
            "H * * * *",
            "~ * * * *",
            &long,
        ];
        for text in bad {
            let problem = digits(text).expect_err(text);
            assert!(!problem.contains(['\u{202e}', '\n']), "{problem}");
        }
    }

    #[test]
    fn a_problem_names_the_field_and_the_fix() {
        let cases = [
            ("* * * * * *", "write five fields, `minute hour day month weekday`; this has 6"),
            ("@daily", "write the five fields: names such as `@daily` are not understood"),
            (
                "0-60 * * * *",
                "minute: `0-60` is not understood; write `*`, `*/STEP`, numbers from 0 to 59, ranges `A-B` and \
                 `A-B/STEP`, with commas between",
            ),
            (
                "0 0 * * 1#2",
                "weekday: `1#2` is not understood; write `*`, `*/STEP`, numbers from 0 to 7, or `sun` to `sat`, \
                 ranges `A-B` and `A-B/STEP`, with commas between",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(digits(text), Err(expected.to_owned()));
        }
    }

    #[test]
    fn how_close_two_firings_come() {
        const DAY: u32 = MINUTES_OF_DAY;
        let cases = [
            ("* * * * *", Some(1)),
            ("*/15 * * * *", Some(15)),
            ("*/7 * * * *", Some(4)),
            ("0 * * * *", Some(60)),
            ("0,59 * * * *", Some(1)),
            ("0 8 * * *", Some(DAY)),
            ("0 0,23 * * *", Some(60)),
            ("0 0,23 1 * *", Some(23 * 60)),
            ("0 0,23 1-2 * *", Some(60)),
            ("0 0 * * 1", Some(7 * DAY)),
            ("0 0 * * 0,7", Some(7 * DAY)),
            ("0 0 1,31 * *", Some(DAY)),
            ("0 0 31 * *", Some(31 * DAY)),
            ("0 0 28 2 *", Some(365 * DAY)),
            ("0 0 29 2 *", Some(1461 * DAY)),
            // The thirteenth or a Friday; a Thursday the twelfth is not asked for.
            ("0 0 13 * 5", Some(DAY)),
            ("0 0 30 2 *", None),
            ("0 0 31 4,6,9,11 *", None),
            // Either is enough, so the weekday fires.
            ("0 0 30 2 1", Some(7 * DAY)),
        ];
        for (text, expected) in cases {
            assert_eq!(Pattern::read(text).unwrap().closest(), expected, "{text}");
        }
    }
}
