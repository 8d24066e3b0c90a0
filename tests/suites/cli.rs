//! The people's command line, whole outputs: every file in `tests/cli/` is a session with the real program.
//!
//! A line `$ remit …` is run in a fresh folder, with an empty environment and `home` as its home. What follows
//! must be exactly what came: `| ` stdout, `! ` stderr, `= ` an exit code that is not 0. All other lines are
//! for the reader. `<<< 'text'` at the end of a command is its stdin; without it, stdin is empty.
//! `$ write FILE 'text'` makes a file; `NAME.wasm` is a capability that was built before. `BLESS=1` writes what
//! came into the file. In a command, `[ID]` and `[token-id]` are the last ones that came. Digests, times and sizes are masked, since they differ from one day to the next.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::home::{built, program};

/// What differs from run to run: `d` stands for a digit, `x` for a hexadecimal one, `#` for a letter or digit of an
/// id, `@` for one in lower case, `*` for one of base64 in a URL.
const MASKS: &[(&str, &str)] = &[
    ("sha256:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "sha256:[digest]"),
    ("sha256:xxxxxxxxxxxx…", "sha256:[digest]…"),
    ("`xxxxxxxxxxxxxxxx`", "`[key]`"),
    ("version d.dd.d", "version [version]"),
    ("dddd-dd-dd dd:dd:dd", "[time]"),
    ("dddd-dd-ddTdd:dd:dd.dddZ", "[time]"),
    (CONFIRMATION_TOKEN, "`--confirmation-token [token]`"),
    (APPROVAL_ID, "[ID]"),
    (TOKEN_ID, "[token-id]"),
    ("rmt_@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@", "[token]"),
    ("01@@@@@@@@@@@@@@@@@@@@@@@@", "[call]"),
    ("ddd.d KiB", "[size]"),
    ("dd.d KiB", "[size]"),
];

const CONFIRMATION_TOKEN: &str = "`--confirmation-token ************************************************`";

const APPROVAL_ID: &str = "####-####";
const TOKEN_ID: &str = "tok-@@@@@@@@";

#[test]
fn sessions_are_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cli");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("the folder of sessions")
        .map(|entry| entry.expect("a session").path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no sessions");
    let is_blessed = std::env::var_os("BLESS").is_some();
    let mut wrong = String::new();
    for file in files {
        let written = fs::read_to_string(&file).expect("a session is text");
        let came = replay(&written);
        if is_blessed {
            fs::write(&file, &came).expect("the session can be written");
        } else if came != written {
            let _ = write!(wrong, "\n--- {}\n{}", file.display(), first_difference(&written, &came));
        }
    }
    assert!(wrong.is_empty(), "{wrong}\nBLESS=1 writes what came; read it before you commit it");
}

/// The session as it is, with what came instead of what was expected.
fn replay(session: &str) -> String {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let mut came = String::new();
    let (mut id, mut token_id) = (String::new(), String::new());
    for line in session.lines() {
        if !(line.starts_with("| ")
            || line.starts_with("! ")
            || line.starts_with("= ")
            || line == "|"
            || line == "!")
        {
            came.push_str(line);
            came.push('\n');
        }
        if let Some(command) = line.strip_prefix("$ ") {
            let command = command.replace("[ID]", &id).replace("[token-id]", &token_id);
            let raw = run(&words(&command), scratch.path());
            id = last_of(APPROVAL_ID, &raw).unwrap_or(id);
            token_id = last_of(TOKEN_ID, &raw).unwrap_or(token_id);
            for line in raw.lines() {
                came.push_str(masked(line).trim_end());
                came.push('\n');
            }
        }
    }
    came
}

fn run(words: &[String], scratch: &Path) -> String {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (command, stdin) = match words.as_slice() {
        [command @ .., "<<<", stdin] => (command, *stdin),
        command => (command, ""),
    };
    match command {
        ["write", file, text] => {
            let file = scratch.join(file);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, text).expect("a file");
            String::new()
        }
        ["remit", arguments @ ..] => remit(arguments, stdin, scratch),
        other => panic!("no such command: {other:?}"),
    }
}

fn remit(arguments: &[&str], stdin: &str, scratch: &Path) -> String {
    for name in arguments.iter().filter_map(|argument| argument.strip_suffix(".wasm")) {
        if !scratch.join(name).with_extension("wasm").exists() && !name.contains("missing") {
            fs::write(scratch.join(name).with_extension("wasm"), built(name)).expect("room for a component");
        }
    }
    let mut child = Command::new(program())
        .args(arguments)
        .current_dir(scratch)
        .env_clear()
        .env("REMIT_HOME", "home")
        .env("TZ", "UTC")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A program that needs no input may be gone already.
    let _ = child.stdin.take().expect("a pipe").write_all(stdin.as_bytes());
    let output = child.wait_with_output().expect("the program ends");
    let mut came = String::new();
    for (mark, stream) in [('|', &output.stdout), ('!', &output.stderr)] {
        for line in String::from_utf8_lossy(stream).lines() {
            let _ = writeln!(came, "{}", format!("{mark} {line}").trim_end());
        }
    }
    match output.status.code() {
        Some(0) => {}
        Some(code) => came.push_str(&format!("= {code}\n")),
        None => came.push_str("= killed by a signal\n"),
    }
    came
}

/// Splits as a shell does: at spaces, except inside single or double quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in command.chars() {
        match quote {
            Some(open) if character == open => quote = None,
            Some(_) => word.get_or_insert_default().push(character),
            None if character == '\'' || character == '"' => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            None if character == ' ' => words.extend(word.take()),
            None => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words.into_iter().map(|word| word.replace("\\n", "\n")).collect()
}

fn masked(line: &str) -> String {
    MASKS.iter().fold(line.to_owned(), |line, (pattern, name)| mask(&line, pattern, name))
}

/// Whether `text` begins with what the pattern describes.
fn fits(text: &str, pattern: &str) -> bool {
    text.len() >= pattern.len()
        && text.bytes().zip(pattern.bytes()).all(|(byte, wanted)| match wanted {
            b'd' => byte.is_ascii_digit(),
            b'#' => byte.is_ascii_digit() || byte.is_ascii_uppercase(),
            b'*' => byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_',
            b'@' => byte.is_ascii_digit() || byte.is_ascii_lowercase(),
            // Only `x` after the prefix: `sha256:` itself has none.
            b'x' => byte.is_ascii_hexdigit(),
            _ => byte == wanted,
        })
}

/// The last part of an output that looks like this.
fn last_of(pattern: &str, output: &str) -> Option<String> {
    let mut starts = output.char_indices().map(|(at, _)| &output[at..]);
    starts.rfind(|text| fits(text, pattern)).map(|text| text[..pattern.len()].to_owned())
}

fn mask(line: &str, pattern: &str, name: &str) -> String {
    let mut rest = line;
    let mut masked = String::new();
    while let Some(character) = rest.chars().next() {
        let fits = fits(rest, pattern);
        let taken = if fits { pattern.len() } else { character.len_utf8() };
        masked.push_str(if fits { name } else { &rest[..taken] });
        rest = &rest[taken..];
    }
    masked
}

/// The first lines that differ, with the command they belong to.
fn first_difference(written: &str, came: &str) -> String {
    let mut command = "";
    let (mut written, mut came) = (written.lines(), came.lines());
    loop {
        let (expected, got) = (written.next(), came.next());
        if expected != got || expected.is_none() {
            let rest: Vec<&str> = got.into_iter().chain(came).take(20).collect();
            return format!(
                "{command}\n  written: {}\n  came:    {}\n",
                expected.unwrap_or_default(),
                rest.join("\n           ")
            );
        }
        command = expected.filter(|line| line.starts_with("$ ")).unwrap_or(command);
    }
}
