use std::{
    fs,
    io::{Cursor, Seek, SeekFrom, Write},
    time::{Duration, Instant},
};

use tar::{Builder, Header};

use super::*;

fn unpacked(bytes: &[u8], kind: Kind, limits: &Limits) -> Result<Vec<String>, String> {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("tree");
    fs::create_dir(&folder).unwrap();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let mut tree = Tree::new(&folder, limits, Instant::now() + Duration::from_secs(60));
    let outcome = unpack(file, kind, limits, &mut tree).and_then(|()| tree.finish());
    assert_eq!(
        fs::read_dir(place.path()).unwrap().count(),
        1,
        "nothing lies beside"
    );
    outcome.map_err(|fault| fault.text)?;
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    Ok(names)
}

const TAR: Kind = Kind::Tar(Packing::None);

fn header(kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o644);
    header
}

/// A tar with one entry whose name is not checked on the way in.
fn one(name: &str, kind: EntryType, link: &str, content: &[u8]) -> Vec<u8> {
    let mut tar = Builder::new(Vec::new());
    let mut header = header(kind, content.len() as u64);
    let old = header.as_old_mut();
    old.name[..name.len()].copy_from_slice(name.as_bytes());
    old.linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_cksum();
    tar.append(&header, content).unwrap();
    tar.into_inner().unwrap()
}

fn refused(bytes: &[u8], kind: Kind, part: &str) {
    let told = unpacked(bytes, kind, &Limits::default()).unwrap_err();
    assert!(told.contains(part), "{told}");
}

#[test]
fn hostile_tars_are_refused() {
    let file = |name: &str| one(name, EntryType::Regular, "", b"x");
    assert_eq!(unpacked(&file("./a"), TAR, &Limits::default()).unwrap(), ["a"]);
    refused(&file("../../evil"), TAR, "leads out");
    refused(&file("/evil"), TAR, "absolute");
    refused(
        &one("a", EntryType::Symlink, "/etc/passwd", b""),
        TAR,
        "leads out",
    );
    refused(&one("a", EntryType::Symlink, "../../x", b""), TAR, "leads out");
    refused(&one("a", EntryType::Link, "/etc/passwd", b""), TAR, "a hard link");
    refused(&one("a", EntryType::Char, "", b""), TAR, "a device");
    refused(&one("a", EntryType::Block, "", b""), TAR, "a device");
    refused(&one("a", EntryType::Fifo, "", b""), TAR, "a pipe");
    refused(&one("a", EntryType::GNUSparse, "", b""), TAR, "a file with holes");
    refused(b"no tar at all, but long enough to be looked at", TAR, "damaged");
    refused(&file("a")[..600], TAR, "damaged");
}

#[test]
fn long_names_and_pax_headers_are_read_within_limits() {
    let long = format!("{}/x", "n".repeat(200));
    let mut tar = Builder::new(Vec::new());
    let mut plain = header(EntryType::Regular, 1);
    tar.append_data(&mut plain, &long, &b"x"[..]).unwrap();
    assert_eq!(
        unpacked(&tar.into_inner().unwrap(), TAR, &Limits::default()).unwrap(),
        ["n".repeat(200)]
    );

    let with_pax = |records: &[(&str, &[u8])], size: u64| {
        let mut tar = Builder::new(Vec::new());
        tar.append_pax_extensions(records.iter().copied()).unwrap();
        let mut plain = header(EntryType::Regular, size);
        plain.set_path("short").unwrap();
        plain.set_cksum();
        tar.append(&plain, &vec![b'x'; usize::try_from(size).unwrap()][..])
            .unwrap();
        tar.into_inner().unwrap()
    };
    let named = with_pax(&[("path", b"from-pax")], 1);
    assert_eq!(unpacked(&named, TAR, &Limits::default()).unwrap(), ["from-pax"]);
    refused(&with_pax(&[("path", b"../out")], 1), TAR, "leads out");
    refused(&with_pax(&[("size", b"2")], 1), TAR, "two sizes");
    refused(
        &with_pax(&[("GNU.sparse.major", b"1")], 1),
        TAR,
        "a file with holes",
    );
    refused(&with_pax(&[("path", &vec![b'n'; 70_000])], 1), TAR, "64 KiB");
    refused(&one("x", EntryType::XHeader, "", b"9999 path=x\n"), TAR, "pax");
    refused(
        &one("x", EntryType::GNULongName, "", &vec![b'n'; 70_000]),
        TAR,
        "64 KiB",
    );
}

#[test]
fn bombs_end_at_the_limit() {
    let limits = Limits {
        unpacked_bytes: 1 << 20,
        files: 100,
        ..Limits::default()
    };
    let zeros = vec![0; 3 << 20];
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed
        .write_all(&one("zeros", EntryType::Regular, "", &zeros))
        .unwrap();
    let told = unpacked(&packed.finish().unwrap(), Kind::Tar(Packing::Gzip), &limits).unwrap_err();
    assert!(told.contains("unpacks to more than 1 MiB"), "{told}");
    // What is no file at all: it has no end either.
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed
        .write_all(&one("g", EntryType::XGlobalHeader, "", &zeros))
        .unwrap();
    let told = unpacked(&packed.finish().unwrap(), Kind::Tar(Packing::Gzip), &limits).unwrap_err();
    assert!(told.contains("unpacks to more than 1 MiB"), "{told}");
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("zeros", zip::write::SimpleFileOptions::default())
        .unwrap();
    zip.write_all(&zeros).unwrap();
    let told = unpacked(&zip.finish().unwrap().into_inner(), Kind::Zip, &limits).unwrap_err();
    assert!(told.contains("unpacks to more than 1 MiB"), "{told}");
}

#[test]
fn hostile_zips_are_refused() {
    type Zip = zip::ZipWriter<Cursor<Vec<u8>>>;
    let make = |build: &dyn Fn(&mut Zip)| {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        build(&mut zip);
        zip.finish().unwrap().into_inner()
    };
    let options = zip::write::SimpleFileOptions::default();
    let file = |name: &'static str| {
        make(&move |zip| {
            zip.start_file(name, options).unwrap();
            zip.write_all(b"x").unwrap();
        })
    };
    assert_eq!(
        unpacked(&file("a"), Kind::Zip, &Limits::default()).unwrap(),
        ["a"]
    );
    refused(&file("../evil"), Kind::Zip, "leads out");
    refused(&file("/evil"), Kind::Zip, "absolute");
    let link = |target: &'static str| make(&move |zip| zip.add_symlink("l", target, options).unwrap());
    refused(&link("/etc/passwd"), Kind::Zip, "leads out");
    refused(&link("../x"), Kind::Zip, "leads out");
    refused(b"no zip", Kind::Zip, "no sound zip");
    let many = make(&|zip| {
        for n in 0..20 {
            zip.start_file(n.to_string(), options).unwrap();
        }
    });
    let limits = Limits {
        files: 10,
        ..Limits::default()
    };
    let told = unpacked(&many, Kind::Zip, &limits).unwrap_err();
    assert!(told.contains("more than 10 files"), "{told}");
    // A list that says of itself that it is longer is not even read.
    let mut long = many.clone();
    let record = long.len() as u64;
    long.extend(b"PK\x06\x06");
    long.extend(44_u64.to_le_bytes());
    long.extend([0; 20]);
    long.extend(5_000_000_u64.to_le_bytes());
    long.extend([0; 16]);
    long.extend(b"PK\x06\x07\0\0\0\0");
    long.extend(record.to_le_bytes());
    long.extend([1, 0, 0, 0]);
    long.extend(b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0");
    refused(&long, Kind::Zip, "more than 50000 files");
    // Neither is one in front of an end that is not the last thing in the file, or that is not to be read.
    refused(
        &[&long[..], b"more"].concat(),
        Kind::Zip,
        "not where the file ends",
    );
    let mut broken = file("a");
    let length = broken.len();
    broken[length - 18] = 1;
    let sound = [file("b"), broken].concat();
    refused(&sound, Kind::Zip, "no sound zip");
    let mut claims = file("a");
    for at in [14, 12] {
        claims[length - at..length - at + 2].copy_from_slice(&9999_u16.to_le_bytes());
    }
    refused(&claims, Kind::Zip, "not where it says, or larger");
    let named = file("PK\x05\x06");
    refused(&named, Kind::Zip, "two ends");
    // A program may stand in front of a zip, and a comment behind it.
    let mut sound = [b"#!/bin/sh\n", &file("a")[..]].concat();
    let length = sound.len();
    sound[length - 2] = 4;
    sound.extend(b"text");
    assert_eq!(unpacked(&sound, Kind::Zip, &Limits::default()).unwrap(), ["a"]);
    let many = make(&|zip| {
        for n in 0..70_000 {
            zip.start_file(n.to_string(), options).unwrap();
        }
    });
    refused(&many, Kind::Zip, "more than 50000 files");
}
