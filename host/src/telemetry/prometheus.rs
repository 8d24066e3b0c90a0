//! The numbers as Prometheus reads them: the text format, version 0.0.4.

use std::fmt::Write as _;

use super::totals::{Family, Histogram, Point, Unit, Value};

/// What the text is, in a header field.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Writes all families that have rows.
pub(super) fn text(families: &[Family]) -> String {
    let mut text = String::new();
    for family in families {
        let Some(first) = family.points.first() else { continue };
        let name = name(family, &first.value);
        // Writing to a string does not fail.
        let _ = writeln!(text, "# HELP {name} {}", family.help);
        let _ = writeln!(text, "# TYPE {name} {}", kind(&first.value));
        for Point { labels, value } in &family.points {
            match value {
                Value::Count(number) | Value::Level(number) => row(&mut text, &name, labels, None, number),
                Value::Spread(spread) => rows(&mut text, &name, labels, spread),
            }
        }
    }
    text
}

fn name(family: &Family, value: &Value) -> String {
    let words = family.name.replace('.', "_");
    let unit = match family.unit {
        Unit::Things => "",
        Unit::Seconds => "_seconds",
        Unit::Bytes => "_bytes",
    };
    let total = if matches!(value, Value::Count(_)) { "_total" } else { "" };
    format!("{words}{unit}{total}")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Count(_) => "counter",
        Value::Level(_) => "gauge",
        Value::Spread(_) => "histogram",
    }
}

/// A spread is a row for each bound, which counts all below it, and one for all.
fn rows(text: &mut String, name: &str, labels: &[(&'static str, String)], spread: &Histogram) {
    let mut below = 0;
    for (bound, count) in spread.bounds.iter().zip(&spread.counts) {
        below += count;
        row(text, &format!("{name}_bucket"), labels, Some(&bound.to_string()), below);
    }
    row(text, &format!("{name}_bucket"), labels, Some("+Inf"), spread.count());
    row(text, &format!("{name}_sum"), labels, None, spread.sum);
    row(text, &format!("{name}_count"), labels, None, spread.count());
}

fn row(
    text: &mut String,
    name: &str,
    labels: &[(&'static str, String)],
    bound: Option<&str>,
    number: impl std::fmt::Display,
) {
    let pairs =
        labels.iter().map(|(label, value)| (*label, value.as_str())).chain(bound.map(|bound| ("le", bound)));
    let pairs: Vec<String> = pairs.map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
    let pairs = if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) };
    let _ = writeln!(text, "{name}{pairs} {number}");
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
