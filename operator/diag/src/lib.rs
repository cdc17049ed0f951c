//! Sources, spans and diagnostics: the one way a fault is told, from the lexer to `Workspace.status`.
//!
//! First crate of the pipeline; everything may use it. It never reads files, never prints, and knows nothing of
//! values, so it cannot leak one: what a diagnostic says is what its maker put into it, also of what names stand for.

mod diagnostic;
mod encoding;
pub mod json;
mod render;
mod source;

pub use diagnostic::{Diag, Diags, Named, Severity};
pub use encoding::{broken_byte, decode, is_broken, shown};
pub use render::{Style, render};
pub use source::{FileId, LineColumn, Place, Source, Sources, Span};
