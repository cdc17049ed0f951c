//! Ephemeral resources and write-only arguments from configuration to state, with a provider that does as it is told.

use std::task::Poll;

use ashlar_plan::{FunctionResults, Mode, fetch_schemas, wire};
use ashlar_port::{
    Answer, ApplyRequest, CallFault, Deferred, FunctionFault, ImportRequest, ImportedObject, MoveRequest,
    MovedObject, Opened, PlanRequest, Planned, ProviderDiag, Read, ReadDataRequest, ReadRequest, Renewed,
    UpgradeRequest,
};
use ashlar_value::{
    Type, json,
    schema::{Attribute, AttributeType, Block, Schema},
};

use super::*;

const HEAD: &str = "terraform {\n  required_providers {\n    f = { source = \"t.test/t/f\" }\n  }\n}\n";

/// What happens, in a time that goes on as long as somebody waits.
#[derive(Default)]
struct World {
    calls: Mutex<Vec<String>>,
    /// All that was stored.
    kept: Mutex<Vec<u8>>,
    now: Mutex<u64>,
    stop: StopFlag,
    /// Of what the journal has a beginning and no end.
    open: Mutex<Vec<String>>,
}

impl World {
    fn note(&self, call: impl Into<String>) {
        lock(&self.calls).push(call.into());
    }

    async fn wait(&self, ms: u64) {
        let until = *lock(&self.now) + ms;
        futures::future::poll_fn(|context| {
            let mut now = lock(&self.now);
            if *now >= until {
                return Poll::Ready(());
            }
            *now += 10;
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

#[async_trait]
impl Outside for World {
    fn now(&self) -> String {
        "2026-01-02T03:04:05Z".to_owned()
    }

    fn unix_ms(&self) -> u64 {
        *lock(&self.now)
    }

    fn uuid(&self) -> String {
        "u".to_owned()
    }

    fn deposed_key(&self) -> ashlar_addr::DeposedKey {
        ashlar_addr::DeposedKey(7)
    }

    fn monotonic_ms(&self) -> u64 {
        *lock(&self.now)
    }

    async fn pause(&self, ms: u64) {
        self.wait(ms).await;
    }
}

#[async_trait]
impl RunStore for World {
    async fn journal(&self, records: Vec<Record>) -> Result<(), Diags> {
        for record in records {
            match record {
                Record::Intent(intent) => lock(&self.open).push(format!("{:?}", intent.subject)),
                Record::Outcome(outcome) => {
                    let subject = format!("{:?}", outcome.subject);
                    lock(&self.open).retain(|open| *open != subject);
                    lock(&self.kept).extend(outcome.object.unwrap_or_default());
                }
                Record::Moved(_) => {}
            }
        }
        Ok(())
    }

    async fn save(&self, state: Vec<u8>, _: usize) -> Result<(), Diags> {
        lock(&self.kept).extend(state);
        Ok(())
    }
}

struct Fake(Arc<World>);

#[async_trait]
impl Providers for Fake {
    async fn schema(&self, _: &ashlar_addr::Provider) -> Result<Arc<ProviderSchema>, Diags> {
        Ok(schema())
    }

    async fn start(&self, _: &ashlar_addr::Provider) -> Result<Arc<dyn Provider>, Diags> {
        Ok(Arc::new(Fake(self.0.clone())))
    }
}

fn schema() -> Arc<ProviderSchema> {
    let block = |names: &[&str]| {
        let attribute = |name: &str| Attribute {
            ty: AttributeType::Plain(Type::String),
            required: false,
            optional: name != "token",
            computed: name == "token",
            sensitive: false,
            write_only: name == "secret",
            deprecated: None,
        };
        Schema {
            block: Block {
                attributes: names
                    .iter()
                    .map(|name| (Arc::from(*name), attribute(name)))
                    .collect(),
                ..Block::default()
            },
            ..Schema::default()
        }
    };
    Arc::new(ProviderSchema {
        provider: block(&["key"]),
        resources: [("f_box".into(), block(&["name", "how", "secret"]))].into(),
        ephemeral_resources: [("f_key".into(), block(&["name", "how", "token"]))].into(),
        ..ProviderSchema::default()
    })
}

fn error(summary: &str) -> ProviderDiag {
    ProviderDiag {
        severity: ashlar_diag::Severity::Error,
        summary: summary.to_owned(),
        detail: String::new(),
        path: None,
        fault: None,
    }
}

fn text(object: &Value, name: &str) -> String {
    let found = object.attr(name);
    let found = found.as_ref().and_then(Value::as_str);
    found.map_or_else(String::new, ToString::to_string)
}

fn with(object: &Value, name: &str, value: Value) -> Value {
    let mut attrs = object.as_entries().cloned().unwrap_or_default();
    attrs.insert(name.into(), value);
    Value::object_of(attrs)
}

/// The object without what is write-only, unless the provider was told to hand it back here.
fn answered(object: &Value, here: &str) -> Value {
    let leaks = text(object, "how") == here;
    let secret = if leaks {
        Value::string("leaked")
    } else {
        Value::null(Type::String)
    };
    if object.is_null() {
        object.clone()
    } else {
        with(object, "secret", secret)
    }
}

#[async_trait]
impl Provider for Fake {
    async fn schema(&self) -> Result<Arc<ProviderSchema>, Diags> {
        Ok(schema())
    }

    async fn validate_provider(&self, _: &Value) -> Vec<ProviderDiag> {
        Vec::new()
    }

    async fn configure(&self, config: &Value) -> Vec<ProviderDiag> {
        let key = text(config, "key");
        if !key.is_empty() {
            self.0.note(format!("configure {key}"));
        }
        Vec::new()
    }

    async fn validate_resource(&self, _: &str, _: &Value) -> Vec<ProviderDiag> {
        Vec::new()
    }

    async fn validate_data(&self, _: &str, _: &Value) -> Vec<ProviderDiag> {
        Vec::new()
    }

    async fn validate_ephemeral(&self, _: &str, _: &Value) -> Vec<ProviderDiag> {
        Vec::new()
    }

    async fn open_ephemeral(&self, _: &str, config: &Value) -> Answer<Opened> {
        let (name, how) = (text(config, "name"), text(config, "how"));
        self.0.note(format!("open {name}"));
        let result = if how == "misfits" {
            with(config, "name", Value::string("x"))
        } else {
            config.clone()
        };
        let renews = how.starts_with("renew");
        Answer {
            value: Opened {
                result: Some(with(&result, "token", Value::string(format!("token-{name}")))),
                private: format!("{name} {how}").into_bytes(),
                renew_at: renews.then(|| self.0.unix_ms() + 200),
                deferred: (how == "defers").then_some(Deferred::AbsentPrereq),
            },
            diags: (how == "fails")
                .then(|| error("Cannot open"))
                .into_iter()
                .collect(),
        }
    }

    async fn renew_ephemeral(&self, _: &str, private: &[u8]) -> Answer<Renewed> {
        let private = String::from_utf8_lossy(private).into_owned();
        self.0.note(format!("renew {private}"));
        Answer {
            diags: private
                .ends_with("renew-fails")
                .then(|| error("Cannot renew"))
                .into_iter()
                .collect(),
            value: Renewed {
                private: format!("{private}!").into_bytes(),
                // Always at once.
                renew_at: Some(0),
            },
        }
    }

    async fn close_ephemeral(&self, _: &str, private: &[u8]) -> Vec<ProviderDiag> {
        self.0.note(format!("close {}", String::from_utf8_lossy(private)));
        Vec::new()
    }

    async fn validate_action(&self, _: &str, _: &Value) -> Vec<ProviderDiag> {
        Vec::new()
    }

    async fn plan_action(&self, _: &str, _: &Value) -> Answer<Option<Deferred>> {
        Answer::ok(None)
    }

    async fn invoke_action(&self, _: &str, _: &Value, _: ashlar_port::Told<'_>) -> Vec<ProviderDiag> {
        Vec::new()
    }

    async fn upgrade_state(&self, request: UpgradeRequest<'_>) -> Answer<Option<Value>> {
        let ty = schema().resources.get("f_box").unwrap().block.ty();
        let object = json::decode(request.json, &ty).unwrap();
        Answer::ok(Some(answered(&object, "leaks in upgrade")))
    }

    async fn upgrade_identity(&self, _: UpgradeRequest<'_>) -> Answer<Option<Value>> {
        Answer::ok(None)
    }

    async fn read(&self, request: ReadRequest<'_>) -> Answer<Read> {
        Answer::ok(Read {
            state: Some(answered(request.current, "leaks in read")),
            private: Vec::new(),
            identity: None,
            deferred: None,
        })
    }

    async fn move_state(&self, _: MoveRequest<'_>) -> Answer<MovedObject> {
        Answer::ok(MovedObject::default())
    }

    async fn import(&self, request: ImportRequest<'_>) -> Answer<(Vec<ImportedObject>, Option<Deferred>)> {
        let object = Value::object([
            ("name", Value::string("b")),
            ("how", Value::null(Type::String)),
            ("secret", Value::string("leaked")),
        ]);
        let imported = ImportedObject {
            kind: request.kind.to_owned(),
            state: Some(object),
            private: Vec::new(),
            identity: None,
        };
        Answer::ok((vec![imported], None))
    }

    async fn plan(&self, request: PlanRequest<'_>) -> Answer<Planned> {
        Answer::ok(Planned {
            state: Some(answered(request.proposed, "leaks in plan")),
            requires_replace: Vec::new(),
            private: Vec::new(),
            identity: None,
            legacy_type_system: false,
            deferred: None,
        })
    }

    async fn apply(&self, request: ApplyRequest<'_>) -> Answer<ashlar_port::Applied> {
        let of = if request.planned.is_null() {
            request.prior
        } else {
            request.planned
        };
        let (name, how) = (text(of, "name"), text(of, "how"));
        self.0
            .note(format!("change {name} with {:?}", text(request.config, "secret")));
        match &*how {
            "is slow" => self.0.wait(900).await,
            "is stopped" => {
                self.0.stop.set();
                self.0.wait(900).await;
            }
            _ => {}
        }
        let fault = match &*how {
            "is not asked" => Some(CallFault::NotAsked),
            "is not heard" => Some(CallFault::NotHeard),
            _ => None,
        };
        if fault.is_some() {
            return Answer {
                value: ashlar_port::Applied {
                    state: None,
                    private: Vec::new(),
                    identity: None,
                    legacy_type_system: false,
                },
                diags: vec![ProviderDiag {
                    fault,
                    ..error("Cannot ask")
                }],
            };
        }
        self.0.note(format!("changed {name}"));
        let fails = how == "fails";
        let state = answered(request.planned, "leaks in apply");
        Answer {
            value: ashlar_port::Applied {
                state: Some(if fails { Value::null(of.ty()) } else { state }),
                private: Vec::new(),
                identity: None,
                legacy_type_system: false,
            },
            diags: fails.then(|| error("Cannot change")).into_iter().collect(),
        }
    }

    async fn read_data(&self, _: ReadDataRequest<'_>) -> Answer<(Option<Value>, Option<Deferred>)> {
        Answer::ok((None, None))
    }

    async fn call_function(&self, _: &str, _: &[Value]) -> Result<Value, FunctionFault> {
        Ok(Value::dynamic())
    }

    async fn stop(&self) {
        self.0.note("stop");
    }

    async fn close(&self) {}
}

/// What came of a plan, or of a plan and its apply.
struct Ran {
    calls: Vec<String>,
    told: Vec<String>,
    state: State,
    uncertain: usize,
}

/// Plans and applies over a state. Nothing that is stored on the way holds a token.
fn run(text: &str, state: State, mode: Mode) -> Ran {
    let mut sources = Sources::new();
    let files = vec![("main.tf".into(), format!("{HEAD}{text}").into())];
    let (tree, faults) = ashlar_config::load(
        files,
        Dialect::Terraform,
        &Default::default(),
        &mut (),
        &mut sources,
    );
    assert!(faults.is_empty(), "{faults}");
    let world = Arc::new(World::default());
    let providers = Fake(world.clone());
    let schemas = futures::executor::block_on(fetch_schemas(&tree, &state, &providers)).unwrap();
    let variables = BTreeMap::new();
    let planned = futures::executor::block_on(ashlar_plan::plan(ashlar_plan::Inputs {
        tree: &tree,
        files: Vec::new(),
        packages: BTreeMap::new(),
        variables: variables.clone(),
        given_again: Default::default(),
        state: state.clone(),
        options: Options {
            mode,
            ..Options::default()
        },
        schemas: &schemas,
        providers: &providers,
        pins: Vec::new(),
        caps: &NoCaps,
        outside: &*world,
        progress: &Unwatched,
        timestamp: String::new(),
        generate: None,
        checked: Default::default(),
        refused: BTreeMap::new(),
        places: Default::default(),
    }));
    let mut told: Vec<String> = planned
        .diags
        .iter()
        .map(|diag| diag.summary.to_string())
        .collect();
    let mut after = state;
    let bytes = planned
        .plan
        .as_ref()
        .map(|plan| wire::encode(plan, "1.15.5").unwrap());
    if let Some(plan) = planned.plan.filter(|plan| !plan.errored) {
        assert_eq!(plan.functions, FunctionResults::default());
        world.note("applying");
        let plan = wire::decode(bytes.as_ref().unwrap()).unwrap();
        let applied = futures::executor::block_on(apply(Inputs {
            plan: &plan,
            variables: &variables,
            tree: &tree,
            schemas: &schemas,
            providers: &providers,
            provisioners: &crate::fake::NoProvisioners,
            caps: &NoCaps,
            outside: &*world,
            progress: &Unwatched,
            store: &*world,
            stop: &world.stop,
            patience: Patience::default(),
            terraform_version: "1.15.5",
        }));
        told.extend(applied.diags.iter().map(|diag| diag.summary.to_string()));
        after = applied.state;
    }
    let kept = [bytes.unwrap_or_default(), std::mem::take(&mut *lock(&world.kept))].concat();
    let kept = String::from_utf8_lossy(&kept);
    assert!(!kept.contains("token-"), "a token is stored");
    assert!(!kept.contains("leaked"), "what is write-only is stored");
    let calls = std::mem::take(&mut *lock(&world.calls));
    Ran {
        calls,
        told,
        state: after,
        uncertain: lock(&world.open).len(),
    }
}

const KEY: &str = "ephemeral \"f_key\" \"k\" {\n  name = \"k\"\n  how = \"HOW\"\n}\n";
const BOX: &str =
    "resource \"f_box\" \"b\" {\n  name = \"b\"\n  secret = ephemeral.f_key.k.token\n  how = \"HOW\"\n}\n";

fn key(how: &str) -> String {
    KEY.replace("HOW", how)
}

fn with_box(how: &str) -> String {
    BOX.replace("HOW", how)
}

fn anew(text: &str) -> Ran {
    run(text, State::default(), Mode::Normal)
}

#[test]
fn what_is_opened_is_closed_in_plan_and_again_in_apply_and_kept_nowhere() {
    let ran = anew(&format!("{}{}", key(""), with_box("")));
    assert_eq!(ran.told, [""; 0]);
    let expected = [
        "open k",
        "close k ",
        "applying",
        "open k",
        "change b with \"token-k\"",
        "changed b",
        "close k ",
    ];
    assert_eq!(ran.calls, expected);
}

#[test]
fn it_is_renewed_beside_a_slow_change_and_closed_with_what_opening_gave() {
    let ran = anew(&format!("{}{}", key("renews"), with_box("is slow")));
    assert_eq!(ran.told, [""; 0]);
    let begun = ran
        .calls
        .iter()
        .position(|call| call.starts_with("change b"))
        .unwrap();
    let done = ran.calls.iter().position(|call| call == "changed b").unwrap();
    let renewals = done - begun - 1;
    // As often as it is let, which is not as often as it asks.
    assert!((2..=9).contains(&renewals), "{:?}", ran.calls);
    let renewed = format!("renew k renews{}", "!".repeat(renewals - 1));
    assert!(ran.calls.contains(&renewed), "{:?}", ran.calls);
    assert_eq!(ran.calls.last().map(String::as_str), Some("close k renews"));
}

#[test]
fn a_renewal_that_fails_is_the_last() {
    let ran = anew(&format!("{}{}", key("renew-fails"), with_box("is slow")));
    assert_eq!(ran.told, [""; 0]);
    let count = |call: &str| ran.calls.iter().filter(|made| *made == call).count();
    assert_eq!(
        (count("renew k renew-fails"), count("close k renew-fails")),
        (1, 2)
    );
}

#[test]
fn a_fault_leaves_nothing_open() {
    let ran = anew(&format!("{}{}", key(""), with_box("fails")));
    assert_eq!(ran.told, ["Cannot change"]);
    assert_eq!(ran.calls.last().map(String::as_str), Some("close k "));
    // What does not fit is open all the same.
    let ran = anew(&key("misfits"));
    assert_eq!(
        ran.told,
        ["Provider produced invalid ephemeral resource instance"]
    );
    assert_eq!(ran.calls, ["open k", "close k misfits"]);
    for (how, summary) in [
        ("fails", "Cannot open"),
        (
            "defers",
            "Provider deferred changes when Terraform did not allow deferrals",
        ),
    ] {
        let ran = anew(&key(how));
        assert_eq!(
            (ran.told, ran.calls),
            (vec![summary.to_owned()], vec!["open k".to_owned()])
        );
    }
}

#[test]
fn only_what_may_have_reached_the_provider_is_uncertain() {
    for (how, uncertain) in [("is not asked", 0), ("is not heard", 1), ("fails", 0)] {
        let ran = anew(&with_box(how).replace("ephemeral.f_key.k.token", "null"));
        assert_eq!(
            (ran.told.len(), ran.uncertain),
            (1, uncertain),
            "{how}: {:?}",
            ran.told
        );
        assert!(ran.state.resources.is_empty(), "{how}");
    }
}

#[test]
fn a_stop_leaves_nothing_open() {
    let after = "resource \"f_box\" \"c\" {\n  name = f_box.b.name\n  secret = ephemeral.f_key.k.token\n}\n";
    let ran = anew(&format!("{}{}{after}", key("renews"), with_box("is stopped")));
    assert!(
        !ran.calls.iter().any(|call| call.starts_with("change c")),
        "{:?}",
        ran.calls
    );
    assert_eq!(ran.calls.last().map(String::as_str), Some("close k renews"));
    assert!(ran.calls.contains(&"stop".to_owned()));
}

#[test]
fn a_destroy_run_opens_what_the_provider_needs_once_more() {
    let text = format!(
        "{}provider \"f\" {{\n  alias = \"k\"\n  key = ephemeral.f_key.k.token\n}}\n\
         resource \"f_box\" \"b\" {{\n  provider = f.k\n  name = \"b\"\n}}\n",
        key("")
    );
    let made = anew(&text);
    assert_eq!(made.told, [""; 0]);
    let ran = run(&text, made.state, Mode::Destroy);
    assert_eq!(ran.told, [""; 0]);
    let once = ["open k", "configure token-k"];
    let expected = [
        &once[..],
        &["close k "],
        &once,
        &["close k ", "applying"],
        &once,
        &["change b with \"\"", "changed b", "close k "],
    ];
    assert_eq!(ran.calls, expected.concat());
}

#[test]
fn what_is_write_only_may_not_come_back() {
    let alone = |how: &str| {
        format!("resource \"f_box\" \"b\" {{\n  name = \"b\"\n  secret = \"s\"\n  how = \"{how}\"\n}}\n")
    };
    for (how, summary) in [
        ("leaks in plan", "Provider produced invalid plan"),
        ("leaks in apply", "Provider produced invalid object"),
    ] {
        assert_eq!(anew(&alone(how)).told, [summary], "{how}");
    }
    for (how, summary) in [
        ("leaks in read", "Provider produced invalid object"),
        ("leaks in upgrade", "Invalid resource state upgrade"),
    ] {
        let made = anew(&alone(how));
        assert_eq!(made.told, [""; 0], "{how}");
        assert_eq!(
            run(&alone(how), made.state, Mode::Normal).told,
            [summary],
            "{how}"
        );
    }
    let import = format!("{}import {{\n  to = f_box.b\n  id = \"b\"\n}}\n", alone(""));
    let told = anew(&import).told;
    assert_eq!(
        told,
        ["Import returned a non-null value for a write-only attribute"]
    );
}
