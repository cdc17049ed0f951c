//! Every address: parse, print, order.
