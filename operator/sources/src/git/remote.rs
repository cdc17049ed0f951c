//! A conversation with a git server, over whichever transport: what it has, and the objects of one commit.

use std::{
    io::{self, BufRead, Read},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use gix_hash::ObjectId;
use gix_protocol::{
    Handshake, LsRefsCommand,
    fetch::{self, Arguments, Negotiate, Shallow, Tags, negotiate},
    handshake::Ref as TheirRef,
    ls_refs::RefPrefixes,
};
use gix_transport::{Protocol, Service, client::blocking_io::Transport};
use gix_utils::progress::Discard;
use tokio::{runtime::Handle, task::JoinHandle};

use crate::{
    fault::{Fault, chain},
    git::refs::{Ref, Refs},
    limits::{Limits, bytes},
    tree::too_slow,
};

/// Most bytes of a list of references.
const LARGEST_LIST: u64 = 64 << 20;

/// How much may still be read, and what went wrong on the way: the libraries between have errors of their own.
#[derive(Clone)]
pub(crate) struct Meter {
    left: Arc<AtomicU64>,
    fault: Arc<Mutex<Option<Fault>>>,
}

impl Meter {
    pub(crate) fn new() -> Self {
        Self {
            left: Arc::new(AtomicU64::new(LARGEST_LIST)),
            fault: Arc::default(),
        }
    }

    /// Counts bytes that came; not if they are too many.
    pub(crate) fn count(&self, count: u64) -> io::Result<()> {
        let left = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(count)
            });
        left.map(|_| ()).map_err(|_| {
            self.fail(Fault::refused(
                "The git server sends more than the limit for a fetch (git bytes) allows.",
            ))
        })
    }

    /// Notes a fault, and gives an error to hand on.
    pub(crate) fn fail(&self, fault: Fault) -> io::Error {
        let mut noted = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        noted.get_or_insert_with(|| fault.clone());
        io::Error::other(fault)
    }

    /// The fault behind an error.
    fn explain(&self, place: &str, error: &dyn std::error::Error) -> Fault {
        let noted = self.fault.lock().unwrap_or_else(PoisonError::into_inner).take();
        noted.unwrap_or_else(|| {
            let why = chain(error);
            let text = format!("The git server of {place} cannot be understood: {why}.");
            // What a server says in its own words of what is not there.
            let absent = ["not our ref", "not found", "does not exist", "no such"];
            if absent.iter().any(|words| why.to_lowercase().contains(words)) {
                Fault::absent(text)
            } else {
                Fault::unreachable(text)
            }
        })
    }
}

/// Ends work that takes no notice of time itself.
pub(crate) struct Alarm {
    pub(crate) handle: Handle,
    pub(crate) deadline: Instant,
}

/// An alarm that is set, until it is dropped.
struct Armed(JoinHandle<()>);

impl Drop for Armed {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Alarm {
    fn arm(&self, flag: &Arc<AtomicBool>, meter: &Meter, limits: &Limits) -> Armed {
        let (flag, meter, limits, deadline) = (flag.clone(), meter.clone(), limits.clone(), self.deadline);
        Armed(self.handle.spawn(async move {
            tokio::time::sleep_until(deadline.into()).await;
            meter.fail(too_slow(&limits));
            flag.store(true, Ordering::Relaxed);
        }))
    }
}

/// A conversation.
pub(crate) struct Remote {
    transport: Box<dyn Transport + Send>,
    handshake: Handshake,
    meter: Meter,
    limits: Limits,
    alarm: Alarm,
    /// How the place is called in errors.
    place: String,
}

fn agent() -> (&'static str, Option<String>) {
    ("agent", Some("git/ashlar".to_owned()))
}

impl Remote {
    /// Begins a conversation over a connection that was made.
    pub(crate) fn begin(
        mut transport: Box<dyn Transport + Send>,
        meter: Meter,
        limits: &Limits,
        alarm: Alarm,
        place: String,
    ) -> Result<Self, Fault> {
        let handshake = gix_protocol::handshake(
            &mut transport,
            Service::UploadPack,
            |_| Ok(None),
            Vec::new(),
            &mut Discard,
        );
        let handshake = handshake.map_err(|error| meter.explain(&place, &error))?;
        let remote = Self {
            transport,
            handshake,
            meter,
            limits: limits.clone(),
            alarm,
            place,
        };
        let format = remote.handshake.capabilities.capability("object-format");
        match format.and_then(|format| format.value().map(ToString::to_string)) {
            Some(format) if format != "sha1" => Err(Fault::asked(format!(
                "The repository {} names its objects by {format}; only those with SHA-1 can be fetched.",
                remote.place
            ))),
            _ => Ok(remote),
        }
    }

    /// What the server has, by the beginnings of names.
    pub(crate) fn refs(&mut self, prefixes: &[String]) -> Result<Refs, Fault> {
        let theirs = match self.handshake.refs.clone() {
            Some(refs) => refs,
            None => {
                let mut wanted = RefPrefixes::new();
                wanted.extend(prefixes.iter().map(|prefix| prefix.as_str().into()));
                LsRefsCommand::new(Some(wanted), &self.handshake.capabilities, agent())
                    .invoke_blocking(&mut self.transport, &mut Discard, false)
                    .map_err(|error| self.meter.explain(&self.place, &error))?
            }
        };
        Ok(Refs(theirs.into_iter().filter_map(ours).collect()))
    }

    /// Fetches objects into a folder, as a pack with its index. `shallow`: without history, where the server can do that.
    pub(crate) fn pack(
        mut self,
        wants: &[ObjectId],
        shallow: bool,
        folder: &Path,
    ) -> Result<gix_pack::Bundle, Fault> {
        let capabilities = &self.handshake.capabilities;
        let can_be_shallow = match self.handshake.server_protocol_version {
            Protocol::V2 => capabilities
                .capability("fetch")
                .is_some_and(|fetch| fetch.supports("shallow") == Some(true)),
            Protocol::V0 | Protocol::V1 => capabilities.contains("shallow"),
        };
        let shallow = if shallow && can_be_shallow {
            Shallow::DepthAtRemote(std::num::NonZeroU32::MIN)
        } else {
            Shallow::NoChange
        };
        self.meter.left.store(self.limits.git_bytes, Ordering::Relaxed);
        let meter = self.meter.clone();
        let limits = self.limits.clone();
        // Few bytes may stand for many: taking them apart ends with the time, too.
        let interrupt = Arc::new(AtomicBool::new(false));
        let armed = self.alarm.arm(&interrupt, &meter, &limits);
        let mut bundle = None;
        let fetched = gix_protocol::fetch(
            &mut Everything(wants.to_vec()),
            |pack, _, interrupt| {
                bundle = index(pack, folder, &limits, &meter, interrupt)?;
                Ok(true)
            },
            Discard,
            &interrupt,
            fetch::Context {
                handshake: &mut self.handshake,
                transport: &mut self.transport,
                user_agent: agent(),
                trace_packetlines: false,
            },
            fetch::Options {
                shallow_file: folder.join("shallow"),
                shallow: &shallow,
                tags: Tags::None,
                reject_shallow_remote: false,
            },
        );
        drop(armed);
        fetched.map_err(|error| self.meter.explain(&self.place, &error))?;
        // A server need not hear the end.
        let _ = gix_protocol::indicate_end_of_interaction(&mut self.transport, false);
        bundle.ok_or_else(|| Fault::absent(format!("The git server of {} sends nothing.", self.place)))
    }
}

/// Writes a pack that comes in, with an index of its objects. All of them are looked at, so that none is larger than it may.
fn index(
    pack: &mut dyn BufRead,
    folder: &Path,
    limits: &Limits,
    meter: &Meter,
    interrupt: &AtomicBool,
) -> gix_error::Result<Option<gix_pack::Bundle>> {
    use gix_error::ErrorExt;
    let raise = |error: io::Error| -> gix_error::Error { error.raise() };
    let mut header = [0; 12];
    pack.read_exact(&mut header).map_err(raise)?;
    let [.., a, b, c, d] = header;
    let objects = u64::from(u32::from_be_bytes([a, b, c, d]));
    if objects > limits.git_objects {
        let limit = limits.git_objects;
        return Err(raise(meter.fail(Fault::refused(format!(
            "The git server sends {objects} objects; the limit is {limit}."
        )))));
    }
    let largest = usize::try_from(limits.file_bytes).unwrap_or(usize::MAX);
    let options = gix_pack::bundle::write::Options {
        thread_limit: Some(1),
        alloc_limit_bytes: Some(largest),
        ..Default::default()
    };
    let written = gix_pack::Bundle::write_to_directory(
        &mut (&header[..]).chain(pack),
        Some(folder),
        &mut Discard,
        interrupt,
        None::<gix_object::find::Never>,
        gix_hash::Kind::Sha1,
        options,
    );
    let written = written.inspect_err(|error| {
        if error.is_resource_exhausted() {
            let limit = bytes(limits.file_bytes);
            meter.fail(Fault::refused(format!(
                "The git server sends an object of more than {limit}, which is the limit for one file."
            )));
        }
    })?;
    written.to_bundle().transpose()
}

/// Asks for objects of which nothing is there yet.
struct Everything(Vec<ObjectId>);

impl Negotiate for Everything {
    fn mark_complete_and_common_ref(&mut self) -> gix_error::Result<negotiate::Action> {
        Ok(negotiate::Action::MustNegotiate {
            remote_ref_target_known: Vec::new(),
        })
    }

    fn add_wants(&mut self, arguments: &mut Arguments, _: &[bool]) -> bool {
        for id in &self.0 {
            arguments.want(id);
        }
        !self.0.is_empty()
    }

    fn one_round(
        &mut self,
        _: &mut negotiate::one_round::State,
        _: &mut Arguments,
        _: Option<&fetch::Response>,
    ) -> gix_error::Result<(negotiate::Round, bool)> {
        let round = negotiate::Round {
            haves_sent: 0,
            in_vain: 0,
            haves_to_send: 0,
            previous_response_had_at_least_one_in_common: false,
        };
        Ok((round, true))
    }
}

fn ours(theirs: TheirRef) -> Option<Ref> {
    let (name, id, peeled) = theirs.unpack();
    Some(Ref {
        name: name.to_string(),
        id: id?.to_owned(),
        peeled: peeled.map(ToOwned::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sha1::{Digest, Sha1};

    use super::*;

    /// A pack of few bytes that unfolds to many: one blob, and objects that are the same as the one before, by its whole
    /// length.
    fn bomb(deltas: u32) -> Vec<u8> {
        const SIZE: usize = 0xff_ffff;
        let deflated = |bytes: &[u8]| {
            let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            io::Write::write_all(&mut packed, bytes).unwrap();
            packed.finish().unwrap()
        };
        let mut pack = b"PACK\0\0\0\x02".to_vec();
        pack.extend((deltas + 1).to_be_bytes());
        let mut last = pack.len();
        // Kind and size: four bits of that, then seven each.
        pack.extend([0xbf, 0xff, 0xff, 0x3f]);
        pack.extend(deflated(&vec![
            0;
            (0x3f << 18) + (0x7f << 11) + (0x7f << 4) + 0xf
        ]));
        assert_eq!((0x3f << 18) + (0x7f << 11) + (0x7f << 4) + 0xf, SIZE);
        // From a size to the same size: a copy from the beginning.
        let delta = deflated(&[
            0xff, 0xff, 0xff, 0x07, 0xff, 0xff, 0xff, 0x07, 0xf0, 0xff, 0xff, 0xff,
        ]);
        for _ in 0..deltas {
            let at = pack.len();
            pack.push(0x6c);
            let mut back = at - last;
            let mut digits = vec![(back & 0x7f) as u8];
            while back > 0x7f {
                back = (back >> 7) - 1;
                digits.insert(0, 0x80 | (back & 0x7f) as u8);
            }
            pack.extend(digits);
            pack.extend(&delta);
            last = at;
        }
        let sum = Sha1::digest(&pack);
        pack.extend(sum);
        pack
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_unfolds_without_an_end_ends_with_the_time() {
        let index = |deltas: u32, time: Duration| {
            let alarm = Alarm {
                handle: Handle::current(),
                deadline: Instant::now() + time,
            };
            let folder = tempfile::tempdir().unwrap();
            let (flag, meter, limits) = (Arc::default(), Meter::new(), Limits::default());
            let _armed = alarm.arm(&flag, &meter, &limits);
            let pack = bomb(deltas);
            let done =
                tokio::task::block_in_place(|| index(&mut &pack[..], folder.path(), &limits, &meter, &flag));
            done.map(|bundle| bundle.is_some())
                .map_err(|error| meter.explain("r", &error).text)
        };
        // It is sound, but for its size.
        assert_eq!(index(2, Duration::from_secs(60)), Ok(true));
        let began = Instant::now();
        let told = index(100_000, Duration::from_millis(500)).unwrap_err();
        assert!(told.contains("took longer"), "{told}");
        assert!(began.elapsed() < Duration::from_secs(20));
    }

    #[tokio::test]
    async fn an_alarm_rings_when_the_time_is_over_and_not_if_it_is_dropped() {
        let alarm = Alarm {
            handle: Handle::current(),
            deadline: Instant::now() + Duration::from_millis(20),
        };
        let ring = |wait: Duration| {
            let (flag, meter) = (Arc::new(AtomicBool::new(false)), Meter::new());
            let armed = alarm.arm(&flag, &meter, &Limits::default());
            async move {
                tokio::time::sleep(wait).await;
                drop(armed);
                tokio::time::sleep(Duration::from_millis(60)).await;
                let fault = meter.explain("r", &io::Error::other("x"));
                (flag.load(Ordering::Relaxed), fault.text.contains("took longer"))
            }
        };
        assert_eq!(ring(Duration::ZERO).await, (false, false));
        assert_eq!(ring(Duration::from_millis(60)).await, (true, true));
    }
}
