//! What is behind the door.

use rmcp::ServerHandler;

use super::super::Surface;
use super::super::server::Server;

/// What is behind the door: a handler for each surface.
pub(super) trait Behind: Clone + Send + Sync + 'static {
    /// What answers.
    type Handler: ServerHandler;

    /// The handler of a session or a request on a surface.
    fn at(&self, surface: Surface) -> Self::Handler;

    /// Whether a surface is there.
    fn is_there(&self, surface: &Surface) -> bool;
}

impl Behind for Server {
    type Handler = Self;

    fn at(&self, surface: Surface) -> Self {
        Self::at(self, surface)
    }

    fn is_there(&self, surface: &Surface) -> bool {
        Self::is_there(self, surface)
    }
}
