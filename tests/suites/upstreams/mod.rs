//! Upstream MCP servers: friendly ones, and those that change, hang, flood, ask and echo.

mod hostile;
mod path;
mod web;
