//! The expressions that are measured.
//!
//! Each boils down to a small result, so that neither program spends its time on printing, and so that the results can
//! be compared. Lists are made by the language itself where that is cheap beside what is measured.

use std::fmt::Write as _;

/// One expression with the module around it.
pub(super) struct Row {
    /// What the table calls it.
    pub(super) name: &'static str,
    /// Text of `main.tf` that the expression refers to.
    pub(super) module: &'static str,
    /// A file beside it.
    pub(super) file: Option<File>,
    /// What is evaluated.
    pub(super) expression: &'static str,
}

/// The name of a file, and what makes its text.
type File = (&'static str, fn() -> String);

/// `local.many`: 10,000 numbers. `range` makes no more than 1,024.
const MANY: &str =
    "locals {\n  many = flatten([for a in range(100) : [for b in range(100) : a * 100 + b]])\n}\n";
/// `local.words`: 10,000 texts, in no order.
const WORDS: &str = "locals {\n  words = flatten([for a in range(100) : [for b in range(100) : format(\"w%d\", (a * 100 + b) * 7919 % 10007)]])\n}\n";
/// `local.objects`: 5,000 objects.
const OBJECTS: &str = "locals {\n  objects = flatten([for a in range(50) : [for b in range(100) : { name = \"n${a}-${b}\", size = b, \
                       tags = { team = \"t${a}\" } }]])\n}\n";
/// `local.document`: what `document` holds, read.
const DOCUMENT: &str = "locals {\n  document = jsondecode(file(\"${path.module}/document.json\"))\n}\n";

/// The row that tells what is spent before and after any evaluation.
pub(super) const START_UP: Row = row("start-up (the expression `1`)", "", "1");

const fn row(name: &'static str, module: &'static str, expression: &'static str) -> Row {
    Row {
        name,
        module,
        file: None,
        expression,
    }
}

/// All others, in the order of the table.
pub(super) const ROWS: &[Row] = &[
    row("`for` over 10,000", MANY, "sum([for n in local.many : n * 2 + 1 if n % 3 != 0])"),
    row(
        "`for` to a map of 10,000, and a lookup of each",
        "locals {\n  many = flatten([for a in range(100) : [for b in range(100) : a * 100 + b]])\n  map  = { for n in local.many : \"k${n}\" => n }\n}\n",
        "sum([for n in local.many : local.map[\"k${n}\"]])",
    ),
    row(
        "nested templates, 10,000",
        MANY,
        "length(join(\"\", [for n in local.many : \"a-${\"b-${\"c-${n}\"}\"}-${n % 2 == 0 ? \"even\" : \"odd\"}\"]))",
    ),
    row(
        "one template with a loop of 10,000",
        MANY,
        "length(\"%{ for n in local.many ~}\\nhost-${n} = 10.0.0.1%{ if n % 2 == 0 } # even%{ endif }\\n%{ endfor ~}\")",
    ),
    Row {
        name: "`templatefile` with a loop of 10,000",
        module: MANY,
        file: Some(("hosts.tftpl", || {
            "%{ for n in hosts ~}\nhost-${n} = 10.0.0.1%{ if n % 2 == 0 } # even%{ endif }\n%{ endfor ~}\n".to_owned()
        })),
        expression: "length(templatefile(\"${path.module}/hosts.tftpl\", { hosts = local.many }))",
    },
    row(
        "`merge` of 1,000 maps",
        "",
        "length(merge([for n in range(1000) : { \"k${n}\" = n, \"l${n}\" = n, common = n }]...))",
    ),
    row(
        "`lookup` and `merge` in a `for` over 5,000 objects",
        OBJECTS,
        "length([for o in local.objects : merge(o.tags, { name = o.name, tier = lookup(o.tags, \"tier\", \"none\") }) if o.size > 10])",
    ),
    Row {
        name: "`jsondecode` of 1 MB",
        module: "",
        file: Some(("document.json", document)),
        expression: "length(jsondecode(file(\"${path.module}/document.json\")))",
    },
    Row {
        name: "`jsonencode` to 1 MB (of what `jsondecode` read)",
        module: DOCUMENT,
        file: Some(("document.json", document)),
        expression: "length(jsonencode(local.document))",
    },
    Row {
        name: "`yamldecode` of 1 MB",
        module: "",
        file: Some(("document.yaml", document_yaml)),
        expression: "length(yamldecode(file(\"${path.module}/document.yaml\")))",
    },
    Row {
        name: "`yamlencode` to 1 MB (of what `jsondecode` read)",
        module: DOCUMENT,
        file: Some(("document.json", document)),
        expression: "length(yamlencode(local.document))",
    },
    row(
        "`cidrsubnets` in a loop, 25,000 nets",
        "",
        "length(flatten([for n in range(100) : cidrsubnets(\"10.${n}.0.0/16\", [for i in range(250) : 8]...)]))",
    ),
    row(
        "`cidrsubnet` and `cidrhost`, 10,000",
        MANY,
        "length(distinct([for n in local.many : cidrhost(cidrsubnet(\"10.0.0.0/8\", 14, n), 5) if n < 2000]))",
    ),
    row(
        "`setproduct` to 20,000",
        "",
        "length(setproduct([for n in range(20) : \"a${n}\"], range(20), [for n in range(50) : \"b${n}\"]))",
    ),
    row(
        "`flatten` of nested lists, then a map by key",
        "locals {\n  nets = { for a in range(100) : \"net-${a}\" => { cidr = \"10.${a}.0.0/16\", subnets = { for b in range(100) : \"s${b}\" => b } } }\n}\n",
        "length({ for e in flatten([for name, net in local.nets : [for key, number in net.subnets : { net = name, key = key, number = number }]]) : \"${e.net}.${e.key}\" => e })",
    ),
    row(
        "`regexall` over 10,000 texts",
        WORDS,
        "length(flatten([for w in local.words : regexall(\"[0-9]\", w)]))",
    ),
    row(
        "`replace` by pattern in a text of 100 KB",
        WORDS,
        "length(replace(join(\" \", local.words), \"/w([0-9]+)/\", \"<$1>\"))",
    ),
    row(
        "`format`, `join` and `split`, 10,000",
        MANY,
        "length(split(\",\", join(\",\", [for n in local.many : format(\"%05d-%s-%x\", n, \"x\", n)])))",
    ),
    row("`sort` of 10,000", WORDS, "join(\",\", slice(sort(local.words), 0, 3))"),
    row("`toset` of 10,000", WORDS, "length(toset(local.words))"),
    row("`distinct` of 2,000", WORDS, "length(distinct(slice(local.words, 0, 2000)))"),
    row(
        "`setsubtract` and `setunion` of 5,000",
        WORDS,
        "length(setsubtract(local.words, slice(local.words, 0, 5000))) + length(setunion(local.words, [\"x\"]))",
    ),
    row(
        "`contains` in a `for`, 1,000 in 1,000",
        WORDS,
        "length([for w in slice(local.words, 0, 1000) : w if contains(slice(local.words, 500, 1500), w)])",
    ),
    row(
        "`zipmap`, `keys`, `values`, `transpose`",
        WORDS,
        "length(keys(transpose({ for k, v in zipmap(local.words, local.words) : k => [v, \"all\"] })))",
    ),
    row(
        "`sha256` and `base64encode` of 10,000",
        WORDS,
        "length(join(\"\", [for w in local.words : base64encode(sha256(w))]))",
    ),
    row(
        "`try` and `can` over 5,000 objects",
        OBJECTS,
        "length([for o in local.objects : try(o.missing.deep, o.name) if can(o.tags.team)])",
    ),
    row(
        "splats of 5,000 objects",
        OBJECTS,
        "length(join(\",\", local.objects[*].name)) + length(local.objects[*].tags.team)",
    ),
    row(
        "a variable of 5,000 objects with optional attributes",
        "variable \"items\" {\n  type = list(object({\n    id   = number\n    name = string\n    note = optional(string, \"none\")\n    \
         tags = optional(map(string), {})\n  }))\n}\n",
        "length([for i in var.items : i.note if i.note == \"none\"])",
    )
    .with("terraform.tfvars.json", || format!("{{\"items\": {}}}", document())),
];

impl Row {
    const fn with(self, name: &'static str, text: fn() -> String) -> Self {
        Self {
            file: Some((name, text)),
            ..self
        }
    }
}

const ENTRIES: usize = 7000;

/// A list of objects as JSON, about 1 MB.
fn document() -> String {
    let mut text = String::from("[");
    for index in 0..ENTRIES {
        let comma = if index == 0 { "" } else { "," };
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "{comma}{{\"id\": {index}, \"name\": \"entry number {index}\", \"size\": {}.5, \"ready\": {}, \"tags\": {{\"team\": \"t{}\", \
             \"zone\": \"z{}\", \"note\": \"a text with some length\"}}}}",
            index * 3,
            index % 2 == 0,
            index % 17,
            index % 3
        );
    }
    text.push(']');
    text
}

/// The same list as YAML.
fn document_yaml() -> String {
    let mut text = String::new();
    for index in 0..ENTRIES {
        let _ = write!(
            text,
            "- id: {index}\n  name: entry number {index}\n  size: {}.5\n  ready: {}\n  tags:\n    team: t{}\n    zone: z{}\n    note: a text with some length\n",
            index * 3,
            index % 2 == 0,
            index % 17,
            index % 3
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_a_megabyte() {
        for text in [document(), document_yaml()] {
            assert!((900_000..1_200_000).contains(&text.len()), "{}", text.len());
        }
        assert!(serde_json::from_str::<serde_json::Value>(&document()).is_ok());
    }

    #[test]
    fn names_are_distinct() {
        let names: std::collections::BTreeSet<&str> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ROWS.len());
    }
}
