#!/usr/bin/env python3
"""Writes down which arguments and blocks each block of the language has, from the sources of Terraform and OpenTofu.

    record.py PROGRAM VERSION REPOSITORY

PROGRAM is terraform or opentofu, REPOSITORY a git directory of its sources with a tag vVERSION. Only the names in the schemas
are kept, in PROGRAM.json: for each schema the required and optional arguments, and the nested blocks with their labels.
"""

import json
import pathlib
import re
import subprocess
import sys

# Files of internal/configs about what stands in modules; tests, queries and mocks are not read here.
FILES = (
    "action checks import language module_call moved named_values parser_config provider provisioner removed resource"
).split()
# Read ahead of the file's own schema, for parts of it.
SNIFFING = re.compile("sniff", re.IGNORECASE)


def balanced(text, start):
    """The text from one opening brace to the brace that closes it."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start : at + 1]
    sys.exit("a brace is never closed")


def lists(text):
    """Lists of attributes that several schemas share, by name."""
    found = {}
    for match in re.finditer(r"var (\w+) = \[\]hcl\.AttributeSchema", text):
        found[match[1]] = balanced(text, text.index("{", match.end()))
    return found


def schema(body, shared):
    at = body.find("Blocks:")
    arguments, blocks = (body, "") if at < 0 else (body[:at], body[at:])
    for name, text in shared.items():
        if re.search(rf"Attributes:\s*{name}\b", arguments):
            arguments += text
    out = {"required": [], "optional": [], "blocks": {}}
    for match in re.finditer(r'Name:\s*"([^"]+)"([^}]*)', arguments):
        out["required" if re.search(r"Required:\s*true", match[2]) else "optional"].append(match[1])
    for match in re.finditer(r'Type:\s*"([^"]+)"(?:,\s*LabelNames:\s*\[\]string\{([^}]*)\})?', blocks):
        out["blocks"][match[1]] = re.findall(r'"([^"]+)"', match[2] or "")
    out["required"].sort()
    out["optional"].sort()
    return out


def main():
    program, version, repository = sys.argv[1:]
    sources = ""
    for name in FILES:
        shown = subprocess.run(
            ["git", "-C", repository, "show", f"v{version}:internal/configs/{name}.go"], capture_output=True, text=True
        )
        sources += shown.stdout
    sources = re.sub(r"//[^\n]*", "", sources)
    shared = lists(sources)
    schemas = {}
    for match in re.finditer(r"var (\w+)Schema = &hcl\.BodySchema", sources):
        if not SNIFFING.search(match[1]):
            name = match[1][0].lower() + match[1][1:]
            schemas[name] = schema(balanced(sources, sources.index("{", match.end())), shared)
    lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(schemas[name])}" for name in sorted(schemas))
    text = f'{{\n  "version": {json.dumps(version)},\n  "schemas": {{\n{lines}\n  }}\n}}\n'
    pathlib.Path(__file__).with_name(f"{program}.json").write_text(text)


main()
