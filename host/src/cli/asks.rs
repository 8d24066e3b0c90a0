//! From words on the command line to grants, within what a capability asks for. Pure.

use crate::error::{Error, ErrorKind, Result};
use crate::manifest::NamespaceName;
use crate::policy::{Grant, OTHERS, OWN_CREDENTIALS};

/// One question to the person who installs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// What it is about, as a phrase: `http: requests to api.example.com`.
    pub(super) about: String,
    /// What a yes grants.
    pub(super) grants: Vec<Grant>,
}

/// The questions to put, in order: the hosts together; the right to own credentials, and that to files of others,
/// apart.
pub(super) fn groups(asks: &[Grant]) -> Vec<Group> {
    let mut groups = Vec::new();
    for ask in asks.iter().filter(|ask| ask.entry.is_none()) {
        let namespace = ask.namespace;
        let of_namespace = || asks.iter().filter(move |other| other.namespace == namespace);
        let grants: Vec<Grant> = of_namespace().filter(|ask| !is_apart(ask)).cloned().collect();
        let entries: Vec<&str> = grants.iter().filter_map(|grant| grant.entry.as_deref()).collect();
        let about = match namespace {
            NamespaceName::Http => format!("`http`: requests to {}", entries.join(", ")),
            NamespaceName::Entities if !entries.is_empty() => {
                format!("`entities`: {} in {}", meaning(namespace), entries.join(", "))
            }
            _ => format!("`{}`: {}", namespace.as_str(), meaning(namespace)),
        };
        groups.push(Group { about, grants });
        if let Some(apart) = of_namespace().find(|ask| is_apart(ask)) {
            let about = match namespace {
                NamespaceName::Sandbox => format!("`sandbox` `{OTHERS}`: {}", meaning_of_others()),
                _ => format!("`http` `{OWN_CREDENTIALS}`: `Authorization` and `Cookie` values of its own"),
            };
            groups.push(Group { about, grants: vec![ask.clone(), apart.clone()] });
        }
    }
    groups
}

/// What a namespace lets a capability do, in a few words.
pub(super) fn meaning(namespace: NamespaceName) -> &'static str {
    match namespace {
        NamespaceName::Http => "send requests to named hosts",
        NamespaceName::Entities => "store documents",
        NamespaceName::Loops => "run on a schedule",
        NamespaceName::Sandbox => "read and write files of the conversation",
        NamespaceName::Ask => "ask you, or the model of your client, questions",
        NamespaceName::Log => "write lines for the operator",
        NamespaceName::Progress => "tell how far a call is",
        NamespaceName::Listing => "withdraw what it shows to agents",
    }
}

/// Reads `--grant` arguments: `none`, `NAMESPACE`, `NAMESPACE:ENTRY`.
pub(super) fn chosen(specs: &[String], asks: &[Grant]) -> Result<Vec<Grant>> {
    let mut grants = Vec::new();
    for spec in specs {
        if spec == "none" {
            if specs.len() > 1 {
                return Err(Error::new(ErrorKind::Usage, "`--grant none` stands alone"));
            }
            continue;
        }
        let (namespace, entry) = match spec.split_once(':') {
            Some((namespace, entry)) => (namespace, Some(entry.to_owned())),
            None => (spec.as_str(), None),
        };
        grants.extend(within(namespace, entry.as_slice(), asks)?);
    }
    grants.sort();
    grants.dedup();
    Ok(grants)
}

/// The grants of a namespace and entries of it. Without entries: all it asks for but what only its own name grants.
pub(super) fn within(namespace: &str, entries: &[String], asks: &[Grant]) -> Result<Vec<Grant>> {
    let namespace = read_namespace(namespace)?;
    if namespace.is_always_there() {
        return Ok(Vec::new());
    }
    let own = Grant { namespace, entry: None };
    if !asks.contains(&own) {
        let message = format!("this capability does not ask for `{}`", namespace.as_str());
        return Err(Error::new(ErrorKind::Usage, message).hint(asked_for(asks)));
    }
    if entries.is_empty() {
        let all = asks.iter().filter(|ask| ask.namespace == namespace && !is_apart(ask));
        return Ok(all.cloned().collect());
    }
    Ok(std::iter::once(own).chain(of_entries(namespace, entries)?).collect())
}

/// What to take back: the entries, or without any the namespace itself, which takes all entries along.
pub(super) fn to_revoke(namespace: &str, entries: &[String]) -> Result<Vec<Grant>> {
    let namespace = read_namespace(namespace)?;
    if entries.is_empty() { Ok(vec![Grant { namespace, entry: None }]) } else { of_entries(namespace, entries) }
}

fn of_entries(namespace: NamespaceName, entries: &[String]) -> Result<Vec<Grant>> {
    let one = match namespace {
        NamespaceName::Http => "a host, or `ownCredentials`",
        NamespaceName::Entities => "an entity's name",
        NamespaceName::Loops => "`max=NUMBER` or `every=INTERVAL`",
        NamespaceName::Sandbox => "`files=NUMBER`, `bytes=NUMBER` or `others`",
        _ => {
            let message = format!("`{}` is granted as a whole: it has no entries", namespace.as_str());
            return Err(Error::new(ErrorKind::Usage, message));
        }
    };
    if entries.iter().any(String::is_empty) {
        return Err(Error::new(ErrorKind::Usage, format!("an entry of `{}` is {one}", namespace.as_str())));
    }
    Ok(entries.iter().map(|entry| Grant { namespace, entry: Some(entry.clone()) }).collect())
}

fn read_namespace(word: &str) -> Result<NamespaceName> {
    let all = NamespaceName::ALL;
    all.iter().copied().find(|namespace| namespace.as_str() == word).ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|namespace| format!("`{}`", namespace.as_str())).collect();
        let known = known.join(", ");
        Error::new(ErrorKind::Usage, format!("there is no namespace `{word}`"))
            .hint(format!("the namespaces are {known}"))
    })
}

fn asked_for(asks: &[Grant]) -> String {
    let mut words: Vec<String> = asks.iter().map(|ask| format!("`{}`", ask.namespace.as_str())).collect();
    words.dedup();
    if words.is_empty() { "it asks for nothing".to_owned() } else { format!("it asks for {}", words.join(", ")) }
}

/// Whether only its own name grants it.
fn is_apart(grant: &Grant) -> bool {
    let apart = match grant.namespace {
        NamespaceName::Http => OWN_CREDENTIALS,
        NamespaceName::Sandbox => OTHERS,
        _ => return false,
    };
    grant.entry.as_deref() == Some(apart)
}

/// What the right to files of others lets a capability do.
pub(super) fn meaning_of_others() -> &'static str {
    "read files that other capabilities wrote in the conversation"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::asks;

    fn manifest() -> crate::manifest::Manifest {
        serde_json::from_value(serde_json::json!({
            "publisher": "acme", "slug": "weather", "version": "1.0.0", "title": "Weather",
            "description": "Forecasts.", "uses": ["http", "log", "entities", "sandbox"],
            "entities": ["notes", "tags"],
            "http": { "allow": ["api.example.com", "*.cdn.example.com:8443"], "ownCredentials": true },
        }))
        .unwrap_or_else(|error| panic!("{error}"))
    }

    fn words(grants: &[Grant]) -> Vec<String> {
        let word = |grant: &Grant| match &grant.entry {
            Some(entry) => format!("{}:{entry}", grant.namespace.as_str()),
            None => grant.namespace.as_str().to_owned(),
        };
        grants.iter().map(word).collect()
    }

    #[test]
    fn questions_keep_own_credentials_apart() {
        let groups: Vec<_> = groups(&asks(&manifest()))
            .into_iter()
            .map(|group| (group.about, words(&group.grants).join(" ")))
            .collect();
        let expected = [
            (
                "`http`: requests to *.cdn.example.com:8443, api.example.com",
                "http http:*.cdn.example.com:8443 http:api.example.com",
            ),
            (
                "`http` `ownCredentials`: `Authorization` and `Cookie` values of its own",
                "http http:ownCredentials",
            ),
            ("`entities`: store documents in notes, tags", "entities entities:notes entities:tags"),
            ("`sandbox`: read and write files of the conversation", "sandbox"),
        ];
        assert_eq!(groups, expected.map(|(about, grants)| (about.to_owned(), grants.to_owned())));
    }

    #[test]
    fn words_become_grants() {
        type Expected<'a> = Result<&'a [&'a str], &'a str>;
        let cases: &[(&[&str], Expected<'_>)] = &[
            (&["none"], Ok(&[])),
            (&["log"], Ok(&[])),
            (&["http"], Ok(&["http", "http:*.cdn.example.com:8443", "http:api.example.com"])),
            (&["http:api.example.com"], Ok(&["http", "http:api.example.com"])),
            (&["http:x.cdn.example.com:8443"], Ok(&["http", "http:x.cdn.example.com:8443"])),
            (&["http:ownCredentials", "http:ownCredentials"], Ok(&["http", "http:ownCredentials"])),
            (
                &["entities", "http:api.example.com"],
                Ok(&["http", "http:api.example.com", "entities", "entities:notes", "entities:tags"]),
            ),
            (&["entities:notes"], Ok(&["entities", "entities:notes"])),
            (&["none", "http"], Err("`--grant none` stands alone")),
            (&["loops"], Err("this capability does not ask for `loops`")),
            (&["entities:"], Err("an entry of `entities` is an entity's name")),
            (&["sandbox:files=5"], Ok(&["sandbox", "sandbox:files=5"])),
            (&["sandbox:"], Err("an entry of `sandbox` is `files=NUMBER`, `bytes=NUMBER` or `others`")),
            (&["http:"], Err("an entry of `http` is a host, or `ownCredentials`")),
            (&["htpp"], Err("there is no namespace `htpp`")),
            (&[""], Err("there is no namespace ``")),
        ];
        let asks = asks(&manifest());
        for (specs, expected) in cases {
            let specs: Vec<String> = specs.iter().map(|&spec| spec.to_owned()).collect();
            match (chosen(&specs, &asks), expected) {
                (Ok(grants), Ok(expected)) => assert_eq!(words(&grants), *expected),
                (Err(error), Err(expected)) => assert_eq!(error.message, *expected),
                (result, expected) => panic!("{specs:?}: {result:?}, expected {expected:?}"),
            }
        }
    }

    #[test]
    fn taking_back_goes_by_namespace_or_entry() {
        let entries = ["api.example.com".to_owned()];
        assert_eq!(
            to_revoke("http", &entries).ok().as_deref().map(words),
            Some(vec!["http:api.example.com".to_owned()])
        );
        assert_eq!(to_revoke("http", &[]).ok().as_deref().map(words), Some(vec!["http".to_owned()]));
        let entries = ["max=5".to_owned()];
        assert_eq!(to_revoke("loops", &entries).ok().as_deref().map(words), Some(vec!["loops:max=5".to_owned()]));
        let notes = ["notes".to_owned()];
        assert_eq!(
            to_revoke("entities", &notes).ok().as_deref().map(words),
            Some(vec!["entities:notes".to_owned()])
        );
        let others = ["others".to_owned()];
        assert_eq!(
            to_revoke("sandbox", &others).ok().as_deref().map(words),
            Some(vec!["sandbox:others".to_owned()])
        );
        assert!(to_revoke("ask", &entries).is_err());
    }
}
