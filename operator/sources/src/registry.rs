//! Registries of modules: which versions there are, and where the package of one is.
//!
//! Source: Terraform's description of the protocol for module registries and of service discovery.

use ashlar_addr::{Constraints, Version};
use ashlar_config::source::{RegistryModule, RemotePackage};
use http::header;
use serde::Deserialize;

use crate::{
    address::Address,
    credentials::Wallet,
    discovery::{Service, discover},
    fault::Fault,
    http::{Answer, Ask},
    module::{ModuleFault, Summary},
    package::{Package, has_scheme, location_of},
};

/// Largest answer: some modules have thousands of versions.
const LARGEST: usize = 16 << 20;

const MODULES: Service = Service {
    id: "modules.v1",
    what: "module registry",
};

/// A registry that was found.
pub(crate) struct Registry<'p> {
    package: &'p Package<'p>,
    base: Address,
    /// The host's token is for the place that the host itself names.
    wallet: Wallet,
}

impl<'p> Registry<'p> {
    /// Asks a host where its registry of modules is.
    pub(crate) async fn discover(package: &'p Package<'p>, host: &str) -> Result<Self, ModuleFault> {
        let found = Self::find(package, host).await;
        found.map_err(|fault| ModuleFault::new(Summary::Inaccessible, fault))
    }

    async fn find(package: &'p Package<'p>, host: &str) -> Result<Self, Fault> {
        let (web, ring) = (&package.fetcher.web, package.ring);
        let (base, wallet) = discover(web, ring, host, MODULES, package.deadline).await?;
        Ok(Self {
            package,
            base,
            wallet,
        })
    }

    async fn get(&self, module: &RegistryModule, what: &str) -> Result<Answer, Fault> {
        let RegistryModule {
            namespace,
            name,
            system,
            ..
        } = module;
        // All of these are plain names, without anything to be encoded but a version's plus sign.
        let what = what.replace('+', "%2B");
        let address = self.base.join(&format!("{namespace}/{name}/{system}/{what}"))?;
        ask(self.package, &address, &self.wallet).await
    }

    /// The newest version that fits.
    pub(crate) async fn choose(
        &self,
        module: &RegistryModule,
        constraints: &Constraints,
    ) -> Result<Version, ModuleFault> {
        #[derive(Deserialize)]
        struct Versions {
            #[serde(default)]
            modules: Vec<Listed>,
        }
        #[derive(Deserialize)]
        struct Listed {
            #[serde(default)]
            versions: Vec<Named>,
        }
        #[derive(Deserialize)]
        struct Named {
            version: String,
        }
        let host = &module.host;
        let inaccessible = |fault: Fault| ModuleFault::new(Summary::Inaccessible, fault);
        let mut answer = self.get(module, "versions").await.map_err(inaccessible)?;
        if answer.status == http::StatusCode::NOT_FOUND {
            let text = format!(
                "The module {} is not in the registry at {host}, or is not shown to these credentials.",
                name(module)
            );
            return Err(ModuleFault::new(Summary::NotFound, Fault::absent(text)));
        }
        if !answer.status.is_success() {
            return Err(inaccessible(answer.failure()));
        }
        let body = answer.small(LARGEST).await.map_err(inaccessible)?;
        let invalid = || {
            let text = format!(
                "The registry at {host} sends a list of versions of {} that cannot be read.",
                name(module)
            );
            ModuleFault::new(Summary::InvalidResponse, Fault::refused(text))
        };
        let listed: Versions = serde_json::from_slice(&body).map_err(|_| invalid())?;
        // More may be told of what the module itself calls; that is the first.
        let listed = listed.modules.into_iter().next().ok_or_else(invalid)?;
        let mut versions: Vec<Version> = listed
            .versions
            .iter()
            .filter_map(|one| one.version.parse().ok())
            .collect();
        // A pre-release counts only where it is asked for exactly.
        versions.retain(|version| !version.is_prerelease() || constraints.allow(version));
        let newest = versions.iter().max().cloned().ok_or_else(|| {
            let text = format!(
                "The registry at {host} has no version of the module {}.",
                name(module)
            );
            ModuleFault::new(Summary::NoVersions, Fault::absent(text))
        })?;
        versions
            .into_iter()
            .filter(|version| constraints.allow(version))
            .max()
            .ok_or_else(|| {
                let text = format!(
                    "The registry at {host} has no version of the module {} that meets {constraints}. The newest one is {newest}.",
                    name(module)
                );
                ModuleFault::new(Summary::NoneFits, Fault::absent(text))
            })
    }

    /// Where the package of a version is.
    pub(crate) async fn locate(
        &self,
        module: &RegistryModule,
        version: &Version,
    ) -> Result<RemotePackage, ModuleFault> {
        let inaccessible = |fault: Fault| ModuleFault::new(Summary::Inaccessible, fault);
        let what = format!("{version}/download");
        let mut answer = self.get(module, &what).await.map_err(inaccessible)?;
        if !answer.status.is_success() {
            return Err(inaccessible(answer.failure()));
        }
        let header = answer
            .headers
            .get("x-terraform-get")
            .and_then(|value| value.to_str().ok());
        let location = match header {
            Some(location) => location.to_owned(),
            // Newer registries may say it in the body.
            None => {
                #[derive(Deserialize)]
                struct Body {
                    location: String,
                }
                let body = answer.small(LARGEST).await.map_err(inaccessible)?;
                serde_json::from_slice::<Body>(&body)
                    .map(|body| body.location)
                    .unwrap_or_default()
            }
        };
        if location.is_empty() {
            let text = format!(
                "The registry at {} does not say where {} {version} is.",
                module.host,
                name(module)
            );
            return Err(inaccessible(Fault::absent(text)));
        }
        let invalid = |fault| ModuleFault::new(Summary::InvalidLocation, fault);
        let package = location_of(&location, &answer.address).map_err(invalid)?;
        if has_scheme(&package, "http") {
            let text = format!(
                "The registry at {} names a package whose address is not encrypted.",
                module.host
            );
            return Err(invalid(Fault::refused(text)));
        }
        Ok(package)
    }
}

async fn ask(package: &Package<'_>, address: &Address, wallet: &Wallet) -> Result<Answer, Fault> {
    let ask = Ask::get(package.deadline).with(header::ACCEPT, "application/json");
    package.fetcher.web.send(address, wallet, ask).await
}

/// Without its folder.
fn name(module: &RegistryModule) -> String {
    let RegistryModule {
        namespace,
        name,
        system,
        ..
    } = module;
    format!("{namespace}/{name}/{system}")
}
