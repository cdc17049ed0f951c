//! Provisioners against what the ones that are built in take.
//!
//! Rules: Terraform `node_resource_validate.go` (`validateProvisioner`), `builtin/provisioners`.

use std::sync::LazyLock;

use ashlar_diag::{Diag, Diags};
use ashlar_eval::decode_block;
use ashlar_syntax::Body;
use ashlar_value::{
    Type, Value,
    schema::{Attribute, AttributeType, Block},
};

use super::{Check, scope::StaticScope};
use crate::{ResourceConfig, model::Provisioner};

/// An argument: name, type, whether it is required.
type Argument = (&'static str, fn() -> Type, bool);

const TEXT: fn() -> Type = || Type::String;
const TEXTS: fn() -> Type = || Type::list(Type::String);

fn block(arguments: &[Argument]) -> Block {
    let attribute = |(name, ty, required): &Argument| {
        let attribute = Attribute {
            ty: AttributeType::Plain(ty()),
            required: *required,
            optional: !required,
            computed: false,
            sensitive: false,
            write_only: false,
            deprecated: None,
        };
        ((*name).into(), attribute)
    };
    Block {
        attributes: arguments.iter().map(attribute).collect(),
        ..Block::default()
    }
}

static LOCAL_EXEC: LazyLock<Block> = LazyLock::new(|| {
    block(&[
        ("command", TEXT, true),
        ("interpreter", TEXTS, false),
        ("working_dir", TEXT, false),
        ("environment", || Type::map(Type::String), false),
        ("quiet", || Type::Bool, false),
    ])
});

static REMOTE_EXEC: LazyLock<Block> = LazyLock::new(|| {
    block(&[
        ("inline", TEXTS, false),
        ("script", TEXT, false),
        ("scripts", TEXTS, false),
    ])
});

static FILE: LazyLock<Block> = LazyLock::new(|| {
    block(&[
        ("source", TEXT, false),
        ("content", TEXT, false),
        ("destination", TEXT, true),
    ])
});

/// All that a connection of any kind may say.
static CONNECTION: LazyLock<Block> = LazyLock::new(|| {
    const NUMBER: fn() -> Type = || Type::Number;
    const FLAG: fn() -> Type = || Type::Bool;
    block(&[
        ("host", TEXT, true),
        ("type", TEXT, false),
        ("user", TEXT, false),
        ("password", TEXT, false),
        ("port", NUMBER, false),
        ("timeout", TEXT, false),
        ("script_path", TEXT, false),
        ("target_platform", TEXT, false),
        ("private_key", TEXT, false),
        ("certificate", TEXT, false),
        ("host_key", TEXT, false),
        ("agent", FLAG, false),
        ("agent_identity", TEXT, false),
        ("proxy_scheme", TEXT, false),
        ("proxy_host", TEXT, false),
        ("proxy_port", NUMBER, false),
        ("proxy_user_name", TEXT, false),
        ("proxy_user_password", TEXT, false),
        ("bastion_host", TEXT, false),
        ("bastion_host_key", TEXT, false),
        ("bastion_port", NUMBER, false),
        ("bastion_user", TEXT, false),
        ("bastion_password", TEXT, false),
        ("bastion_private_key", TEXT, false),
        ("bastion_certificate", TEXT, false),
        ("https", FLAG, false),
        ("insecure", FLAG, false),
        ("cacert", TEXT, false),
        ("use_ntlm", FLAG, false),
    ])
});

/// All of these, for the manual.
pub(crate) fn provisioner_forms() -> [(&'static str, &'static Block); 4] {
    [
        ("local-exec", &LOCAL_EXEC),
        ("remote-exec", &REMOTE_EXEC),
        ("file", &FILE),
        ("connection", &CONNECTION),
    ]
}

/// What a provisioner of this kind takes; `None` if there is none of the kind.
fn schema(kind: &str) -> Option<&'static Block> {
    match kind {
        "local-exec" => Some(&LOCAL_EXEC),
        "remote-exec" => Some(&REMOTE_EXEC),
        "file" => Some(&FILE),
        _ => None,
    }
}

/// All that the provisioners of a resource evaluate, with what each body takes.
pub(super) fn bodies(config: &ResourceConfig) -> impl Iterator<Item = (&Body, &'static Block)> {
    let own = config.provisioners.iter().flat_map(|provisioner| {
        let body = schema(&provisioner.kind).map(|schema| (&provisioner.body, schema));
        let connection = provisioner.connection.iter().map(|body| (body, &*CONNECTION));
        body.into_iter().chain(connection)
    });
    let used = !config.provisioners.is_empty();
    own.chain(
        config
            .connection
            .iter()
            .filter(move |_| used)
            .map(|body| (body, &*CONNECTION)),
    )
}

/// The fault of a provisioner of a kind that there is not; it is told before anything is evaluated.
pub(super) fn unknown_kind(provisioner: &Provisioner) -> Option<Diag> {
    if schema(&provisioner.kind).is_some() {
        return None;
    }
    let detail = format!(
        "There is no provisioner {:?}; there are local-exec, remote-exec and file.",
        &*provisioner.kind
    );
    Some(Diag::error("Missing required provisioner plugin", detail))
}

impl<'t> Check<'t> {
    /// `scope`: with `self`. `around`: the resource's connection.
    pub(super) fn provisioner(
        &self,
        provisioner: &Provisioner,
        around: Option<&Body>,
        scope: &StaticScope<'_, 't>,
    ) -> Diags {
        let Some(schema) = schema(&provisioner.kind) else {
            return Diags::new();
        };
        let (value, mut diags) = decode_block(&provisioner.body, schema, scope);
        let set = |name: &str| {
            value
                .attr(name)
                .is_some_and(|value: Value| !(value.is_known() && value.is_null()))
        };
        let count = |names: &[&str]| names.iter().filter(|name| set(name)).count();
        if !diags.has_errors() {
            let fault = match &*provisioner.kind {
                "remote-exec" if count(&["inline", "script", "scripts"]) != 1 => Some((
                    "Invalid remote-exec provisioner configuration",
                    "Exactly one of inline, script and scripts must be set.",
                )),
                "file" if count(&["source", "content"]) == 2 => Some((
                    "Cannot set both 'source' and 'content'",
                    "Exactly one of source and content must be set.",
                )),
                "file" if count(&["source", "content"]) == 0 => Some((
                    "Must provide one of 'source' or 'content'",
                    "Exactly one of source and content must be set.",
                )),
                _ => None,
            };
            if let Some((summary, detail)) = fault {
                diags.push(Diag::error(summary, detail));
            }
        }
        let connection = match (&provisioner.connection, around) {
            (Some(own), Some(around)) => {
                let mut merged = around.clone();
                merged.overlay(own.clone());
                Some(merged)
            }
            (own, around) => own.as_ref().or(around).cloned(),
        };
        if let Some(connection) = connection {
            diags.extend(decode_block(&connection, &CONNECTION, scope).1);
        }
        diags
    }
}
