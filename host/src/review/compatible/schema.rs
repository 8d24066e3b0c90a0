//! Whether one schema lets in all that another one does.
//!
//! The same walk serves both ways: a new input must take what the old one took, and what a new output gives must be
//! what the old one could have given, except that an output may have more properties. Where the answer cannot be known
//! by looking at the keywords one by one, it is no: a change is refused that might have been none, never the other way.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::alternatives::{self, are_apart, types, values};
use super::inlined::inlined;
use super::same::same;
use super::{Breach, Rule};
use crate::manifest::{Tool, visible};

/// Characters of a value or a name that are shown.
const SHOWN: usize = 60;

/// Keywords that change nothing about what is let in.
const ANNOTATIONS: [&str; 9] =
    ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$schema"];

/// Conditions that the wider side may have only as the narrower has them.
const CONDITIONS: [&str; 18] = [
    "pattern",
    "format",
    "multipleOf",
    "uniqueItems",
    "not",
    "if",
    "then",
    "else",
    "allOf",
    "contains",
    "minContains",
    "maxContains",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
    "unevaluatedItems",
    "$ref",
];

/// Keywords that change what others beside them mean, so that both sides must have the same.
const ENTANGLED: [&str; 4] = ["prefixItems", "patternProperties", "additionalItems", "dependencies"];

/// Bounds, whether the lower ones or the upper ones, and the bound that says nothing.
const BOUNDS: [(&str, bool, Option<f64>); 10] = [
    ("minimum", true, None),
    ("exclusiveMinimum", true, None),
    ("minLength", true, Some(0.0)),
    ("minItems", true, Some(0.0)),
    ("minProperties", true, Some(0.0)),
    ("maximum", false, None),
    ("exclusiveMaximum", false, None),
    ("maxLength", false, None),
    ("maxItems", false, None),
    ("maxProperties", false, None),
];

/// Which way values go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Input,
    Output,
}

impl Side {
    /// The sentence for this side.
    fn say(self, input: &str, output: &str) -> String {
        match self {
            Self::Input => input.to_owned(),
            Self::Output => output.to_owned(),
        }
    }
}

/// Whether a new version of a tool takes all that the old one took.
///
/// `left` is how many more schemas are compared.
pub(super) fn input(old: &Tool, new: &Tool, left: &mut usize) -> Vec<Breach> {
    let mut walk = Walk { side: Side::Input, tool: &old.name, left: *left, is_trial: false, found: Vec::new() };
    walk.documents(&new.input_schema, &old.input_schema, "/inputSchema");
    *left = walk.left;
    walk.found
}

/// Whether a new version of a tool gives what the old one could have given, or more properties.
pub(super) fn output(old: &Tool, new: &Tool, left: &mut usize) -> Vec<Breach> {
    let mut walk = Walk { side: Side::Output, tool: &old.name, left: *left, is_trial: false, found: Vec::new() };
    match (&old.output_schema, &new.output_schema) {
        (None, _) => {}
        (Some(_), None) => {
            walk.add(Rule::Removed, "/outputSchema", "nothing is said of its answer any more".to_owned())
        }
        (Some(old), Some(new)) => walk.documents(old, new, "/outputSchema"),
    }
    *left = walk.left;
    walk.found
}

/// Whether a keyword lets in no more and no less.
pub(super) fn is_annotation(keyword: &str) -> bool {
    ANNOTATIONS.contains(&keyword)
}

/// One part of a JSON pointer.
pub(in crate::review) fn escaped(part: &str) -> String {
    part.replace('~', "~0").replace('/', "~1")
}

struct Walk<'a> {
    side: Side,
    tool: &'a str,
    left: usize,
    /// Whether one breach is as good as all.
    is_trial: bool,
    found: Vec<Breach>,
}

impl Walk<'_> {
    /// Several ways can lead to the same breach; it is one.
    fn add(&mut self, rule: Rule, pointer: &str, message: String) {
        let breach = Breach { tool: Some(self.tool.to_owned()), pointer: pointer.to_owned(), rule, message };
        if !self.found.contains(&breach) {
            self.found.push(breach);
        }
    }

    fn documents(&mut self, general: &Map<String, Value>, special: &Map<String, Value>, at: &str) {
        if general == special {
            return;
        }
        match (inlined(general), inlined(special)) {
            (Some(general), Some(special)) => self.covers(&general, &special, at),
            _ => self.add(Rule::NotComparable, at, "it changed, and is too large to compare".to_owned()),
        }
    }

    /// Notes where `special` lets in what `general` does not.
    fn covers(&mut self, general: &Value, special: &Value, at: &str) {
        if self.is_trial && !self.found.is_empty() {
            return;
        }
        let Some(left) = self.left.checked_sub(1) else {
            // Once for all that is left.
            let top = at.split('/').take(2).collect::<Vec<_>>().join("/");
            return self.add(Rule::NotComparable, &top, "it changed, and is too large to compare".to_owned());
        };
        self.left = left;
        let nothing = Map::new();
        match (general, special) {
            (general, special) if self.is_same(general, special) => {}
            (Value::Bool(true), _) | (_, Value::Bool(false)) => {}
            (Value::Object(general), Value::Object(special)) => self.objects(general, special, at),
            (Value::Object(general), _) => self.objects(general, &nothing, at),
            _ => {
                let message = self.side.say("nothing is taken here any more", "nothing was ever given here");
                self.add(Rule::Type, at, message);
            }
        }
    }

    fn objects(&mut self, general: &Map<String, Value>, special: &Map<String, Value>, at: &str) {
        self.default(general, special, at);
        match (alternatives::of(general), alternatives::of(special)) {
            // One of several is compared as a whole, with what stands beside it.
            (None, Some((keyword, each))) => {
                let general = Value::Object(general.clone());
                for alternative in each {
                    self.covers(&general, &alternatives::with(special, keyword, alternative), at);
                }
                return;
            }
            (Some((keyword, known)), given) => self.alternatives(keyword, known, given, special, at),
            (None, None) => {}
        }
        if self.types(general, special, at) {
            self.values(general, special, at);
            self.bounds(general, special, at);
            self.conditions(general, special, at);
            self.items(general, special, at);
            self.properties(general, special, at);
        }
    }

    /// Leaving something out is a value too.
    fn default(&mut self, new: &Map<String, Value>, old: &Map<String, Value>, at: &str) {
        let Some(before) = old.get("default").filter(|_| self.side == Side::Input) else { return };
        match new.get("default") {
            Some(now) if now == before => {}
            Some(now) => {
                let message = format!("its default is {}, and was {}", shown(now), shown(before));
                self.add(Rule::Default, &format!("{at}/default"), message);
            }
            None => {
                let message = format!("it has no default any more, and had {}", shown(before));
                self.add(Rule::Default, &format!("{at}/default"), message);
            }
        }
    }

    /// Each alternative of the narrower side is one of the wider side's.
    fn alternatives(
        &mut self,
        keyword: &'static str,
        known: &[Value],
        given: Option<(&'static str, &Vec<Value>)>,
        special: &Map<String, Value>,
        at: &str,
    ) {
        let at = format!("{at}/{keyword}");
        let is_same = |(one, other): (&Value, &Value)| self.is_same(one, other);
        if given.is_some_and(|(_, given)| given.len() == known.len() && given.iter().zip(known).all(is_same)) {
            return;
        }
        if keyword == "oneOf" && !are_apart(known) {
            let message = "its alternatives changed, and more than one of them may fit".to_owned();
            return self.add(Rule::NotComparable, &at, message);
        }
        let each: Vec<Cow<'_, Value>> = match given {
            Some((keyword, each)) => each.iter().map(|one| alternatives::with(special, keyword, one)).collect(),
            // One of several types is an alternative too.
            None => types(special).into_iter().map(|name| Cow::Owned(of_type(special, name))).collect(),
        };
        for (index, one) in each.iter().enumerate() {
            if !known.iter().any(|known| self.is_covered(known, one)) {
                let message = self.side.say("one of its alternatives is gone", "it can be something else now");
                let at = if given.is_some() { format!("{at}/{index}") } else { at.clone() };
                self.add(Rule::Type, &at, message);
            }
        }
    }

    fn is_same(&self, one: &Value, other: &Value) -> bool {
        same(one, other, self.side == Side::Input)
    }

    /// Asks without noting.
    fn is_covered(&mut self, general: &Value, special: &Value) -> bool {
        let mut trial = Walk { is_trial: true, found: Vec::new(), ..*self };
        trial.covers(general, special, "");
        self.left = trial.left;
        trial.found.is_empty()
    }

    /// Gives whether the types fit: without that, no other keyword is worth a word.
    fn types(&mut self, general: &Map<String, Value>, special: &Map<String, Value>, at: &str) -> bool {
        let known = types(general);
        let fits = |name: &&str| known.contains(name) || *name == "integer" && known.contains("number");
        let others: Vec<&str> = types(special).into_iter().filter(|name| !fits(name)).collect();
        if others.is_empty() {
            return true;
        }
        let others = others.join(", ");
        let message =
            self.side.say(&format!("it does not take {others} any more"), &format!("it can be {others} now"));
        self.add(Rule::Type, &format!("{at}/type"), message);
        false
    }

    fn values(&mut self, general: &Map<String, Value>, special: &Map<String, Value>, at: &str) {
        let Some(known) = values(general) else { return };
        let keyword = if general.contains_key("const") { "const" } else { "enum" };
        let at = format!("{at}/{keyword}");
        let Some(given) = values(special) else {
            let message =
                self.side.say("only listed values are taken now", "it can be other than the listed values now");
            return self.add(Rule::Values, &at, message);
        };
        let others: Vec<String> =
            given.iter().filter(|value| !known.contains(value)).map(|value| shown(value)).collect();
        if !others.is_empty() {
            let others = others.join(", ");
            let message =
                self.side.say(&format!("it does not take {others} any more"), &format!("it can be {others} now"));
            self.add(Rule::Values, &at, message);
        }
    }

    fn bounds(&mut self, general: &Map<String, Value>, special: &Map<String, Value>, at: &str) {
        for (keyword, is_lower, without) in BOUNDS {
            let bound = |schema: &Map<String, Value>| schema.get(keyword).and_then(Value::as_f64);
            let Some(limit) = bound(general).filter(|limit| Some(*limit) != without) else { continue };
            let given = bound(special).or(without);
            let fits = given.is_some_and(|given| if is_lower { given >= limit } else { given <= limit });
            if !fits {
                let (now, before) = match self.side {
                    Side::Input => (Some(limit), given),
                    Side::Output => (given, Some(limit)),
                };
                let said =
                    |bound: Option<f64>| bound.map_or_else(|| "not there".to_owned(), |bound| bound.to_string());
                let message = format!("`{keyword}` is {}, and was {}", said(now), said(before));
                self.add(Rule::Bound, &format!("{at}/{keyword}"), message);
            }
        }
    }

    fn conditions(&mut self, general: &Map<String, Value>, special: &Map<String, Value>, at: &str) {
        for keyword in CONDITIONS {
            let (Some(wanted), given) = (general.get(keyword), special.get(keyword)) else { continue };
            let is_nothing = keyword == "uniqueItems" && *wanted == Value::Bool(false);
            if !is_nothing && !given.is_some_and(|given| self.is_same(wanted, given)) {
                let message = self.side.say(
                    &format!("`{keyword}` lets in less, or other values, than it did"),
                    &format!("`{keyword}` does not hold as it did"),
                );
                self.add(Rule::Condition, &format!("{at}/{keyword}"), message);
            }
        }
        for keyword in ENTANGLED {
            let (one, other) = (general.get(keyword), special.get(keyword));
            if one != other && !one.zip(other).is_some_and(|(one, other)| self.is_same(one, other)) {
                let message = format!("`{keyword}` changed, and nobody can say what that changes");
                self.add(Rule::NotComparable, &format!("{at}/{keyword}"), message);
            }
        }
    }

    fn items(&mut self, general: &Map<String, Value>, special: &Map<String, Value>, at: &str) {
        let (Some(wanted), true) = (general.get("items"), types(special).contains("array")) else { return };
        let at = format!("{at}/items");
        match special.get("items") {
            Some(Value::Array(_)) => self.same_items(wanted, special.get("items"), &at),
            given if wanted.is_array() => self.same_items(wanted, given, &at),
            given => self.covers(wanted, given.unwrap_or(&Value::Bool(true)), &at),
        }
    }

    /// Lists of schemas, as an older dialect has them.
    fn same_items(&mut self, wanted: &Value, given: Option<&Value>, at: &str) {
        if !given.is_some_and(|given| self.is_same(wanted, given)) {
            self.add(Rule::NotComparable, at, "`items` changed, and nobody can say what that changes".to_owned());
        }
    }

    fn properties(&mut self, general: &Map<String, Value>, special: &Map<String, Value>, at: &str) {
        if !types(special).contains("object") {
            return;
        }
        let (none, anything) = (Map::new(), Value::Bool(true));
        let (known, given) = (properties(general).unwrap_or(&none), properties(special).unwrap_or(&none));
        let others_known = general.get("additionalProperties").unwrap_or(&anything);
        let others_given = special.get("additionalProperties").unwrap_or(&anything);
        let is_closed = *others_known == Value::Bool(false);
        let place = |name: &str| format!("{at}/properties/{}", escaped(name));
        for (name, schema) in given {
            match known.get(name) {
                Some(wanted) => self.covers(wanted, schema, &place(name)),
                None if is_closed && self.side == Side::Input => {
                    self.add(Rule::Property, &place(name), "it is not taken any more".to_owned());
                }
                // An answer may have more in it.
                None if is_closed => {}
                None => self.covers(others_known, schema, &place(name)),
            }
        }
        for (name, wanted) in known.iter().filter(|(name, _)| !given.contains_key(*name)) {
            match self.side {
                // Who leaves it out calls as before; only what was let in under this name has to be still.
                Side::Input => self.covers(wanted, others_given, &place(name)),
                Side::Output => self.add(Rule::Property, &place(name), "it is not given any more".to_owned()),
            }
        }
        if self.side == Side::Input || !is_closed {
            self.covers(others_known, others_given, &format!("{at}/additionalProperties"));
        }
        let names = |schema: &Map<String, Value>| -> Vec<String> {
            let names = schema.get("required").and_then(Value::as_array);
            names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let always = names(special);
        for name in names(general).into_iter().filter(|name| !always.contains(name)) {
            if self.side == Side::Output && !given.contains_key(&name) {
                // That it is gone is said.
                continue;
            }
            let name = visible(&name, SHOWN);
            let message = self.side.say(
                &format!("`{name}` has to be given, and could be left out"),
                &format!("`{name}` may be missing, and was always there"),
            );
            self.add(Rule::Required, &format!("{at}/required"), message);
        }
    }
}

/// The part of a schema that is of one type.
fn of_type(schema: &Map<String, Value>, name: &str) -> Value {
    let mut part = alternatives::with(schema, "type", &Value::Bool(true)).into_owned();
    part["type"] = name.into();
    part
}

fn properties(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

fn shown(value: &Value) -> String {
    format!("`{}`", visible(&value.to_string(), SHOWN))
}
