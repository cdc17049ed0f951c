//! HCL text to a spanned tree; broken code is kept.
