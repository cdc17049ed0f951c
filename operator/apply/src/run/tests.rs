mod ephemeral;

use ashlar_diag::Sources;
use ashlar_funcs::NoCaps;
use ashlar_plan::{FunctionResults, Options, Step};
use ashlar_port::{Provider, Record, Unwatched};
use ashlar_value::{Dialect, schema::ProviderSchema};
use async_trait::async_trait;

use super::*;
use crate::fake::{Fake, NoProvisioners};

/// A world without providers, in which time stands still and nothing is kept.
struct Nowhere;

#[async_trait]
impl Providers for Nowhere {
    async fn schema(&self, _: &ashlar_addr::Provider) -> Result<Arc<ProviderSchema>, Diags> {
        Err(Diag::error("No providers", "").into())
    }

    async fn start(&self, _: &ashlar_addr::Provider) -> Result<Arc<dyn Provider>, Diags> {
        Err(Diag::error("No providers", "").into())
    }
}

#[async_trait]
impl RunStore for Nowhere {
    async fn journal(&self, _: Vec<Record>) -> Result<(), Diags> {
        Ok(())
    }

    async fn save(&self, _: Vec<u8>, _: usize) -> Result<(), Diags> {
        Ok(())
    }
}

#[async_trait]
impl Outside for Nowhere {
    fn now(&self) -> String {
        String::new()
    }

    fn unix_ms(&self) -> u64 {
        0
    }

    fn uuid(&self) -> String {
        String::new()
    }

    fn deposed_key(&self) -> ashlar_addr::DeposedKey {
        "01234567".parse().unwrap()
    }

    fn monotonic_ms(&self) -> u64 {
        0
    }

    async fn pause(&self, _: u64) {}
}

fn plan(steps: Vec<Step>) -> Plan {
    let state = State {
        lineage: "of a test".to_owned(),
        ..State::default()
    };
    Plan {
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
        steps,
        providers: Vec::new(),
        functions: FunctionResults::default(),
        timestamp: String::new(),
        errored: false,
        invocations: Vec::new(),
        generated: BTreeMap::new(),
        module_outputs: BTreeMap::new(),
    }
}

fn loaded(text: &str) -> Tree {
    let (tree, faults) = ashlar_config::load(
        vec![("main.tf".into(), text.into())],
        Dialect::Terraform,
        &Default::default(),
        &mut (),
        &mut Sources::new(),
    );
    assert!(faults.is_empty(), "{faults}");
    tree
}

/// Applies steps to a configuration without resources; the summaries of what was told.
fn summaries(text: &str, steps: Vec<Step>) -> Vec<String> {
    applied(&loaded(text), &plan(steps), &Nowhere)
}

fn applied(tree: &Tree, plan: &Plan, store: &dyn RunStore) -> Vec<String> {
    let inputs = Inputs {
        plan,
        variables: &plan.variables,
        tree,
        schemas: &Schemas::new(),
        providers: &Nowhere,
        provisioners: &NoProvisioners,
        caps: &NoCaps,
        outside: &Nowhere,
        progress: &Unwatched,
        store,
        stop: &StopFlag::new(),
        patience: Patience::default(),
        terraform_version: "1.15.5",
    };
    let applied = futures::executor::block_on(apply(inputs));
    applied
        .diags
        .into_iter()
        .map(|diag| diag.summary.into_owned())
        .collect()
}

fn local(name: &str, after: &[u32]) -> Step {
    Step {
        op: Op::Local(ashlar_addr::Module::root(), name.into()),
        after: after.iter().copied().map(StepId).collect(),
    }
}

#[test]
fn steps_that_never_become_ready_are_an_error() {
    let text = "locals {\n  a = 1\n  b = 2\n}\n";
    assert!(summaries(text, vec![local("a", &[]), local("b", &[0])]).is_empty());
    let got = summaries(text, vec![local("a", &[1]), local("b", &[0])]);
    assert_eq!(got, ["Plan not carried out to its end"]);
}

#[test]
fn a_step_about_no_change_is_an_error() {
    let step = |op| Step {
        op,
        after: Vec::new(),
    };
    for op in [Op::Write(0), Op::Read(0), Op::Delete(0), Op::Drop(0)] {
        assert_eq!(summaries("", vec![step(op)]), ["Stored plan cannot be read"]);
    }
    assert_eq!(
        summaries("", vec![local("a", &[7])]),
        ["Stored plan cannot be read"]
    );
}

#[test]
fn nothing_is_started_before_what_planning_found_out_is_stored() {
    let tree = loaded("");
    let step = Step {
        op: Op::Write(0),
        after: Vec::new(),
    };
    let mut plan = plan(vec![step]);
    let object = r#"{"version":4,"serial":1,"lineage":"of a test","outputs":{"o":{"value":1,"type":"number"}},"resources":[]}"#;
    plan.previous_state = ashlar_state::read(object.as_bytes()).unwrap();
    let store = Fake::default();
    assert_eq!(applied(&tree, &plan, &store), ["Stored plan cannot be read"]);
    store.fail(1);
    // The save at the end succeeds, but nothing was begun.
    assert_eq!(applied(&tree, &plan, &store), ["Storing the state was late"]);
}

#[test]
fn what_hangs_on_a_failed_step_is_skipped_without_more_words() {
    let text = "locals {\n  a = tonumber(\"x\")\n  b = 2\n}\n";
    let got = summaries(text, vec![local("a", &[]), local("b", &[0])]);
    assert_eq!(got, ["Invalid function argument"]);
}

#[test]
fn a_failure_without_an_error_is_told_as_one() {
    let summary = |result| {
        told(result)
            .into_iter()
            .map(|diag| diag.summary)
            .collect::<Vec<_>>()
    };
    assert!(summary(Ok(Diags::new())).is_empty());
    assert_eq!(summary(Err(Diags::new())), ["Step failed without an error"]);
    let warning = Diags::from(Diag::warning("Mind", ""));
    assert_eq!(summary(Err(warning)), ["Mind", "Step failed without an error"]);
    let error = Diags::from(Diag::error("Broken", ""));
    assert_eq!(summary(Err(error)), ["Broken"]);
}
