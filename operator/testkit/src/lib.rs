//! Fakes and check helpers for tests.
