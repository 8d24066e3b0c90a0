//! What the page shows, and that a collector which is away costs nothing but spans.
