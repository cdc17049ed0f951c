//! Sources, spans and diagnostics, and their text form.
