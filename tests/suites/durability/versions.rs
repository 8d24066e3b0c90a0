//! Databases of every version that was released, and of one that is not yet.
