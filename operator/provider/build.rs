//! Compiles the plugin protocol from `proto/` with protox, so that no protoc is needed.

use std::{error::Error, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    let files = ["tfplugin5.proto", "tfplugin6.proto", "goplugin.proto"];
    println!("cargo::rerun-if-changed={}", folder.display());
    let descriptors = protox::compile(files, [&folder])?;
    tonic_prost_build::configure()
        .build_server(false)
        .build_transport(false)
        .compile_fds(descriptors)?;
    Ok(())
}
