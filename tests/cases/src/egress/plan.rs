//! What a case asks of the world besides its request: how names are answered, where connections lead, and what
//! happens meanwhile. Read from `resolves_to`, `steps` and `environment`.
//!
//! Free texts are matched by what they say. A text that says nothing known is an error.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::Value;

use super::case::{Case, ResolvesTo, upstreams};
use super::names::{Answers, Zone};
use super::words::{addresses, has, number};

/// How a case is played.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) answers: Answers,
    /// Requests, each a call of its own; the last one is judged.
    pub(super) calls: usize,
    /// The address that a socket turns out to lead to.
    pub(super) peer: Option<IpAddr>,
    /// Whether sockets lead to this machine.
    pub(super) is_own: bool,
    /// Whether a server sends the request elsewhere.
    pub(super) redirects: bool,
    pub(super) event: Event,
    /// Variables of the process's environment.
    pub(super) variables: BTreeMap<String, String>,
}

/// What happens besides a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    Nothing,
    /// The grant is taken back while the first request is out; a second one is judged.
    Revoked,
    /// So many calls at once.
    AtOnce(usize),
    /// The component imports these interfaces.
    Imports(Vec<String>),
}

impl Plan {
    pub(super) fn of(case: &Case) -> Result<Self, String> {
        let answers = match &case.resolves_to {
            // A name that should not be asked for would be found, and the case would fail.
            None => Answers::Every(vec![IpAddr::from([93, 184, 215, 14])]),
            Some(ResolvesTo::Every(addresses)) => Answers::Every(addresses.clone()),
            Some(ResolvesTo::ByName(names)) => {
                Answers::Zone(Zone { addresses: names.clone(), aliases: BTreeMap::new() })
            }
        };
        let mut plan = Self {
            answers,
            calls: 1,
            peer: None,
            is_own: false,
            redirects: upstreams(case)?.iter().any(|upstream| upstream.location.is_some()),
            event: Event::Nothing,
            variables: BTreeMap::new(),
        };
        if let Some(steps) = &case.steps {
            plan.read_steps(steps, case)?;
        }
        for (name, value) in &case.environment {
            plan.read_environment(name, value)?;
        }
        Ok(plan)
    }

    fn read_steps(&mut self, steps: &str, case: &Case) -> Result<(), String> {
        let said = steps.to_lowercase();
        let named = addresses(steps);
        let clauses: Vec<_> = steps.split(';').map(str::trim).collect();
        if has(&said, &["peer"]) && named.len() == 1 {
            self.peer = Some(named[0]);
        } else if clauses.iter().any(|clause| clause.starts_with("request ")) {
            let requests = clauses.iter().filter(|clause| clause.starts_with("request "));
            let turns: Vec<_> = requests.map(|clause| addresses(clause)).collect();
            self.calls = turns.len();
            self.answers = Answers::Turns(turns);
        } else if has(&said, &["cname", " a ", " aaaa "]) {
            self.answers = Answers::Zone(zone(&clauses).ok_or_else(|| unknown("steps", steps))?);
        } else if has(&said, &["search "]) {
            // All that a search domain would lead to.
            let names = clauses.iter().filter_map(|clause| clause.strip_suffix(" exists"));
            let addresses = names.map(|name| (name.to_owned(), vec![IpAddr::from([93, 184, 215, 14])]));
            self.answers = Answers::Zone(Zone { addresses: addresses.collect(), aliases: BTreeMap::new() });
        } else if has(&said, &["sleep", "hang", "never", "past the limit", "slower"]) {
            self.answers = Answers::Never;
        } else if has(&said, &["servfail", "nxdomain", "resolver fails"]) {
            self.answers = Answers::Failure;
        } else if named.len() > 1 && has(&said, &["look", "resol", "answer", "query", "dns", "ttl"]) {
            self.answers = Answers::Turns(named.into_iter().map(|address| vec![address]).collect());
        } else {
            return Err(unknown("steps", steps));
        }
        self.agree_with(case)
    }

    /// What the steps say must end where `resolves_to` says, if it says anything.
    fn agree_with(&self, case: &Case) -> Result<(), String> {
        let Some(ResolvesTo::Every(stated)) = &case.resolves_to else { return Ok(()) };
        let host = url::Url::parse(&case.url_or_host).ok().and_then(|url| url.host_str().map(str::to_owned));
        let ends_at = match &self.answers {
            Answers::Zone(zone) => zone.look_up(&host.unwrap_or_default()),
            Answers::Turns(turns) if self.calls > 1 => turns.last().cloned().unwrap_or_default(),
            Answers::Never | Answers::Failure => Vec::new(),
            Answers::Every(_) | Answers::Turns(_) => return Ok(()),
        };
        if ends_at == *stated {
            return Ok(());
        }
        Err(format!("`steps` end at {ends_at:?}, and `resolves_to` says {stated:?}"))
    }

    fn read_environment(&mut self, name: &str, value: &Value) -> Result<(), String> {
        let Value::String(words) = value else { return Err(format!("`environment.{name}` is no text")) };
        let said = words.to_lowercase();
        match name {
            "self" if has(&said, &["own"]) => self.is_own = true,
            "grant" if has(&said, &["revoked", "removed", "withdrawn"]) => self.event = Event::Revoked,
            "concurrency" => {
                let count = number(words).ok_or_else(|| unknown("environment.concurrency", words))?;
                self.event = Event::AtOnce(count);
            }
            "wasi" => {
                let interfaces = interfaces(words);
                if interfaces.is_empty() {
                    return Err(unknown("environment.wasi", words));
                }
                self.event = Event::Imports(interfaces);
            }
            "self" | "grant" => return Err(unknown(&format!("environment.{name}"), words)),
            _ if is_variable(name) => drop(self.variables.insert(name.to_owned(), words.clone())),
            _ => return Err(format!("`environment.{name}` is not known")),
        }
        Ok(())
    }
}

/// Whether a name is one of the variables that programs read: upper case, or the old spelling of a proxy.
fn is_variable(name: &str) -> bool {
    let upper = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    upper && !name.is_empty() || name.ends_with("_proxy")
}

/// `NAME CNAME NAME` and `NAME A ADDRESS`.
fn zone(clauses: &[&str]) -> Option<Zone> {
    let mut zone = Zone::default();
    for clause in clauses {
        match clause.split_whitespace().collect::<Vec<_>>()[..] {
            [name, "CNAME", target] => drop(zone.aliases.insert(name.to_owned(), target.to_owned())),
            [name, "A" | "AAAA", address] => {
                zone.addresses.entry(name.to_owned()).or_default().push(address.parse().ok()?);
            }
            _ => return None,
        }
    }
    Some(zone)
}

/// The interfaces that a text names, as `wasi:sockets` or in full.
fn interfaces(text: &str) -> Vec<String> {
    let words = text.split_whitespace().map(|word| word.trim_matches([',', '.', ';', '`']));
    let named = words.filter(|word| {
        word.split_once(':').is_some_and(|(namespace, package)| !namespace.is_empty() && !package.is_empty())
    });
    let whole = named.map(|word| {
        let interface = match word {
            "wasi:sockets" => "wasi:sockets/tcp",
            "wasi:http" => "wasi:http/outgoing-handler",
            other => other,
        };
        let with_interface =
            if interface.contains('/') { interface.to_owned() } else { format!("{interface}/interface") };
        if with_interface.contains('@') { with_interface } else { format!("{with_interface}@0.2.6") }
    });
    whole.collect()
}

fn unknown(field: &str, words: &str) -> String {
    format!("`{field}` says what is not known: `{words}`")
}
