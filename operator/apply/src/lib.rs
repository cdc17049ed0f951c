//! Interprets a plan step by step; new state and journal.
