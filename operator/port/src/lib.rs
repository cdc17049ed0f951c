//! Traits and data for every effect of the engine.
