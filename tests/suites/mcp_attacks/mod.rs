//! What has been found wrong in servers of this protocol, by the number under which it was published: each is tried on
//! the real program. One file an idea; the table says which test tries which number, or why none can.

mod approvals;
mod bodies;
mod hosts;
mod parsers;
mod sessions;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Every number that is to be answered for.
const NUMBERS: &str = "
    CVE-2026-42559 GHSA-89vp-x53w-74fx RUSTSEC-2026-0189
    CVE-2025-66414 CVE-2025-66416 GHSA-xw59-hvm2-8pj6 GHSA-8jxr-pr72-r468 CVE-2026-63118
    GHSA-89xv-2j6f-qhc8
    CVE-2026-59950
    GHSA-9pj6-vhgr-3mwh
    CVE-2026-67430
    CVE-2026-52869 CVE-2026-67431 CVE-2026-33946 CVE-2025-6515
    CVE-2026-52870
    CVE-2026-25536 GHSA-345p-7cg4-v4c7
    CVE-2026-67432 CVE-2026-39313
    CVE-2026-63119
    CVE-2026-27896 GHSA-q382-vc8q-7jhj TYK-8539
    CVE-2026-0621
    CVE-2026-64684 GHSA-9g45-5xwm-f3wc
    GHSA-33f5-2c5q-wgwj
    CVE-2025-49596 CVE-2025-6514
    CVE-2025-53109 CVE-2025-53110 CVE-2025-68143 CVE-2025-68144 CVE-2025-68145
    CVE-2026-27825
    CVE-2025-54136 CVE-2025-54135
    CVE-2026-30623
";

/// What answers for a number.
enum By {
    /// These tests: a file, from here or from the top of the repository, and the function in it.
    Tests(&'static [(&'static str, &'static str)]),
    /// None: it cannot happen here, because of this.
    Nature(&'static str),
}

/// What was found, where, and what answers for it here.
const TABLE: &[(&[&str], &str, By)] = &[
    (
        &["CVE-2026-42559", "GHSA-89vp-x53w-74fx", "RUSTSEC-2026-0189"],
        "no look at `Host`: a site lets its name point here",
        By::Tests(&[("hosts.rs", "a_foreign_host_is_refused")]),
    ),
    (
        &["CVE-2025-66414", "CVE-2025-66416", "GHSA-xw59-hvm2-8pj6", "GHSA-8jxr-pr72-r468", "CVE-2026-63118"],
        "the same in other languages",
        By::Tests(&[
            ("hosts.rs", "a_foreign_host_is_refused"),
            ("hosts.rs", "a_foreign_origin_is_refused"),
            ("host/src/mcp/http/tests.rs", "foreign_hosts_and_origins_are_refused"),
        ]),
    ),
    (
        &["GHSA-89xv-2j6f-qhc8"],
        "a page sends `text/plain`, for which browsers ask nobody, and runs a tool",
        By::Tests(&[("hosts.rs", "a_page_runs_no_tool")]),
    ),
    (
        &["CVE-2026-59950"],
        "a second transport without the checks of the first",
        By::Tests(&[("hosts.rs", "there_is_no_other_transport")]),
    ),
    (
        &["GHSA-9pj6-vhgr-3mwh"],
        "sessions that are begun and left fill the memory",
        By::Tests(&[("sessions.rs", "a_flood_of_beginnings_costs_little")]),
    ),
    (
        &["CVE-2026-67430"],
        "sessions never end",
        By::Tests(&[
            ("sessions.rs", "sessions_are_bounded_and_an_ended_one_makes_room"),
            ("host/src/mcp/http/tests.rs", "a_session_that_stands_idle_ends"),
        ]),
    ),
    (
        &["CVE-2026-52869", "CVE-2026-67431", "CVE-2026-33946", "CVE-2025-6515"],
        "whoever knows the id of a session has it; ids that can be guessed, or come again",
        By::Tests(&[
            ("tests/suites/access_tokens.rs", "a_session_belongs_to_the_principal_that_began_it"),
            ("sessions.rs", "ids_of_sessions_are_long_and_never_come_again"),
        ]),
    ),
    (
        &["CVE-2026-52870"],
        "whoever knows the id of a task has it",
        By::Tests(&[("sessions.rs", "there_are_no_tasks_to_take")]),
    ),
    (
        &["CVE-2026-25536", "GHSA-345p-7cg4-v4c7"],
        "answers are mixed up between clients whose requests have equal ids",
        By::Tests(&[("sessions.rs", "equal_ids_of_several_clients_are_not_mixed_up")]),
    ),
    (
        &["CVE-2026-67432", "CVE-2026-39313"],
        "a body without a bound",
        By::Tests(&[("bodies.rs", "a_body_is_bounded_also_in_chunks")]),
    ),
    (&["CVE-2026-63119"], "a line without a bound", By::Tests(&[("bodies.rs", "a_line_is_bounded_on_stdio")])),
    (
        &["CVE-2026-27896", "GHSA-q382-vc8q-7jhj", "TYK-8539"],
        "two parsers read one message differently: doubles, case, NUL, media types",
        By::Tests(&[
            ("parsers.rs", "what_is_judged_is_what_runs"),
            ("parsers.rs", "names_are_letter_for_letter"),
            ("parsers.rs", "a_media_type_has_no_case"),
        ]),
    ),
    (
        &["CVE-2026-0621"],
        "a pattern that takes for ever",
        By::Tests(&[("parsers.rs", "patterns_of_publishers_take_no_longer_than_their_text")]),
    ),
    (
        &["CVE-2026-64684", "GHSA-9g45-5xwm-f3wc"],
        "header fields go along with a redirect elsewhere",
        By::Tests(&[("tests/suites/upstreams/web.rs", "a_redirect_takes_no_header_along")]),
    ),
    (
        &["GHSA-33f5-2c5q-wgwj"],
        "metadata of another resource is believed",
        By::Nature(
            "a client of ours reads no metadata of a resource: it sends what a person wrote down for that server",
        ),
    ),
    (
        &["CVE-2025-49596"],
        "a local control endpoint without a token starts programs",
        By::Tests(&[("hosts.rs", "there_is_no_door_for_people_on_the_network")]),
    ),
    (
        &["CVE-2025-6514"],
        "the address of an authorization endpoint becomes a command",
        By::Tests(&[("tests/suites/oauth.rs", "connect_says_no_before_anything_is_sent")]),
    ),
    (
        &["CVE-2025-53109", "CVE-2025-53110", "CVE-2025-68143", "CVE-2025-68144", "CVE-2025-68145"],
        "a path that leads out of its folder, an argument that becomes an option",
        By::Nature("no capability has files or programs: a component that imports any is refused at install"),
    ),
    (
        &["CVE-2026-27825"],
        "open to the network without a token",
        By::Tests(&[
            ("hosts.rs", "other_machines_need_a_token"),
            ("host/src/mcp/http/auth.rs", "other_machines_need_a_token"),
        ]),
    ),
    (
        &["CVE-2025-54136", "CVE-2025-54135"],
        "what was approved is changed afterwards",
        By::Tests(&[
            ("approvals.rs", "other_bytes_are_approved_anew"),
            ("tests/suites/bad_input.rs", "changed_bytes_are_not_run"),
        ]),
    ),
    (
        &["CVE-2026-30623"],
        "what is installed is a command line",
        By::Tests(&[("approvals.rs", "a_command_is_no_capability")]),
    ),
];

#[test]
fn every_number_is_answered_for() {
    let numbers: Vec<&str> = NUMBERS.split_whitespace().collect();
    let answered: Vec<&str> = TABLE.iter().flat_map(|(numbers, ..)| numbers.iter().copied()).collect();
    assert_eq!(answered.iter().collect::<BTreeSet<_>>(), numbers.iter().collect::<BTreeSet<_>>());
    assert_eq!(answered.len(), numbers.len(), "each once");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
    for (numbers, found, by) in TABLE {
        assert!(!found.is_empty(), "{numbers:?}");
        match by {
            By::Tests(tests) => {
                assert!(!tests.is_empty(), "{numbers:?}");
                for (file, function) in *tests {
                    let here = if file.contains('/') { "" } else { "tests/suites/mcp_attacks/" };
                    let text = fs::read_to_string(root.join(format!("{here}{file}"))).expect("a file of tests");
                    let (before, _) = text
                        .split_once(&format!("fn {function}("))
                        .unwrap_or_else(|| panic!("{numbers:?}: `{function}` is not in {file}"));
                    let above = before.trim_end_matches("async ").trim_end();
                    assert!(
                        above.ends_with("#[test]") || above.ends_with("#[tokio::test]"),
                        "`{function}` is a test"
                    );
                }
            }
            By::Nature(why) => assert!(why.split(' ').count() > 5, "{numbers:?} in a sentence"),
        }
    }
}
