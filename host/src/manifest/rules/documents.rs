//! What a manifest declares beside tools: resources, resource templates and prompts.

use std::collections::BTreeSet;

use super::super::{Manifest, Prompt};
use super::names::MAX_NAME;
use super::text::{line, paragraphs};
use super::{MAX_DESCRIPTION, MAX_TITLE, Problems, addresses, names};

/// A person picks from a list of them; more belong behind a template.
const MAX_RESOURCES: usize = 128;
/// Each address that is asked for is held against each form.
const MAX_TEMPLATES: usize = 32;
/// A person picks from a list of them.
const MAX_PROMPTS: usize = 64;
/// What a person fills in before a prompt can be used.
const MAX_ARGUMENTS: usize = 16;
/// Characters of a media type (RFC 6838, 4.2).
const MAX_MIME_TYPE: usize = 127;

/// What a resource and a template have in common.
struct Words<'a> {
    name: &'a str,
    title: Option<&'a str>,
    description: &'a str,
    mime_type: Option<&'a str>,
}

pub(super) fn check(manifest: &Manifest, problems: &mut Problems) {
    resources(manifest, problems);
    templates(manifest, problems);
    prompts(manifest, problems);
}

fn resources(manifest: &Manifest, problems: &mut Problems) {
    at_most(manifest.resources.len(), MAX_RESOURCES, "resources", problems);
    let (mut uris, mut names) = (BTreeSet::new(), BTreeSet::new());
    for (index, resource) in manifest.resources.iter().enumerate() {
        let field = format!("resources[{index}]");
        problems.add_some(format!("{field}.uri"), addresses::uri(&resource.uri));
        once(uris.insert(&resource.uri), &format!("{field}.uri"), problems);
        once(names.insert(&resource.name), &format!("{field}.name"), problems);
        let words = Words {
            name: &resource.name,
            title: resource.title.as_deref(),
            description: &resource.description,
            mime_type: resource.mime_type.as_deref(),
        };
        check_words(&words, &field, problems);
    }
}

fn templates(manifest: &Manifest, problems: &mut Problems) {
    at_most(manifest.resource_templates.len(), MAX_TEMPLATES, "resourceTemplates", problems);
    let (mut forms, mut names) = (BTreeSet::new(), BTreeSet::new());
    for (index, template) in manifest.resource_templates.iter().enumerate() {
        let field = format!("resourceTemplates[{index}]");
        problems.add_some(format!("{field}.uriTemplate"), addresses::template(&template.uri_template));
        once(forms.insert(&template.uri_template), &format!("{field}.uriTemplate"), problems);
        once(names.insert(&template.name), &format!("{field}.name"), problems);
        let words = Words {
            name: &template.name,
            title: template.title.as_deref(),
            description: &template.description,
            mime_type: template.mime_type.as_deref(),
        };
        check_words(&words, &field, problems);
    }
}

fn prompts(manifest: &Manifest, problems: &mut Problems) {
    at_most(manifest.prompts.len(), MAX_PROMPTS, "prompts", problems);
    let mut seen = BTreeSet::new();
    for (index, prompt) in manifest.prompts.iter().enumerate() {
        let field = format!("prompts[{index}]");
        once(seen.insert(&prompt.name), &format!("{field}.name"), problems);
        problems.add_some(format!("{field}.name"), names::prompt(&prompt.name));
        let exposed = manifest.slug.len() + "__".len() + prompt.name.len();
        if exposed > MAX_NAME {
            let over = exposed - MAX_NAME;
            let fix = format!("shorten it by {over}: with the slug it may have {MAX_NAME} characters");
            problems.add(format!("{field}.name"), fix);
        }
        texts(prompt.title.as_deref(), &prompt.description, &field, problems);
        arguments(prompt, &field, problems);
    }
}

fn arguments(prompt: &Prompt, field: &str, problems: &mut Problems) {
    at_most(prompt.arguments.len(), MAX_ARGUMENTS, &format!("{field}.arguments"), problems);
    let mut seen = BTreeSet::new();
    for (index, argument) in prompt.arguments.iter().enumerate() {
        let field = format!("{field}.arguments[{index}]");
        once(seen.insert(&argument.name), &format!("{field}.name"), problems);
        problems.add_some(format!("{field}.name"), names::argument(&argument.name));
        texts(argument.title.as_deref(), &argument.description, &field, problems);
    }
}

fn check_words(words: &Words<'_>, field: &str, problems: &mut Problems) {
    problems.add_some(format!("{field}.name"), names::document(words.name));
    texts(words.title, words.description, field, problems);
    if words.mime_type.is_some_and(|mime_type| !is_mime_type(mime_type)) {
        problems.add(format!("{field}.mimeType"), "write a media type, as `text/markdown`");
    }
}

fn texts(title: Option<&str>, description: &str, field: &str, problems: &mut Problems) {
    if let Some(title) = title {
        problems.add_some(format!("{field}.title"), line(title, MAX_TITLE));
    }
    problems.add_some(format!("{field}.description"), paragraphs(description, MAX_DESCRIPTION));
}

fn at_most(count: usize, most: usize, field: &str, problems: &mut Problems) {
    if count > most {
        problems.add(field, format!("list at most {most}"));
    }
}

fn once(is_new: bool, field: &str, problems: &mut Problems) {
    if !is_new {
        problems.add(field, "choose another: it is used twice");
    }
}

/// `type/subtype`, perhaps with parameters.
fn is_mime_type(text: &str) -> bool {
    let is_token = |token: &str| {
        token.starts_with(|first: char| first.is_ascii_alphanumeric())
            && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    text.len() <= MAX_MIME_TYPE
        && essence.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
        && parameters.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::manifest::rules::check as check_all;

    fn manifest(field: &str, value: Value) -> Manifest {
        let mut manifest = json!({
            "publisher": "acme", "slug": "notes", "version": "1.0.0", "title": "Notes", "description": "Notes.",
            "tools": [{ "name": "get", "description": "Gets.",
                        "inputSchema": { "type": "object", "additionalProperties": false } }],
        });
        manifest[field] = value;
        serde_json::from_value(manifest).unwrap()
    }

    fn fields(field: &str, value: Value) -> Vec<String> {
        check_all(&manifest(field, value)).into_iter().map(|problem| problem.field).collect()
    }

    fn resource(change: &[(&str, Value)]) -> Value {
        let mut resource = json!({ "uri": "note:1", "name": "one", "description": "One." });
        change.iter().for_each(|(field, value)| resource[*field] = value.clone());
        resource
    }

    #[test]
    fn documents_and_prompts_that_are_in_order_pass() {
        let all = resource(&[("title", json!("One")), ("mimeType", json!("text/plain; charset=utf-8"))]);
        assert_eq!(fields("resources", json!([all])), [""; 0]);
        let template = json!({ "uriTemplate": "note:{id}", "name": "note", "description": "A note." });
        assert_eq!(fields("resourceTemplates", json!([template])), [""; 0]);
        let prompt = json!({ "name": "sum_up", "description": "Sums up.",
                             "arguments": [{ "name": "noteId", "description": "Which.", "required": true }] });
        assert_eq!(fields("prompts", json!([prompt])), [""; 0]);
    }

    #[test]
    fn each_mistake_is_named_where_it_is() {
        let one = |change: &[(&str, Value)]| json!([resource(change)]);
        let resources = [
            (one(&[("uri", json!("https://a.example/"))]), "resources[0].uri"),
            (one(&[("uri", json!("note:\u{202e}1"))]), "resources[0].uri"),
            (one(&[("name", json!("o ne"))]), "resources[0].name"),
            (one(&[("description", json!(" "))]), "resources[0].description"),
            (one(&[("description", json!("a\u{200b}b"))]), "resources[0].description"),
            (one(&[("title", json!("a\nb"))]), "resources[0].title"),
            (one(&[("mimeType", json!("text"))]), "resources[0].mimeType"),
            (one(&[("mimeType", json!("text/a\r\nb"))]), "resources[0].mimeType"),
            (json!([resource(&[]), resource(&[("name", json!("two"))])]), "resources[1].uri"),
            (json!([resource(&[]), resource(&[("uri", json!("note:2"))])]), "resources[1].name"),
        ];
        for (value, expected) in resources {
            assert_eq!(fields("resources", value), [expected]);
        }
        let many = (0..=MAX_RESOURCES).map(|index| {
            resource(&[("uri", json!(format!("note:{index}"))), ("name", json!(format!("n{index}")))])
        });
        assert_eq!(fields("resources", many.collect()), ["resources"]);
        let templates = [
            (json!([{ "uriTemplate": "note:{+id}", "name": "n", "description": "d" }]), "resourceTemplates[0].uriTemplate"),
            (json!([{ "uriTemplate": "remit:{id}", "name": "n", "description": "d" }]), "resourceTemplates[0].uriTemplate"),
        ];
        for (value, expected) in templates {
            assert_eq!(fields("resourceTemplates", value), [expected]);
        }
        let argument = json!({ "name": "a", "description": "d" });
        let prompts = [
            (json!([{ "name": "Sum", "description": "d" }]), "prompts[0].name"),
            (json!([{ "name": "s".repeat(60), "description": "d" }]), "prompts[0].name"),
            (json!([{ "name": "s", "description": "d" }, { "name": "s", "description": "d" }]), "prompts[1].name"),
            (json!([{ "name": "s", "description": "d", "arguments": [argument, argument] }]), "prompts[0].arguments[1].name"),
            (json!([{ "name": "s", "description": "d", "arguments": [{ "name": "a-b", "description": "d" }] }]), "prompts[0].arguments[0].name"),
        ];
        for (value, expected) in prompts {
            assert_eq!(fields("prompts", value), [expected]);
        }
    }
}
