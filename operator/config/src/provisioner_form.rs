//! What the provisioners that are built in take, and what a connection does.
//!
//! Source: Terraform `builtin/provisioners`, `node_resource_validate.go`.

use std::sync::LazyLock;

use ashlar_syntax::Body;
use ashlar_value::{
    Type,
    schema::{Attribute, AttributeType, Block},
};

use crate::model::{Provisioner, ResourceConfig};

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

/// What the provisioners that are built in take, and what a `connection` block does: for the manual.
pub fn provisioner_forms() -> [(&'static str, &'static Block); 4] {
    [
        ("local-exec", &LOCAL_EXEC),
        ("remote-exec", &REMOTE_EXEC),
        ("file", &FILE),
        ("connection", &CONNECTION),
    ]
}

/// What a `connection` block takes.
pub fn connection_schema() -> &'static Block {
    &CONNECTION
}

/// What a provisioner of this kind takes; `None` if there is none of the kind.
pub fn provisioner_schema(kind: &str) -> Option<&'static Block> {
    match kind {
        "local-exec" => Some(&LOCAL_EXEC),
        "remote-exec" => Some(&REMOTE_EXEC),
        "file" => Some(&FILE),
        _ => None,
    }
}

impl ResourceConfig {
    /// All bodies that its provisioners are made of, with what each takes. Those that run at its end refer to nothing.
    pub fn provisioner_bodies(&self) -> impl Iterator<Item = (&Body, &'static Block)> {
        let own = self.provisioners.iter().flat_map(|provisioner| {
            let body = provisioner_schema(&provisioner.kind).map(|schema| (&provisioner.body, schema));
            let connection = provisioner.connection.iter().map(|body| (body, &*CONNECTION));
            body.into_iter().chain(connection)
        });
        own.chain(self.connection.iter().map(|body| (body, &*CONNECTION)))
    }
}

impl Provisioner {
    /// How the object is reached: what the block says itself goes before what the one around it says.
    pub fn connection_within(&self, around: Option<&Body>) -> Option<Body> {
        match (&self.connection, around) {
            (Some(own), Some(around)) => {
                let mut merged = around.clone();
                merged.overlay(own.clone());
                Some(merged)
            }
            (own, around) => own.as_ref().or(around).cloned(),
        }
    }
}
