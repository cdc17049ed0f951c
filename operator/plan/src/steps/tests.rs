use ashlar_config::{Tree, TriggerEvent};
use ashlar_state::State;
use ashlar_value::Value;

use super::*;
use crate::{Schemas, Selection};

const CLOUD: &str = "provider[\"forge.test/studio/cloud\"]";
const CLUSTER: &str = "provider[\"forge.test/studio/cluster\"]";

/// A plan's changes with the dependencies recorded for each, and the configuration's references.
#[derive(Default)]
struct Case {
    graph: Graph<Node>,
    changes: Vec<(Change, Arc<[ConfigResource]>)>,
    mode: Option<Mode>,
    invocations: Vec<Invocation>,
    config: String,
}

fn tree(text: &str) -> Tree {
    let files = vec![("main.tf".into(), text.into())];
    let (dialect, constants) = (ashlar_value::Dialect::Terraform, BTreeMap::new());
    let mut sources = ashlar_diag::Sources::new();
    ashlar_config::load(files, dialect, &constants, &mut (), &mut sources).0
}

fn resource(text: &str) -> ConfigResource {
    text.parse().unwrap()
}

impl Case {
    /// A resource of the configuration, made with a provider, that refers to others.
    fn resource(mut self, name: &str, provider: &str, refers: &[&str]) -> Self {
        let node = Node::Resource(resource(name));
        self.graph
            .depend(node.clone(), Node::Provider(provider.parse().unwrap()));
        for other in refers {
            self.graph.depend(node.clone(), Node::Resource(resource(other)));
        }
        self
    }

    fn provider(mut self, provider: &str, refers: &str) -> Self {
        let node = Node::Provider(provider.parse().unwrap());
        self.graph.depend(node, Node::Resource(resource(refers)));
        self
    }

    /// A change; `address` may end in `deposed KEY`.
    fn change(self, action: Action, address: &str, provider: &str, depends: &[&str]) -> Self {
        self.change_recorded(
            action,
            address,
            provider,
            depends,
            action == Action::CreateThenDelete,
        )
    }

    fn change_recorded(
        mut self,
        action: Action,
        address: &str,
        provider: &str,
        depends: &[&str],
        create_before_destroy: bool,
    ) -> Self {
        let (address, deposed) = address.split_once(" deposed ").unwrap_or((address, ""));
        let change = Change {
            address: address.parse().unwrap(),
            deposed: deposed.parse().ok(),
            previous_address: None,
            importing: None,
            provider: provider.parse().unwrap(),
            action,
            reason: None,
            before: Value::dynamic(),
            after: Value::dynamic(),
            replace_paths: Vec::new(),
            private: Arc::default(),
            before_identity: None,
            after_identity: None,
            depose_as: None,
            dependencies: Arc::default(),
            create_before_destroy,
        };
        let depends = depends.iter().map(|name| resource(name)).collect();
        self.changes.push((change, depends));
        self
    }

    /// An action of the configuration, that refers to resources, with what triggers it.
    fn invocation(
        mut self,
        action: &str,
        event: TriggerEvent,
        resource: &str,
        at: (usize, usize),
        refers: &[&str],
    ) -> Self {
        let action: ashlar_addr::ActionInstance = action.parse().unwrap();
        let node = Node::Action(action.config());
        self.graph
            .depend(node.clone(), Node::Provider(CLOUD.parse().unwrap()));
        for other in refers {
            self.graph
                .depend(node.clone(), Node::Resource(other.parse().unwrap()));
        }
        let trigger = crate::model::Trigger {
            resource: resource.parse().unwrap(),
            block: at.0,
            at: at.1,
            event,
        };
        self.invocations.push(Invocation {
            action,
            trigger: Some(trigger),
            provider: CLOUD.parse().unwrap(),
            config: Value::dynamic(),
        });
        self
    }

    fn build(self) -> Result<Table, Diags> {
        let (changes, stored): (Vec<_>, Vec<_>) = self.changes.into_iter().unzip();
        let (tree, state, schemas) = (tree(&self.config), State::default(), Schemas::default());
        let sight = Sight {
            tree: &tree,
            state: &state,
            schemas: &schemas,
            invoke: &[],
            refused: &BTreeMap::new(),
            selection: &Selection::default(),
        };
        let facts = Facts {
            sight: &sight,
            changes: &changes,
            invocations: &self.invocations,
            mode: self.mode.unwrap_or(Mode::Normal),
        };
        let steps = build(&self.graph, &facts, &stored)?;
        let mut graph = Graph::new();
        for (step, id) in steps.iter().zip(0..) {
            let name = |id: StepId| describe(&steps[id.0 as usize].op, &changes, &self.invocations);
            graph.add(name(StepId(id)));
            for after in &step.after {
                graph.depend(name(StepId(id)), name(*after));
            }
        }
        Ok(Table(graph))
    }
}

/// Steps by what they do.
struct Table(Graph<String>);

impl Table {
    fn waits(&self, step: &str, other: &str) -> bool {
        let (step, other) = (step.to_owned(), other.to_owned());
        assert!(self.0.contains(&step), "no step {step:?}");
        assert!(self.0.contains(&other), "no step {other:?}");
        self.0.needing([&other]).contains(&step)
    }

    /// These steps run one after the other.
    #[track_caller]
    fn check(&self, order: &[&str]) {
        for pair in order.windows(2) {
            assert!(
                self.waits(pair[1], pair[0]),
                "{:?} does not wait for {:?}",
                pair[1],
                pair[0]
            );
        }
    }
}

#[test]
fn a_removal_comes_before_the_change_of_what_it_depends_on() {
    let case = Case::default()
        .resource("x.b", CLOUD, &[])
        .resource("x.a", CLOUD, &["x.b"])
        .change(Action::Delete, "x.old", CLOUD, &["x.b"])
        .change(Action::Update, "x.b", CLOUD, &[])
        .change(Action::DeleteThenCreate, "x.a", CLOUD, &["x.b"]);
    let table = case.build().unwrap();
    table.check(&["delete x.old", "update x.b", "create x.a"]);
    table.check(&["delete x.a", "update x.b"]);
}

#[test]
fn a_provider_made_from_what_changes_destroys_after_the_change() {
    let case = Case::default()
        .resource("cloud.c", CLOUD, &[])
        .provider(CLUSTER, "cloud.c")
        .change(Action::Update, "cloud.c", CLOUD, &[])
        .change(Action::Delete, "cluster.x", CLUSTER, &["cloud.c"]);
    let order = ["update cloud.c", "settle cloud.c", "delete cluster.x"];
    case.build().unwrap().check(&order);
}

#[test]
fn only_what_closes_a_circle_is_left_out() {
    let case = Case::default()
        .resource("cloud.c", CLOUD, &[])
        .provider(CLUSTER, "cloud.c")
        .change(Action::DeleteThenCreate, "cloud.c[0]", CLOUD, &[])
        .change(Action::Delete, "cloud.c[1]", CLOUD, &[])
        .change(Action::Delete, "cluster.x", CLUSTER, &["cloud.c"]);
    let order = [
        "delete cloud.c[0]",
        "create cloud.c[0]",
        "delete cluster.x",
        "delete cloud.c[1]",
    ];
    case.build().unwrap().check(&order);
}

#[test]
fn while_destroying_all_order_across_providers_is_kept() {
    let mut case = Case::default()
        .resource("cloud.c", CLOUD, &[])
        .provider(CLUSTER, "cloud.c")
        .change(Action::Delete, "cloud.c", CLOUD, &[])
        .change(Action::Delete, "cluster.x", CLUSTER, &["cloud.c"]);
    case.mode = Some(Mode::Destroy);
    case.build()
        .unwrap()
        .check(&["delete cluster.x", "delete cloud.c"]);
}

#[test]
fn a_data_source_goes_after_what_was_made_of_it() {
    let mut case = Case::default()
        .change(Action::Delete, "data.x.d", CLUSTER, &[])
        .change(Action::Delete, "x.a", CLOUD, &[])
        .change(Action::Delete, "x.b", CLOUD, &["x.a", "data.x.d"]);
    case.mode = Some(Mode::Destroy);
    let table = case.build().unwrap();
    table.check(&["delete x.b", "drop data.x.d"]);
    assert!(!table.waits("drop data.x.d", "delete x.a"));
}

#[test]
fn what_names_an_instance_by_its_key_waits_for_no_other() {
    let local = |case: Case, name: &str| {
        let mut case = case.resource("x.a", CLOUD, &[]);
        let node = Node::Local(Module::root(), name.into());
        case.graph.depend(node, Node::Resource(resource("x.a")));
        case
    };
    let mut case = Case::default();
    for name in ["one", "all", "kept", "judged"] {
        case = local(case, name);
    }
    case.config = "locals {
        one = x.a[1].id
        all = x.a
        kept = x.a[2].id
        judged = x.b[0].id
    }
    resource x b {
        count = 1
        lifecycle {
          postcondition {
            condition = self.id != x.a[0]
            error_message = x.a[0]
          }
        }
    }"
    .into();
    let node = Node::Local(Module::root(), "judged".into());
    case.graph.depend(node, Node::Resource(resource("x.b")));
    let table = case
        .resource("x.b", CLOUD, &["x.a"])
        .change(Action::Create, "x.a[0]", CLOUD, &[])
        .change(Action::Update, "x.a[1]", CLOUD, &[])
        .change(Action::NoOp, "x.a[2]", CLOUD, &[])
        .change(Action::NoOp, "x.b[0]", CLOUD, &[])
        .build()
        .unwrap();
    table.check(&["update x.a[1]", "evaluate local.one"]);
    assert!(!table.waits("evaluate local.one", "create x.a[0]"));
    // Nothing is done with what stays as it is, unless it has conditions.
    for waits in ["evaluate local.all", "evaluate local.kept"] {
        table.check(&["create x.a[0]", "settle x.a", waits]);
    }
    table.check(&["create x.a[0]", "assert x.b[0]", "evaluate local.judged"]);
    assert!(!table.waits("assert x.b[0]", "update x.a[1]"));
    assert!(!table.waits("evaluate local.judged", "settle x.b"));
}

#[test]
fn each_change_decides_whether_it_is_created_first() {
    let case = Case::default()
        .resource("x.a", CLOUD, &[])
        .resource("x.b", CLOUD, &["x.a"])
        .change(Action::DeleteThenCreate, "x.a[0]", CLOUD, &[])
        // Left from a time when the resource was created before it was destroyed.
        .change_recorded(Action::Delete, "x.a[1]", CLOUD, &[], true)
        .change(Action::Update, "x.b", CLOUD, &["x.a"]);
    let order = ["delete x.a[0]", "create x.a[0]", "update x.b", "delete x.a[1]"];
    case.build().unwrap().check(&order);
}

#[test]
fn a_deposed_object_goes_after_what_is_current_beside_it() {
    for action in [
        Action::Create,
        Action::Update,
        Action::DeleteThenCreate,
        Action::CreateThenDelete,
    ] {
        let case = Case::default()
            .resource("x.a", CLOUD, &[])
            .change(action, "x.a", CLOUD, &[])
            .change(Action::Delete, "x.a deposed 0123abcd", CLOUD, &[]);
        let table = case.build().unwrap();
        let write = match action {
            Action::Update => "update x.a",
            Action::CreateThenDelete => "depose and create x.a",
            _ => "create x.a",
        };
        table.check(&[write, "delete x.a deposed 0123abcd"]);
    }
}

#[test]
fn a_deposed_object_goes_after_its_dependents_changed() {
    let case = Case::default()
        .resource("x.a", CLOUD, &[])
        .resource("x.b", CLOUD, &["x.a"])
        .change(Action::Update, "x.b", CLOUD, &["x.a"])
        .change(Action::Delete, "x.a deposed 0123abcd", CLOUD, &[]);
    case.build()
        .unwrap()
        .check(&["update x.b", "delete x.a deposed 0123abcd"]);
}

#[test]
fn a_data_source_is_read_after_the_removal_of_what_it_looks_at() {
    let case = Case::default()
        .resource("x.a", CLOUD, &[])
        .resource("data.x.d", CLOUD, &["x.a"])
        .change(Action::Delete, "x.a[1]", CLOUD, &[])
        .change(Action::Read, "data.x.d", CLOUD, &["x.a"]);
    case.build().unwrap().check(&["delete x.a[1]", "read data.x.d"]);
}

#[test]
fn a_circle_is_named_and_refused() {
    let case = Case::default()
        .resource("x.a", CLOUD, &[])
        .resource("x.b", CLOUD, &["x.a"])
        .resource("x.c", CLOUD, &["x.b"])
        .change(Action::DeleteThenCreate, "x.a", CLOUD, &[])
        .change(Action::Delete, "x.b deposed 0123abcd", CLOUD, &["x.a"])
        .change(Action::Update, "x.c", CLOUD, &["x.a", "x.b"]);
    let faults: Vec<_> = case.build().err().unwrap().into_iter().collect();
    assert_eq!(faults.len(), 1);
    let named =
        "Cycle: create x.a, update x.c, delete x.a, delete x.b deposed 0123abcd, settle x.a, settle x.b";
    assert_eq!(faults[0].summary, named);
}

#[test]
fn a_circle_of_what_is_destroyed_last_is_refused_across_providers_too() {
    // What the old object of `y.c` was made of goes after it, the new one comes after that, and is to come first.
    let case = Case::default()
        .resource("x.a", CLOUD, &[])
        .resource("y.c", CLUSTER, &["x.a"])
        .change(Action::Update, "x.a", CLOUD, &[])
        .change(Action::Delete, "x.b", CLOUD, &["x.a"])
        .change(Action::CreateThenDelete, "y.c", CLUSTER, &["x.a", "x.b"]);
    let faults: Vec<_> = case.build().err().unwrap().into_iter().collect();
    assert_eq!(faults.len(), 1);
    for step in ["delete x.b", "depose and create y.c", "delete y.c"] {
        assert!(faults[0].summary.contains(step), "{}", faults[0].summary);
    }
}

#[test]
fn instances_of_a_module_are_apart() {
    let depends = ["module.m.x.a"];
    let case = Case::default()
        .change(Action::Delete, "module.m[0].x.a", CLOUD, &[])
        .change(Action::Delete, "module.m[0].x.b", CLOUD, &depends)
        .change(Action::Delete, "module.m[1].x.a", CLOUD, &[])
        .change(Action::Delete, "module.m[1].x.b", CLOUD, &depends)
        .change(Action::Delete, "x.c", CLOUD, &depends);
    let table = case.build().unwrap();
    table.check(&["delete module.m[0].x.b", "delete module.m[0].x.a"]);
    table.check(&["delete module.m[1].x.b", "delete module.m[1].x.a"]);
    table.check(&["delete x.c", "delete module.m[0].x.a"]);
    assert!(!table.waits("delete module.m[0].x.a", "delete module.m[1].x.b"));
}

#[test]
fn edges_stay_linear_in_instances() {
    let edges = |count: usize| {
        let mut case = Case::default()
            .resource("x.a", CLOUD, &[])
            .resource("x.b", CLUSTER, &["x.a"]);
        for at in 0..count {
            case = case
                .change(Action::DeleteThenCreate, &format!("x.a[{at}]"), CLOUD, &[])
                .change(Action::DeleteThenCreate, &format!("x.b[{at}]"), CLUSTER, &["x.a"]);
        }
        let table = case.build().unwrap().0;
        table
            .nodes()
            .map(|node| table.dependencies(node).count())
            .sum::<usize>()
    };
    assert!(edges(200) < 11 * edges(20));
}

#[test]
fn actions_stand_around_the_changes_of_all_instances_in_their_order() {
    use TriggerEvent::{AfterCreate, BeforeCreate};
    let case = Case::default()
        .resource("x.r", CLOUD, &[])
        .resource("x.user", CLOUD, &["x.r"])
        .resource("x.other", CLOUD, &[])
        .change(Action::DeleteThenCreate, "x.r[0]", CLOUD, &[])
        .change(Action::NoOp, "x.r[1]", CLOUD, &[])
        .change(Action::Delete, "x.r[2]", CLOUD, &[])
        .change(Action::Create, "x.other", CLOUD, &[])
        .change(Action::Create, "x.user", CLOUD, &["x.r"])
        .invocation("action.t.a", BeforeCreate, "x.r[0]", (0, 0), &["x.other"])
        .invocation("action.t.b", BeforeCreate, "x.r[0]", (1, 0), &[])
        .invocation("action.t.a", AfterCreate, "x.r[0]", (0, 0), &["x.other"])
        .invocation("action.t.b", AfterCreate, "x.r[0]", (1, 0), &[]);
    let table = case.build().unwrap();
    table.check(&[
        "create x.other",
        "evaluate action.t.a",
        "invoke action.t.a before_create x.r[0]",
        "invoke action.t.b before_create x.r[0]",
        "delete x.r[0]",
        "create x.r[0]",
        "invoke action.t.a after_create x.r[0]",
        "invoke action.t.b after_create x.r[0]",
    ]);
    table.check(&[
        "invoke action.t.b before_create x.r[0]",
        "delete x.r[2]",
        "invoke action.t.a after_create x.r[0]",
    ]);
    table.check(&["invoke action.t.b before_create x.r[0]", "create x.user"]);
    assert!(!table.waits("create x.user", "invoke action.t.a after_create x.r[0]"));
}

#[test]
fn an_action_before_a_resource_cannot_look_at_it() {
    let own = Case::default()
        .resource("x.r", CLOUD, &[])
        .change(Action::Create, "x.r", CLOUD, &[])
        .invocation("action.t.a", TriggerEvent::BeforeCreate, "x.r", (0, 0), &["x.r"]);
    assert!(own.build().is_err());
    let condition = |event| {
        Case {
        config: "resource \"x\" \"r\" {\n  lifecycle {\n    action_trigger {\n      events = [before_create]\n      actions = \
                 [action.t.a]\n      condition = x.r.id == 1\n    }\n  }\n}\n"
            .to_owned(),
        ..Case::default()
            .resource("x.r", CLOUD, &[])
            .change(Action::Create, "x.r", CLOUD, &[])
            .invocation("action.t.a", event, "x.r", (0, 0), &[])
    }
    };
    assert!(condition(TriggerEvent::BeforeCreate).build().is_err());
    assert!(condition(TriggerEvent::AfterCreate).build().is_ok());
}

#[test]
fn what_is_opened_is_closed_after_all_that_needs_it() {
    const KEYS: &str = "provider[\"forge.test/studio/keys\"]";
    // A token configures a provider, and opens another thing whose token one object takes.
    let case = || {
        Case::default()
            .resource("ephemeral.key.a", KEYS, &[])
            .resource("ephemeral.key.b", KEYS, &["ephemeral.key.a"])
            .provider(CLOUD, "ephemeral.key.a")
            .resource("x.a", CLOUD, &[])
            .resource("x.b", CLUSTER, &["ephemeral.key.b"])
            .change(Action::Create, "x.a", CLOUD, &[])
            .change(Action::Create, "x.b", CLUSTER, &["ephemeral.key.b"])
            .change(Action::Delete, "x.old", CLOUD, &[])
    };
    let table = case().build().unwrap();
    let keys = format!("configure {KEYS}");
    let cloud = format!("configure {CLOUD}");
    let opened = [&*keys, "open ephemeral.key.a"];
    for last in ["create x.a", "settle x.a", "delete x.old"] {
        table.check(&[&opened[..], &[&*cloud, last, "close ephemeral.key.a"]].concat());
    }
    table.check(&[
        &*keys,
        "open ephemeral.key.a",
        "open ephemeral.key.b",
        "create x.b",
        "settle x.b",
        "close ephemeral.key.b",
        "close ephemeral.key.a",
    ]);
    assert!(!table.waits("close ephemeral.key.b", "create x.a"));
}
