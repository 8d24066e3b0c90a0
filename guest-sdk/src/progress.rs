//! How far a call is, over `wit/progress.wit`. Always there; a client that did not ask for it is not told.
//!
//! ```
//! use remit_sdk::progress;
//!
//! let files = ["a", "b", "c"];
//! for (done, file) in files.iter().enumerate() {
//!     progress::message(done, files.len(), &format!("reading {file}"));
//! }
//! progress::report(files.len(), files.len());
//! ```

/// One report.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What is done. It grows from report to report.
    pub done: f64,
    /// Where it ends, where that is known.
    pub total: Option<f64>,
    /// What happens now.
    pub message: Option<String>,
}

/// So many of so many things are done.
pub fn report(done: usize, total: usize) {
    send(Report { done: number(done), total: Some(number(total)), message: None });
}

/// So many of so many things are done, and this happens now.
pub fn message(done: usize, total: usize, message: &str) {
    send(Report { done: number(done), total: Some(number(total)), message: Some(message.to_owned()) });
}

/// So many things are done, and nobody knows of how many.
pub fn count(done: usize) {
    send(Report { done: number(done), total: None, message: None });
}

/// Sends a report of any kind.
pub fn send(report: Report) {
    #[cfg(target_arch = "wasm32")]
    crate::bindings::remit::capability::progress::report(report.done, report.total, report.message.as_deref());
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::client::progress_report(report);
}

/// More things than a double tells apart are not counted one by one.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2 to the 53")]
const fn number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use crate::{progress, testing};

    #[test]
    fn reports_are_kept_for_tests() {
        progress::report(0, 2);
        progress::message(1, 2, "half");
        progress::count(3);
        let told: Vec<_> =
            testing::progress().into_iter().map(|report| (report.done, report.total, report.message)).collect();
        assert_eq!(told, [(0.0, Some(2.0), None), (1.0, Some(2.0), Some("half".to_owned())), (3.0, None, None)]);
        assert_eq!(testing::progress(), []);
    }
}
