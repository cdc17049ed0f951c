//! HTTP for whoever else fetches (the packages of providers), under the same guards as all fetching: see `http`.
//!
//! Here a server that has too much to do is asked again, as often as was said and no sooner than it wants. A server that
//! is not there is not: whoever is offline is told so at once.

use std::{
    fmt,
    time::{Duration, Instant, SystemTime},
};

use http::{HeaderValue, StatusCode, header};

use crate::{
    address::Address,
    credentials::{Keyring, Wallet},
    discovery::{Service, discover},
    fault::Fault,
    http::{Answer, Ask, Web},
    limits::Limits,
    reach::Reach,
};

/// Longest wait that a server may ask for; who wants more is not asked again.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Wait where it says nothing.
const WAIT: Duration = Duration::from_secs(1);

const PROVIDERS: Service = Service {
    id: "providers.v1",
    what: "provider registry",
};

/// An HTTP client with what it shows to whom. Cheap to clone; needs a Tokio runtime with IO and time.
#[derive(Clone)]
pub struct Client {
    pub(crate) web: Web,
    pub(crate) ring: Keyring,
    retries: u32,
}

/// A place on a server, with what is shown there and nowhere else.
#[derive(Clone)]
pub struct Endpoint {
    address: Address,
    wallet: Wallet,
}

/// Without what may be a secret.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({})", self.address)
    }
}

/// What a server answers.
pub struct Reply {
    answer: Answer,
    wallet: Wallet,
    ring: Keyring,
}

impl Client {
    /// One that reaches what it may, within limits: those of size are for a package.
    pub fn new(limits: Limits, reach: Reach, ring: Keyring) -> Result<Self, Fault> {
        Ok(Self {
            web: Web::new(reach, limits)?,
            ring,
            retries: 1,
        })
    }

    /// How often a server that has too much to do is asked again.
    #[must_use]
    pub fn with_retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// The same with another time for all that begins.
    #[must_use]
    pub fn with_time(&self, time: Duration) -> Self {
        let mut own = self.clone();
        own.web.limits.time = time.min(own.web.limits.time);
        own
    }

    /// Until when something that begins now must be done.
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.web.limits.time
    }

    /// Where a host has its registry of providers.
    pub async fn provider_registry(&self, host: &str, deadline: Instant) -> Result<Endpoint, Fault> {
        let (address, wallet) = discover(&self.web, &self.ring, host, PROVIDERS, deadline).await?;
        Ok(Endpoint { address, wallet })
    }

    /// An address at which the token of its host is shown.
    pub fn endpoint(&self, url: &str) -> Result<Endpoint, Fault> {
        let address = Address::parse(url)?;
        let wallet = Wallet::place(&address, self.ring.of_registry(&address));
        Ok(Endpoint { address, wallet })
    }

    /// Asks for what is there. Any status is an answer.
    pub async fn get(
        &self,
        endpoint: &Endpoint,
        accept: &'static str,
        deadline: Instant,
    ) -> Result<Reply, Fault> {
        let mut left = self.retries;
        loop {
            let ask = Ask::get(deadline).with(header::ACCEPT, accept);
            let answer = self.web.send(&endpoint.address, &endpoint.wallet, ask).await?;
            let wait = wait_of(&answer).filter(|wait| Instant::now() + *wait < deadline);
            match wait {
                Some(wait) if left > 0 => {
                    left -= 1;
                    drop(answer);
                    tokio::time::sleep(wait).await;
                }
                _ => {
                    return Ok(Reply {
                        answer,
                        wallet: endpoint.wallet.clone(),
                        ring: self.ring.clone(),
                    });
                }
            }
        }
    }
}

impl Endpoint {
    /// What lies below it.
    pub fn join(&self, path: &str) -> Result<Self, Fault> {
        Ok(Self {
            address: self.address.join(path)?,
            wallet: self.wallet.clone(),
        })
    }

    /// Is all that goes there encrypted?
    pub fn is_encrypted(&self) -> bool {
        self.address.scheme == "https"
    }
}

impl Reply {
    /// The status.
    pub fn status(&self) -> u16 {
        self.answer.status.as_u16()
    }

    /// Did it go well?
    pub fn is_success(&self) -> bool {
        self.answer.status.is_success()
    }

    /// Where it came from in the end, without what may be a secret.
    pub fn address(&self) -> String {
        self.answer.address.to_string()
    }

    /// What it calls its content, without parameters.
    pub fn content_type(&self) -> Option<&str> {
        let value = self.answer.headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        value.split(';').next().map(str::trim)
    }

    /// The place that the answer names. What was shown to the server that answers is shown there if it is the same one;
    /// elsewhere what a person has for that place, but no registry's token.
    pub fn names(&self, text: &str) -> Result<Endpoint, Fault> {
        let address = self.answer.address.join(text)?;
        if !matches!(&*address.scheme, "http" | "https") {
            return Err(Fault::refused(format!(
                "{} names {address}, which is fetched neither by HTTP nor by HTTPS.",
                self.answer.address
            )));
        }
        let wallet = if address.origin() == self.answer.address.origin() {
            self.wallet.clone()
        } else {
            Wallet::Ring(self.ring.clone())
        };
        Ok(Endpoint { address, wallet })
    }

    /// A small body as a whole.
    pub async fn small(&mut self, most: usize) -> Result<Vec<u8>, Fault> {
        self.answer.small(most).await
    }

    /// A package, into a file. Fewer bytes than were promised are a fault.
    pub async fn save(&mut self, file: &mut std::fs::File) -> Result<(), Fault> {
        self.answer.save(file).await
    }

    /// What a status that is no success means.
    pub fn failure(&self) -> Fault {
        let fault = self.answer.failure();
        match retry_after(&self.answer) {
            Some(wait) if wait > LONGEST_WAIT => Fault {
                text: format!(
                    "{} It wants to be asked again in {} seconds.",
                    fault.text,
                    wait.as_secs()
                ),
                ..fault
            },
            _ => fault,
        }
    }
}

/// How long to wait before the same is asked again; `None` where that is of no use.
fn wait_of(answer: &Answer) -> Option<Duration> {
    let busy = answer.status == StatusCode::TOO_MANY_REQUESTS
        || (answer.status.is_server_error() && answer.status != StatusCode::NOT_IMPLEMENTED);
    let wait = retry_after(answer).unwrap_or(WAIT);
    (busy && wait <= LONGEST_WAIT).then_some(wait)
}

fn retry_after(answer: &Answer) -> Option<Duration> {
    let busy = matches!(
        answer.status,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    );
    let value = answer.headers.get(header::RETRY_AFTER).filter(|_| busy)?;
    seconds(value, SystemTime::now())
}

/// Reads `Retry-After`: a number of seconds, or a time.
fn seconds(value: &HeaderValue, now: SystemTime) -> Option<Duration> {
    let text = value.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let time = jiff::fmt::rfc2822::parse(text).ok()?;
    let time = SystemTime::from(time.timestamp());
    Some(time.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read() {
        let check = |text: &'static str, want: Option<u64>| {
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_767);
            let got = seconds(&HeaderValue::from_static(text), now);
            assert_eq!(got.map(|wait| wait.as_secs()), want, "{text}");
        };
        check("3", Some(3));
        check("Sun, 06 Nov 1994 08:49:37 GMT", Some(10));
        check("Sun, 06 Nov 1994 08:49:17 GMT", Some(0));
        check("soon", None);
        check("-1", None);
    }
}
