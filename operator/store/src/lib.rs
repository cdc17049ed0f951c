//! Keeps state and plans in Secrets or files, locks in Leases.
