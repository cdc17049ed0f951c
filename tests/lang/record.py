#!/usr/bin/env python3
"""Records what Terraform says of each configuration below this folder.

    record.py [FILTER ...]           writes expected.json beside each case
    record.py --check [FILTER ...]   compares instead

A case is a folder with a configuration; a filter is a part of its path. The
README here describes both files. Terraform and the mirror of providers are
those that `cargo xtask tools` installs; TERRAFORM and ASHLAR_PLUGIN_MIRROR
name others.
"""

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
TOOLS = os.path.expanduser("~/.cache/ashlar/tools")
EXPECTED = "expected.json"
# Around a number that must keep its digits.
MARK = "\ue000"


def tool(variable, pattern):
    found = os.environ.get(variable) or next(iter(sorted(glob.glob(f"{TOOLS}/{pattern}"))), None)
    return found or sys.exit(f"{variable} is not set, and there is no {TOOLS}/{pattern}: run cargo xtask tools")


TERRAFORM = tool("TERRAFORM", "terraform-*/terraform")
MIRROR = tool("ASHLAR_PLUGIN_MIRROR", "mirror-*/plugins")


def ask(case):
    """Terraform's answer to one case."""
    with tempfile.TemporaryDirectory(prefix="lang-") as top:
        work = os.path.join(os.path.realpath(top), "work")
        shutil.copytree(case, work, ignore=shutil.ignore_patterns(EXPECTED))
        settings = os.path.join(top, "terraformrc")
        pathlib.Path(settings).write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{MIRROR}"\n  }}\n}}\n')
        env = {
            "PATH": os.environ["PATH"], "HOME": top, "KILN_DIR": top, "TF_CLI_CONFIG_FILE": settings,
            "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1",
        }

        def run(*argv):
            done = subprocess.run([TERRAFORM, *argv, "-no-color"], cwd=work, env=env, capture_output=True, text=True, timeout=120)
            return done.stdout

        run("init", "-input=false")
        validated = json.loads(run("validate", "-json"))
        if not validated["valid"]:
            return {"valid": False, "diagnostics": facts(validated["diagnostics"])}
        events = map(json.loads, run("plan", "-json", "-input=false", "-out=plan.bin").splitlines())
        found = facts(event["diagnostic"] for event in events if event["type"] == "diagnostic")
        if any(d["severity"] == "error" for d in found):
            return {"valid": False, "diagnostics": found}
        plan = json.loads(run("show", "-json", "plan.bin"), parse_float=lambda digits: MARK + digits + MARK)
        answer = {"valid": True, "diagnostics": found}
        resources = {r["address"]: change(r["change"]) for r in plan.get("resource_changes", [])}
        outputs = {name: change(output) for name, output in plan.get("output_changes", {}).items()}
        return {**answer, "resources": resources, "outputs": outputs}


def change(item):
    return {key: item[key] for key in ("after", "after_unknown") if key in item}


def facts(diagnostics):
    """Severity, summary and range of each, as a sorted set."""
    seen = set()
    for d in diagnostics:
        place = d.get("range")
        at = place and [place["filename"], *(place[end][key] for end in ("start", "end") for key in ("line", "column"))]
        seen.add(json.dumps({"severity": d["severity"], "summary": d["summary"], **({"range": at} if at else {})}))
    return sorted(map(json.loads, seen), key=lambda d: (d.get("range") or [""], d["summary"]))


def text(answer):
    """One line for each diagnostic, resource and output."""
    lines = []
    for key, value in answer.items():
        inner = "null"
        if isinstance(value, list):
            inner = "[" + ",".join("\n  " + json.dumps(v, ensure_ascii=False) for v in value) + ("\n ]" if value else "]")
        elif isinstance(value, dict):
            rows = (f"\n  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False, sort_keys=True)}" for k, v in sorted(value.items()))
            inner = "{" + ",".join(rows) + ("\n }" if value else "}")
        else:
            inner = json.dumps(value)
        lines.append(f" {json.dumps(key)}: {inner}")
    return re.sub(f'"{MARK}([^{MARK}]*){MARK}"', r"\1", "{\n" + ",\n".join(lines) + "\n}\n")


def main():
    words = sys.argv[1:]
    check = "--check" in words
    filters = [word for word in words if word != "--check"]
    cases = sorted({path.parent for path in HERE.glob("*/*/*.tf*")})
    cases = [case for case in cases if not filters or any(part in str(case.relative_to(HERE)) for part in filters)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for case, answer in zip(cases, pool.map(ask, cases)):
            path = case / EXPECTED
            if not check:
                path.write_text(text(answer))
            elif not path.exists() or path.read_text() != text(answer):
                failed += 1
                print(f"{case.relative_to(HERE)}: differs")
    print(f"{len(cases) - failed} cases {'agree' if check else 'recorded'}, {failed} differ" if check else f"{len(cases)} cases recorded")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
