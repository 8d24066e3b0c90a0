//! Paths into a document: JSON Pointers (RFC 6901), and the short form people write, `items[0].name`.

use super::tree::Node;

/// One step of a path.
#[derive(Debug)]
pub enum Step {
    /// The member of this name.
    Key(String),
    /// The item at this place. A negative one counts from the end.
    Index(isize),
    /// Each item or member.
    Each,
    /// A step of a JSON Pointer: the member of this name, or the item at this place.
    Token(String),
}

/// Reads a path.
pub fn parse(path: &str) -> Result<Vec<Step>, String> {
    if path.starts_with('/') {
        return path.split('/').skip(1).map(token).collect();
    }
    let mut steps = Vec::new();
    let mut rest = path;
    if let Some(after_root) = path.strip_prefix('$').filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    {
        rest = after_root;
    } else if !path.is_empty() && !path.starts_with('[') {
        rest = key(path, &mut steps)?;
    }
    while !rest.is_empty() {
        rest = match rest.strip_prefix('[') {
            Some(inside) => bracket(inside, &mut steps)?,
            None => key(rest.strip_prefix('.').ok_or_else(|| unclear(rest))?, &mut steps)?,
        };
    }
    Ok(steps)
}

/// Follows a path to all values it leads to, with their pointers.
pub fn follow<'a, 'b>(root: &'b Node<'a>, steps: &[Step]) -> Vec<(String, &'b Node<'a>)> {
    let mut found = vec![(String::new(), root)];
    for step in steps {
        found = found.into_iter().flat_map(|(pointer, node)| follow_one(&pointer, node, step)).collect();
    }
    found
}

fn token(token: &str) -> Result<Step, String> {
    let bad_escape = token.split('~').skip(1).any(|after| !after.starts_with(['0', '1']));
    if bad_escape {
        return Err(format!("`{token}`: in a JSON Pointer `~` is written `~0`, and `/` inside a key `~1`"));
    }
    Ok(Step::Token(token.replace("~1", "/").replace("~0", "~")))
}

fn key<'a>(text: &'a str, steps: &mut Vec<Step>) -> Result<&'a str, String> {
    let (key, rest) = text.split_at(text.find(['.', '[', ']']).unwrap_or(text.len()));
    if key.is_empty() || rest.starts_with(']') || key.starts_with('$') {
        return Err(unclear(text));
    }
    steps.push(if key == "*" { Step::Each } else { Step::Key(key.to_owned()) });
    Ok(rest)
}

fn bracket<'a>(inside: &'a str, steps: &mut Vec<Step>) -> Result<&'a str, String> {
    for quote in ['"', '\''] {
        if let Some(quoted) = inside.strip_prefix(quote) {
            let end = [quote, ']'].iter().collect::<String>();
            let (key, rest) = quoted.split_once(&end).ok_or_else(|| unclear(inside))?;
            steps.push(Step::Key(key.to_owned()));
            return Ok(rest);
        }
    }
    let (index, rest) = inside.split_once(']').ok_or_else(|| unclear(inside))?;
    steps.push(if index == "*" { Step::Each } else { Step::Index(index.parse().map_err(|_| unclear(inside))?) });
    Ok(rest)
}

fn unclear(rest: &str) -> String {
    format!(
        "the path is unclear at `{rest}`: write it like `items[0].name`, `items[*]`, `[\"key\"]` or `/items/0`"
    )
}

fn follow_one<'a, 'b>(pointer: &str, node: &'b Node<'a>, step: &Step) -> Vec<(String, &'b Node<'a>)> {
    let item = |items: &'b [Node<'a>], at: usize| items.get(at).map(|item| (format!("{pointer}/{at}"), item));
    match (step, node) {
        (Step::Index(index), Node::Array(items)) => {
            let at =
                if *index < 0 { items.len().checked_add_signed(*index) } else { usize::try_from(*index).ok() };
            at.and_then(|at| item(items, at)).into_iter().collect()
        }
        (Step::Token(token), Node::Array(items)) => {
            let at = token.parse::<usize>().ok().filter(|at| at.to_string() == *token);
            at.and_then(|at| item(items, at)).into_iter().collect()
        }
        (Step::Each, Node::Array(items)) => (0..items.len()).filter_map(|at| item(items, at)).collect(),
        (Step::Key(_) | Step::Token(_) | Step::Each, Node::Object(members)) => {
            let wanted = |key: &str| match step {
                Step::Key(name) | Step::Token(name) => name == key,
                Step::Index(_) | Step::Each => true,
            };
            let members = members.iter().filter(|member| wanted(&member.key));
            members.map(|member| (format!("{pointer}/{}", escape(&member.key)), &member.value)).collect()
        }
        _ => Vec::new(),
    }
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
