#!/usr/bin/env python3
"""Records what OpenTofu makes of the expressions in cases.txt.

    record.py TOFU      writes opentofu.jsonl

TOFU is a program `tofu`. Each expression is planned alone, in the configuration
that the README of ../expressions prints. What its plan tells is recorded; type
and refinement of an unknown value are asked of the console and of `== null`.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOFU = os.path.realpath(sys.argv[1])
BASE = re.search(r"## Base configuration\n\n```hcl\n(.*?)```", (HERE / "../expressions/README.md").read_text(), re.S).group(1)
HEAD = "locals {\n  subject = "
PROBE = """
resource "terraform_data" "probe" {
  input = { it = local.subject }
}
output "null" {
  value     = local.subject == null
  sensitive = true
}
"""


def type_of(text):
    """What the console's type() prints, as cty's JSON."""
    tokens = re.findall(r"\w+|[(){}\[\]:,]", text)

    def read():
        word = tokens.pop(0)
        if word in ("string", "number", "bool", "dynamic"):
            return word
        tokens.pop(0)
        if word in ("list", "set", "map"):
            out = [word, read()]
        elif word == "tuple":
            tokens.pop(0)
            items = []
            while tokens[0] != "]":
                items.append(read())
                if tokens[0] == ",":
                    tokens.pop(0)
            tokens.pop(0)
            out = [word, items]
        else:
            tokens.pop(0)
            attrs = {}
            while tokens[0] != "}":
                name = tokens.pop(0)
                tokens.pop(0)
                attrs[name] = read()
                if tokens[0] == ",":
                    tokens.pop(0)
            tokens.pop(0)
            out = [word, attrs]
        tokens.pop(0)
        return out

    return read()


def error(found, expr):
    out = {"summary": found["summary"]}
    place = found.get("range")
    if place and place["filename"] == "main.tf":
        out["span"] = [place[end]["byte"] - len(HEAD.encode()) for end in ("start", "end")]
    elif place:
        out["in"] = place["filename"]
    return out


def record(line):
    group, expr = line.split("\t", 1)
    with tempfile.TemporaryDirectory(prefix="tofu-") as top:
        work = pathlib.Path(top)
        (work / "settings").write_text("disable_checkpoint = true\n")
        (work / "main.tf").write_text(f"{HEAD}{expr}\n}}\n")
        (work / "base.tf").write_text(BASE + PROBE)
        shutil.copytree(HERE / "files", work / "files")
        env = {"PATH": os.environ["PATH"], "HOME": "/home/tester", "TZ": "UTC", "CHECKPOINT_DISABLE": "1",
               "TF_CLI_CONFIG_FILE": str(work / "settings"), "TF_IN_AUTOMATION": "1"}

        def run(*argv, stdin=""):
            return subprocess.run([TOFU, *argv, "-no-color"], cwd=work, env=env, input=stdin, capture_output=True, text=True, timeout=40)

        run("init", "-input=false")
        planned = run("plan", "-json", "-input=false", "-out=planned")
        events = [json.loads(event) for event in planned.stdout.splitlines()]
        faults = [event["diagnostic"] for event in events if event["type"] == "diagnostic" and event["diagnostic"]["severity"] == "error"]
        if faults:
            # The probe's own faults follow from the first one.
            told = [error(fault, expr) for fault in faults if fault.get("range", {}).get("filename") != "base.tf"]
            unique = [fault for at, fault in enumerate(told) if fault not in told[:at]]
            result = {"error": unique[0]}
            if unique[1:]:
                result["more_errors"] = unique[1:]
        else:
            shown = json.loads(run("show", "-json", "planned").stdout, parse_float=str)
            change = next(c["change"] for c in shown["resource_changes"] if c["address"] == "terraform_data.probe")
            unknown = change["after_unknown"]["input"] is True or change["after_unknown"]["input"].get("it", False) is True
            marked = change["after_sensitive"].get("input", {})
            marked = marked if marked is True else marked.get("it", False) if isinstance(marked, dict) else False
            told = run("console", stdin=f"type({expr})\n".replace("\n", " ") + "\n").stdout
            result = {"unknown": True} if unknown else {}
            result["type"] = type_of(told)
            if unknown:
                known = shown["planned_values"].get("outputs", {}).get("null", {}).get("value")
                if known is False:
                    result["refinement"] = {"null": False}
            else:
                result["value"] = change["after"]["input"]["it"]
            if marked:
                result["sensitive"] = marked
    name = f"tofu.{group}"
    return {"id": f"{name}/{hashlib.sha256(expr.encode()).hexdigest()[:10]}", "group": name, "expr": expr, "result": result}


def attempt(line):
    """The case, or None where OpenTofu gives no answer in time: nested templates cost it twice as much a level."""
    try:
        return record(line)
    except subprocess.TimeoutExpired:
        print("no answer in time:", line, file=sys.stderr)
        return None


def main():
    lines = [line for line in (HERE / "cases.txt").read_text().splitlines() if line and not line.startswith("#")]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        cases = [case for case in pool.map(attempt, lines) if case]
    (HERE / "opentofu.jsonl").write_text("".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases))


main()
