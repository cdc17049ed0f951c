//! What a plugin says: remarks with their places, and its log.

use ashlar_diag::Severity;
use tracing::Level;

use crate::{
    bench::{Bench, SECRET},
    drive::drive,
    harness::cases,
    model::Script,
    rpcs::{CALLS, WITHOUT_REMARKS},
};

cases![remarks_have_their_places, a_log_keeps_its_levels_and_no_secret];

async fn remarks_have_their_places() {
    for generation in [5, 6] {
        for rpc in CALLS.iter().filter(|rpc| !WITHOUT_REMARKS.contains(&rpc.six)) {
            let bench = Bench::model(Script {
                fault: format!("remarks {}", rpc.six),
                ..Script::healthy(generation)
            });
            let provider = bench.started().await;
            let got = drive(rpc.six, &*provider).await;
            let got: Vec<_> = got
                .iter()
                .map(|diag| {
                    assert_eq!(
                        (diag.summary.as_str(), diag.detail.as_str()),
                        ("A remark", "It says more.")
                    );
                    assert!(diag.fault.is_none());
                    (diag.severity, diag.path.as_ref().map(ToString::to_string))
                })
                .collect();
            let expected = [
                (Severity::Warning, Some(".name".to_owned())),
                (Severity::Error, Some(".tags[\"a key\"]".to_owned())),
                (Severity::Error, Some(".list[3]".to_owned())),
                // Without a severity it counts as an error.
                (Severity::Error, None),
            ];
            assert_eq!(got, expected, "{}", rpc.six);
            provider.close().await;
        }
    }
}

async fn a_log_keeps_its_levels_and_no_secret() {
    let bench = Bench::model(Script {
        fault: "logs".to_owned(),
        ..Script::healthy(6)
    });
    let provider = bench.started().await;
    assert!(drive("ReadResource", &*provider).await.is_empty());
    provider.close().await;
    let log = bench.log();
    let has = |level: Level, text: &str| log.iter().any(|line| line.level == level && line.text == text);
    for level in [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE] {
        let name = level.as_str().to_lowercase();
        assert!(has(level, &format!("at {name} with *** key=\"***\"")), "{log:?}");
    }
    assert!(has(Level::DEBUG, "plain text with ***"), "{log:?}");
    assert!(has(Level::WARN, "through the frame key=\"***\""), "{log:?}");
    assert!(log.iter().all(|line| !line.text.contains(SECRET)), "{log:?}");
}
