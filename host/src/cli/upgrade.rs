//! `remit upgrade`: another version in the place of the installed one, with what was decided and still stands.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{Context, asks, compiled, describe, prompt, reviewed, source};
use crate::admin::{Admin, Agreed, Upgrade};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{Runtime, visible};
use crate::policy::Grant;
use crate::review::Report;
use crate::review::difference::{About, Difference, Widening};
use crate::versions::lock::spell;

/// Put another version in the place of the installed one
///
/// Shows everything that differs. What was granted stands as far as the new version asks for it too; only what it asks
/// beyond that is a question. What it asks less is no question. Other words for people and agents, and other promises to
/// callers, want a yes. The version before is kept: `remit rollback` returns to it. Calls that run end on it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit upgrade weather-1.1.0.wasm
  remit upgrade weather-1.1.0.wasm --agree changes --grant http:api.example.org
  remit upgrade weather-1.1.0.wasm --agree changes --agree limits --grant none
  remit upgrade weather-1.1.0.wasm --yes")]
pub(super) struct UpgradeArgs {
    /// The file of the new version
    #[arg(value_name = "FILE")]
    target: PathBuf,
    /// Grant this of what it asks, as `remit install --grant` does, or `none` of what is new; may be repeated
    #[arg(long = "grant", value_name = "SPEC")]
    grants: Vec<String>,
    /// Agree to this without a question; may be repeated
    #[arg(long = "agree", value_name = "WHAT")]
    agreed: Vec<Word>,
    /// Grant and agree to everything
    #[arg(long, short, conflicts_with_all = ["grants", "agreed"])]
    yes: bool,
}

/// What comes with a version and is no grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Word {
    /// What it says otherwise: words, schemas, annotations
    Changes,
    /// What a call may spend
    Limits,
    /// How much it keeps in a conversation
    Sandbox,
    /// When it runs by itself, and what it does then
    Loops,
    /// What its tools do to the world, and who may call them
    Tools,
}

impl Word {
    fn of(about: &About) -> Option<Self> {
        match about {
            About::Grant(_) | About::Secrets => None,
            About::Limits => Some(Self::Limits),
            About::Sandbox => Some(Self::Sandbox),
            About::Loops => Some(Self::Loops),
            About::Tools => Some(Self::Tools),
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Changes => "changes",
            Self::Limits => "limits",
            Self::Sandbox => "sandbox",
            Self::Loops => "loops",
            Self::Tools => "tools",
        }
    }
}

/// Runs it.
#[expect(clippy::needless_pass_by_value, reason = "every command takes its arguments")]
pub(super) fn run(args: UpgradeArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let admin = app.admin();
    let upgrade = admin.upgrade(source::offer(&args.target, admin, context)?)?;
    let name = upgrade.offer.capability.name.clone();
    let (from, to) =
        (upgrade.before.capability.manifest.version.clone(), upgrade.offer.capability.manifest.version.clone());
    // Whoever decides reads it; where nobody is asked it is a note.
    let shown = shown(&upgrade, admin)?;
    if args.yes || !(args.grants.is_empty() && args.agreed.is_empty()) {
        output.note(&shown);
    } else {
        output.aside(&shown);
    }
    let Some(agreed) = decide(&args, &upgrade)? else {
        return Err(Error::new(ErrorKind::Cancelled, format!("`{name}` stays at {from}")));
    };
    compiled::ahead(&app, &upgrade.offer, output)?;
    let carried = upgrade.carried.clone();
    compiled::forget(&app, &admin.apply(upgrade, &agreed)?)?;

    let entry = admin.find(&name)?;
    if output.is_json() {
        let lost: Vec<Value> = carried.lost_grants.iter().map(|grant| json!(spell(grant))).collect();
        return output.value(&json!({
            "upgraded": describe::value(&entry), "from": from.to_string(), "notCarried": lost,
        }));
    }
    output.text(&format!("upgraded {name} from {from} to {to}"))?;
    output.note(&format!("\nnext:\n  remit rollback {name}   returns to {from}"));
    Ok(())
}

/// What was agreed to; `None` when the person wants the version that is there.
fn decide(args: &UpgradeArgs, upgrade: &Upgrade) -> Result<Option<Agreed>> {
    let questions = Questions::of(upgrade);
    if args.yes {
        return Ok(Some(questions.all()));
    }
    let asks = &upgrade.offer.asks;
    let mut agreed = Agreed { grants: asks::chosen(&args.grants, asks)?, ..Agreed::default() };
    let has_word = |word: Word| args.agreed.contains(&word);
    agreed.changes = has_word(Word::Changes);
    let said = questions.about.iter().filter(|widening| Word::of(&widening.about).is_some_and(has_word));
    agreed.about.extend(said.map(|widening| widening.about.clone()));

    let open = questions.open(args);
    if open.is_empty() {
        return Ok(Some(agreed));
    }
    let Upgrade { offer, before, .. } = upgrade;
    let (name, version) = (&offer.capability.name, &offer.capability.manifest.version);
    if !prompt::somebody_is_there() {
        let message = format!("nobody is at a terminal to decide about `{name}` {version}");
        return Err(Error::new(ErrorKind::Usage, message).hint(hint(&open)));
    }
    for question in open {
        let is_yes = prompt::confirm(&question.text(&before.capability.manifest.version, version))?;
        match (question, is_yes) {
            (Question::Grant(grants, _), true) => agreed.grants.extend(grants),
            (Question::Grant(..), false) => {}
            (Question::Widening(widening), true) => agreed.about.push(widening.about.clone()),
            (Question::Changes, true) => agreed.changes = true,
            (Question::Widening(_) | Question::Changes, false) => return Ok(None),
        }
    }
    agreed.grants.sort();
    agreed.grants.dedup();
    Ok(Some(agreed))
}

/// One question to the person.
enum Question<'a> {
    /// To give this or not, with the words for it.
    Grant(Vec<Grant>, String),
    /// To take what comes with the version.
    Widening(&'a Widening),
    /// To take what it says otherwise.
    Changes,
}

impl Question<'_> {
    fn text(&self, from: &semver::Version, to: &semver::Version) -> String {
        match self {
            Self::Grant(_, what) => format!("grant {what}?"),
            Self::Widening(widening) => format!("agree that {}?", widening.what),
            Self::Changes => format!("take {to}, with what it says otherwise than {from}?"),
        }
    }
}

/// All that has to be asked about a version.
struct Questions<'a> {
    says_otherwise: bool,
    grants: Vec<(Vec<Grant>, String)>,
    about: Vec<&'a Widening>,
}

impl<'a> Questions<'a> {
    fn of(upgrade: &'a Upgrade) -> Self {
        let asked = upgrade.asked();
        let own = |grant: &Grant| Grant { entry: None, ..grant.clone() };
        // An entry is worth nothing without its namespace, and a namespace is asked with its entries.
        let is_asked_with_entries = |grant: &&Grant| {
            grant.entry.is_none()
                && asked.iter().any(|other| other.namespace == grant.namespace && other.entry.is_some())
        };
        let words = |grant: &Grant| {
            let entry = grant.entry.as_ref().map_or(String::new(), |entry| format!(" `{entry}`"));
            format!("`{}`{entry}", grant.namespace.as_str())
        };
        let grants = asked.iter().filter(|grant| !is_asked_with_entries(grant)).map(|grant| {
            let mut grants = vec![own(grant), grant.clone()];
            grants.dedup();
            (grants, words(grant))
        });
        let about = upgrade.widenings.iter().filter(|widening| widening.about.word().is_some()).collect();
        Self { says_otherwise: upgrade.says_otherwise(), grants: grants.collect(), about }
    }

    /// A yes to each.
    fn all(&self) -> Agreed {
        let mut grants: Vec<Grant> = self.grants.iter().flat_map(|(grants, _)| grants.clone()).collect();
        grants.sort();
        grants.dedup();
        let about = self.about.iter().map(|widening| widening.about.clone()).collect();
        Agreed { grants, about, changes: true }
    }

    /// Those that the command line does not answer.
    fn open(self, args: &UpgradeArgs) -> Vec<Question<'a>> {
        let is_said = |about: &About| Word::of(about).is_some_and(|word| args.agreed.contains(&word));
        let mut open = Vec::new();
        if self.says_otherwise && !args.agreed.contains(&Word::Changes) {
            open.push(Question::Changes);
        }
        open.extend(self.about.into_iter().filter(|widening| !is_said(&widening.about)).map(Question::Widening));
        if args.grants.is_empty() {
            open.extend(self.grants.into_iter().map(|(grants, what)| Question::Grant(grants, what)));
        }
        open
    }
}

/// The words that would answer these questions.
fn hint(open: &[Question<'_>]) -> String {
    let mut words: Vec<String> = Vec::new();
    for question in open {
        let word = match question {
            Question::Changes => format!("--agree {}", Word::Changes.as_str()),
            Question::Widening(widening) => {
                Word::of(&widening.about).map_or_else(String::new, |word| format!("--agree {}", word.as_str()))
            }
            Question::Grant(..) => "--grant SPEC or --grant none".to_owned(),
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    format!("pass `{}`, or `--yes` for all", words.join("`, `"))
}

/// Everything to read before deciding.
fn shown(upgrade: &Upgrade, admin: &Admin) -> Result<String> {
    let Upgrade { offer, before, carried, widenings, .. } = upgrade;
    let (old, new) = (&before.capability.manifest.version, &offer.capability.manifest.version);
    let way = if new < old { "downgrade" } else { "upgrade" };
    let mut text = describe::head(&offer.capability, offer.origin.as_ref());
    let _ = writeln!(text, "\n{way} from {old} to {new}");
    let _ = write!(text, "\n{}", reviewed::difference(&difference(upgrade, admin)?));
    let _ = writeln!(text, "\nstands");
    let stands: Vec<String> = carried.grants.iter().map(|grant| format!("grant {}", spell(grant))).collect();
    let approved = carried.approvals.iter().map(|approval| {
        format!("secret {} to {} in {}", approval.secret, describe::authority(approval), approval.place)
    });
    list(&mut text, stands.into_iter().chain(approved).collect());
    let lost = carried.lost_grants.iter().map(|grant| format!("grant {}", spell(grant)));
    let gone = carried.lost_approvals.iter().map(|approval| {
        format!("secret {} to {} in {}", approval.secret, describe::authority(approval), approval.place)
    });
    let lost: Vec<String> = lost.chain(gone).collect();
    if !lost.is_empty() {
        text.push_str("\nis not asked for any more\n");
        list(&mut text, lost);
    }
    if widenings.iter().any(|widening| widening.about == About::Secrets) {
        let name = &offer.capability.name;
        let _ = writeln!(text, "\nsecrets go nowhere new until you say so: remit approve {name} SECRET");
    }
    Ok(text)
}

/// What differs, in the bytes too where both are components.
fn difference(upgrade: &Upgrade, admin: &Admin) -> Result<Difference> {
    let (old, new) = (&upgrade.before.capability, &upgrade.offer);
    if new.capability.manifest.runtime == Runtime::Builtin {
        let digest = old.digest.to_string();
        return Ok(Difference::of_manifests(&old.manifest, &digest, &new.capability.manifest));
    }
    let before = Report::of(&admin.bytes(&old.digest)?, &[])?;
    Ok(Difference::between(&before, &Report::of(&new.bytes, &[])?))
}

fn list(text: &mut String, lines: Vec<String>) {
    if lines.is_empty() {
        text.push_str("  nothing\n");
    }
    for line in lines {
        let _ = writeln!(text, "  {}", visible(&line, usize::MAX));
    }
}
