//! A question on its way out: whether it may be asked, and its words made clean.

use serde_json::Value;

use super::form;
use crate::egress::approve;
use crate::namespaces::words::{paragraphs, redacted};
use crate::policy::HostPattern;
use crate::runtime::ask::{Form, Link, Media, Question, Said, Sample, Turn};
use crate::secrets::Redactor;

/// Characters of what a person is told.
const MESSAGE_CHARS: usize = 1_000;
/// Characters of a page's address: more is data, not an address.
const URL_CHARS: usize = 2_048;
/// Tokens that a model may be asked for: some ten pages.
const TOKENS: u32 = 16_384;
/// Turns of a conversation with a model.
const TURNS: usize = 50;
/// Bytes of such a conversation, pictures and sounds included.
const SAMPLE_BYTES: usize = 1024 * 1024;
/// Texts at which a model stops.
const STOPS: usize = 8;
/// Characters of one of them.
const STOP_CHARS: usize = 64;
/// Characters of a media type.
const MIME_CHARS: usize = 127;

/// On which terms a capability asks.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// The hosts that are granted to it.
    pub hosts: &'a [HostPattern],
    /// Finds the secrets that the call had in its hands.
    pub redactor: Option<&'a Redactor>,
}

/// The question as it may leave, or what is wrong with it.
pub(super) fn clean(question: Question, terms: &Terms<'_>) -> Result<Question, String> {
    match question {
        Question::Form(form) => {
            let schema = form::read(&form.schema)?;
            let schema = match terms.redactor {
                Some(redactor) => redactor.redact::<Value>(schema).into_inner(),
                None => schema,
            };
            Ok(Question::Form(Form { message: message(&form.message, terms)?, schema: schema.to_string() }))
        }
        Question::Link(link) => {
            let url = page(&link.url, terms)?;
            Ok(Question::Link(Link { message: message(&link.message, terms)?, url }))
        }
        Question::Sample(sample) => clean_sample(sample, terms).map(Question::Sample),
        Question::Roots => Ok(Question::Roots),
    }
}

fn message(text: &str, terms: &Terms<'_>) -> Result<String, String> {
    let message = paragraphs(text, MESSAGE_CHARS, terms.redactor);
    if message.trim().is_empty() { Err("its message is empty".to_owned()) } else { Ok(message) }
}

/// A page is where a person may be led, so it is where the capability itself may go.
fn page(url: &str, terms: &Terms<'_>) -> Result<String, String> {
    if url.len() > URL_CHARS {
        return Err(format!("its URL has more than {URL_CHARS} characters"));
    }
    let target = approve(url, terms.hosts)
        .map_err(|refusal| format!("its URL cannot be opened ({}): only `https:` at a granted host", refusal.kind().code()))?;
    if terms.redactor.is_some_and(|redactor| redactor.finds(url.as_bytes()).is_some()) {
        return Err("its URL holds a secret".to_owned());
    }
    Ok(target.url().as_str().to_owned())
}

fn clean_sample(sample: Sample, terms: &Terms<'_>) -> Result<Sample, String> {
    let Sample { turns, system, max_tokens, temperature, stop } = sample;
    if turns.is_empty() || turns.len() > TURNS {
        return Err(format!("a conversation has 1 to {TURNS} turns"));
    }
    if !(1..=TOKENS).contains(&max_tokens) {
        return Err(format!("a model is asked for 1 to {TOKENS} tokens"));
    }
    if temperature.is_some_and(|temperature| !(0.0..=2.0).contains(&temperature)) {
        return Err("a temperature is between 0 and 2".to_owned());
    }
    if stop.len() > STOPS || stop.iter().any(|text| text.is_empty() || text.chars().count() > STOP_CHARS) {
        return Err(format!("a model stops at up to {STOPS} texts of up to {STOP_CHARS} characters"));
    }
    let said: usize = turns.iter().map(|turn| said_size(&turn.said)).sum();
    if said + system.as_ref().map_or(0, String::len) > SAMPLE_BYTES {
        return Err(format!("a conversation has at most {SAMPLE_BYTES} bytes"));
    }
    let text = |text: &str| paragraphs(text, SAMPLE_BYTES, terms.redactor);
    let turns = turns.into_iter().map(|turn| {
        let said = match turn.said {
            Said::Text(words) => Said::Text(text(&words)),
            Said::Image(media) => Said::Image(clean_media(media, terms)?),
            Said::Audio(media) => Said::Audio(clean_media(media, terms)?),
        };
        Ok(Turn { role: turn.role, said })
    });
    Ok(Sample {
        turns: turns.collect::<Result<_, String>>()?,
        system: system.map(|system| text(&system)),
        max_tokens,
        temperature,
        stop: stop.into_iter().map(|stop| redacted(stop, terms.redactor)).collect(),
    })
}

fn clean_media(media: Media, terms: &Terms<'_>) -> Result<Media, String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"/+-.".contains(&byte);
    if media.mime_type.len() > MIME_CHARS || !media.mime_type.bytes().all(fits) {
        return Err("a picture's or sound's media type is as `image/png`".to_owned());
    }
    let data = match terms.redactor {
        Some(redactor) => redactor.redact(media.data).into_inner(),
        None => media.data,
    };
    Ok(Media { data, mime_type: media.mime_type })
}

pub(super) fn said_size(said: &Said) -> usize {
    match said {
        Said::Text(text) => text.len(),
        Said::Image(media) | Said::Audio(media) => media.data.len() + media.mime_type.len(),
    }
}
