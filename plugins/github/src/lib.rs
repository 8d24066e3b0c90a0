//! The GitHub capability: what each tool takes, asks of the API and gives. Requests and their failures are
//! in `api.rs`, what an issue looks like in `issue.rs`.

mod api;
mod issue;

/// The tools.
#[remit_sdk::capability]
pub mod github {
    use remit_sdk::{Context, Failure, http};

    use crate::api;
    use crate::issue::{Comment, Created, Found, Issue, Summary, next_page, upstream};

    /// Search results end here, whatever the page.
    const MOST_RESULTS: u64 = 1000;

    /// What the results of a search are ordered by.
    #[remit_sdk::data]
    #[serde(rename_all = "lowercase")]
    #[derive(Clone, Copy)]
    pub enum Sort {
        /// When they were created.
        Created,
        /// When they last changed.
        Updated,
        /// How many comments they have.
        Comments,
        /// How many reactions they have.
        Reactions,
    }

    /// Which comes first.
    #[remit_sdk::data]
    #[serde(rename_all = "lowercase")]
    #[derive(Clone, Copy)]
    pub enum Order {
        /// The most or the latest.
        Desc,
        /// The least or the earliest.
        Asc,
    }

    /// Searches issues and pull requests.
    ///
    /// Words and qualifiers are those of GitHub's search: `repo:owner/name`, `is:issue` or `is:pr`,
    /// `is:open`, `label:bug`, `author:name`, `in:title`. Without `repo:`, `org:` or `user:` all of GitHub is
    /// searched. Results hold the start of each text; `read_issue` gives the whole.
    #[tool(title = "Search issues", read_only, idempotent, keywords("find", "bug", "pull request"))]
    pub fn search_issues(
        /// What to search for, such as `repo:rust-lang/rust is:issue is:open borrow checker`.
        #[schema(min_length = 1, max_length = 256)]
        query: &str,
        /// What to order by. Without it, the best match comes first.
        sort: Option<Sort>,
        /// Which comes first, with `sort`.
        #[schema(default = "desc")]
        order: Order,
        /// How many results a page has.
        #[schema(min = 1, max = 100, default = 20)]
        per_page: u32,
        /// Which page. The results end at 1000.
        #[schema(min = 1, max = 1000, default = 1)]
        page: u32,
    ) -> Result<Found, Failure> {
        let mut request = api::get("/search/issues").query(&[
            ("q", query),
            ("per_page", &per_page.to_string()),
            ("page", &page.to_string()),
        ]);
        if let Some(sort) = sort {
            request = request.query(&[("sort", sort.as_str()), ("order", order.as_str())]);
        }
        let found: upstream::Found = api::send(request, "this page of results")?.json()?;
        let reachable = found.total_count.min(MOST_RESULTS);
        Ok(Found {
            total: found.total_count,
            incomplete: found.incomplete_results,
            issues: found.items.into_iter().map(Summary::from).collect(),
            next_page: next_page(page, per_page, reachable),
        })
    }

    /// Reads one issue or pull request with its comments, the oldest first.
    #[tool(title = "Read an issue", read_only, idempotent, keywords("comments", "bug", "pull request"))]
    pub fn read_issue(
        /// The user or organisation, such as `rust-lang`.
        #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length = 100)]
        owner: &str,
        /// The repository's name, such as `rust`.
        #[schema(pattern = "^[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*$", max_length = 100)]
        repo: &str,
        /// The issue's number.
        #[schema(min = 1)]
        number: u32,
        /// How many comments a page has; 0 for none.
        #[schema(max = 100, default = 30)]
        comments_per_page: u32,
        /// Which page of comments.
        #[schema(min = 1, max = 10000, default = 1)]
        comments_page: u32,
        /// How many characters to give of each text at most.
        #[schema(min = 100, max = 65536, default = 4000)]
        max_characters: u32,
    ) -> Result<Issue, Failure> {
        let path = format!("{}/{number}", issues_of(owner, repo));
        let what = format!("issue {number} of `{owner}/{repo}`");
        let issue: upstream::Issue = api::send(api::get(&path), &what)?.json()?;

        let mut comments = Vec::new();
        let skipped = u64::from(comments_page - 1) * u64::from(comments_per_page);
        if comments_per_page > 0 && skipped < issue.comments {
            let request = api::get(&format!("{path}/comments"))
                .query(&[("per_page", comments_per_page.to_string()), ("page", comments_page.to_string())]);
            comments = api::send(request, &what)?.json::<Vec<upstream::Comment>>()?;
        }
        let next = next_page(comments_page, comments_per_page, issue.comments);
        let comments = comments.into_iter().map(|comment| Comment::new(comment, max_characters)).collect();
        Ok(Issue::new(issue, comments, next, max_characters))
    }

    /// Creates an issue.
    ///
    /// It notifies those who watch the repository. Labels and assignees are set only where the token may.
    #[tool(title = "Create an issue", destructive = false, keywords("open", "report", "file", "bug"))]
    pub fn create_issue(
        /// The user or organisation.
        #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length = 100)]
        owner: &str,
        /// The repository's name.
        #[schema(pattern = "^[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*$", max_length = 100)]
        repo: &str,
        /// The title.
        #[schema(min_length = 1, max_length = 256)]
        title: &str,
        /// The text, in Markdown.
        #[schema(max_length = 65536)]
        body: Option<&str>,
        /// The names of labels.
        #[schema(max_items = 100)]
        labels: Option<Vec<String>>,
        /// The logins of those it is assigned to.
        #[schema(max_items = 10)]
        assignees: Option<Vec<String>>,
        context: &Context,
    ) -> Result<Created, Failure> {
        let issue = upstream::NewIssue { title, body, labels: labels.as_deref(), assignees: assignees.as_deref() };
        let request = api::post(&issues_of(owner, repo)).json(&issue);
        let response = api::send(request, &format!("repository `{owner}/{repo}`"))?;
        if context.dry_run {
            return Ok(Created::planned());
        }
        let issue: upstream::Issue = response.json()?;
        Ok(Created::new(issue, &labels.unwrap_or_default(), &assignees.unwrap_or_default()))
    }

    fn issues_of(owner: &str, repo: &str) -> String {
        format!("/repos/{}/{}/issues", http::encode(owner), http::encode(repo))
    }

    impl Sort {
        fn as_str(self) -> &'static str {
            match self {
                Self::Created => "created",
                Self::Updated => "updated",
                Self::Comments => "comments",
                Self::Reactions => "reactions",
            }
        }
    }

    impl Order {
        fn as_str(self) -> &'static str {
            match self {
                Self::Desc => "desc",
                Self::Asc => "asc",
            }
        }
    }
}

#[cfg(test)]
mod tests;
