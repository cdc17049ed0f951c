#!/usr/bin/env python3
"""Records what Terraform makes of cases: record.py < cases.jsonl > recorded.jsonl

A case comes without its result (as generate.py writes it, or by hand), and goes out with it, in the form README.md describes.
Terraform is the one that `cargo xtask tools` installs. Each case is planned alone in a folder of its own; the value is read
from the plan file, where it stands with its types, refinements and marks.
"""
import decimal, glob, io, json, os, pathlib, re, shutil, struct, subprocess, sys, tempfile, zipfile

HERE = pathlib.Path(__file__).resolve().parent
HEAD = "locals {\n  subject = "
BASE = re.search(r"## Base configuration\n+```hcl\n(.*?)```", (HERE / "README.md").read_text(), re.S)[1]
LOOK = 'resource "terraform_data" "look_at_subject" {\n  input = local.subject\n}\n'


class Unknown:
    def __init__(self, refinement):
        self.refinement = refinement


class Number(str):
    """A number's own text, which JSON must show as it is."""


def unpack(data):
    """One value of MessagePack, as cty writes it."""
    at = io.BytesIO(data)
    take = lambda kind: struct.unpack(">" + kind, at.read(struct.calcsize(kind)))[0]
    raw = lambda size: at.read(size)

    def array(size):
        return [value() for _ in range(size)]

    def entries(size):
        return {key: value() for key in (value() for _ in range(size))}

    def extension(size):
        kind, body = take("b"), raw(size)
        return Unknown(unpack(body) if kind == 12 else {})

    def value():
        b = take("B")
        if b < 0x80 or b >= 0xE0:
            return b if b < 0x80 else b - 256
        if b < 0xA0:
            return entries(b & 15) if b < 0x90 else array(b & 15)
        if b < 0xC0:
            return raw(b & 31).decode()
        return {
            0xC0: lambda: None, 0xC2: lambda: False, 0xC3: lambda: True,
            0xC4: lambda: raw(take("B")), 0xC5: lambda: raw(take("H")), 0xC6: lambda: raw(take("I")),
            0xC7: lambda: extension(take("B")), 0xC8: lambda: extension(take("H")), 0xC9: lambda: extension(take("I")),
            0xCA: lambda: take("f"), 0xCB: lambda: take("d"),
            0xCC: lambda: take("B"), 0xCD: lambda: take("H"), 0xCE: lambda: take("I"), 0xCF: lambda: take("Q"),
            0xD0: lambda: take("b"), 0xD1: lambda: take("h"), 0xD2: lambda: take("i"), 0xD3: lambda: take("q"),
            0xD4: lambda: extension(1), 0xD5: lambda: extension(2), 0xD6: lambda: extension(4), 0xD7: lambda: extension(8), 0xD8: lambda: extension(16),
            0xD9: lambda: raw(take("B")).decode(), 0xDA: lambda: raw(take("H")).decode(), 0xDB: lambda: raw(take("I")).decode(),
            0xDC: lambda: array(take("H")), 0xDD: lambda: array(take("I")), 0xDE: lambda: entries(take("H")), 0xDF: lambda: entries(take("I")),
        }[b]()

    return value()


def fields(data):
    """The fields of a protocol buffer, number with value."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte, at = data[at], at + 1
            value, shift = value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        size = varint() if key & 7 in (0, 2) else {1: 8, 5: 4}[key & 7]
        if key & 7 == 0:
            yield key >> 3, size
        else:
            yield key >> 3, data[at : at + size]
            at += size


def named(data, number):
    return [value for key, value in fields(data) if key == number]


def number(value):
    if isinstance(value, str):
        return value if value.lstrip("+-").startswith("Inf") else Number(format(decimal.Decimal(value), "f"))
    if isinstance(value, float):
        return "%sInf" % ("-" if value < 0 else "+") if value in (float("inf"), float("-inf")) else Number(format(decimal.Decimal(value).normalize(), "f"))
    return Number(value)


def refined(ty, value, out):
    """Writes type and refinement of something unknown."""
    names = {1: "null", 2: "prefix", 3: "min", 4: "max", 5: "length_min", 6: "length_max"}
    found = {}
    for key, item in value.refinement.items():
        bound = lambda: {"value": number(item[0]), "inclusive": item[1]}
        found[names[key]] = bound() if key in (3, 4) else item
    return {**out, "type": ty, **({"refinement": found} if found else {})}


def plain(ty, value, path, unknown):
    """Type and value, without what is unknown: that goes to the list."""
    if ty == "dynamic" and isinstance(value, list):
        return plain(json.loads(value[0]), value[1], path, unknown)
    if isinstance(value, Unknown):
        unknown.append(refined(ty, value, {"path": path}))
        return ty, None
    if value is None or ty in ("string", "bool", "dynamic"):
        return ty, value
    if ty == "number":
        return ty, number(value)
    kind, inner = ty[0], ty[1]
    of = lambda key: inner if kind in ("list", "set", "map") else inner[key]
    keys = value if isinstance(value, dict) else range(len(value))
    parts = {key: plain(of(key), value[key], path + [key], unknown) for key in keys}
    values = {key: part[1] for key, part in parts.items()}
    if kind in ("tuple", "object"):
        types = {key: part[0] for key, part in parts.items()}
        ty = [kind, types if kind == "object" else list(types.values())]
    return ty, values if isinstance(value, dict) else list(values.values())


def marked(value, paths):
    """The structure of marks: true, or what holds marked parts."""
    if [] in paths:
        return True
    out = [False] * len(value) if isinstance(value, list) else {}
    for key in {path[0] for path in paths}:
        out[key] = marked(value[key], [path[1:] for path in paths if path[0] == key])
    return out


def step(data):
    name = named(data, 1)
    return name[0].decode() if name else unpack(named(named(data, 2)[0], 1)[0])


def read_plan(path):
    plan = zipfile.ZipFile(path).read("tfplan")
    for change in (named(resource, 9)[0] for resource in named(plan, 3) if named(resource, 13)[0] == b"terraform_data.look_at_subject"):
        found = unpack(named(named(change, 2)[0], 1)[0])["input"]
        paths = [[step(one) for one in named(path, 1)] for path in named(change, 4)]
        unknown = []
        ty, value = plain("dynamic", found, [], unknown)
        if unknown and unknown[0]["path"] == []:
            out = {"unknown": True, **{key: item for key, item in unknown[0].items() if key != "path"}}
        elif ty == "number" and isinstance(value, str) and not isinstance(value, Number):
            out = {"type": ty, "infinite": value}
        else:
            out = {"type": ty, "value": value, **({"unknown_paths": unknown} if unknown else {})}
        paths = [path[1:] for path in paths if path[:1] == ["input"]]
        return {**out, **({"sensitive": marked(value, paths)} if paths else {})}


def errors(output):
    found, count = [], 0
    for line in output.splitlines():
        told = json.loads(line).get("diagnostic", {}) if line.startswith("{") else {}
        if told.get("severity") != "error":
            continue
        place, error = told.get("range"), {"summary": told["summary"]}
        if place and place["filename"] == "":
            continue
        if place and place["filename"] != "main.tf":
            error["in"] = place["filename"]
        elif place and place["start"]["byte"] >= len(HEAD):
            error["span"] = [place[end]["byte"] - len(HEAD) for end in ("start", "end")]
        count += 1
        if error not in found:
            found.append(error)
    if not found:
        return {"crash": True}
    return {"error": found[0], **({"more_errors": found[1:]} if found[1:] else {}), **({"errors": count} if count > 1 else {})}


def record(case, terraform):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(HERE / "files", folder + "/files")
        given = case.get("inputs", {})
        lines = lambda of: "".join(f"  {name} = {text}\n" for name, text in of.items())
        files = {
            "base.tf": BASE + LOOK, "main.tf": HEAD + case["expr"] + "\n}\n", "variables.tf": case.get("variables", ""),
            "locals.tf": "locals {\n" + lines(case.get("locals", {})) + "}\n",
            "terraform.tfvars": "".join(f"{name} = {one['text']}\n" for name, one in given.items() if one["via"] == "tfvars"),
        }
        for name, text in files.items():
            pathlib.Path(folder, name).write_text(text)
        env = dict(os.environ, HOME="/home/tester", TZ="UTC", CHECKPOINT_DISABLE="1")
        args = [f"-var={name}={one['text']}" for name, one in given.items() if one["via"] == "arg"]
        run = subprocess.run([terraform, "plan", "-input=false", "-json", "-out=plan", *args], cwd=folder, env=env, capture_output=True, text=True)
        if not os.path.exists(folder + "/plan"):
            told = errors(run.stdout)
            return {"ephemeral": True} if told.get("error", {}).get("summary") == "Invalid use of ephemeral value" else told
        return json.loads(dump(read_plan(folder + "/plan")).replace(os.path.realpath(folder), "<cwd>"), parse_float=Number, parse_int=Number)


def dump(value):
    """JSON with numbers as they are."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {dump(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(dump, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def main():
    decimal.getcontext().prec = 2000
    found = glob.glob(os.path.expanduser("~/.cache/ashlar/tools/terraform-*/terraform"))
    terraform = os.environ.get("TERRAFORM") or found[0]
    for line in sys.stdin:
        case = json.loads(line)
        case.pop("result", None)
        print(dump({**case, "result": record(case, terraform)}), flush=True)


if __name__ == "__main__":
    main()
