//! Types, values (unknown, null, marks), paths, schemas, conversion, JSON and MessagePack wire.
