//! Completes `capability.json` with what the source says of its tools, documents and prompts.
//!
//! The SDK derives names, descriptions and schemas from Rust; the file may add to an entry or override it, by
//! its name or address. An entry that only the file knows would be a promise without code, so it is refused where the
//! source lists what it has.

use serde_json::{Map, Value};

use crate::component::{self, PROMPTS_SECTION, RESOURCES_SECTION, TEMPLATES_SECTION, TOOLS_SECTION};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{self, Manifest};

/// A list of the manifest that the source fills in.
struct List {
    /// The section that holds it.
    section: &'static str,
    /// The manifest's member.
    member: &'static str,
    /// The member of an entry that is its own alone.
    key: &'static str,
    /// What an entry is called.
    entry: &'static str,
    /// The attribute that marks its function.
    mark: &'static str,
}

const LISTS: [List; 4] = [
    List { section: TOOLS_SECTION, member: "tools", key: "name", entry: "tool", mark: "#[tool]" },
    List { section: RESOURCES_SECTION, member: "resources", key: "uri", entry: "resource", mark: "#[resource]" },
    List {
        section: TEMPLATES_SECTION,
        member: "resourceTemplates",
        key: "uriTemplate",
        entry: "resource template",
        mark: "#[resource]",
    },
    List { section: PROMPTS_SECTION, member: "prompts", key: "name", entry: "prompt", mark: "#[prompt]" },
];

type Entries = Vec<Map<String, Value>>;

/// Makes the manifest of `text` (`capability.json`) and of the sections that the SDK left in `module`.
pub(super) fn merge(text: &str, module: &[u8]) -> Result<Manifest> {
    let derived = LISTS.each_ref().map(|list| list.derived(module));
    let mut value = manifest::parse_value(text)?;
    let mut derived = derived.into_iter().collect::<Result<Vec<_>>>()?;
    if is_codemode(&value) {
        derived[0] = vec![manifest::run_tool()];
    }
    // Built without the SDK: the file says all.
    let is_listed = derived.iter().any(|entries| !entries.is_empty());
    if is_listed && let Some(members) = value.as_object_mut() {
        for (list, entries) in LISTS.iter().zip(derived) {
            list.complete(members, entries)?;
        }
    }
    manifest::from_value(value, text)
}

/// Whether a manifest is one of a capability without code.
pub(super) fn is_codemode(manifest: &Value) -> bool {
    manifest.get("runtime").and_then(Value::as_str) == Some("codemode")
}

impl List {
    /// The entries that the source lists. A linker joins sections of one name, so each may hold several lists.
    fn derived(&self, module: &[u8]) -> Result<Entries> {
        let mut entries = Vec::new();
        for section in component::custom_sections(module, self.section)? {
            for list in serde_json::Deserializer::from_slice(section).into_iter::<Entries>() {
                let list = list.map_err(|error| {
                    let message = format!("the {}s that the source lists are not understood", self.entry);
                    Error::new(ErrorKind::ManifestInvalid, message)
                        .detail(error)
                        .hint("build it with the SDK of this version of remit")
                })?;
                entries.extend(list);
            }
        }
        Ok(entries)
    }

    /// Puts the entries into the manifest, in the order of the source; what the file writes wins.
    fn complete(&self, members: &mut Map<String, Value>, mut entries: Entries) -> Result<()> {
        let (member, entry) = (self.member, self.entry);
        let written = match members.remove(member) {
            None => Vec::new(),
            Some(Value::Array(written)) => written,
            Some(_) => return Err(invalid(format!("`{member}`: write a list of {entry}s"))),
        };
        for (index, overrides) in written.into_iter().enumerate() {
            let Value::Object(overrides) = overrides else {
                return Err(invalid(format!("`{member}[{index}]`: write an object")));
            };
            self.find(&mut entries, &overrides, index)?.extend(overrides);
        }
        if !entries.is_empty() {
            members.insert(member.to_owned(), Value::Array(entries.into_iter().map(Value::Object).collect()));
        }
        Ok(())
    }

    /// The entry that the file's one is about.
    fn find<'a>(
        &self,
        entries: &'a mut Entries,
        overrides: &Map<String, Value>,
        index: usize,
    ) -> Result<&'a mut Map<String, Value>> {
        let Self { member, key, entry, mark, .. } = self;
        let of = |entry: &Map<String, Value>| entry.get(*key).and_then(Value::as_str).map(str::to_owned);
        let Some(name) = of(overrides) else {
            return Err(invalid(format!("`{member}[{index}].{key}`: name the {entry} that this is about")));
        };
        entries.iter_mut().find(|entry| of(entry).as_deref() == Some(name.as_str())).ok_or_else(|| {
            let name = manifest::visible(&name, 64);
            invalid(format!("`{member}[{index}].{key}`: the source has no {entry} `{name}`"))
                .hint(format!("mark its function with `{mark}`, or remove the entry"))
        })
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::ManifestInvalid, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &[u8] = br#"[{"name":"echo","description":"Repeats.","inputSchema":{"type":"object"}}]
        [{"name":"count","description":"Counts.","inputSchema":{"type":"object"},"readOnly":true}]"#;

    const NOTES: &[u8] = br#"[{"uri":"notes:all","name":"all","description":"All."}]"#;
    const NOTE: &[u8] = br#"[{"uriTemplate":"note:{id}","name":"note","description":"One."}]"#;
    const PROMPTS: &[u8] = br#"[{"name":"sum_up","description":"Sums up."}]"#;

    /// A core module with these sections.
    fn module(sections: &[(&str, &[u8])]) -> Vec<u8> {
        let mut module = wasm_encoder::Module::new();
        for (name, data) in sections {
            module.section(&wasm_encoder::CustomSection { name: (*name).into(), data: (*data).into() });
        }
        module.finish()
    }

    fn merged(members: &str, sections: &[(&str, &[u8])]) -> Result<Manifest> {
        let text =
            format!(r#"{{"publisher":"a","slug":"b","version":"1.0.0","title":"t","description":"d"{members}}}"#);
        merge(&text, &module(sections))
    }

    #[test]
    fn the_source_lists_the_tools_and_the_file_adds_to_them() {
        let tools = [(TOOLS_SECTION, SOURCE)];
        let manifest = merged("", &tools).unwrap();
        let names: Vec<_> = manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["echo", "count"]);

        let written = r#","tools":[{"name":"count","description":"Counts words.","idempotent":true}]"#;
        let manifest = merged(written, &tools).unwrap();
        let count = &manifest.tools[1];
        assert_eq!(count.description, "Counts words.");
        assert!(count.idempotent && count.read_only);
    }

    #[test]
    fn documents_and_prompts_are_listed_likewise() {
        let sections = [
            (TOOLS_SECTION, SOURCE),
            (RESOURCES_SECTION, NOTES),
            (TEMPLATES_SECTION, NOTE),
            (PROMPTS_SECTION, PROMPTS),
        ];
        let written = r#","resources":[{"uri":"notes:all","title":"Notes"}],
            "resourceTemplates":[{"uriTemplate":"note:{id}","mimeType":"text/plain"}],
            "prompts":[{"name":"sum_up","description":"In short."}]"#;
        let manifest = merged(written, &sections).unwrap();
        assert_eq!(manifest.resources[0].title.as_deref(), Some("Notes"));
        assert_eq!(manifest.resource_templates[0].mime_type.as_deref(), Some("text/plain"));
        assert_eq!(manifest.prompts[0].description, "In short.");
        assert_eq!(manifest.resources[0].description, "All.");
        assert_eq!(merged("", &sections[..1]).unwrap().prompts, []);
    }

    #[test]
    fn without_the_sdk_the_file_says_all() {
        let written = r#","tools":[{"name":"echo","description":"d","inputSchema":{}}],
            "prompts":[{"name":"sum_up","description":"d"}]"#;
        let manifest = merged(written, &[]).unwrap();
        assert_eq!((manifest.tools.len(), manifest.prompts.len()), (1, 1));
    }

    #[test]
    fn mistakes_are_named() {
        let cases: &[(&str, &[u8], &str)] = &[
            (r#","tools":[{"name":"ehco"}]"#, SOURCE, "`tools[0].name`: the source has no tool `ehco`"),
            (r#","tools":[{"title":"x"}]"#, SOURCE, "`tools[0].name`: name the tool that this is about"),
            (r#","tools":["echo"]"#, SOURCE, "`tools[0]`: write an object"),
            (r#","tools":{}"#, SOURCE, "`tools`: write a list of tools"),
            (
                r#","tools":[{"name":"echo","titel":"x"}]"#,
                SOURCE,
                "`tools[0]`: unknown field `titel` (line 1, column 101)",
            ),
            ("", b"[{]", "the tools that the source lists are not understood"),
            (r#","tools":[{"name":"echo"}]"#, b"", "`tools[0]`: the field `description` is missing"),
            (r#","prompts":[{"name":"x"}]"#, SOURCE, "`prompts[0].name`: the source has no prompt `x`"),
            (r#","resources":[{"name":"x"}]"#, SOURCE, "`resources[0].uri`: name the resource that this is about"),
            (
                r#","resourceTemplates":[{"uriTemplate":"x:{y}"}]"#,
                SOURCE,
                "`resourceTemplates[0].uriTemplate`: the source has no resource template `x:{y}`",
            ),
        ];
        for (members, section, expected) in cases {
            let message = merged(members, &[(TOOLS_SECTION, section)]).unwrap_err().message;
            assert!(message.starts_with(expected), "{message}");
        }
    }
}
