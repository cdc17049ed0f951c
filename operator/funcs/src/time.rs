//! Functions on points in time, written as RFC 3339.
//!
//! Times are read and computed here; what time it is comes from [`crate::Caps`] alone.

mod duration;
mod format;
pub(crate) mod rfc3339;

use ashlar_value::{Type, Value};

use crate::{
    Args, Builtin, Code, FuncError, Purity, Rule, Ty,
    protocol::{PURE, text},
};

use self::rfc3339::{Strictness, Time};

pub(crate) const TABLE: &[Builtin] = &[
    Builtin {
        name: "formatdate",
        doc: "A time in a format such as `DD MMM YYYY hh:mm ZZZ`; letters in single quotes stand for themselves.",
        params: &[text("format"), text("time")],
        examples: &[
            r#"formatdate("DD MMM YYYY hh:mm ZZZ", "2018-01-02T23:12:01Z") == "02 Jan 2018 23:12 UTC""#,
            r#"formatdate("EEEE 'h' H aa", "2018-01-02T23:12:01Z") == "Tuesday h 11 pm""#,
        ],
        code: Code::Run(|args| {
            let (layout, time) = (args.text(0)?, args.text(1)?);
            let time = Time::parse(time, Strictness::Exact).map_err(|why| FuncError::argument(1, why))?;
            let text =
                format::format(layout, &time).map_err(|why| FuncError::argument(0, args.show(0, why)))?;
            Ok(Value::string(text))
        }),
        ..TEXT
    },
    Builtin {
        name: "plantimestamp",
        doc: "The time of the plan.",
        purity: Purity::PlanTime,
        not_null: false,
        examples: &["plantimestamp() == plantimestamp()"],
        code: Code::Run(|args| Ok(known(args.caps().plan_timestamp()))),
        ..TEXT
    },
    Builtin {
        name: "timeadd",
        doc: "A time some duration later, such as `1h30m` or `-10s`.",
        params: &[text("timestamp"), text("duration")],
        not_null: false,
        examples: &[r#"timeadd("2017-11-22T00:00:00Z", "10m") == "2017-11-22T00:10:00Z""#],
        code: Code::Run(|args| {
            let time = Time::parse(args.text(0)?, Strictness::Exact).map_err(FuncError::call)?;
            let duration = args.text(1)?;
            let later = duration::parse(duration).ok_or_else(|| {
                FuncError::call(format!(
                    "{} is not a duration such as 1h30m",
                    args.quote(1, duration)
                ))
            })?;
            Ok(Value::string(time.plus(later).to_string()))
        }),
        ..TEXT
    },
    Builtin {
        name: "timecmp",
        doc: "-1, 0 or 1, as one time is before, the same as or after another.",
        params: &[text("timestamp_a"), text("timestamp_b")],
        result: Rule::Is(Ty::Number),
        examples: &[r#"timecmp("2017-11-22T01:00:00Z", "2017-11-22T00:00:00-01:00") == 0"#],
        code: Code::Run(compare),
        ..TEXT
    },
    Builtin {
        name: "timestamp",
        doc: "The present time in UTC; unknown while planning.",
        purity: Purity::Impure,
        examples: &["timestamp() != null"],
        code: Code::Run(|args| Ok(known(args.caps().timestamp()))),
        ..TEXT
    },
];

const TEXT: Builtin = Builtin {
    result: Rule::Is(Ty::String),
    ..PURE
};

fn known(text: Option<String>) -> Value {
    text.map_or_else(|| Value::unknown(Type::String), Value::string)
}

fn compare(args: &Args<'_>) -> Result<Value, FuncError> {
    let time = |index: usize| {
        Time::parse(args.text(index)?, Strictness::AsGo).map_err(|why| FuncError::argument(index, why))
    };
    Ok(Value::number(time(0)?.instant().cmp(&time(1)?.instant()) as i64))
}
