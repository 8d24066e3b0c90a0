//! The names of errors in case files, and the stable codes they stand for.

use remit::error::ErrorKind;

/// Names that are not the code's own words.
const OTHERS: [(&str, &str); 4] = [
    ("allow_entry_invalid", "manifest/invalid"),
    ("import_not_allowed", "registry/import-not-declared"),
    ("secret_not_approved", "secret/not-available"),
    ("secret_not_available", "secret/not-available"),
];

/// The code of a name: `host_not_allowed` is `http/host-not-allowed`, `budget_egress` is `budget/egress`.
pub(super) fn code(name: &str) -> Option<&'static str> {
    let codes = || ErrorKind::ALL.iter().map(|kind| kind.code());
    let written = OTHERS.iter().find(|(other, _)| *other == name).map_or(name, |(_, code)| code);
    codes()
        .find(|code| *code == written)
        .or_else(|| codes().find(|code| *code == format!("http/{}", written.replace('_', "-"))))
        .or_else(|| codes().find(|code| code.replace(['/', '-'], "_") == written))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_codes() {
        for (name, expected) in [
            ("host_not_allowed", Some("http/host-not-allowed")),
            ("allow_entry_invalid", Some("manifest/invalid")),
            ("secret_placement", Some("secret/placement")),
            ("http/timeout", Some("http/timeout")),
            ("not_a_kind", None),
            ("", None),
        ] {
            assert_eq!(code(name), expected, "{name}");
        }
    }
}
