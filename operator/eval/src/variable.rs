//! Input variables: the declaration, and the value a given text or value comes to.
//!
//! Used by `config` for every module, and for values of the root module. Rules: Terraform `configs/named_values.go`,
//! `terraform/eval_variable.go`.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_diag::{Diag, Diags, Sources, Span};
use ashlar_syntax::{Block, Body, Expr, ExprKind, parse_expression};
use ashlar_value::{
    Mark, Marks, Type, Value, convert,
    schema::{self, AttributeType, Nesting},
};

use crate::{
    CheckRule, Defaults, Reference, Shape, Subject,
    body::{self, Item},
    constraint::type_constraint,
    evaluate_constant, finder,
};

/// Names of variables that would clash with arguments of a `module` block.
const RESERVED: &[&str] = &[
    "source",
    "version",
    "count",
    "for_each",
    "depends_on",
    "providers",
    "lifecycle",
    "locals",
    "provider",
    "_",
];

/// What a `variable` block holds.
pub const VARIABLE: Shape = Shape {
    required: &[],
    optional: &[
        "description",
        "default",
        "type",
        "sensitive",
        "ephemeral",
        "nullable",
        "const",
        "deprecated",
    ],
    blocks: &[("validation", &[])],
};

/// A declared input variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: Arc<str>,
    /// The constraint, optional attributes included; `any` if none is written.
    pub ty: Type,
    /// Defaults of optional attributes.
    pub defaults: Option<Defaults>,
    /// How text is read as a value.
    pub parse: ParseMode,
    /// The default, converted; `None` makes the variable required.
    pub default: Option<Value>,
    /// For people.
    pub description: Option<String>,
    /// Is the value not to be shown?
    pub sensitive: bool,
    /// Is the value not to be kept?
    pub ephemeral: bool,
    /// May the value be null?
    pub nullable: bool,
    /// Is it known before anything is evaluated?
    pub constant: bool,
    /// Does it say that it is not known early? (OpenTofu, where others may be)
    pub never_constant: bool,
    /// What to tell who sets it.
    pub deprecated: Option<String>,
    /// Custom checks.
    pub validations: Vec<CheckRule>,
    /// The block's header.
    pub declared: Span,
}

/// How the text of a value given by argument or environment is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseMode {
    /// The text is the string.
    Literal,
    /// The text is an expression without references and calls.
    Expression,
}

/// A value for a variable, and its place where it has one (in a file of values, or the argument of a module call).
#[derive(Clone)]
pub struct Given {
    /// The value as it was given.
    pub value: Value,
    /// Where it stands.
    pub place: Option<Span>,
}

/// Shows no content: the variable may be sensitive.
impl std::fmt::Debug for Given {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Given")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// Evaluates a constant argument and converts it (gohcl `DecodeExpression`).
pub fn constant(expr: &Expr, ty: &Type, diags: &mut Diags) -> Option<Value> {
    let (value, faults) = evaluate_constant(expr);
    diags.extend(faults);
    // As in hcl, a value that is not there because of another fault is told as well.
    let why = match convert(&value, ty) {
        Ok(value) if value.is_null() => format!("a {} is required", ty.friendly_name()),
        Ok(value) if !value.is_known() => "it is not known".to_owned(),
        Ok(value) => return Some(value),
        Err(error) => error.message,
    };
    let detail = format!("The value does not fit: {why}.");
    diags.push(
        Diag::error("Unsuitable value type", detail)
            .at(expr.start())
            .within(expr.span),
    );
    None
}

/// The arguments of a module call, by the name of the variable that each sets. `open`: where one that is missing is blamed.
pub fn arguments_of_call<'b, 'v>(
    body: &'b Body,
    open: Span,
    variables: impl IntoIterator<Item = &'v Variable>,
) -> (BTreeMap<Arc<str>, &'b Expr>, Diags) {
    let (optional, required): (Vec<_>, Vec<_>) = variables
        .into_iter()
        .map(|variable| (variable.default.is_some(), &*variable.name))
        .partition(|(optional, _)| *optional);
    let names = |list: Vec<(bool, &'v str)>| list.into_iter().map(|(_, name)| name).collect::<Vec<_>>();
    let schema = arguments(&names(required), &names(optional));
    let body = body::by_form(body, &schema);
    let mut diags = Diags::new();
    let content = body::sort_form(body, &schema, body.missing_item().or(Some(open)), &mut diags);
    let given = content
        .attributes
        .into_iter()
        .map(|(name, attribute)| (name, &attribute.expr));
    (given.collect(), diags)
}

/// A schema of optional and required arguments of any type.
pub(crate) fn arguments(required: &[&str], optional: &[&str]) -> schema::Block {
    let all = required
        .iter()
        .map(|name| (name, true))
        .chain(optional.iter().map(|name| (name, false)));
    let attributes = all.map(|(name, required)| {
        let attribute = schema::Attribute {
            ty: AttributeType::Plain(Type::Dynamic),
            required,
            optional: !required,
            computed: false,
            sensitive: false,
            write_only: false,
            deprecated: None,
        };
        (Arc::from(*name), attribute)
    });
    schema::Block {
        attributes: attributes.collect(),
        ..schema::Block::default()
    }
}

impl Variable {
    /// Reads a `variable` block with its one label. What is at fault is left as if it were not written.
    pub fn read(block: &Block) -> (Option<Self>, Diags) {
        let mut diags = Diags::new();
        let [label] = &*block.labels else {
            return (None, diags);
        };
        let mut schema = arguments(VARIABLE.required, VARIABLE.optional);
        for (kind, _) in VARIABLE.blocks {
            let nested = schema::NestedBlock {
                nesting: Nesting::List,
                block: schema::Block::default(),
                min_items: 0,
                max_items: 0,
            };
            schema.blocks.insert((*kind).into(), nested);
        }
        let body = body::by_form(&block.body, &schema);
        let place = body.missing_item().or(Some(block.open));
        let content = body::sort_form(body, &schema, place, &mut diags);
        check_name(&label.name, label.span, &mut diags);
        let mut variable = Variable {
            name: label.name.clone(),
            ty: Type::Dynamic,
            defaults: None,
            parse: ParseMode::Literal,
            default: None,
            description: None,
            sensitive: false,
            ephemeral: false,
            nullable: true,
            constant: false,
            never_constant: false,
            deprecated: None,
            validations: Vec::new(),
            declared: block.header(),
        };
        variable.arguments(body, &mut diags);
        for item in &content.blocks {
            if let Item::Block(validation) = item {
                let (rule, faults) = CheckRule::read(validation);
                diags.extend(faults);
                if let Some(rule) = rule {
                    diags.extend(variable.own_condition(&rule.condition));
                    variable.validations.push(rule);
                } else if let Some(condition) = validation.body.as_read().attribute("condition") {
                    diags.extend(variable.own_condition(&condition.expr));
                }
            }
        }
        (Some(variable), diags)
    }

    fn arguments(&mut self, body: &Body, diags: &mut Diags) {
        let given = |name| body.attribute(name).map(|attribute| &attribute.expr);
        let text = |name, diags: &mut Diags| {
            constant(given(name)?, &Type::String, diags)?
                .as_str()
                .map(|text| text.to_string())
        };
        let flag = |name, diags: &mut Diags| constant(given(name)?, &Type::Bool, diags)?.as_bool();
        self.description = text("description", diags);
        self.deprecated = text("deprecated", diags);
        if let Some(expr) = given("type") {
            self.parse = ParseMode::Expression;
            match constraint(expr) {
                Ok((ty, defaults)) => {
                    if ty.is_primitive() {
                        self.parse = ParseMode::Literal;
                    }
                    self.ty = ty;
                    self.defaults = defaults;
                }
                Err(faults) => diags.extend(faults),
            }
        }
        self.sensitive = flag("sensitive", diags).unwrap_or(false);
        self.ephemeral = flag("ephemeral", diags).unwrap_or(false);
        let constant = flag("const", diags);
        self.constant = constant == Some(true);
        self.never_constant = constant == Some(false);
        self.nullable = flag("nullable", diags).unwrap_or(given("nullable").is_none());
        for (wrong, word) in [(self.sensitive, "sensitive"), (self.ephemeral, "ephemeral")] {
            if self.constant && wrong {
                let detail = format!(
                    "A const variable is known while the configuration is read, so it cannot be {word}."
                );
                diags.push(Diag::error(format!("Const variable cannot be {word}"), detail).at(self.declared));
            }
        }
        if let Some(expr) = given("default") {
            let (value, faults) = evaluate_constant(expr);
            diags.extend(faults);
            let summary = "Invalid default value for variable";
            let value = self.fitted(&value).unwrap_or_else(|why| {
                let detail = format!("The default does not fit the variable's type: {why}.");
                diags.push(Diag::error(summary, detail).at(expr.span));
                Value::dynamic()
            });
            if value.is_null() && !self.nullable {
                let detail = "With nullable = false the default cannot be null.";
                diags.push(Diag::error(summary, detail).at(expr.span));
            }
            self.default = Some(value);
        }
    }

    /// A validation must look at its own variable.
    fn own_condition(&self, condition: &Expr) -> Option<Diag> {
        let own = finder::traversals(condition).into_iter().any(|traversal| {
            let subject = Reference::parse(traversal)
                .ok()
                .flatten()
                .map(|reference| reference.subject);
            matches!(subject, Some(Subject::Var(name)) if name == self.name)
        });
        (!own).then(|| {
            let detail = format!(
                "The condition of a validation must use var.{0}, the value it checks.",
                self.name
            );
            Diag::error("Invalid variable validation condition", detail).at(condition.span)
        })
    }

    fn fitted(&self, value: &Value) -> Result<Value, String> {
        let filled = match &self.defaults {
            Some(defaults) if !value.is_null() => &defaults.apply(value),
            _ => value,
        };
        convert(filled, &self.ty).map_err(|error| {
            if error.path.is_root() {
                error.message
            } else {
                format!("{}: {}", error.path, error.message)
            }
        })
    }

    /// The value the variable has inside its module, before its marks of declaration: defaults filled in, converted,
    /// null dealt with. With errors it is unknown.
    pub fn value(&self, given: Option<&Given>) -> (Value, Diags) {
        let mut diags = Diags::new();
        let unknown = || Value::unknown(self.ty.without_optional());
        let place = given.and_then(|given| given.place).unwrap_or(self.declared);
        let Some(value) = given.map(|given| &given.value).or(self.default.as_ref()) else {
            let detail = format!("The variable {:?} must be set.", &*self.name);
            diags.push(Diag::error("Required variable not set", detail).at(self.declared));
            return (unknown(), diags);
        };
        let mut value = match self.fitted(value) {
            Ok(value) => value,
            Err(why) => {
                let detail = format!("The value does not fit the variable {:?}: {why}.", &*self.name);
                // Where the value is secret, so may be the place it stands at.
                let place = if self.sensitive { self.declared } else { place };
                diags.push(Diag::error("Invalid value for input variable", detail).at(place));
                return (unknown(), diags);
            }
        };
        if value.is_null() && !self.nullable {
            value = match &self.default {
                Some(default) => default.clone(),
                None => {
                    let detail = format!("The variable {:?} must be set, and not to null.", &*self.name);
                    diags.push(Diag::error("Required variable not set", detail).at(place));
                    unknown()
                }
            };
        }
        if !self.ephemeral && value.marks_deep().contains(Mark::Ephemeral) {
            let detail = format!(
                "The variable {:?} is not declared ephemeral, so its value cannot come from an ephemeral one.",
                &*self.name
            );
            diags.push(Diag::error("Ephemeral value not allowed", detail).at(place));
        }
        (value, diags)
    }

    /// The value as references see it: with the marks the declaration asks for.
    #[must_use]
    pub fn marked(&self, value: Value) -> Value {
        let mut marks = Marks::NONE;
        if self.sensitive {
            marks = marks.union(Marks::SENSITIVE);
        }
        if self.ephemeral {
            marks = marks.union(Marks::EPHEMERAL);
        }
        value.with_marks(marks)
    }

    /// Reads a value given as text by argument or environment.
    pub fn parse_text(&self, text: &str, sources: &mut Sources) -> (Value, Diags) {
        match self.parse {
            ParseMode::Literal => (Value::string(text), Diags::new()),
            ParseMode::Expression => {
                let file = sources.add(format!("<value for var.{}>", self.name), text);
                let (expr, mut diags) = parse_expression(sources, file);
                if diags.has_errors() {
                    return (Value::dynamic(), diags);
                }
                let (value, faults) = evaluate_constant(&expr);
                diags.extend(faults);
                (value, diags)
            }
        }
    }
}

fn check_name(name: &str, span: Span, diags: &mut Diags) {
    let summary = "Invalid variable name";
    if !ashlar_syntax::is_identifier(name) {
        let detail = "A name begins with a letter or underscore and goes on with letters, digits, underscores, dashes.";
        diags.push(Diag::error(summary, detail).at(span));
    }
    if RESERVED.contains(&name) {
        let detail =
            format!("{name:?} has a meaning of its own in module blocks, so no variable can have this name.");
        diags.push(Diag::error(summary, detail).at(span));
    }
}

/// The type of a variable; old quoted types are told apart, and bare `list` and `map` mean any elements.
fn constraint(expr: &Expr) -> Result<(Type, Option<Defaults>), Diags> {
    if let ExprKind::Template(_) | ExprKind::Wrap(_) = &expr.kind {
        let (value, faults) = evaluate_constant(expr);
        if faults.has_errors() {
            return Err(faults);
        }
        let word = value.as_str().map_or("", |word| &**word);
        return Err(match word {
            "string" | "list" | "map" => {
                let detail = format!("Types are written without quotes: {word}.");
                Diag::error("Invalid quoted type constraints", detail)
            }
            _ => Diag::error(
                "Invalid legacy variable type hint",
                "A type is written without quotes.",
            ),
        }
        .at(expr.span)
        .into());
    }
    match expr.keyword() {
        Some("list") => Ok((Type::list(Type::Dynamic), None)),
        Some("map") => Ok((Type::map(Type::Dynamic), None)),
        _ => type_constraint(expr),
    }
}

#[cfg(test)]
mod tests;
