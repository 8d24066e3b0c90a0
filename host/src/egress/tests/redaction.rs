//! What was cut out of answers is counted; answers that could confirm a guess close the gate (S-30).

use super::*;

const URL: &str = "https://api.example.com/";

fn echo() -> Reply {
    Reply::text(&format!("HTTP/1.1 200 OK\r\ncontent-length: {0}\r\netag: {VALUE}\r\n\r\n{VALUE}", VALUE.len()))
}

fn world(replies: impl IntoIterator<Item = Reply>) -> World {
    let mut world = World::answering(replies).with_secret("KEY", &[("api.example.com", header("authorization"))]);
    world.limits.redactions_per_minute = 2;
    world
}

fn redactions(seen: &Seen) -> Vec<u32> {
    seen.records.iter().map(|record| record.redactions).collect()
}

#[tokio::test(start_paused = true)]
async fn cuts_are_counted_in_the_record_and_sizes_tell_no_length() {
    let seen = world([echo(), Reply::ok("clean")]).send_all([get(URL), get(URL)]).await;
    assert_eq!(redactions(&seen), [2, 0]);
    assert_eq!(seen.records[0].bytes_in, "[redacted:KEY]".len() as u64);
}

#[tokio::test(start_paused = true)]
async fn echoes_of_what_was_not_sent_close_the_gate() {
    let seen = world([echo(), echo(), echo()]).send_all([get(URL), get(URL), get(URL)]).await;
    assert_eq!(seen.kind(), Some(ErrorKind::HttpRateLimited));
    assert_eq!(seen.outcomes(), ["sent", "sent", "http/rate-limited"]);
    assert_eq!((seen.dialled.len(), seen.requests.len()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn echoes_of_what_was_sent_do_not() {
    let carrying = || get(URL).header("Authorization", "{{KEY}}");
    let seen = world([echo(), echo(), echo()]).send_all([carrying(), carrying(), carrying()]).await;
    assert_eq!(redactions(&seen), [2, 2, 2]);
    assert_eq!(seen.outcomes(), ["sent", "sent", "sent"]);
}

#[tokio::test(start_paused = true)]
async fn a_redirect_to_a_guess_counts_too() {
    let redirect = || Reply::text(&format!("HTTP/1.1 302 Found\r\nlocation: /{VALUE}\r\n\r\n"));
    let seen = world([redirect(), redirect(), echo()]).send_all([get(URL), get(URL), get(URL)]).await;
    assert_eq!(redactions(&seen), [1, 1, 0]);
    assert_eq!(seen.outcomes(), ["http/redirect-refused", "http/redirect-refused", "http/rate-limited"]);
}
