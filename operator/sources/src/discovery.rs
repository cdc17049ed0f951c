//! Service discovery: where a host has its registries.
//!
//! Source: Terraform's description of remote service discovery. What a person says of a host (`host` in the CLI
//! configuration) stands for what the host itself would say; the host is not asked then.

use std::{collections::BTreeMap, time::Instant};

use http::header;

use crate::{
    address::Address,
    credentials::{Keyring, Wallet},
    fault::{Fault, FaultKind},
    http::{Ask, Web},
};

/// Largest list of services.
const LARGEST: usize = 1 << 20;

/// A service that hosts offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    /// As hosts name it: `modules.v1`.
    pub(crate) id: &'static str,
    /// For people.
    pub(crate) what: &'static str,
}

/// Where a host has a service, with what is shown there: the host's own token is for the place that the host names.
pub(crate) async fn discover(
    web: &Web,
    ring: &Keyring,
    host: &str,
    service: Service,
    deadline: Instant,
) -> Result<(Address, Wallet), Fault> {
    let Service { id, what } = service;
    let place = Address::parse(&format!("https://{host}/.well-known/terraform.json"))?;
    let credentials = ring.of_registry(&place);
    let missing = || Fault::absent(format!("{host} offers no {what} ({id})."));
    let (services, from, told) = match ring.services_of(host) {
        Some(services) => (services.clone(), place, false),
        None => {
            let ask = Ask::get(deadline).with(header::ACCEPT, "application/json");
            let mut answer = web
                .send(&place, &Wallet::place(&place, credentials.clone()), ask)
                .await?;
            if !answer.status.is_success() {
                let fault = answer.failure();
                return Err(match fault.kind {
                    FaultKind::Absent => {
                        Fault::absent(format!("{host} offers no {what} ({place} is not there)."))
                    }
                    _ => fault,
                });
            }
            let body = answer.small(LARGEST).await?;
            (
                services_in(&body).ok_or_else(missing)?,
                answer.address.clone(),
                true,
            )
        }
    };
    let named = services.get(id).ok_or_else(missing)?;
    let mut base = from.join(named)?;
    // Whoever names a place without encryption by hand knows it; nothing is shown there.
    if base.scheme != "https" && (told || base.scheme != "http") {
        return Err(Fault::refused(format!(
            "{host} names a {what} that is not encrypted: {base}."
        )));
    }
    if !base.path.ends_with('/') {
        base.path.push('/');
    }
    let wallet = match &*base.scheme {
        "https" => Wallet::place(&base, credentials),
        _ => Wallet::place(&base, Default::default()),
    };
    Ok((base, wallet))
}

/// The services with an address; there are others.
fn services_in(body: &[u8]) -> Option<BTreeMap<String, String>> {
    let body: BTreeMap<String, serde_json::Value> = serde_json::from_slice(body).ok()?;
    let address = |(id, value): (String, serde_json::Value)| Some((id, value.as_str()?.to_owned()));
    Some(body.into_iter().filter_map(address).collect())
}
