//! Domains: capabilities that are about the same. Each capability brings its own, and those of one name are one.

use serde_json::{Map, Value};

use super::{Field, Text, View, domain_of, fields, has_use, line};
use crate::policy::Caller;
use crate::registry::{Capability, Entry};

pub(in crate::search) struct Kind;

impl super::Kind for Kind {
    fn prefix(&self) -> &'static str {
        "domain"
    }

    fn worth(&self) -> f32 {
        0.5
    }

    fn count(&self, _: &Capability) -> usize {
        1
    }

    fn may(&self, caller: &Caller<'_>, entry: &Entry, _: usize) -> bool {
        has_use(caller, entry)
    }

    fn id(&self, capability: &Capability, _: usize) -> String {
        domain_of(capability).to_owned()
    }

    fn name(&self, capability: &Capability, _: usize) -> String {
        domain_of(capability).to_owned()
    }

    fn text(&self, capability: &Capability, _: usize) -> Text {
        Text::default().with(Field::Name, domain_of(capability))
    }

    fn about(&self, view: &View<'_>, entry: &Entry, _: usize) -> String {
        let titles: Vec<&str> =
            members(view, entry).map(|member| member.capability.manifest.title.as_str()).collect();
        titles.join("; ")
    }

    fn show(&self, view: &View<'_>, entry: &Entry, _: usize) -> Map<String, Value> {
        let capabilities = members(view, entry).map(|member| {
            let capability = &member.capability;
            let (kind, id) = match capability.name.is_upstream() {
                true => ("mcp-server", capability.name.slug.clone()),
                false => ("capability", capability.name.to_string()),
            };
            Value::Object(fields([
                ("id", format!("{kind}:{id}").into()),
                ("name", line(&capability.manifest.title).into()),
                ("line", line(&capability.manifest.description).into()),
            ]))
        });
        fields([("capabilities", capabilities.collect())])
    }
}

/// The capabilities of the same domain of which the caller may use something.
fn members<'a>(view: &'a View<'_>, entry: &'a Entry) -> impl Iterator<Item = &'a Entry> {
    let domain = domain_of(&entry.capability);
    let entries = view.snapshot.entries.values().map(|entry| &**entry);
    entries.filter(move |other| {
        domain_of(&other.capability) == domain && other.is_ready() && has_use(&view.caller, other)
    })
}
