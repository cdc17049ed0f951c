//! The world that test providers act on: a folder of JSON files, and the log of calls.

use std::path::Path;

use anyhow::{Context, bail};
use serde_json::{Map, Value as Json, json};

/// Makes one edit of a scenario.
pub(super) fn edit(world: &Path, edit: &Json) -> anyhow::Result<()> {
    let (kind, what) = edit
        .as_object()
        .and_then(|edit| edit.iter().next())
        .context("an empty edit of the world")?;
    let path = || {
        let id = what["id"].as_str().unwrap_or_default().replace('/', "~");
        world
            .join("objects")
            .join(what["type"].as_str().unwrap_or_default())
            .join(format!("{id}.json"))
    };
    match kind.as_str() {
        "faults" => std::fs::write(world.join("faults.json"), what.to_string())?,
        "create" => {
            let mut attributes = json!({ "id": what["id"], "name": what["name"] });
            merge(&mut attributes, &what["attributes"]);
            let object = json!({
                "id": what["id"], "type": what["type"], "name": what["name"], "attributes": attributes,
            });
            std::fs::create_dir_all(path().parent().context("no folder")?)?;
            std::fs::write(path(), object.to_string())?;
        }
        "set" => {
            let mut object: Json = serde_json::from_slice(&std::fs::read(path())?)?;
            merge(&mut object["attributes"], &what["attributes"]);
            std::fs::write(path(), object.to_string())?;
        }
        "delete" => std::fs::remove_file(path())?,
        other => bail!("an unknown edit of the world: {other}"),
    }
    Ok(())
}

fn merge(into: &mut Json, from: &Json) {
    if let (Some(into), Some(from)) = (into.as_object_mut(), from.as_object()) {
        into.extend(from.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
}

/// All objects there are, `TYPE/ID`.
pub(super) fn objects(world: &Path) -> anyhow::Result<Vec<Json>> {
    let mut found = Vec::new();
    let root = world.join("objects");
    if root.is_dir() {
        for kind in std::fs::read_dir(&root)? {
            let kind = kind?;
            for object in std::fs::read_dir(kind.path())? {
                let name = object?.file_name().to_string_lossy().into_owned();
                let id = name.strip_suffix(".json").unwrap_or(&name);
                found.push(format!("{}/{id}", kind.file_name().to_string_lossy()));
            }
        }
    }
    found.sort();
    Ok(found.into_iter().map(Json::from).collect())
}

/// How long a file is now.
pub(super) fn length(path: &Path) -> usize {
    std::fs::metadata(path).map_or(0, |metadata| {
        usize::try_from(metadata.len()).unwrap_or(usize::MAX)
    })
}

/// The lines added to a file since it was `from` long.
pub(super) fn lines_since(path: &Path, from: usize) -> anyhow::Result<Vec<String>> {
    let text = match std::fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes.get(from..).unwrap_or_default().to_vec())?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error.into()),
    };
    Ok(text.lines().map(str::to_owned).collect())
}

/// One call of a provider.
pub(super) struct Call {
    /// What was called.
    pub(super) op: String,
    /// As the records name it.
    pub(super) label: String,
    /// When it began and ended, in the log's numbers.
    pub(super) span: (u64, Option<u64>),
    /// As the records describe it.
    pub(super) entry: Json,
}

/// Number, fields, and when it began and ended.
type Started = (Json, Map<String, Json>, u64, Option<u64>);

/// The calls in lines of the log.
pub(super) fn calls(lines: &[String]) -> anyhow::Result<Vec<Call>> {
    let mut started: Vec<Started> = Vec::new();
    for line in lines {
        let entry: Json = serde_json::from_str(line).context("reading the log of calls")?;
        let seq = entry["seq"].as_u64().unwrap_or_default();
        if entry["event"] == "start" {
            let fields = entry.as_object().cloned().unwrap_or_default();
            started.push((entry["call"].clone(), fields, seq, None));
        } else if let Some(call) = started
            .iter_mut()
            .find(|call| call.0 == entry["call"] && call.3.is_none())
        {
            call.3 = Some(seq);
            call.1.insert("result".to_owned(), entry["result"].clone());
            for name in ["id", "key"] {
                if entry[name].as_str().is_some_and(|text| !text.is_empty()) {
                    call.1.insert(name.to_owned(), entry[name].clone());
                }
            }
        }
    }
    Ok(started
        .into_iter()
        .map(|(_, fields, start, end)| describe(&fields, (start, end)))
        .collect())
}

fn describe(fields: &Map<String, Json>, span: (u64, Option<u64>)) -> Call {
    let text = |name: &str| fields.get(name).and_then(Json::as_str).unwrap_or_default();
    let op = text("op").to_owned();
    let mut parts = [op.clone(), text("type").to_owned(), text("key").to_owned()];
    if ["create", "update", "delete", "read"].contains(&op.as_str()) && !text("id").is_empty() {
        parts[2] = text("id").to_owned();
    }
    if op == "configure" {
        let region = text("region");
        parts[1] = if region.is_empty() {
            text("provider").to_owned()
        } else {
            format!("{}/{region}", text("provider"))
        };
    }
    let label = parts
        .iter()
        .filter(|part| !part.is_empty())
        .cloned()
        .collect::<Vec<_>>()
        .join(" ");
    let mut entry =
        json!({ "call": label, "result": fields.get("result").cloned().unwrap_or_else(|| "none".into()) });
    if !text("region").is_empty() {
        entry["region"] = text("region").into();
    }
    let mut detail = fields
        .get("detail")
        .and_then(Json::as_object)
        .cloned()
        .unwrap_or_default();
    detail.retain(|_, value| !value.is_null() && *value != "");
    if op == "configure" {
        detail.remove("region");
    }
    if !detail.is_empty() {
        entry["detail"] = Json::Object(detail);
    }
    Call {
        op,
        label,
        span,
        entry,
    }
}
