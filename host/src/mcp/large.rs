//! An answer too large to show at once: its beginning, what is missing, and where the rest is.

use rmcp::model::{CallToolResult, ContentBlock, Resource};

use super::results::{AT_ONCE, Results};
use crate::error::{ErrorKind, Result};

/// Characters of the beginning that is shown: enough to see what it is.
const SHOWN: usize = 4_000;

/// The answer as it is, or its beginning with the whole kept in `results` for a principal. A tool that promised a
/// structure cannot answer with a part of it: its answer is then an error that names the place.
pub(super) fn fit(
    mut result: CallToolResult,
    has_schema: bool,
    results: &Results,
    principal: &str,
) -> Result<CallToolResult> {
    let texts: Vec<&str> = result.content.iter().filter_map(text).collect();
    if texts.iter().map(|text| text.chars().count()).sum::<usize>() <= AT_ONCE {
        return Ok(result);
    }
    let whole = texts.join("\n\n");
    let total = whole.chars().count();
    let beginning: String = whole.chars().take(SHOWN).collect();
    let uri = results.keep(principal, whole)?;
    let link = Resource::new(uri.clone(), "the whole answer")
        .with_description(format!("{total} characters, in pages of {AT_ONCE}. Kept for an hour."))
        .with_mime_type("text/plain");
    let is_structure_large = result
        .structured_content
        .as_ref()
        .is_some_and(|structure| structure.to_string().chars().count() > AT_ONCE);
    let mut shown = Vec::new();
    if is_structure_large && has_schema {
        let code = ErrorKind::AnswerTooLarge.code();
        let message = format!("{code}: the answer has {total} characters; read it at `{uri}`, or ask for less");
        shown.push(ContentBlock::text(message));
        result.is_error = Some(true);
        let meta = result.meta.get_or_insert_default();
        meta.0.insert("remit/code".to_owned(), code.into());
    } else {
        let missing = total - SHOWN;
        shown.push(ContentBlock::text(format!(
            "{beginning}\n\n[cut here: {missing} of {total} characters are missing; read on at `{uri}?offset={SHOWN}`]"
        )));
        shown.extend(result.content.iter().filter(|block| text(block).is_none()).cloned());
    }
    if is_structure_large {
        result.structured_content = None;
    }
    shown.push(ContentBlock::resource_link(link));
    result.content = shown;
    Ok(result)
}

fn text(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text(text) => Some(&text.text),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            rmcp::model::ResourceContents::TextResourceContents { text, .. } => Some(text),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn fitted(content: Vec<ContentBlock>, structure: Option<Value>, has_schema: bool) -> (Value, Results) {
        let results = Results::default();
        let mut result = CallToolResult::success(content);
        result.structured_content = structure;
        let result = fit(result, has_schema, &results, "a").unwrap();
        (serde_json::to_value(result).unwrap(), results)
    }

    fn page(results: &Results, uri: &str) -> String {
        serde_json::to_value(results.read("a", uri).unwrap()).unwrap()["text"].as_str().unwrap().to_owned()
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let text = "é".repeat(AT_ONCE);
        let (result, _) = fitted(vec![ContentBlock::text(text.clone())], None, false);
        assert_eq!(result["content"], json!([{ "type": "text", "text": text }]));
        let picture = ContentBlock::image("A".repeat(AT_ONCE * 2), "image/png");
        assert_eq!(fitted(vec![picture], None, false).0["content"].as_array().unwrap().len(), 1, "it is no text");
    }

    #[test]
    fn a_large_text_shows_its_beginning_and_leads_on() {
        let text = "é".repeat(AT_ONCE + 1);
        let (result, results) =
            fitted(vec![ContentBlock::text(text.clone()), ContentBlock::image("AA==", "image/png")], None, false);
        assert_eq!(result["isError"], json!(false));
        let kinds: Vec<&Value> =
            result["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
        assert_eq!(kinds, [&json!("text"), &json!("image"), &json!("resource_link")]);
        let shown = result["content"][0]["text"].as_str().unwrap();
        let uri = result["content"][2]["uri"].as_str().unwrap();
        assert!(shown.ends_with(&format!(
            "[cut here: 36001 of 40001 characters are missing; read on at `{uri}?offset=4000`]"
        )));
        assert_eq!(page(&results, &format!("{uri}?offset=4000")).chars().count(), 36_001);
        assert!(page(&results, uri).starts_with(&text[..2]));
        assert!(results.read("b", uri).is_none(), "it is another's");
    }

    #[test]
    fn a_large_structure_is_never_cut() {
        let structure = json!({ "items": "x".repeat(AT_ONCE) });
        let said = vec![ContentBlock::text(structure.to_string())];
        let (result, _) = fitted(said.clone(), Some(structure.clone()), false);
        assert_eq!((&result["isError"], result.get("structuredContent")), (&json!(false), None));
        let (result, results) = fitted(said, Some(structure.clone()), true);
        assert_eq!((&result["isError"], result.get("structuredContent")), (&json!(true), None));
        assert_eq!(result["_meta"]["remit/code"], "call/answer-too-large");
        let uri = result["content"][1]["uri"].as_str().unwrap();
        assert!(page(&results, uri).starts_with("{\"items\":\"xxx"));
    }

    #[test]
    fn a_small_structure_stays_beside_a_large_text() {
        let structure = json!({ "n": 1 });
        let said = vec![ContentBlock::text("x".repeat(AT_ONCE)), ContentBlock::text(structure.to_string())];
        let (result, _) = fitted(said, Some(structure.clone()), true);
        assert_eq!((&result["isError"], &result["structuredContent"]), (&json!(false), &structure));
    }
}
