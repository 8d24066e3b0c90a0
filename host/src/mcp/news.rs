//! What a client hears of its call while it runs: progress if it gave a token, log lines if it asked for them.
//!
//! What is told comes redacted and bounded from behind `Host::call`. A client that does not read what it asked
//! for loses it; the call goes on.

#![expect(deprecated, reason = "clients speak it for years to come")]

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::client::News;
use crate::registry::CapabilityName;
use crate::runtime::log::Level;

/// Messages that wait for a slow client. A call says more only in bursts.
const WAITING: usize = 64;

/// How long a client may take to take one message, before it hears no more of this call.
const PATIENCE: Duration = Duration::from_secs(5);

/// The client of one call, as far as it listens.
pub(super) struct Listener {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    level: Option<LoggingLevel>,
    logger: String,
}

impl Listener {
    /// Who made a request. `session_level` is what a legacy client asked for with `logging/setLevel`.
    pub(super) fn of(
        context: &RequestContext<RoleServer>,
        session_level: Option<LoggingLevel>,
        capability: &CapabilityName,
    ) -> Self {
        // A modern request says it by itself; nothing of a session counts for it.
        let level = match context.meta.protocol_version() {
            Some(_) => context.meta.log_level(),
            None => session_level,
        };
        let (peer, token) = (context.peer.clone(), context.meta.get_progress_token());
        Self { peer, token, level, logger: capability.to_string() }
    }

    /// Does some work and tells its news meanwhile. All of it is told before the work's answer is given.
    pub(super) async fn during<T, F: Future<Output = T>>(
        self,
        work: impl FnOnce(Option<mpsc::Sender<News>>) -> F,
    ) -> T {
        if self.token.is_none() && self.level.is_none() {
            return work(None).await;
        }
        let (sender, news) = mpsc::channel(WAITING);
        tokio::join!(work(Some(sender)), self.relay(news)).0
    }

    async fn relay(self, mut news: mpsc::Receiver<News>) {
        while let Some(item) = news.recv().await {
            let told = tokio::time::timeout(PATIENCE, self.tell(item)).await;
            if !matches!(told, Ok(Ok(()))) {
                tracing::debug!("a client did not take the news of its call");
                return;
            }
        }
    }

    async fn tell(&self, news: News) -> Result<(), rmcp::ServiceError> {
        match news {
            News::Progress { done, total, message } => {
                let Some(token) = self.token.clone() else { return Ok(()) };
                let mut progress = ProgressNotificationParam::new(token, done);
                progress.total = total;
                progress.message = message;
                self.peer.notify_progress(progress).await
            }
            News::Log { level, text } => {
                let level = wire_level(level);
                if self.level.is_none_or(|least| severity(level) < severity(least)) {
                    return Ok(());
                }
                let line = LoggingMessageNotificationParam::new(level, Value::String(text));
                self.peer.notify_logging_message(line.with_logger(self.logger.clone())).await
            }
        }
    }
}

fn wire_level(level: Level) -> LoggingLevel {
    match level {
        Level::Debug => LoggingLevel::Debug,
        Level::Info => LoggingLevel::Info,
        Level::Warn => LoggingLevel::Warning,
        Level::Error => LoggingLevel::Error,
    }
}

/// How grave a level is, after RFC 5424: the graver the greater.
fn severity(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}
