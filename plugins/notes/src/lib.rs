//! The notes capability: what each tool takes and gives. How notes and their index of tags are kept together is in
//! `store.rs`, how they are searched in `search.rs`, how they are read as documents in `documents.rs`.

mod documents;
mod search;
mod store;
#[cfg(test)]
mod tests;

/// Tools, documents and a prompt.
#[remit_sdk::capability]
pub mod notes {
    use remit_sdk::{Context, Failure};

    use crate::documents::{self, ids, tags};
    use crate::search::{self, Found};
    use crate::store::{self, Deleted, Note, Page, Saved};

    /// Adds a note and gives its id.
    #[tool(title = "Add a note", destructive = false, idempotent, keywords("remember", "write", "save"))]
    pub fn add_note(
        /// What it is about, in a line.
        #[schema(min_length = 1, max_length = 200)]
        title: &str,
        /// The note itself.
        #[schema(max_length = 20000)]
        body: &str,
        /// Words to list it by, in lower case, such as `travel` or `to-do`.
        #[schema(max_items = 20)]
        tags: Option<&[String]>,
        context: Context,
    ) -> Result<Saved, Failure> {
        store::add(&context.run_id, title, body, tags.unwrap_or_default())
    }

    /// Reads a note.
    #[tool(title = "Read a note", read_only, idempotent, keywords("read"))]
    pub fn get_note(
        /// Its id.
        #[schema(min_length = 1, max_length = 100)]
        id: &str,
    ) -> Result<Note, Failure> {
        store::read(id)
    }

    /// Replaces a note's title or body, if it is still as it was read.
    #[tool(title = "Change a note", idempotent, keywords("edit", "write"))]
    pub fn update_note(
        /// Its id.
        #[schema(min_length = 1, max_length = 100)]
        id: &str,
        /// The version that was read. If the note was changed since then, nothing is.
        version: u64,
        /// The new title. Without it, the title stays.
        #[schema(min_length = 1, max_length = 200)]
        title: Option<&str>,
        /// The new body. Without it, the body stays.
        #[schema(max_length = 20000)]
        body: Option<&str>,
    ) -> Result<Saved, Failure> {
        store::update(id, version, title, body)
    }

    /// Deletes a note.
    #[tool(title = "Delete a note", idempotent, keywords("remove"))]
    pub fn delete_note(
        /// Its id.
        #[schema(min_length = 1, max_length = 100)]
        id: &str,
        /// The version that was read. With it, a note that was changed since then stays.
        version: Option<u64>,
    ) -> Result<Deleted, Failure> {
        store::delete(id, version)
    }

    /// Lists notes by id and title, the oldest first.
    #[tool(title = "List notes", read_only, idempotent, keywords("overview"))]
    pub fn list_notes(
        /// Only notes with this tag.
        #[schema(min_length = 1, max_length = 40)]
        tag: Option<&str>,
        /// How many to give.
        #[schema(min = 1, max = 200, default = 50)]
        limit: u32,
        /// `next` of the page before, with the same tag.
        #[schema(max_length = 2000)]
        cursor: Option<&str>,
    ) -> Result<Page, Failure> {
        store::list(tag, limit, cursor)
    }

    /// Searches titles, tags and bodies for notes that hold all the words, in any case and order.
    ///
    /// Those with a word in the title come first, then those with a word as a tag; of equals, the newest. `complete`
    /// tells whether every note was looked at.
    #[tool(title = "Search notes", read_only, idempotent, keywords("find", "recall"))]
    pub fn search_notes(
        /// Words, or parts of them.
        #[schema(min_length = 1, max_length = 200)]
        query: &str,
        /// How many to give.
        #[schema(min = 1, max = 50, default = 10)]
        limit: u32,
    ) -> Result<Found, Failure> {
        search::search(query, limit as usize)
    }

    /// Adds a tag to a note.
    #[tool(title = "Tag a note", destructive = false, idempotent, keywords("label"))]
    pub fn add_tag(
        /// The note's id.
        #[schema(min_length = 1, max_length = 100)]
        id: &str,
        /// A word in lower case, such as `travel` or `to-do`.
        #[schema(min_length = 1, max_length = 40)]
        tag: &str,
    ) -> Result<Saved, Failure> {
        store::add_tag(id, tag)
    }

    /// Removes a tag from a note.
    #[tool(title = "Untag a note", idempotent, keywords("label"))]
    pub fn remove_tag(
        /// The note's id.
        #[schema(min_length = 1, max_length = 100)]
        id: &str,
        /// The tag.
        #[schema(min_length = 1, max_length = 40)]
        tag: &str,
    ) -> Result<Saved, Failure> {
        store::remove_tag(id, tag)
    }

    /// All notes by title, each with its address.
    #[resource(uri = "notes:all", title = "All notes", mime_type = "text/markdown")]
    pub fn all_notes() -> Result<String, Failure> {
        documents::all()
    }

    /// A note: its title, its text and its tags.
    #[resource(template = "note:{id}", title = "A note", mime_type = "text/markdown")]
    pub fn note(#[complete(ids)] id: &str) -> Result<String, Failure> {
        documents::note(id)
    }

    /// Sums up the notes with a tag.
    #[prompt(title = "Sum up notes")]
    pub fn sum_up(
        /// The tag.
        #[complete(tags)]
        tag: &str,
    ) -> Result<String, Failure> {
        documents::sum_up(tag)
    }
}
