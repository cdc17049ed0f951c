//! Syntax trees to the typed module, checked early.
