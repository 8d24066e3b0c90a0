//! Lists that come in pages: a cursor names the last item that was given.
//!
//! A cursor holds a name, not a number, so a list that changes between two pages skips nothing.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::ErrorData;

/// Items of one page. Several clients never ask for a second page, so the first holds more than any client can
/// use; a page stays well under the size of a message that clients take.
pub(super) const PAGE: usize = 1000;

/// Before the cursor's position, so that a later form of it can be told apart.
const CURSOR: &str = "after:";

/// A page of a list, and the cursor of the next one.
pub(super) struct Page<T> {
    /// The items, in order.
    pub(super) items: Vec<T>,
    /// Where the next page begins, if there is one.
    pub(super) next: Option<String>,
}

/// The cursor is none of ours.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InvalidCursor;

/// The page after `cursor` of `items`, which are in the order of their `key`; without a cursor, the first.
pub(super) fn page<'a, I, T>(
    items: &'a [I],
    key: impl Fn(&I) -> &str,
    wire: impl Fn(&'a I) -> T,
    cursor: Option<&str>,
    size: usize,
) -> Result<Page<T>, InvalidCursor> {
    let start = match cursor {
        None => 0,
        Some(cursor) => {
            let last = read(cursor)?;
            items.partition_point(|item| key(item) <= last.as_str())
        }
    };
    let end = items.len().min(start.saturating_add(size));
    let shown = &items[start..end];
    let next = shown.last().filter(|_| end < items.len()).map(|last| write(key(last)));
    Ok(Page { items: shown.iter().map(wire).collect(), next })
}

impl From<InvalidCursor> for ErrorData {
    fn from(InvalidCursor: InvalidCursor) -> Self {
        Self::invalid_params("the cursor is none that this server gave", None)
    }
}

fn write(last: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{CURSOR}{last}"))
}

fn read(cursor: &str) -> Result<String, InvalidCursor> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| InvalidCursor)?;
    let text = String::from_utf8(bytes).map_err(|_| InvalidCursor)?;
    text.strip_prefix(CURSOR).map(str::to_owned).ok_or(InvalidCursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_page(items: &[&str], cursor: Option<&str>, size: usize) -> (Vec<String>, Option<String>) {
        let page = page(items, |item| item, |item| (*item).to_owned(), cursor, size).unwrap();
        (page.items, page.next)
    }

    #[test]
    fn pages_follow_each_other_although_the_list_changes() {
        let (first, next) = read_page(&["a", "b", "c", "d", "e"], None, 2);
        assert_eq!(first, ["a", "b"]);
        let (second, next) = read_page(&["a", "c", "d", "e"], next.as_deref(), 2);
        assert_eq!(second, ["c", "d"]);
        assert_eq!(read_page(&["a", "b", "c", "d", "e"], next.as_deref(), 2), (vec!["e".to_owned()], None));
        assert_eq!(read_page(&["a", "b"], Some(&write("zzz")), 2), (Vec::new(), None));
        assert_eq!(read_page(&["a", "b"], None, 2).1, None);
        assert_eq!(read_page(&[], None, 2), (Vec::new(), None));
    }

    #[test]
    fn a_foreign_cursor_is_refused() {
        for cursor in ["", "0", "a__echo", "====", "YWZ0ZXI", "8J+YgA", "bm90LW91cnM", "\u{0}"] {
            let page = page(&["a"], |item| item, |item| *item, Some(cursor), 1);
            assert_eq!(page.err(), Some(InvalidCursor), "{cursor:?}");
        }
    }
}
