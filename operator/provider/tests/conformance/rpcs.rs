//! The calls of the protocol, read from `proto/`, beside where each is exercised: a call that is added there and not
//! here fails the suite.

use std::{collections::BTreeSet, path::Path};

use crate::{bench::Bench, drive::drive, harness::cases, model::Script};

/// A call that we make.
pub(crate) struct Rpc {
    /// Its name in generation 6, by which it goes here.
    pub(crate) six: &'static str,
    pub(crate) five: &'static str,
    /// What `kiln` and `kilnv5` note of it in their operations, or why they have no such thing.
    pub(crate) kiln: Real,
    pub(crate) kilnv5: Real,
}

/// How a call is seen at a real provider. With the model every call is seen, in both generations.
#[derive(Clone, Copy)]
pub(crate) enum Real {
    /// It is noted by these names.
    Noted(&'static [&'static str]),
    /// It is asked, and shows by its answer alone.
    Shown,
    /// The provider does not have it.
    Lacks,
}

use Real::{Lacks, Noted, Shown};

const fn rpc(six: &'static str, five: &'static str, kiln: Real, kilnv5: Real) -> Rpc {
    Rpc {
        six,
        five,
        kiln,
        kilnv5,
    }
}

const CHANGES: Real = Noted(&["create", "update", "delete"]);
const PLANS: Real = Noted(&["plan_create", "plan_update", "plan_delete"]);
/// The old SDK plans no deletion.
const PLANS_OF_OLD: Real = Noted(&["plan_create", "plan_update"]);

/// Every call that we make, once.
#[rustfmt::skip]
pub(crate) const CALLS: &[Rpc] = &[
    rpc("GetProviderSchema", "GetSchema", Shown, Shown),
    rpc("GetResourceIdentitySchemas", "GetResourceIdentitySchemas", Shown, Shown),
    rpc("ValidateProviderConfig", "PrepareProviderConfig", Noted(&["validate_provider"]), Noted(&["validate_provider"])),
    rpc("ConfigureProvider", "Configure", Noted(&["configure"]), Noted(&["configure"])),
    rpc("ValidateResourceConfig", "ValidateResourceTypeConfig", Noted(&["validate"]), Noted(&["validate"])),
    rpc("ValidateDataResourceConfig", "ValidateDataSourceConfig", Noted(&["validate_data"]), Noted(&["validate_data"])),
    rpc("ValidateEphemeralResourceConfig", "ValidateEphemeralResourceConfig", Noted(&["validate_ephemeral"]), Lacks),
    rpc("OpenEphemeralResource", "OpenEphemeralResource", Noted(&["open"]), Lacks),
    rpc("RenewEphemeralResource", "RenewEphemeralResource", Noted(&["renew"]), Lacks),
    rpc("CloseEphemeralResource", "CloseEphemeralResource", Noted(&["close"]), Lacks),
    rpc("ValidateActionConfig", "ValidateActionConfig", Noted(&["validate_action"]), Noted(&["validate_action"])),
    rpc("PlanAction", "PlanAction", Noted(&["plan_action"]), Noted(&["plan_action"])),
    rpc("InvokeAction", "InvokeAction", Noted(&["invoke"]), Noted(&["invoke"])),
    rpc("ValidateListResourceConfig", "ValidateListResourceConfig", Noted(&["validate_list"]), Lacks),
    rpc("ListResource", "ListResource", Noted(&["list"]), Lacks),
    rpc("UpgradeResourceState", "UpgradeResourceState", Noted(&["upgrade"]), Noted(&["upgrade"])),
    rpc("UpgradeResourceIdentity", "UpgradeResourceIdentity", Shown, Shown),
    rpc("MoveResourceState", "MoveResourceState", Noted(&["move"]), Noted(&["move"])),
    rpc("ImportResourceState", "ImportResourceState", Noted(&["import"]), Noted(&["import"])),
    rpc("GenerateResourceConfig", "GenerateResourceConfig", Lacks, Shown),
    rpc("ReadResource", "ReadResource", Noted(&["read"]), Noted(&["read"])),
    rpc("PlanResourceChange", "PlanResourceChange", PLANS, PLANS_OF_OLD),
    rpc("ApplyResourceChange", "ApplyResourceChange", CHANGES, CHANGES),
    rpc("ReadDataSource", "ReadDataSource", Noted(&["read_data"]), Noted(&["read_data"])),
    rpc("CallFunction", "CallFunction", Noted(&["function"]), Lacks),
    rpc("StopProvider", "Stop", Noted(&["stop"]), Noted(&["stop"])),
];

/// Every call of protocol 6.10, which is that of Terraform 1.15.5.
const SIX: [&str; 36] = [
    "GetMetadata",
    "GetProviderSchema",
    "ValidateProviderConfig",
    "ValidateResourceConfig",
    "ValidateDataResourceConfig",
    "UpgradeResourceState",
    "GetResourceIdentitySchemas",
    "UpgradeResourceIdentity",
    "ConfigureProvider",
    "ReadResource",
    "PlanResourceChange",
    "ApplyResourceChange",
    "ImportResourceState",
    "MoveResourceState",
    "ReadDataSource",
    "GenerateResourceConfig",
    "ValidateEphemeralResourceConfig",
    "OpenEphemeralResource",
    "RenewEphemeralResource",
    "CloseEphemeralResource",
    "ListResource",
    "ValidateListResourceConfig",
    "GetFunctions",
    "CallFunction",
    "ValidateStateStoreConfig",
    "ConfigureStateStore",
    "ReadStateBytes",
    "WriteStateBytes",
    "LockState",
    "UnlockState",
    "GetStates",
    "DeleteState",
    "PlanAction",
    "InvokeAction",
    "ValidateActionConfig",
    "StopProvider",
];

/// Every call of protocol 5.10, which is that of Terraform 1.15.5.
const FIVE: [&str; 28] = [
    "GetMetadata",
    "GetSchema",
    "PrepareProviderConfig",
    "ValidateResourceTypeConfig",
    "ValidateDataSourceConfig",
    "UpgradeResourceState",
    "GetResourceIdentitySchemas",
    "UpgradeResourceIdentity",
    "Configure",
    "ReadResource",
    "PlanResourceChange",
    "ApplyResourceChange",
    "ImportResourceState",
    "MoveResourceState",
    "ReadDataSource",
    "GenerateResourceConfig",
    "ValidateEphemeralResourceConfig",
    "OpenEphemeralResource",
    "RenewEphemeralResource",
    "CloseEphemeralResource",
    "ListResource",
    "ValidateListResourceConfig",
    "GetFunctions",
    "CallFunction",
    "PlanAction",
    "InvokeAction",
    "ValidateActionConfig",
    "Stop",
];

const WITH_THE_SCHEMA: &str = "the schema tells it; Terraform makes no such call either";
const NO_STATE_STORES: &str =
    "states are kept by the operator alone, and a `state_store` block is refused where it stands";

/// Calls that are never made, and why. State stores are of generation 6 alone.
const NEVER: [(&str, &str); 10] = [
    ("GetMetadata", WITH_THE_SCHEMA),
    ("GetFunctions", WITH_THE_SCHEMA),
    ("ValidateStateStoreConfig", NO_STATE_STORES),
    ("ConfigureStateStore", NO_STATE_STORES),
    ("ReadStateBytes", NO_STATE_STORES),
    ("WriteStateBytes", NO_STATE_STORES),
    ("LockState", NO_STATE_STORES),
    ("UnlockState", NO_STATE_STORES),
    ("GetStates", NO_STATE_STORES),
    ("DeleteState", NO_STATE_STORES),
];

/// Calls whose answers hold no remarks.
pub(crate) const WITHOUT_REMARKS: [&str; 4] = [
    "GetProviderSchema",
    "GetResourceIdentitySchemas",
    "CallFunction",
    "StopProvider",
];

/// The name in generation 6 of a call of this generation.
pub(crate) fn canonical(generation: u8, name: &str) -> &str {
    let found = CALLS.iter().find(|rpc| {
        if generation == 5 {
            rpc.five == name
        } else {
            rpc.six == name
        }
    });
    found.map_or(name, |rpc| rpc.six)
}

/// What is noted in a provider's operations must be all that the table says.
pub(crate) fn check_operations(bench: &Bench, of: impl Fn(&Rpc) -> Real) {
    let noted = std::fs::read_to_string(bench.world().join("ops.jsonl")).unwrap();
    for rpc in CALLS {
        if let Noted(names) = of(rpc) {
            for name in names {
                assert!(
                    noted.contains(&format!(r#""op":"{name}""#)),
                    "{}: no {name} was asked",
                    rpc.six
                );
            }
        }
    }
}

cases![
    every_call_is_in_the_table,
    every_call_is_made_in_both_generations,
    what_is_not_used_does_no_harm
];

fn declared(generation: u8) -> BTreeSet<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../proto/tfplugin{generation}.proto"));
    let text = std::fs::read_to_string(file).unwrap();
    let names = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("rpc ")?.split_once('('))
        .map(|(name, _)| name.to_owned());
    names.collect()
}

/// Of the calls that Terraform's protocol has, each is made or is in the table of those that are not, with its reason.
async fn every_call_is_in_the_table() {
    let of = |name: fn(&Rpc) -> &'static str| -> BTreeSet<String> {
        CALLS.iter().map(|rpc| name(rpc).to_owned()).collect()
    };
    for (generation, made, all) in [
        (5, of(|rpc| rpc.five), &FIVE[..]),
        (6, of(|rpc| rpc.six), &SIX[..]),
    ] {
        assert_eq!(declared(generation), made);
        let all: BTreeSet<String> = all.iter().map(|name| (*name).to_owned()).collect();
        let never: BTreeSet<String> = NEVER
            .iter()
            .filter(|(_, why)| generation == 6 || *why != NO_STATE_STORES)
            .map(|(name, _)| (*name).to_owned())
            .collect();
        assert!(
            made.is_disjoint(&never),
            "generation {generation}: made and never made"
        );
        assert_eq!(&made | &never, all, "generation {generation}");
    }
}

async fn every_call_is_made_in_both_generations() {
    for generation in [5, 6] {
        let bench = Bench::model(Script::healthy(generation));
        let provider = bench.started().await;
        for rpc in CALLS {
            let diags = drive(rpc.six, &*provider).await;
            assert!(diags.is_empty(), "{}: {diags:?}", rpc.six);
        }
        let made: BTreeSet<String> = bench.calls().into_iter().collect();
        let all: BTreeSet<String> = CALLS.iter().map(|rpc| rpc.six.to_owned()).collect();
        assert_eq!(made, all, "generation {generation}");
        provider.close().await;
    }
}

/// The model's schema has a state store: it is used for all else, and what we do not know is not asked.
async fn what_is_not_used_does_no_harm() {
    let bench = Bench::model(Script::healthy(6));
    let provider = bench.started().await;
    let schema = provider.schema().await.unwrap();
    assert!(schema.resources.contains_key("model_thing"));
    assert!(!schema.resources.contains_key("model_other"));
    assert!(
        bench
            .calls()
            .iter()
            .all(|call| NEVER.iter().all(|(name, _)| name != call))
    );
    provider.close().await;
}
