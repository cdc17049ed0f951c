//! What the manual of the language says of each block beside its form: where its parts are checked and run.

/// A block.
pub(super) struct Chapter {
    /// With the blocks around it, as `ashlar_config::FORMS` names it.
    pub(super) block: &'static str,
    /// Its schema in `tests/oracle/blocks`, if there is one.
    pub(super) schema: &'static str,
    /// What it is.
    pub(super) about: &'static str,
    /// Files that read it. Empty: nothing does.
    pub(super) read: &'static str,
    /// A configuration that has it, and nothing else that may be refused.
    pub(super) example: &'static str,
    /// Its arguments and nested blocks. `*` stands for any.
    pub(super) rows: &'static [Row],
}

/// An argument or nested block.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// Files that check it beyond its form. Empty: whoever reads it does.
    pub(super) checked: &'static str,
    /// Files that act by it. Empty: nothing does, and the note says why.
    pub(super) run: &'static str,
    pub(super) note: &'static str,
}

const fn row(name: &'static str, checked: &'static str, run: &'static str, note: &'static str) -> Row {
    Row {
        name,
        checked,
        run,
        note,
    }
}

/// Kept by the language for later: always an error.
const fn reserved(name: &'static str) -> Row {
    row(name, "", "", "Reserved: refused wherever it is written.")
}

const CONDITION: &str = "plan/src/instance/conditions.rs";
const NODE: &str = "plan/src/node.rs";
const EXPAND: &str = "plan/src/expand.rs";
const ACTION: &str = "config/src/check/action.rs";
const ACTIONS: &str = "plan/src/actions/mod.rs";
const TRIGGER: &str = "plan/src/actions/trigger.rs";
const REPEAT: &str = "config/src/check/repeat.rs";
const SCOPE: &str = "config/src/check/scope.rs";
const RESOURCE: &str = "config/src/check/resource.rs";
const PASSING: &str = "config/src/passing.rs";
const ENGINE: &str = "plan/src/engine.rs";
const TREE: &str = "config/src/tree.rs";
const PROVISIONER: &str = "config/src/check/provisioner.rs";
const PROVISION: &str = "apply/src/provision.rs";

const RULES: &[Row] = &[
    row(
        "condition",
        "eval/src/check_rule.rs",
        CONDITION,
        "Must refer to something.",
    ),
    row("error_message", "eval/src/check_rule.rs", CONDITION, ""),
];

const FOR_PEOPLE: &str = "For people: read, and otherwise not used.";

pub(super) const CHAPTERS: &[Chapter] = &[
    Chapter {
        block: "",
        schema: "configFile",
        about: "What stands in a file that is not inside a block.",
        read: "",
        example: "",
        rows: &[
            row("terraform", "", "", "See below."),
            row(
                "required_providers",
                "",
                "",
                "Always an error: it belongs into a `terraform` block.",
            ),
            row("provider", "", "", "See below."),
            row("variable", "", "", "See below."),
            row("locals", "", "", "See below."),
            row("output", "", "", "See below."),
            row("module", "", "", "See below."),
            row("resource", "", "", "See below."),
            row("data", "", "", "See below."),
            row("ephemeral", "", "", "See below."),
            row("action", "", "", "See below."),
            row("moved", "", "", "See below."),
            row("removed", "", "", "See below."),
            row("import", "", "", "See below."),
            row("check", "", "", "See below."),
            row("language", "", "", "See below."),
        ],
    },
    Chapter {
        block: "terraform",
        schema: "terraformBlock",
        about: "Settings of the module.",
        read: "",
        example: "terraform {\n  required_version = \">= 1.5\"\n}\n",
        rows: &[
            row(
                "required_version",
                TREE,
                "",
                "Held against Terraform 1.15.5. In OpenTofu's dialect against 1.12.6 in a file whose name ends with `.tofu`, and passed over in others.",
            ),
            row(
                "experiments",
                "",
                "",
                "Terraform: always an error, as in its releases. OpenTofu: passed over.",
            ),
            row(
                "language",
                "",
                "",
                "Terraform: only `TF2021`. OpenTofu: passed over.",
            ),
            row("backend", "", "", "See below."),
            row("cloud", "", "", "See below."),
            row("required_providers", "", "", "See below."),
            row("provider_meta", "", ENGINE, "See below."),
            row(
                "state_store",
                "",
                "",
                "Terraform 1.15 refuses it too, but in experimental builds.",
            ),
            row("encryption", "", "", "See below."),
        ],
    },
    Chapter {
        block: "terraform.encryption",
        schema: "",
        about: "How OpenTofu encrypts state and plans. OpenTofu only. What the blocks hold is not looked at.",
        read: "",
        example: "terraform {\n  encryption {}\n}\n",
        rows: &[
            row("key_provider", "", "", ""),
            row("method", "", "", ""),
            row("state", "", "", ""),
            row("plan", "", "", ""),
            row("remote_state_data_sources", "", "", ""),
        ],
    },
    Chapter {
        block: "terraform.required_providers",
        schema: "",
        about: "Which providers the module needs, by local name; an entry may also be just a version.",
        read: "config/src/terraform_block.rs",
        example: "terraform {\n  required_providers {\n    kiln = {\n      source  = \"forge.test/studio/kiln\"\n      version = \"~> 1.0\"\n    }\n  }\n}\n",
        rows: &[
            row(
                "source",
                "config/src/provider_name.rs",
                "runner/src/providers.rs",
                "",
            ),
            row("version", "", "runner/src/providers.rs", ""),
            row("configuration_aliases", PASSING, PASSING, ""),
        ],
    },
    Chapter {
        block: "terraform.provider_meta",
        schema: "",
        about: "Constants that a module tells a provider about itself. One label: the provider's local name.",
        read: "config/src/terraform_block.rs",
        example: "terraform {\n  provider_meta \"kiln\" {\n    tag = \"a\"\n  }\n}\n",
        rows: &[row("*", "", ENGINE, "")],
    },
    Chapter {
        block: "terraform.backend \"local\"",
        schema: "",
        about: "Where Terraform keeps the state. Ashlar keeps it itself, and says so. Of other backends only that their \
                arguments are constants is checked.",
        read: "",
        example: "terraform {\n  backend \"local\" {\n    path = \"a.tfstate\"\n  }\n}\n",
        rows: &[row("path", "", "", ""), row("workspace_dir", "", "", "")],
    },
    Chapter {
        block: "terraform.cloud",
        schema: "",
        about: "HCP Terraform. Ashlar keeps the state itself, and says so.",
        read: "config/src/terraform_block.rs",
        example: "terraform {\n  cloud {}\n}\n",
        rows: &[row("*", "", "", "Not looked at.")],
    },
    Chapter {
        block: "provider",
        schema: "providerBlock",
        about: "The configuration of a provider. All other arguments are by the provider's schema.",
        read: "",
        example: "provider \"kiln\" {}\n",
        rows: &[
            row("alias", PASSING, PASSING, ""),
            row("version", "", "runner/src/providers.rs", "Deprecated: a warning."),
            reserved("count"),
            reserved("depends_on"),
            row(
                "for_each",
                "config/src/early.rs",
                "",
                "Reserved in Terraform. In OpenTofu it makes instances of the configuration, which `plan` refuses.",
            ),
            reserved("source"),
            row(
                "_",
                "config/src/check/mod.rs",
                ENGINE,
                "Arguments of the provider that are named like one of these.",
            ),
            reserved("lifecycle"),
            reserved("locals"),
            row("*", "config/src/check/mod.rs", ENGINE, ""),
        ],
    },
    Chapter {
        block: "variable",
        schema: "variableBlock",
        about: "An input of the module.",
        read: "",
        example: "variable \"a\" {\n  type    = string\n  default = \"b\"\n}\n",
        rows: &[
            row("description", "", "", FOR_PEOPLE),
            row("default", "", "config/src/inputs.rs", ""),
            row("type", "eval/src/constraint.rs", "config/src/inputs.rs", ""),
            row("sensitive", "", "eval/src/variable.rs", ""),
            row("ephemeral", "", "eval/src/variable.rs", ""),
            row("nullable", "", "eval/src/variable.rs", ""),
            row("const", "config/src/early.rs", TREE, ""),
            row(
                "deprecated",
                "config/src/check/call.rs",
                "",
                "A warning where a call sets the variable.",
            ),
            row(
                "validation",
                "config/src/check/mod.rs",
                "config/src/inputs.rs",
                "See below.",
            ),
        ],
    },
    Chapter {
        block: "variable.validation",
        schema: "checkRuleBlock",
        about: "What the value of a variable must fulfil.",
        read: "",
        example: "variable \"a\" {\n  default = 1\n  validation {\n    condition     = var.a > 0\n    error_message = \"More.\"\n  }\n}\n",
        rows: &[
            row(
                "condition",
                "eval/src/variable.rs",
                "config/src/inputs.rs",
                "Must refer to the variable itself.",
            ),
            row(
                "error_message",
                "eval/src/check_rule.rs",
                "config/src/inputs.rs",
                "",
            ),
        ],
    },
    Chapter {
        block: "locals",
        schema: "",
        about: "Values with a name. No labels.",
        read: "config/src/output_block.rs",
        example: "locals {\n  a = 1\n}\n",
        rows: &[row("*", "config/src/check/mod.rs", "plan/src/parts.rs", "")],
    },
    Chapter {
        block: "output",
        schema: "outputBlock",
        about: "A result of the module.",
        read: "",
        example: "output \"a\" {\n  value = 1\n}\n",
        rows: &[
            row("value", "config/src/check/output.rs", "plan/src/outputs.rs", ""),
            row("description", "", "", FOR_PEOPLE),
            row("depends_on", SCOPE, NODE, ""),
            row(
                "sensitive",
                "config/src/check/output.rs",
                "plan/src/outputs.rs",
                "",
            ),
            row(
                "ephemeral",
                "config/src/check/output.rs",
                "",
                "Refused in the root module.",
            ),
            row(
                "deprecated",
                "config/src/check/output.rs",
                "",
                "Refused in the root module; elsewhere a warning where it is used.",
            ),
            row("type", "config/src/check/output.rs", "plan/src/outputs.rs", ""),
            row(
                "precondition",
                "config/src/check/output.rs",
                "plan/src/outputs.rs",
                "See below.",
            ),
            row(
                "postcondition",
                "",
                "",
                "Always an error; an output has preconditions only.",
            ),
        ],
    },
    Chapter {
        block: "output.precondition",
        schema: "checkRuleBlock",
        about: "What must hold before an output has its value.",
        read: "",
        example: "variable \"a\" {\n  default = 1\n}\n\noutput \"a\" {\n  value = 1\n  precondition {\n    condition     = var.a > 0\n    error_message = \"More.\"\n  }\n}\n",
        rows: RULES,
    },
    Chapter {
        block: "module",
        schema: "moduleBlock",
        about: "The call of another module. All other arguments are its variables.",
        read: "",
        example: "module \"a\" {\n  source = \"./a\"\n}\n",
        rows: &[
            row(
                "source",
                "config/src/source.rs",
                "runner/src/modules.rs",
                "May use constant variables (in OpenTofu any that are known) and locals.",
            ),
            row("version", "config/src/early.rs", TREE, ""),
            row("count", REPEAT, "plan/src/parts.rs", ""),
            row("for_each", REPEAT, "plan/src/parts.rs", ""),
            row("depends_on", SCOPE, NODE, ""),
            row("providers", PASSING, PASSING, ""),
            row("ignore_nested_deprecations", SCOPE, SCOPE, ""),
            reserved("_"),
            row(
                "lifecycle",
                "",
                "",
                "Reserved in Terraform; in OpenTofu it holds `enabled`.",
            ),
            reserved("locals"),
            reserved("provider"),
            row(
                "*",
                "config/src/check/call.rs",
                "plan/src/parts.rs",
                "The module's variables.",
            ),
        ],
    },
    Chapter {
        block: "module.lifecycle",
        schema: "moduleLifecycleBlock",
        about: "Whether there is the module at all.",
        read: "",
        example: "module \"a\" {\n  source = \"./a\"\n  lifecycle {\n    enabled = true\n  }\n}\n",
        rows: &[row("enabled", "", EXPAND, "")],
    },
    Chapter {
        block: "resource",
        schema: "resourceBlock",
        about: "A managed resource. All other arguments are by the provider's schema; `dynamic` blocks can stand for its nested blocks.",
        read: "",
        example: "resource \"terraform_data\" \"a\" {}\n",
        rows: &[
            row("count", REPEAT, EXPAND, ""),
            row("for_each", REPEAT, EXPAND, ""),
            row("provider", PASSING, ENGINE, ""),
            row("depends_on", SCOPE, NODE, ""),
            reserved("locals"),
            row("lifecycle", "", "", "See below."),
            row("connection", PROVISIONER, PROVISION, "See below."),
            row("provisioner", PROVISIONER, PROVISION, "See below."),
            row(
                "_",
                RESOURCE,
                "plan/src/instance/change.rs",
                "Arguments of the resource that are named like one of these.",
            ),
            row("*", RESOURCE, "plan/src/instance/change.rs", ""),
        ],
    },
    Chapter {
        block: "dynamic",
        schema: "",
        about: "Stands for nested blocks of a provider's schema, one for each element. One label: the type of the blocks.",
        read: "eval/src/dynamic.rs",
        example: "resource \"terraform_data\" \"a\" {\n  dynamic \"b\" {\n    for_each = []\n    content {}\n  }\n}\n",
        rows: &[
            row("for_each", "eval/src/block.rs", "eval/src/block.rs", ""),
            row("iterator", "", "eval/src/block.rs", ""),
            row(
                "labels",
                "eval/src/block.rs",
                "eval/src/block.rs",
                "Only where the blocks have labels.",
            ),
            row("content", "eval/src/validate.rs", "eval/src/block.rs", ""),
        ],
    },
    Chapter {
        block: "resource.lifecycle",
        schema: "resourceLifecycleBlock",
        about: "How the objects of a resource are treated. In a data source and an ephemeral resource only conditions can stand here.",
        read: "",
        example: "resource \"terraform_data\" \"a\" {\n  lifecycle {\n    prevent_destroy = true\n  }\n}\n",
        rows: &[
            row("create_before_destroy", "", "plan/src/order.rs", "A constant."),
            row(
                "prevent_destroy",
                "",
                "plan/src/prevent.rs",
                "A constant. OpenTofu's may be computed, but not from `each` or `count`.",
            ),
            row("ignore_changes", RESOURCE, "plan/src/objchange/ignore.rs", ""),
            row("replace_triggered_by", RESOURCE, "plan/src/triggers.rs", ""),
            row(
                "destroy",
                "",
                "plan/src/instance/removal.rs",
                "A constant: `plan` refuses others.",
            ),
            row("enabled", "", EXPAND, ""),
            row("precondition", RESOURCE, CONDITION, "See below."),
            row("postcondition", RESOURCE, CONDITION, "See below."),
            row("action_trigger", ACTION, "", "See below."),
        ],
    },
    Chapter {
        block: "resource.lifecycle.precondition",
        schema: "checkRuleBlock",
        about: "What must hold before an object is looked at.",
        read: "",
        example: "variable \"a\" {\n  default = 1\n}\n\nresource \"terraform_data\" \"a\" {\n  lifecycle {\n    precondition {\n      condition     = var.a > 0\n      error_message = \"More.\"\n    }\n  }\n}\n",
        rows: RULES,
    },
    Chapter {
        block: "resource.lifecycle.postcondition",
        schema: "checkRuleBlock",
        about: "What must hold for the object itself; `self` is the object.",
        read: "",
        example: "resource \"terraform_data\" \"a\" {\n  lifecycle {\n    postcondition {\n      condition     = self.id != \"\"\n      error_message = \"No id.\"\n    }\n  }\n}\n",
        rows: RULES,
    },
    Chapter {
        block: "resource.lifecycle.action_trigger",
        schema: "actionTrigger",
        about: "Actions that follow from a change.",
        read: "",
        example: "action \"kiln_stoke\" \"a\" {}\n\nresource \"terraform_data\" \"a\" {\n  lifecycle {\n    action_trigger {\n      events  = [after_create]\n      actions = [action.kiln_stoke.a]\n    }\n  }\n}\n",
        rows: &[
            row("events", "", TRIGGER, ""),
            row("actions", ACTION, TRIGGER, ""),
            row("condition", ACTION, "plan/src/actions/condition.rs", ""),
        ],
    },
    Chapter {
        block: "resource.provisioner",
        schema: "provisionerBlock",
        about: "A program that is run when an object is created or destroyed. Built in are those below. In a cluster \
                `local-exec` needs `--allow-local-exec`.",
        read: "",
        example: "resource \"terraform_data\" \"a\" {\n  provisioner \"local-exec\" {\n    command = \"true\"\n  }\n}\n",
        rows: &[
            row("when", "", PROVISION, ""),
            row("on_failure", "", PROVISION, ""),
            row("connection", PROVISIONER, PROVISION, "See below."),
            row("_", PROVISIONER, PROVISION, "Arguments named like one of these."),
            reserved("lifecycle"),
            row("*", PROVISIONER, PROVISION, ""),
        ],
    },
    Chapter {
        block: "resource.connection",
        schema: "",
        about: "How provisioners reach an object; also inside a provisioner.",
        read: "config/src/resource_block.rs",
        example: "resource \"terraform_data\" \"a\" {\n  connection {\n    host = \"b\"\n  }\n}\n",
        rows: &[row(
            "*",
            PROVISIONER,
            PROVISION,
            "Those of the table below, by SSH to Unix alone.",
        )],
    },
    Chapter {
        block: "data",
        schema: "dataBlock",
        about: "A data source. All other arguments are by the provider's schema.",
        read: "",
        example: "data \"kiln_shelf\" \"a\" {}\n",
        rows: &[
            row("count", REPEAT, EXPAND, ""),
            row("for_each", REPEAT, EXPAND, ""),
            row("provider", PASSING, ENGINE, ""),
            row("depends_on", SCOPE, "plan/src/pending.rs", ""),
            row("lifecycle", "", "", "As in a resource: conditions only."),
            reserved("locals"),
            row(
                "_",
                RESOURCE,
                "plan/src/instance/data.rs",
                "Arguments of the data source that are named like one of these.",
            ),
            row("*", RESOURCE, "plan/src/instance/data.rs", ""),
        ],
    },
    Chapter {
        block: "ephemeral",
        schema: "dataBlock",
        about: "An ephemeral resource: opened while it is needed, and never kept.",
        read: "",
        example: "ephemeral \"kiln_ember\" \"a\" {}\n",
        rows: &[
            row("count", REPEAT, EXPAND, ""),
            row("for_each", REPEAT, EXPAND, ""),
            row("provider", PASSING, ENGINE, ""),
            row("depends_on", SCOPE, NODE, ""),
            row("lifecycle", "", "", "As in a resource: conditions only."),
            reserved("locals"),
            row(
                "_",
                RESOURCE,
                "plan/src/instance/open.rs",
                "Arguments of the resource that are named like one of these.",
            ),
            row("*", RESOURCE, "plan/src/instance/open.rs", ""),
        ],
    },
    Chapter {
        block: "action",
        schema: "actionBlock",
        about: "Something a provider can do beside keeping objects.",
        read: "",
        example: "action \"kiln_stoke\" \"a\" {}\n",
        rows: &[
            row("count", REPEAT, ACTIONS, ""),
            row("for_each", REPEAT, ACTIONS, ""),
            row("provider", PASSING, ACTIONS, ""),
            row("config", ACTION, ACTIONS, "By the provider's schema."),
        ],
    },
    Chapter {
        block: "check",
        schema: "checkBlock",
        about: "What should hold at the end of every run; a warning if it does not.",
        read: "",
        example: "variable \"a\" {\n  default = 1\n}\n\ncheck \"a\" {\n  assert {\n    condition     = var.a > 0\n    error_message = \"More.\"\n  }\n}\n",
        rows: &[
            row(
                "data",
                "config/src/check/mod.rs",
                "plan/src/asserts.rs",
                "At most one; seen by this check alone.",
            ),
            row(
                "assert",
                "config/src/check/mod.rs",
                "plan/src/asserts.rs",
                "At least one; see below.",
            ),
        ],
    },
    Chapter {
        block: "check.assert",
        schema: "checkRuleBlock",
        about: "One thing that should hold.",
        read: "",
        example: "variable \"a\" {\n  default = 1\n}\n\ncheck \"a\" {\n  assert {\n    condition     = var.a > 0\n    error_message = \"More.\"\n  }\n}\n",
        rows: &[
            row(
                "condition",
                "eval/src/check_rule.rs",
                "plan/src/asserts.rs",
                "Must refer to something.",
            ),
            row(
                "error_message",
                "eval/src/check_rule.rs",
                "plan/src/asserts.rs",
                "",
            ),
        ],
    },
    Chapter {
        block: "moved",
        schema: "movedBlock",
        about: "Objects have another address than before.",
        read: "",
        example: "moved {\n  from = terraform_data.b\n  to   = terraform_data.a\n}\n\nresource \"terraform_data\" \"a\" {}\n",
        rows: &[
            row("from", "config/src/address.rs", "plan/src/moves/mod.rs", ""),
            row("to", "config/src/address.rs", "plan/src/moves/mod.rs", ""),
        ],
    },
    Chapter {
        block: "removed",
        schema: "removedBlock",
        about: "Objects are no longer in the configuration.",
        read: "",
        example: "removed {\n  from = terraform_data.a\n}\n",
        rows: &[
            row("from", "config/src/address.rs", "plan/src/removed.rs", ""),
            row("lifecycle", "", "", "See below."),
            row(
                "connection",
                "config/src/provisioner_block.rs",
                PROVISION,
                "For provisioners.",
            ),
            row(
                "provisioner",
                "config/src/provisioner_block.rs",
                PROVISION,
                "With `when = destroy` only.",
            ),
        ],
    },
    Chapter {
        block: "removed.lifecycle",
        schema: "removedLifecycleBlock",
        about: "Whether they are destroyed too.",
        read: "",
        example: "removed {\n  from = terraform_data.a\n  lifecycle {\n    destroy = false\n  }\n}\n",
        rows: &[row(
            "destroy",
            "",
            "plan/src/removed.rs",
            "If nothing is said, true in Terraform and false in OpenTofu.",
        )],
    },
    Chapter {
        block: "import",
        schema: "importBlock",
        about: "An object that exists already becomes one of the configuration.",
        read: "",
        example: "import {\n  to = terraform_data.a\n  id = \"b\"\n}\n\nresource \"terraform_data\" \"a\" {}\n",
        rows: &[
            row("to", "config/src/check/import.rs", "plan/src/imports.rs", ""),
            row(
                "provider",
                "config/src/check/import.rs",
                "plan/src/imports.rs",
                "",
            ),
            row(
                "for_each",
                "config/src/check/import.rs",
                "plan/src/imports.rs",
                "",
            ),
            row("id", "config/src/check/import.rs", "plan/src/imports.rs", ""),
            row(
                "identity",
                "config/src/check/import.rs",
                "plan/src/imports.rs",
                "",
            ),
        ],
    },
    Chapter {
        block: "language",
        schema: "languageBlock",
        about: "Which edition of the language the module is written in.",
        read: "",
        example: "language {\n  edition = tofu2024\n}\n",
        rows: &[
            row("edition", "", "", "Only `tofu2024`."),
            row("experiments", "", "", "There are none."),
            row("compatible_with", "", "", "See below."),
        ],
    },
    Chapter {
        block: "language.compatible_with",
        schema: "languageCompatibleWith",
        about: "Which programs can run the module.",
        read: "",
        example: "language {\n  compatible_with {\n    opentofu = \">= 1.12.0\"\n  }\n}\n",
        rows: &[row("opentofu", TREE, "", "Held against 1.12.6.")],
    },
];
