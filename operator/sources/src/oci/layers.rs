//! Which layers of an artifact are files, and how they become some: by what Flux, OpenTofu and oras call them.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{
    address::Address,
    archive::{Kind, Packing},
    fault::Fault,
    tree::shown,
};

/// Most layers that are files: each takes a request.
const MOST_LAYERS: usize = 1000;

const FLUX_LAYER: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";
const TOFU_LAYER: &str = "archive/zip";
/// By oras: the name of a file, and whether a layer is a folder packed.
const TITLE: &str = "org.opencontainers.image.title";
const UNPACK: &str = "io.deis.oras.content.unpack";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    #[serde(default)]
    pub(super) media_type: String,
    #[serde(default)]
    pub(super) artifact_type: String,
    #[serde(default)]
    pub(super) layers: Vec<Layer>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Layer {
    pub(super) media_type: String,
    pub(super) digest: String,
    #[serde(default)]
    pub(super) annotations: BTreeMap<String, String>,
}

/// How a layer becomes files.
pub(super) enum Use {
    Unpack(Kind),
    Keep(String),
}

/// Which layers are files, and how. `base`: the repository, to be told.
pub(super) fn choose(base: &Address, manifest: &Manifest) -> Result<Vec<(Layer, Use)>, Fault> {
    let zips: Vec<&Layer> = manifest
        .layers
        .iter()
        .filter(|layer| layer.media_type == TOFU_LAYER)
        .collect();
    match &*zips {
        [zip] => return Ok(vec![((*zip).clone(), Use::Unpack(Kind::Zip))]),
        [] => {}
        _ => {
            return Err(Fault::asked(format!(
                "{} has several layers of {TOFU_LAYER}, of which none can be chosen.",
                base
            )));
        }
    }
    if let Some(layer) = manifest
        .layers
        .iter()
        .find(|layer| layer.media_type == FLUX_LAYER)
    {
        return Ok(vec![(layer.clone(), Use::Unpack(Kind::Tar(Packing::Gzip)))]);
    }
    let mut chosen = Vec::new();
    for layer in &manifest.layers {
        let title = layer.annotations.get(TITLE);
        let packed = layer
            .annotations
            .get(UNPACK)
            .is_some_and(|unpack| unpack == "true");
        let action = match (tar(&layer.media_type), title) {
            // A layer that is a tar and no file by name, as images have it and Flux takes it.
            (Some(packing), None) => Use::Unpack(Kind::Tar(packing)),
            (packing, Some(_)) if packed => Use::Unpack(Kind::Tar(packing.unwrap_or(Packing::Gzip))),
            (_, Some(title)) => Use::Keep(title.clone()),
            (None, None) => continue,
        };
        chosen.push((layer.clone(), action));
    }
    if chosen.len() > MOST_LAYERS {
        return Err(Fault::refused(format!(
            "{} has more than {MOST_LAYERS} layers with files, which is the limit.",
            base
        )));
    }
    if chosen.is_empty() {
        let kinds: Vec<&str> = manifest.layers.iter().map(|layer| &*layer.media_type).collect();
        return Err(Fault::asked(format!(
            "{} has no layer with files that are known here (artifact type {}, layers {}).",
            base,
            shown(&manifest.artifact_type),
            shown(&kinds.join(", "))
        )));
    }
    Ok(chosen)
}

fn tar(media_type: &str) -> Option<Packing> {
    let kind = media_type.to_ascii_lowercase();
    if kind.ends_with("tar+gzip") || kind.ends_with("tar.gzip") || kind.ends_with("tar+gz") {
        Some(Packing::Gzip)
    } else if kind.ends_with("tar+zstd") {
        Some(Packing::Zstd)
    } else if kind.ends_with(".tar") || kind.ends_with("+tar") {
        Some(Packing::None)
    } else {
        None
    }
}
