//! Values there and back, and what is refused on the way.
