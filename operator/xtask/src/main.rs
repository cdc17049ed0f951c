//! The project's one development tool.
fn main() {}
