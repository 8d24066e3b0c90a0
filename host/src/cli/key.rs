//! `remit key`: the key that this home signs with, and the keys of others that it knows.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Context;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::check_name;
use crate::signing::{KnownKey, PublicKey, Rotation, Signed, SigningKey};
use crate::store::{Existing, write_whole};

/// Where a rotation is kept for whoever still knows only the old key.
const ROTATION: &str = "signing-rotation.json";

/// Make the key that you sign with, and say whose keys you know
///
/// A signature says who published or reviewed a release, never what it may do. Whose key counts for what is what you say
/// here: no registry says it for you.
#[derive(Debug, Args)]
pub(super) struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Debug, Subcommand)]
enum KeyCommand {
    New(NewArgs),
    List(ListArgs),
    Export(ExportArgs),
    Trust(TrustArgs),
    Revoke(RevokeArgs),
    Rotate(RotateArgs),
    Accept(AcceptArgs),
}

/// Make the signing key of this data directory, which only you can read
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit key new --owner ann --publisher acme
  remit key new --owner ben --reviewer")]
struct NewArgs {
    #[command(flatten)]
    whose: WhoseArgs,
}

/// List the keys that are known here: whose they are, and what they may say
#[derive(Debug, Args)]
struct ListArgs {}

/// Print the public key of this data directory, to be given to others
#[derive(Debug, Args)]
struct ExportArgs {}

/// Believe a key: the releases of a publisher, or the decisions of a reviewer
///
/// Ask its owner on another way than the one that the key came by whether it is theirs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit key trust ed25519:… --owner ann --publisher acme
  remit key trust ed25519:… --owner ben --reviewer")]
struct TrustArgs {
    /// `ed25519:` and 43 characters, as `remit key export` prints it
    key: PublicKey,
    #[command(flatten)]
    whose: WhoseArgs,
}

/// Take a key back: what it signed from then on counts no more
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit key revoke ed25519:…
  remit key revoke ed25519:… --from 2027-01-31T00:00:00Z")]
struct RevokeArgs {
    /// The key
    key: PublicKey,
    /// From this time on; for a stolen key, from before it was stolen [default: now]
    #[arg(long, value_name = "WHEN")]
    from: Option<Timestamp>,
}

/// Replace the signing key of this data directory, and print what tells others so, signed with the old one
#[derive(Debug, Args)]
struct RotateArgs {}

/// Believe a new key in the place of the one that signed for it
#[derive(Debug, Args)]
struct AcceptArgs {
    /// What `remit key rotate` printed
    file: PathBuf,
}

/// Whose a key is, and what they may say.
#[derive(Debug, Args)]
pub(super) struct WhoseArgs {
    /// The person or the machine whose key it is: two keys of one owner are one voice
    #[arg(long, value_name = "NAME")]
    owner: String,
    /// A publisher that it speaks for; may be repeated
    #[arg(long = "publisher", value_name = "NAME")]
    publishers: Vec<String>,
    /// Its owner decides about releases of others
    #[arg(long)]
    reviewer: bool,
}

impl WhoseArgs {
    fn check(&self) -> Result<()> {
        for name in self.publishers.iter().chain([&self.owner]) {
            if let Some(problem) = check_name(name) {
                return Err(Error::new(ErrorKind::Usage, format!("`{name}` is no name: {problem}")));
            }
        }
        Ok(())
    }

    /// What is said of `key`.
    pub(super) fn of(self, key: PublicKey) -> Result<KnownKey> {
        self.check()?;
        let Self { owner, publishers, reviewer } = self;
        Ok(KnownKey { key, owner, publishers, reviewer, revoked_at: None })
    }
}

/// Runs it.
pub(super) fn run(args: KeyArgs, context: &Context) -> Result<()> {
    match args.command {
        KeyCommand::New(args) => new(args, context),
        KeyCommand::List(ListArgs {}) => list(context),
        KeyCommand::Export(ExportArgs {}) => export(context),
        KeyCommand::Trust(TrustArgs { key, whose }) => {
            let said = whose.of(key)?;
            context.open()?.admin().trust_key(said)?;
            context.output.note(&format!("{key} is believed from now on"));
            Ok(())
        }
        KeyCommand::Revoke(RevokeArgs { key, from }) => {
            let at = from.map_or_else(|| Clock::system().now_ms(), Timestamp::as_millisecond);
            context.open()?.admin().revoke_key(key, at)?;
            context.output.note(&format!("what {key} signed from then on counts no more"));
            Ok(())
        }
        KeyCommand::Rotate(RotateArgs {}) => rotate(context),
        KeyCommand::Accept(args) => accept(&args, context),
    }
}

fn new(args: NewArgs, context: &Context) -> Result<()> {
    let app = context.open()?;
    // Judged before there is a key.
    args.whose.check()?;
    let key = SigningKey::create(&context.home()?)?.public();
    app.admin().trust_key(args.whose.of(key)?)?;
    if context.output.is_json() {
        return context.output.value(&json!({ "key": key.to_string() }));
    }
    context.output.text(&key.to_string())?;
    context.output.note("\nnext: give this to whoever runs the registry, and to whoever installs what you sign");
    Ok(())
}

fn list(context: &Context) -> Result<()> {
    let owners = context.open()?.admin().owners()?;
    print(&owners.keys, context)
}

/// Prints keys.
pub(super) fn print(keys: &[KnownKey], context: &Context) -> Result<()> {
    let time = |at: i64| Timestamp::from_millisecond(at).map_or_else(|_| at.to_string(), |at| at.to_string());
    if context.output.is_json() {
        let value = |known: &KnownKey| {
            json!({
                "key": known.key.to_string(), "owner": known.owner, "publishers": known.publishers,
                "reviewer": known.reviewer, "revokedAt": known.revoked_at.map(time),
            })
        };
        return context.output.value(&Value::Array(keys.iter().map(value).collect()));
    }
    let row = |known: &KnownKey| {
        let mut may = known.publishers.clone();
        may.extend(known.reviewer.then(|| "(reviews)".to_owned()));
        let until = known.revoked_at.map_or_else(String::new, |at| format!("until {}", time(at)));
        vec![known.owner.clone(), may.join(", "), known.key.to_string(), until]
    };
    let rows: Vec<Vec<String>> = keys.iter().map(row).collect();
    context.output.table(&["OWNER", "SPEAKS FOR", "KEY", "COUNTS"], &rows)
}

fn export(context: &Context) -> Result<()> {
    let key = SigningKey::open(&context.home()?)?.public();
    if context.output.is_json() {
        return context.output.value(&json!({ "key": key.to_string() }));
    }
    context.output.text(&key.to_string())
}

fn rotate(context: &Context) -> Result<()> {
    let app = context.open()?;
    let home = context.home()?;
    let (old, new) = SigningKey::replace(&home)?;
    let rotation = Rotation { key: new.public(), signed_at: Clock::system().now_ms() };
    let rotation = Signed::new(rotation, &old)?;
    let text = rotation.to_json()?;
    write_whole(&home.join(ROTATION), &text, Existing::Replace)?;
    app.admin().rotate_signer(rotation)?;
    context.output.bytes(&text)?;
    context.output.text("")?;
    context
        .output
        .note(&format!("\nnext: give this to others, who run `remit key accept FILE`; it is in `{ROTATION}` too"));
    Ok(())
}

fn accept(args: &AcceptArgs, context: &Context) -> Result<()> {
    let text = std::fs::read(&args.file).map_err(|error| Error::file(&args.file, &error))?;
    let known = context.open()?.admin().rotate_signer(Signed::from_json(&text)?)?;
    context.output.note(&format!("{} speaks for {} from now on", known.key, known.owner));
    Ok(())
}
