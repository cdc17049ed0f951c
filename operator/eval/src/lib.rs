//! A tree and a scope to a value; the finder of references; type constraints; blocks to objects by schema; input
//! variables.
//!
//! Stands between `syntax`/`funcs` and `config`/`plan`. It holds no state between calls, reaches files, time and
//! randomness only through the scope's [`ashlar_funcs::Caps`], and never puts a sensitive value into a diagnostic.
//! Semantics: hcl's `hclsyntax`, `typeexpr`, `hcldec`, `dynblock`, and Terraform's `lang` and `configschema`.

mod access;
mod block;
mod block_attributes;
mod body;
mod budget;
mod call;
mod check_rule;
mod conditional;
mod console;
mod constraint;
mod construct;
mod defaults;
mod dynamic;
mod evaluate;
mod finder;
#[cfg(test)]
mod fixture;
mod for_expr;
mod forms;
mod json;
mod locate;
mod named;
mod operators;
mod provider_call;
mod reference;
mod render;
mod scope;
mod shape;
mod show;
mod source_text;
mod splat;
mod suggest;
mod template;
pub mod undeclared;
mod validate;
mod variable;

pub use access::{get_attr, index};
pub use block::decode_block;
pub use block_attributes::{BlockAttribute, block_attributes};
pub use body::{made_blocks, written};
pub use budget::{Constants, with_budget};
pub use check_rule::{CONDITION, CheckRule};
pub use console::evaluate_for_console;
pub use constraint::type_constraint;
pub use defaults::Defaults;
pub use evaluate::{check_references, evaluate, evaluate_as, evaluate_constant, evaluate_with};
pub use finder::{block_references, references, traversals, traversals_in_block};
pub use locate::locate;
pub use named::{Blame, named};
pub use reference::{Reference, Subject};
pub use scope::{MapScope, Scope};
pub use shape::{Shape, Split, only_arguments};
pub use show::{quote, show};
pub use source_text::source_text;
pub use suggest::suggest;
pub use validate::validate_block;
pub use variable::{Given, ParseMode, VARIABLE, Variable, arguments_of_call, constant};
