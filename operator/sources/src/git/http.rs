//! Git over HTTP: what the protocol needs of HTTP, on top of this crate's own client.
//!
//! The protocol's library blocks; it runs on a thread for that, from which requests are handed to the runtime.

use std::{
    io::{self, BufRead, Cursor, Read, Write},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use bytes::{Buf, Bytes};
use gix_error::{ErrorExt, Result};
use gix_transport::{
    Protocol,
    client::blocking_io::{
        Transport,
        http::{GetResponse, Http, PostBodyDataKind, PostResponse, Transport as HttpTransport},
    },
};
use http::{HeaderName, HeaderValue, Method};
use tokio::runtime::Handle;

use crate::{
    address::Address,
    credentials::Wallet,
    fault::Fault,
    git::remote::Meter,
    http::{Answer, Ask, Web},
};

/// A transport to a repository.
pub(crate) fn transport(
    web: &Web,
    wallet: &Wallet,
    address: &Address,
    deadline: Instant,
    handle: &Handle,
    meter: &Meter,
) -> std::result::Result<Box<dyn Transport + Send>, Fault> {
    let client = Connection {
        web: web.clone(),
        wallet: wallet.clone(),
        account: address.clone(),
        deadline,
        handle: handle.clone(),
        meter: meter.clone(),
        base: None,
    };
    let plain = Address {
        user: None,
        password: None,
        ..address.clone()
    };
    let url = gix_url::parse(gix_error::bstr::BStr::new(&plain.without_account()))
        .map_err(|_| Fault::asked(format!("{address} is not the address of a git repository.")))?;
    Ok(Box::new(HttpTransport::new_http(
        client,
        url,
        Protocol::V2,
        false,
    )))
}

struct Connection {
    web: Web,
    wallet: Wallet,
    /// The address with the account that it may carry, for the place that it is for.
    account: Address,
    deadline: Instant,
    handle: Handle,
    meter: Meter,
    /// Where a redirect led.
    base: Option<String>,
}

impl Connection {
    fn ask(&self, method: Method, headers: impl IntoIterator<Item = impl AsRef<str>>) -> Ask {
        let mut ask = Ask::get(self.deadline);
        ask.method = method;
        for line in headers {
            if let Some((name, value)) = line.as_ref().split_once(':')
                && let Ok(name) = HeaderName::from_bytes(name.as_bytes())
                && let Ok(value) = HeaderValue::from_str(value.trim())
            {
                ask.headers.insert(name, value);
            }
        }
        ask
    }

    fn address(&self, url: &str) -> std::result::Result<Address, Fault> {
        let mut address = Address::parse(url)?;
        if address.origin() == self.account.origin() {
            address.user.clone_from(&self.account.user);
            address.password.clone_from(&self.account.password);
        }
        Ok(address)
    }

    fn get_now(&mut self, url: &str, base: &str, ask: Ask) -> std::result::Result<Answer, Fault> {
        let address = self.address(url)?;
        let answer = self.handle.block_on(self.web.send(&address, &self.wallet, ask))?;
        if !answer.status.is_success() {
            return Err(answer.failure());
        }
        let (end, tail) = (
            answer.address.without_account(),
            url.strip_prefix(base).unwrap_or(url),
        );
        if end != address.without_account() {
            let base = end.strip_suffix(tail).ok_or_else(|| {
                Fault::refused(format!(
                    "{address} redirects to {}, which is no git repository.",
                    answer.address
                ))
            })?;
            self.base = Some(base.to_owned());
        }
        Ok(answer)
    }
}

impl Http for Connection {
    type Headers = Headers;
    type ResponseBody = Body;
    type PostBody = Outgoing;

    fn get(
        &mut self,
        url: &str,
        base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<GetResponse<Headers, Body>> {
        let ask = self.ask(Method::GET, headers);
        let answer = self
            .get_now(url, base_url, ask)
            .map_err(|fault| self.meter.fail(fault).raise())?;
        let exchange = Exchange::answered(answer, &self.handle, &self.meter);
        Ok(GetResponse {
            headers: Headers(exchange.clone(), None),
            body: Body(exchange, Bytes::new()),
        })
    }

    fn post(
        &mut self,
        url: &str,
        _: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
        _: PostBodyDataKind,
    ) -> Result<PostResponse<Headers, Body, Outgoing>> {
        let ask = self.ask(Method::POST, headers);
        let address = self
            .address(url)
            .map_err(|fault| self.meter.fail(fault).raise())?;
        let exchange = Exchange {
            state: Arc::new(Mutex::new(State::Asking(Box::new(Asking {
                address,
                ask,
                body: Vec::new(),
            })))),
            web: Some((self.web.clone(), self.wallet.clone())),
            handle: self.handle.clone(),
            meter: self.meter.clone(),
        };
        Ok(PostResponse {
            post_body: Outgoing(exchange.clone()),
            headers: Headers(exchange.clone(), None),
            body: Body(exchange, Bytes::new()),
        })
    }

    fn configure(&mut self, _: &dyn std::any::Any) -> Result {
        Ok(())
    }

    fn redirected_base_url(&self) -> Option<String> {
        self.base.clone()
    }
}

/// A request and its answer, shared by those who write the one and read the other.
#[derive(Clone)]
struct Exchange {
    state: Arc<Mutex<State>>,
    web: Option<(Web, Wallet)>,
    handle: Handle,
    meter: Meter,
}

enum State {
    /// Is being written; sent once somebody reads.
    Asking(Box<Asking>),
    Answered(Box<Answer>),
    Over,
}

struct Asking {
    address: Address,
    ask: Ask,
    body: Vec<u8>,
}

impl Exchange {
    fn answered(answer: Answer, handle: &Handle, meter: &Meter) -> Self {
        Self {
            state: Arc::new(Mutex::new(State::Answered(Box::new(answer)))),
            web: None,
            handle: handle.clone(),
            meter: meter.clone(),
        }
    }

    fn with<T>(
        &self,
        act: impl FnOnce(&mut Answer) -> std::result::Result<T, Fault>,
        none: T,
    ) -> io::Result<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Asking(asking) = &mut *state
            && let Some((web, wallet)) = &self.web
        {
            let Asking { address, ask, body } = &mut **asking;
            ask.body = std::mem::take(body).into();
            // Only the first request of a conversation is redirected.
            let answer = self.handle.block_on(web.send_once(address, wallet, ask));
            let answer = answer.and_then(|answer| {
                if answer.status.is_success() {
                    Ok(answer)
                } else {
                    Err(answer.failure())
                }
            });
            match answer {
                Ok(answer) => *state = State::Answered(Box::new(answer)),
                Err(fault) => {
                    *state = State::Over;
                    return Err(self.meter.fail(fault));
                }
            }
        }
        match &mut *state {
            State::Answered(answer) => act(answer).map_err(|fault| self.meter.fail(fault)),
            _ => Ok(none),
        }
    }
}

/// The body of a request.
struct Outgoing(Exchange);

impl Write for Outgoing {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Asking(asking) = &mut *state {
            asking.body.extend_from_slice(data);
        }
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The headers of an answer, as lines.
struct Headers(Exchange, Option<Cursor<Vec<u8>>>);

impl Headers {
    fn lines(&mut self) -> io::Result<&mut Cursor<Vec<u8>>> {
        if self.1.is_none() {
            let list = |answer: &mut Answer| {
                let mut text = Vec::new();
                for (name, value) in &answer.headers {
                    text.extend_from_slice(name.as_str().as_bytes());
                    text.extend_from_slice(b": ");
                    text.extend_from_slice(value.as_bytes());
                    text.push(b'\n');
                }
                Ok(text)
            };
            self.1 = Some(Cursor::new(self.0.with(list, Vec::new())?));
        }
        Ok(self.1.get_or_insert_default())
    }
}

impl Read for Headers {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.lines()?.read(buffer)
    }
}

impl BufRead for Headers {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.lines()?.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        if let Some(lines) = &mut self.1 {
            lines.consume(count);
        }
    }
}

/// The body of an answer.
struct Body(Exchange, Bytes);

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Body {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.1.is_empty() {
            let Exchange { handle, .. } = &self.0;
            let next = self.0.with(|answer| handle.block_on(answer.chunk()), None)?;
            self.1 = next.unwrap_or_default();
            self.0.meter.count(self.1.len() as u64)?;
        }
        Ok(&self.1)
    }

    fn consume(&mut self, count: usize) {
        self.1.advance(count.min(self.1.len()));
    }
}
