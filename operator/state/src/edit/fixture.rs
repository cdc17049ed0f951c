//! Small states for tests of changes to them.

use ashlar_addr::{Module, Provider, ProviderConfig, ResourceInstance, Target};

use crate::{Object, State, Status};

/// A state with an object at each of the addresses, of the provider that its type implies.
pub(crate) fn state(addresses: &[&str]) -> State {
    let mut state = State::default();
    for text in addresses {
        let address: ResourceInstance = text.parse().unwrap();
        let provider = ProviderConfig {
            module: Module::root(),
            provider: Provider::implied(address.resource.resource.implied_provider()),
            alias: None,
            key: ashlar_addr::InstanceKey::None,
        };
        let object = Object {
            schema_version: 0,
            attributes: format!("{{\"id\":\"{}\"}}", text.replace('"', "'"))
                .into_bytes()
                .into(),
            sensitive: Vec::new(),
            private: Default::default(),
            status: Status::Ready,
            dependencies: Default::default(),
            create_before_destroy: false,
            skip_destroy: false,
            identity: None,
        };
        state.set(&address, None, &provider, Some(object.into()));
    }
    state
}

pub(crate) fn target(text: &str) -> Target {
    text.parse().unwrap()
}

/// All addresses of a state.
pub(crate) fn shown(state: &State) -> String {
    let addresses: Vec<String> = state.objects().map(|(address, ..)| address.to_string()).collect();
    addresses.join(" ")
}
