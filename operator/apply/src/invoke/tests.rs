use std::{collections::BTreeMap, sync::Arc};

use ashlar_diag::{Severity, Sources};
use ashlar_funcs::NoCaps;
use ashlar_plan::{FunctionResults, Op, Options, Plan, Schemas, Step, StepId};
use ashlar_port::{
    Answer, Applied, ApplyRequest, CallFault, Deferred, FunctionFault, ImportRequest, ImportedObject,
    MoveRequest, MovedObject, Opened, PlanRequest, Planned, Providers, Read, ReadDataRequest, ReadRequest,
    Renewed, StopFlag, Told, Unwatched, UpgradeRequest,
};
use ashlar_value::{
    Type, Value,
    schema::{Attribute, AttributeType, Block, ProviderSchema, Schema},
};
use async_trait::async_trait;

use super::*;
use crate::{
    Inputs, Patience, apply,
    fake::{Fake, NoProvisioners},
};

/// A provider with one action, which ends as it is told; nothing else is asked of it.
#[derive(Clone)]
struct Fire(Vec<ProviderDiag>);

fn schema() -> Arc<ProviderSchema> {
    let target = Attribute {
        ty: AttributeType::Plain(Type::String),
        required: true,
        optional: false,
        computed: false,
        sensitive: false,
        write_only: false,
        deprecated: None,
    };
    let block = Block {
        attributes: [(Arc::from("target"), target)].into(),
        ..Block::default()
    };
    let pot = Schema {
        version: 0,
        block: Block::default(),
        identity: None,
    };
    Arc::new(ProviderSchema {
        actions: [(Arc::from("kiln_fire"), block)].into(),
        resources: [(Arc::from("kiln_pot"), pot)].into(),
        ..ProviderSchema::default()
    })
}

#[async_trait]
impl Providers for Fire {
    async fn schema(&self, _: &ashlar_addr::Provider) -> Result<Arc<ProviderSchema>, Diags> {
        Ok(schema())
    }

    async fn start(&self, _: &ashlar_addr::Provider) -> Result<Arc<dyn Provider>, Diags> {
        Ok(Arc::new(self.clone()))
    }
}

#[async_trait]
impl Provider for Fire {
    async fn schema(&self) -> Result<Arc<ProviderSchema>, Diags> {
        Ok(schema())
    }

    async fn validate_provider(&self, _: &Value) -> Vec<ProviderDiag> {
        Vec::new()
    }

    async fn configure(&self, _: &Value) -> Vec<ProviderDiag> {
        Vec::new()
    }

    async fn validate_resource(&self, _: &str, _: &Value) -> Vec<ProviderDiag> {
        unreachable!()
    }

    async fn validate_data(&self, _: &str, _: &Value) -> Vec<ProviderDiag> {
        unreachable!()
    }

    async fn validate_ephemeral(&self, _: &str, _: &Value) -> Vec<ProviderDiag> {
        unreachable!()
    }

    async fn open_ephemeral(&self, _: &str, _: &Value) -> Answer<Opened> {
        unreachable!()
    }

    async fn renew_ephemeral(&self, _: &str, _: &[u8]) -> Answer<Renewed> {
        unreachable!()
    }

    async fn close_ephemeral(&self, _: &str, _: &[u8]) -> Vec<ProviderDiag> {
        unreachable!()
    }

    async fn validate_action(&self, _: &str, _: &Value) -> Vec<ProviderDiag> {
        unreachable!()
    }

    async fn plan_action(&self, _: &str, _: &Value) -> Answer<Option<Deferred>> {
        unreachable!()
    }

    async fn invoke_action(&self, _: &str, config: &Value, told: Told<'_>) -> Vec<ProviderDiag> {
        assert!(config.is_wholly_known());
        told("working");
        self.0.clone()
    }

    async fn upgrade_state(&self, _: UpgradeRequest<'_>) -> Answer<Option<Value>> {
        unreachable!()
    }

    async fn upgrade_identity(&self, _: UpgradeRequest<'_>) -> Answer<Option<Value>> {
        unreachable!()
    }

    async fn read(&self, _: ReadRequest<'_>) -> Answer<Read> {
        unreachable!()
    }

    async fn move_state(&self, _: MoveRequest<'_>) -> Answer<MovedObject> {
        unreachable!()
    }

    async fn import(&self, _: ImportRequest<'_>) -> Answer<(Vec<ImportedObject>, Option<Deferred>)> {
        unreachable!()
    }

    async fn plan(&self, _: PlanRequest<'_>) -> Answer<Planned> {
        unreachable!()
    }

    async fn apply(&self, _: ApplyRequest<'_>) -> Answer<Applied> {
        unreachable!()
    }

    async fn read_data(&self, _: ReadDataRequest<'_>) -> Answer<(Option<Value>, Option<Deferred>)> {
        unreachable!()
    }

    async fn call_function(&self, _: &str, _: &[Value]) -> Result<Value, FunctionFault> {
        unreachable!()
    }

    async fn stop(&self) {}

    async fn close(&self) {}
}

const CONFIG: &str = "action \"kiln_fire\" \"f\" {\n  config {\n    target = \"x\"\n  }\n}\nresource \"kiln_pot\" \"a\" {\n  \
                      lifecycle {\n    action_trigger {\n      events = [before_create]\n      actions = \
                      [action.kiln_fire.f]\n      condition = 1 == 2\n    }\n  }\n}\n";

/// Invokes the action that was planned with a target; what is told, and what the journal holds.
fn check(answer: Vec<ProviderDiag>, target: &str, trigger: Option<Trigger>, told: &[&str], journal: &str) {
    let mut sources = Sources::new();
    let files = vec![("main.tf".into(), CONFIG.into())];
    let dialect = ashlar_value::Dialect::Terraform;
    let (tree, faults) = ashlar_config::load(files, dialect, &Default::default(), &mut (), &mut sources);
    assert!(faults.is_empty(), "{faults}");
    let invocation = Invocation {
        action: "action.kiln_fire.f".parse().unwrap(),
        trigger,
        provider: "provider[\"registry.terraform.io/hashicorp/kiln\"]"
            .parse()
            .unwrap(),
        config: Value::object([("target", Value::string(target))]),
    };
    let ops = [
        Op::Configure(invocation.provider.clone()),
        Op::Action(invocation.action.config()),
        Op::Invoke(0),
    ];
    let step = |(at, op): (u32, Op)| Step {
        op,
        after: (0..at).map(StepId).collect(),
    };
    let state = ashlar_state::State {
        lineage: "l".to_owned(),
        serial: 1,
        ..Default::default()
    };
    let schemas: Schemas = [(invocation.provider.provider.clone(), schema())].into();
    let plan = Plan {
        options: Options::default(),
        config: Vec::new(),
        modules: BTreeMap::new(),
        packages: BTreeMap::new(),
        variables: BTreeMap::new(),
        given_again: Default::default(),
        given: Default::default(),
        previous_state: state.clone(),
        prior_state: state,
        changes: Vec::new(),
        drift: Vec::new(),
        outputs: BTreeMap::new(),
        checks: BTreeMap::new(),
        steps: (0..).zip(ops).map(step).collect(),
        providers: Vec::new(),
        functions: FunctionResults::default(),
        timestamp: String::new(),
        errored: false,
        generated: BTreeMap::new(),
        module_outputs: BTreeMap::new(),
        invocations: vec![invocation],
    };
    let store = Fake::default();
    let applied = futures::executor::block_on(apply(Inputs {
        plan: &plan,
        variables: &plan.variables,
        tree: &tree,
        schemas: &schemas,
        providers: &Fire(answer),
        provisioners: &NoProvisioners,
        caps: &NoCaps,
        outside: &store,
        progress: &Unwatched,
        store: &store,
        stop: &StopFlag::new(),
        patience: Patience::default(),
        terraform_version: "1.15.5",
    }));
    let summaries: Vec<_> = applied.diags.iter().map(|diag| &*diag.summary).collect();
    assert_eq!((&*summaries, &*store.journalled()), (told, journal));
    assert_eq!(applied.counts.invoked, usize::from(!applied.diags.has_errors()));
}

fn remark(severity: Severity, fault: Option<CallFault>) -> ProviderDiag {
    ProviderDiag {
        severity,
        summary: "Hot".to_owned(),
        detail: String::new(),
        path: None,
        fault,
    }
}

#[test]
fn an_action_stays_on_record_until_its_end_is_known() {
    let ended = "action.kiln_fire.f? action.kiln_fire.f";
    check(Vec::new(), "x", None, &[], ended);
    let warned = vec![remark(Severity::Warning, None)];
    check(warned, "x", None, &["Warning when invoking action"], ended);
    let failed = vec![remark(Severity::Error, None)];
    check(failed, "x", None, &["Error when invoking action"], ended);
    let not_asked = vec![remark(Severity::Error, Some(CallFault::NotAsked))];
    check(not_asked, "x", None, &["Error when invoking action"], ended);
    let died = vec![remark(Severity::Error, Some(CallFault::NotHeard))];
    check(
        died,
        "x",
        None,
        &["Error when invoking action"],
        "action.kiln_fire.f?",
    );
}

#[test]
fn what_was_not_approved_is_not_invoked() {
    let differs = "Provider produced inconsistent final plan";
    check(Vec::new(), "y", None, &[differs], "");
    let trigger = Trigger {
        resource: "kiln_pot.a".parse().unwrap(),
        block: 0,
        at: 0,
        event: ashlar_config::TriggerEvent::BeforeCreate,
    };
    let changed = "Condition changed evaluation during apply";
    check(Vec::new(), "x", Some(trigger), &[changed], "");
}
