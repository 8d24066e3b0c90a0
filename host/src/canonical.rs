//! JSON in the one form of RFC 8785, so that the same value is the same bytes for whoever hashes or signs it.

use serde_json::{Number, Value};

/// `value` in its canonical form: members in the order of their names in UTF-16, no space, numbers as ECMAScript
/// writes them. A whole number that a double cannot hold keeps its digits: no two numbers become one text.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            text.push('{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                quote(name, text);
                text.push(':');
                write(member, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        Value::Number(number) => text.push_str(&numeral(number)),
        Value::String(string) => quote(string, text),
        Value::Bool(_) | Value::Null => text.push_str(&value.to_string()),
    }
}

/// The library escapes what RFC 8785 escapes, and as it does.
fn quote(string: &str, text: &mut String) {
    text.push_str(&Value::String(string.to_owned()).to_string());
}

fn numeral(number: &Number) -> String {
    match number.as_f64() {
        Some(double) if number.is_f64() => of_double(double),
        _ => number.to_string(),
    }
}

/// ECMA-262, `Number::toString`: the fewest digits that mean the double, with an exponent only far from 1.
fn of_double(double: f64) -> String {
    if double == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{:e}", double.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = mantissa.replace('.', "");
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let written = match point {
        _ if count <= point && point <= 21 => format!("{digits}{}", zeros(point - count)),
        1..=21 => {
            let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
            format!("{whole}.{fraction}")
        }
        -5..=0 => format!("0.{}{digits}", zeros(-point)),
        _ => {
            let (first, rest) = digits.split_at(1);
            let fraction = if rest.is_empty() { String::new() } else { format!(".{rest}") };
            format!("{first}{fraction}e{:+}", point - 1)
        }
    };
    if double < 0.0 { format!("-{written}") } else { written }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_standards_appendix() {
        // RFC 8785, appendix B: the bits of a double and its text.
        let table = [
            (0x0000_0000_0000_0000_u64, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ];
        for (bits, text) in table {
            assert_eq!(of_double(f64::from_bits(bits)), text, "{bits:x}");
        }
    }

    #[test]
    fn members_stand_in_the_order_of_the_standard() {
        // RFC 8785, 3.2.3: by UTF-16, in which an emoji comes before U+FB33.
        let text = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
        let value: Value = serde_json::from_str(text).expect("JSON");
        let canonical = canonical(&value);
        let order = ["\\r", "1", "\u{80}", "ö", "€", "😀", "\u{fb33}"].map(|name| {
            canonical.find(&format!("\"{name}\":")).unwrap_or_else(|| panic!("{name:?} in {canonical}"))
        });
        assert!(order.is_sorted(), "{canonical}");
    }

    #[test]
    fn the_same_value_is_the_same_text() {
        let cases = [
            (r#"{"b":[1,2.0,"\u000a"],"a":{"d":null,"c":true}}"#, r#"{"a":{"c":true,"d":null},"b":[1,2,"\n"]}"#),
            (r#"{"a":1e2,"aa":-0.0}"#, r#"{"a":100,"aa":0}"#),
            (r#"[18446744073709551615,-9223372036854775808]"#, r#"[18446744073709551615,-9223372036854775808]"#),
            (r#""\u2028</script>\u00e9""#, "\"\u{2028}</script>é\""),
            ("{}", "{}"),
        ];
        for (written, expected) in cases {
            let value: Value = serde_json::from_str(written).expect("JSON");
            assert_eq!(canonical(&value), expected);
        }
    }
}
