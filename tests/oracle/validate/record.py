#!/usr/bin/env python3
"""Records what `terraform validate` says of each configuration below this folder.

    record.py [FILTER ...]             writes expected.json beside each case
    record.py --missing [FILTER ...]   only beside those that have none
    record.py --check [FILTER ...]     compares instead
    record.py --tofu TOFU ...          the same with OpenTofu, in ../validate-opentofu

A case is a folder <group>/<name> with a configuration; a filter is a part of
its path. Terraform and the mirror of providers are those that `cargo xtask
tools` installs; TERRAFORM and ASHLAR_PLUGIN_MIRROR name others.
"""

import argparse
import concurrent.futures
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
OPENTOFU = HERE.parent / "validate-opentofu"
TOOLS = os.path.expanduser("~/.cache/ashlar/tools")
EXPECTED = "expected.json"
# Recorded for an error inside Terraform that nobody made words for.
ANY = "*"
LIMIT_S = 120


def tool(variable, pattern):
    found = os.environ.get(variable) or next(iter(sorted(glob.glob(f"{TOOLS}/{pattern}"))), None)
    return found or sys.exit(f"{variable} is not set, and there is no {TOOLS}/{pattern}: run cargo xtask tools")


TERRAFORM = tool("TERRAFORM", "terraform-*/terraform")
MIRROR = tool("ASHLAR_PLUGIN_MIRROR", "mirror-*/plugins")


def ask(case):
    """Terraform's answer to one case, and what was odd about it."""
    with tempfile.TemporaryDirectory(prefix="validate-") as top:
        top = os.path.realpath(top)
        work = os.path.join(top, "work")
        shutil.copytree(case, work, ignore=shutil.ignore_patterns(EXPECTED))
        settings = os.path.join(top, "terraformrc")
        pathlib.Path(settings).write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{MIRROR}"\n  }}\n}}\n')
        env = {
            "PATH": os.environ["PATH"], "HOME": top, "KILN_DIR": top, "TF_CLI_CONFIG_FILE": settings,
            "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1",
        }

        def run(*argv):
            done = subprocess.run([TERRAFORM, *argv, "-no-color"], cwd=work, env=env, capture_output=True, text=True, timeout=LIMIT_S)
            return done.returncode, done.stdout

        init = run("init", "-json", "-input=false")
        validates = [json.loads(run("validate", "-json")[1]) for _ in range(2)]
        return answer(init, validates, work, [])


# Complaints of validate that only say that init did not come to its end.
FOLLOWS_FROM_INIT = {
    "Module not installed",
    "Module source has changed",
    "Missing required provider",
    "Inconsistent dependency lock file",
    "Failed to load plugin schemas",
}
# What init says before the diagnostics of a configuration that does not load.
PREAMBLES = ("Terraform encountered problems during initialisation", "OpenTofu encountered problems during initialisation")


def answer(init, validates, root, problems):
    init_diagnostics = []
    for line in init[1].splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("type") == "diagnostic" and not event["diagnostic"]["summary"].startswith(PREAMBLES):
            init_diagnostics.append(event["diagnostic"])
    init_diagnostics = facts(init_diagnostics, root)
    answers = [{"valid": body["valid"], "diagnostics": facts(body["diagnostics"], root)} for body in validates]
    if any(a != answers[0] for a in answers):
        problems.append("validate differs between runs")
    chosen = answers[0]
    if init[0] != 0:
        errors = [d for d in chosen["diagnostics"] if d["severity"] == "error"]
        if not errors or any(d["summary"] in FOLLOWS_FROM_INIT for d in errors):
            chosen = {"valid": False, "stage": "init", "diagnostics": init_diagnostics}
        elif init_diagnostics != chosen["diagnostics"]:
            problems.append("init says something else: " + json.dumps(init_diagnostics))
    return chosen, problems


def facts(diagnostics, root):
    """What is recorded of diagnostics, without those that are a mere echo.

    For some bad references the oracle complains twice, the second time with a
    range that it failed to fill in.
    """
    echoes = [d for d in diagnostics if d.get("range") and not d["range"]["filename"]]
    rest = [d for d in diagnostics if d not in echoes]
    if not any(d["severity"] == "error" for d in rest):
        rest = diagnostics
    return ordered(diagnostic(d, root) for d in rest)


def diagnostic(d, root):
    """A diagnostic without its sentences."""
    internal = not d.get("range") and not d.get("detail") and d["summary"][:1].islower()
    out = {"severity": d["severity"], "summary": ANY if internal else summary(d["summary"]).replace(root, "<root>")}
    # A range without a file is one that the oracle failed to fill in.
    if d.get("range") and d["range"]["filename"]:
        r = d["range"]
        out["range"] = {
            "filename": r["filename"],
            "start": {"line": r["start"]["line"], "column": r["start"]["column"]},
            "end": {"line": r["end"]["line"], "column": r["end"]["column"]},
        }
    if d.get("address"):
        out["address"] = d["address"]
    return out


def summary(text):
    """A cycle's members come in no particular order, with words about the graph's own nodes."""
    if not text.startswith("Cycle: "):
        return text
    members = [re.sub(r" \([^)]*\)$", "", m) for m in text[len("Cycle: "):].split(", ")]
    return "Cycle: " + ", ".join(sorted(set(members)))


def ordered(diagnostics):
    def key(d):
        r = d.get("range", {"filename": "", "start": {"line": 0, "column": 0}})
        return (r["filename"], r["start"]["line"], r["start"]["column"], d["summary"], json.dumps(d, sort_keys=True))

    return sorted(diagnostics, key=key)


def dump(body):
    """One diagnostic a line."""
    head = {k: v for k, v in body.items() if k != "diagnostics"}
    lines = ",\n".join("    " + json.dumps(d, ensure_ascii=False) for d in body["diagnostics"])
    listing = f"[\n{lines}\n  ]" if lines else "[]"
    return "{\n" + "".join(f'  "{k}": {json.dumps(v)},\n' for k, v in head.items()) + f'  "diagnostics": {listing}\n}}\n'


def one(case, args):
    try:
        body, problems = ask(case)
    except (subprocess.TimeoutExpired, ValueError) as error:
        return case, [f"Terraform gives no answer: {error}"]
    expected = case / EXPECTED
    if not args.check:
        expected.write_text(dump(body))
    elif json.loads(expected.read_text()) != body:
        problems.append("is not what was recorded")
    return case, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("filters", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--tofu")
    args = parser.parse_args()
    global TERRAFORM
    TERRAFORM = args.tofu or TERRAFORM
    top = OPENTOFU if args.tofu else HERE
    cases = [path for path in sorted(top.glob("*/*")) if path.is_dir()]
    cases = [path for path in cases if not args.filters or any(f in str(path.relative_to(top)) for f in args.filters)]
    cases = [path for path in cases if not (args.missing and (path / EXPECTED).exists())]
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for case, problems in pool.map(lambda case: one(case, args), cases):
            for problem in problems:
                print(f"LOOK  {case.relative_to(top)}: {problem}", flush=True)
            bad += bool(problems)
    print(f"{len(cases)} cases, {bad} to look at")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
