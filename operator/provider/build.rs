//! Compiles the plugin protocol from `proto/` with protox, so that no protoc is needed.

use std::{error::Error, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    // Asked when it runs: a build folder may be shared by checkouts, and this program with it.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .ok_or("CARGO_MANIFEST_DIR is not set: run this through cargo")?;
    let folder = Path::new(&manifest).join("../../proto");
    let files = ["tfplugin5.proto", "tfplugin6.proto", "goplugin.proto"];
    println!("cargo::rerun-if-changed={}", folder.display());
    let descriptors = protox::compile(files, [&folder])?;
    tonic_prost_build::configure()
        .build_server(false)
        .build_transport(false)
        .codec_path("crate::codec::Bounded")
        .compile_fds(descriptors)?;
    Ok(())
}
