#!/usr/bin/env python3
"""Random expression cases: generate.py SEED COUNT > cases.jsonl"""
import hashlib, json, os, random, sys
HERE = os.path.dirname(os.path.abspath(__file__))
FN = json.load(open(os.path.join(HERE, "functions.json")))
R = random.Random()
pick = lambda *a: R.choice(a)
def maybe(p): return R.random() < p
def q(s):
    """A quoted literal of the text."""
    out = ""
    for c in s:
        out += {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}.get(c, c)
    return '"' + out.replace("${", "$${").replace("%{", "%%{") + '"'

# ---- leaves
WORDS = ["", "a", "b", "abc", "Hello World", "foo-bar_baz", "é", "e\u0301", "日本語", "👩‍👩‍👧", "ß", "ǆ", "İ", "a\nb", " x ", "\t", "true", "false", "null",
         "1", "01", "-0", "1.50", "1e3", "0x1F", "1_000", "NaN", "Infinity", "inf", "ab,c", "k=v", "${x}", "%{if}", "a\"b", "\\", "~", "*", "0", "yes", "1e400", ".5", "5.", "+1", "\u00a0x", "x\u200b", "ﬁ", "Å", "ΑΣ", "<&>", "a/b/../c", "10.0.0.0/8", "2020-01-01T00:00:00Z"]
NUMS = ["0", "1", "2", "3", "-1", "-3", "7", "10", "0.5", "-0.5", "1.5", "2.25", "0.1", "3.999", "1e3", "1e-3", "100000000000000000000", "9007199254740993", "1e30", "1e100", "1e-30", "0.1+0.2", "1/3", "-0", "2147483648", "4294967296", "9223372036854775807", "9223372036854775808", "18446744073709551616", "255", "256", "16", "64", "1e308", "1e400", "123456.789", "1/7*7", "0.30000000000000004"]
def string():
    return pick(*[lambda: q(pick(*WORDS))]*8, lambda: q(pick(*WORDS) + pick(*WORDS)), lambda: "var.str", lambda: pick("local.u_id", "local.u_str", "terraform_data.x.id"),
        lambda: '"p-${local.u_id}"', lambda: '"%s${%s}"' % (pick("", "a", "é", "x "), pick("local.u_str", "local.u_num", "local.u_id", "1", "true", "var.str", "var.secret")),
        lambda: pick("var.secret", 'sensitive("s")', "sensitive(local.u_id)"), lambda: pick("null", "var.none", "tostring(null)", "sensitive(null)"))()
def number():
    return pick(*[lambda: pick(*NUMS)]*9, lambda: pick("local.u_num", "length(local.u_list)", "length(local.u_id)", "abs(local.u_num)", "terraform_data.num.output"), lambda: pick("var.secret_num", "sensitive(1)"), lambda: pick("tonumber(null)", "null"), lambda: q(pick("1", "2", "0.5", "x", "-7")))()
def boolean():
    return pick("true", "false", "true", "false", "local.u_bool", 'sensitive(true)', "sensitive(local.u_bool)", "tobool(null)", '"true"', "local.u_str == null", "local.u_id == null", 'local.u_str == "x"', "length(local.u_list) > 0", "1 < 2", "null", "local.u_num > 3")
KEYS = ["a", "b", "c", "k", "é", "1", "x-y", "A"]
def key(): 
    k = pick(*KEYS)
    return pick(k if k.isidentifier() else q(k), q(k), "(%s)" % (string() if maybe(.3) else q(k)))
def tup(d, n=None): return "[" + ", ".join(value(d - 1) for _ in range(pick(0, 1, 2, 2, 3) if n is None else n)) + "]"
def same(d):
    f = pick(string, string, number, number, boolean, lambda: obj(d - 1), lambda: tup(d - 1))
    return "[" + ", ".join(f() for _ in range(pick(0, 1, 2, 3, 4))) + "]"
def obj(d):
    sep = pick(", ", "\n  ")
    items = ["%s %s %s" % (key(), pick("=", ":"), value(d - 1)) for _ in range(pick(0, 1, 2, 2, 3))]
    return "{" + pick("", " ") + sep.join(items) + " }" if sep == ", " or not items else "{\n  " + sep.join(items) + "\n}"
def omap(d):
    f = pick(string, number, boolean)
    ks = R.sample(["a", "b", "c", "d", "Z", "é"], pick(0, 1, 2, 3))
    return "{ " + ", ".join("%s = %s" % (k, f()) for k in ks) + " }"
def lst(d): return pick(lambda: same(d), lambda: same(d), lambda: tup(d), lambda: "tolist(%s)" % same(d), lambda: "var.names", lambda: "local.u_list", lambda: "var.secret_list", lambda: "sensitive(%s)" % same(d), lambda: "tolist([local.u_str, \"a\"])", lambda: "local.u_tup", lambda: "[local.u_id, local.u_num]", lambda: "local.u_dyn", lambda: "null", lambda: "tolist(null)", lambda: "tolist(local.u_set)", lambda:"concat(local.u_list, [\"z\"])")()
def st(d): return pick(lambda: "toset(%s)" % same(d), lambda: "toset(%s)" % same(d), lambda: "toset(%s)" % tup(d), lambda: "local.u_set", lambda: "toset([local.u_str, \"a\"])", lambda: "toset([])", lambda: "toset(var.secret_list)", lambda: "toset(local.u_list)", lambda: "toset([sensitive(\"a\"), \"b\"])", lambda: "toset([local.u_id, local.u_str])", lambda: "sensitive(toset([\"a\"]))")()
def mp(d): return pick(lambda: omap(d), lambda: omap(d), lambda: "tomap(%s)" % omap(d), lambda: obj(d), lambda: "local.u_map", lambda: "local.u_obj", lambda: "sensitive(%s)" % omap(d), lambda: "tomap({ a = local.u_str, b = \"x\" })", lambda: "{ a = sensitive(\"x\"), b = 1 }", lambda: "{ (local.u_id) = 1 }", lambda: "{ (var.secret) = 1 }", lambda: "var.any", lambda: "null", lambda: "terraform_data.obj", lambda: "merge(local.u_map, { z = \"1\" })")()
def value(d=2):
    if d <= 0: return pick(string, number, boolean, string)()
    return pick(string, string, number, number, boolean, lambda: lst(d), lambda: st(d), lambda: mp(d), lambda: tup(d), lambda: obj(d), lambda: "null", lambda: pick("local.u_dyn", "local.u_str", "local.u_obj", "local.u_tup", "local.u_list", "local.u_bool"), lambda: call(d - 1) if maybe(.5) else expr(d - 1), lambda: "var.eph" if maybe(.2) else string())()

# ---- function arguments by what they mean
FMT = lambda: "".join(pick("%" + pick("", "-", "+", "#", "0", " ", "-0", "+ ", "#0") + pick("", "", "5", "12", "[1]", "[2]", "*", "3") + pick("", "", ".2", ".0", ".", ".10", ".*") + pick(*"vvsdtqbcoxXeEfgG%UTp"), "%" + pick(*"sdvqtfgxobeE"), pick("text ", "é", "%%", "", "\n", ":")) for _ in range(pick(1, 1, 2, 3)))
RE = ["a", "[a-z]+", "(\\w+)-(\\w+)", "(?P<x>a)(?P<y>b)?", "(?i)HELLO", "^$", "\\d+", "[[:alpha:]]+", "[[:^digit:]]", "\\pL+", "\\p{Greek}", "\\P{Lu}", "(?s).*", "(?m)^b", "a{2,}", "a{,2}", "a{1001}", "(a", "a)", "[a", "[z-a]", "*a", "a**", "\\", "(?<x>a)", "(?P<x>a)(?P<x>b)", "(?=a)", "\\1", "\\z", "\\Z", "\\A", "\\b\\w", "\\B", "\\Q.\\E", "\\x41", "\\x{1F600}", "\\C", "(?U)a+", "a+?", "[^a]", ".", "", "(a)|(b)", "(?:a|b)+", "é", "\\pN", "\\p{Foo}", "(?z)a", "[[:foo:]]", "[\\d\\-x]+", "x*", "\\s+", "[\\pL\\d]", "(?i)ß", "(?i)k", "\\a\\f\\v", "\\07", "\\_", "\\é", "(?P<1a>x)", "(?P<>x)", "(?i:a)B", "((((a))))", "a|", "[a-\\d]", "[]a]", "[^]a]", "\\8", "{", "a{", "a{1", "a{x}", "a{2}{3}", "(?-s).", "\\pLx", "(?P<n>\\d+)x?"]
TEXT = ["", "a", "ab", "aab-cd", "hello World", "Hello\nb\nworld", "12 ab 34", "αβγ ΑΒΓ", "é😀", "aaa", "a.b.c", "x\ty", "K k", "foo-bar foo-baz", "b", "_x1", "\u212a", "ſ", "A1B2"]
DUR = ["1h", "-1h", "1.5h", "90m", "1h30m", "10s", "0", "", "1d", "1", "-", "+5m", "1ms", "1us", "1µs", "1ns", "1.h", ".5h", "1h-1m", "2562047h47m16.854775807s", "9999999h", "1 h", "24h", "1e3s", "1H", "-0", "1.0000000001s", "0.1ns"]
TIME = ["2020-01-01T00:00:00Z", "2020-02-29T23:59:59Z", "2021-02-29T00:00:00Z", "2020-01-01T00:00:00+05:30", "2020-12-31T12:04:05.123456Z", "2020-01-01 00:00:00Z", "2020-01-01T00:00:00", "2020-01-01T24:00:00Z", "2020-13-01T00:00:00Z", "2020-01-01T00:00:60Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2020-01-01t00:00:00z", "", "2020-1-1T00:00:00Z", "2020-01-01T00:00:00-00:00", "2023-06-07T08:09:01-07:00", "2020-01-01T12:00:00+24:00", "0000-01-01T00:00:00Z", "2020-01-01T00:00:00,5Z", "2020-01-01T1:00:00Z", "2020-01-01T00:00:00.Z", "2020-01-01T00:00:00+0530", "2020-01-01", "2020-01-01T00:00Z", "2020-01-00T00:00:00Z", "2020-04-31T00:00:00Z", "12020-01-01T00:00:00Z", "2020-01-01T00:61:00Z", "2020-01-01T00:00:00+05:60", "2020-01-01T00:00:00ZZ", "1900-02-29T00:00:00Z"]
DATEFMT = lambda: "".join(pick("YYYY", "YY", "MM", "M", "MMM", "MMMM", "DD", "D", "EEE", "EEEE", "hh", "h", "HH", "H", "AA", "aa", "mm", "m", "ss", "s", "ZZZZ", "ZZZZZ", "ZZZ", "Z", "'T'", "''", "'at o''clock'", "-", " ", ":", "/", "é", "Y", "YYY", "MMMMM", "E", "EE", "A", "hhh", "ZZ", "Q", "'", "1", ".", "X") if maybe(.25) else pick("YYYY", "MM", "DD", "MMM", "EEE", "hh", "H", "AA", "aa", "mm", "ss", "ZZZ", "Z", "'T'", "-", " ", "ZZZZZ") for _ in range(pick(1, 2, 3, 5)))
CIDR = ["10.0.0.0/8", "10.1.2.3/16", "192.168.1.0/24", "0.0.0.0/0", "255.255.255.255/32", "10.0.0.0/33", "10.0.0/8", "010.0.0.0/8", "10.0.0.0", "fe80::/10", "2001:db8::/32", "::/0", "::1/128", "::ffff:10.0.0.0/104", "2001:db8::1/64", "fe80::1%eth0/64", "10.0.0.0/", "/8", "", "10.0.0.0/08", "10.0.0.256/24", "10.0.0.0/-1", "2001:DB8::/33", "1::2::3/64", "172.16.0.0/12", "10.0.0.0/31", "::/129", "fd00:0:0:1::/56", "10.0.0.0/+8", " 10.0.0.0/8"]
JSONT = ['{"a":1}', '[1,2.50,1e3]', '"x"', 'null', 'true', '{"a":{"b":[1,"x",null,{}]}}', '', '{', '[1,]', '{"a":1,"a":2}', '1', '-0', '1e400', '01', '"\\u00e9"', '"\\ud83d\\ude00"', '"\\ud83d"', ' [ ] ', '{"a":1}x', 'nul', "{'a':1}", '[1,"a",true]', '123456789012345678901234567890', '0.1', '"a\nb"', '[[],{}]', '\ufeff1', '{"é":"e\u0301"}', '1.0', '1E2', '-', '"\\x"', '[1 2]', '{"a" 1}', '{1:2}', '"', '[', '// c\n1', '1.', '.5', '+1', 'NaN', '"\\u0000"', '"\\/"', '[null,null]', '1e-400', '\t1\r\n']
YAMLT = ["a: 1", "- 1\n- x", "a: [1, 2]\nb: {c: d}", "x", "", "~", "yes", "on", "0x1F", "0o17", "017", "1_000", "1e3", ".inf", "-.inf", ".nan", "2020-01-01", "a: &x 1\nb: *x", "a: &x {p: 1}\nb:\n  <<: *x\n  q: 2", "|\n  a\n  b\n", ">\n  a\n  b\n\n  c\n", "a: |-\n  x\n", "'it''s'", "\"a\\tb\\u00e9\"", "? a\n: b", "a: 1\na: 2", "!!str 1", "!!int '3'", "!!binary aGk=", "!foo x", "--- 1\n...", "--- 1\n--- 2", "%YAML 1.1\n--- a", "a:\n- 1\n- 2", "a: b: c", "[1, 2", "{a: 1", "\t- a", "- a\n  b", "# c\na: 1 # d", "1: x", "true: x", "null: x", "[a]: b", "*x", "@a", "`a", "a: 'b", "{a, b: }", "- - 1\n  - 2\n- 3", "a: !!float 1", "0b11", "1:30", "+1", "-1.5e-3", "1.", ".5", "Null", "NULL", "TRUE", "y", "n", "''", "a: \"x\n  y\"", "a:\n  b:\n    c: [~, true]", "- !!set {a, b}", "<<: {a: 1}", "é: 日本", "a: >-\n  x\n  y\n", "a: |2\n   x\n", "a:  x  ", "- \n- a", "a: -", "!!map {a: 1}", "!!seq [1]", "!!null x", "!!bool yes", "2001-12-14t21:59:43.10-05:00", "a: 1e400", "12345678901234567890", "0x", "08", "1e", "[]", "{}", "a: {}\nb: []", "\"\\x41\\q\"", "- *a", "a: *b", "&a [*a]"]
CSVT = ["a,b\n1,2\n", "a,b\n1,2", "a\n", "", "a,b\n1\n", "a,b\n1,2,3\n", "a,a\n1,2\n", "\"a b\",c\n\"x\"\"y\",\"1\n2\"\n", "a,b\r\n1,2\r\n", "a,\n1,2\n", "a\n\n\n1\n", "a,b\n\"1,2\n", "a,b\n1\"2,3\n", "a;b\n1;2\n", " a,b \n 1, 2 \n", "\ufeffa\n1\n", "é\n日\n", "a\n\"\"\n", "\"a\n1\n", "a,b\n\"1\"x,2\n", "#a\n1", "a\r1\n", ","]
B64 = ["aGVsbG8=", "aGVsbG8", "", "!!!!", "w6k=", "/w==", "aGVs\nbG8=", "YQ==", "YR==", "_-8=", "YWI=YWI=", "4pyT", "gA==", " YQ==", "//4=", "AGEAYg=="]
ENC = ["UTF-8", "utf-16le", "UTF-16BE", "UTF-16", "ISO-8859-1", "latin1", "windows-1252", "Shift_JIS", "EUC-JP", "GBK", "Big5", "KOI8-R", "US-ASCII", "ascii", "UTF-32", "foo", "", "ISO-2022-JP", "macintosh", "EUC-KR", "gb18030", "cp437", "IBM866", "iso-8859-15", "CP1252", "windows-1251", "UTF8", "ISO-8859-16", "hz-gb-2312", "CP850", "windows-874", "x-user-defined", "unicode", "UCS-2", "iso88591"]
PATHS = ["files/hello.txt", "files/dir", "files/binary.bin", "files/empty.txt", "files/nope", "", ".", "..", "/", "~", "~/x", "~bob/x", "files//dir/./../hello.txt", "a/b/", "a\\b", "/a/b.txt", "files/bom.txt", "files/crlf.txt", "files/data.json", "./files/data.yaml", "./", "a/", "//a", "/../x", "a/../..", "...", "é/ß.x"]
GLOB = ["*", "**", "*.txt", "**/*.txt", "[a-c].txt", "{a,b}.txt", "?.txt", "sub/*", "", "[", "{a", "\\*", "x[[]1].txt", "**/d.json", "*/", ".*", "*.TXT", "{a,{b,c}}.txt", "[^a]*", "[!a]*", "a**", "**.txt", "./*", "sub/**", "x\\[1\\].txt", "{,a}.txt", "[b-a]*", "sub/**/*.json", "/*"]
TMPL = ["hi ${name}", "%{ for x in xs ~}\n${x}\n%{ endfor ~}", "%{ if n > 1 }a%{ else }b%{ endif }", "${missing}", "${", "%{ if true }", "$${name}", "${upper(name)}", "", "${n}", "x", "${xs[0]}", "${jsonencode(xs)}", "%{ for k, v in m }${k}=${v};%{ endfor }", "${~ name ~} ", "${local.u_id}", "${templatestring(name, {})}", "${name}${n}", "%{ endif }", "%{ for }", "${n + 1}", "${path.module}", "a\n  ${name}\n"]
def lit(pool):
    """A literal of a text from the pool, at times with a change or two, or of two in one."""
    def make():
        one = lambda: pool() if callable(pool) else pick(*pool)
        text = one()
        if maybe(.15): text += pick("", "", "\n", ",", " ", "-", "|") + one()
        while maybe(.3): text = noise(text)
        return q(text)
    return make
def short(): return pick(*map(str, range(-2, 9)), "0.5", "32", "16", "64", "local.u_num", "null", "sensitive(2)", '"3"', "1e10", "100")
STR = lambda: q(pick(*WORDS, *TEXT))
TV = lambda: pick('{ name = "Ann", xs = ["a", "b"], n = 2, m = { k = "v" } }', '{ name = "Ann", xs = [], n = 0, m = {} }', "{}", "{ name = local.u_str, xs = local.u_list, n = local.u_num, m = local.u_map }", "{ name = sensitive(\"s\"), xs = [sensitive(\"a\")], n = sensitive(3), m = {} }", '{ name = null, xs = null, n = null, m = null }', "tomap({ name = \"x\" })", "local.u_obj", "local.u_dyn", "{ \"a b\" = 1, name = \"\" }", "[]", "null", "{ name = [], n = \"x\" }", "{ name = var.eph, xs = toset([\"b\", \"a\"]), n = 2 }")
cut = lambda: q(pick("", " ", "a", "ab", "é", "-", "ab-", "\n", "o", "H"))
ARGS = {
 "format": lambda: [lit(FMT)()] + [value(1) for _ in range(pick(0, 1, 1, 2, 3))], "formatlist": lambda: [lit(FMT)()] + [pick(lambda: same(1), lambda: value(1), lambda: lst(1))() for _ in range(pick(0, 1, 2, 2))],
 "regex": lambda: [lit(RE)(), lit(TEXT)()], "regexall": lambda: [lit(RE)(), lit(TEXT)()],
 "replace": lambda: [lit(TEXT)(), pick(lambda: q("/" + pick(*RE) + "/"), lambda: lit(TEXT)(), cut)(), q(pick("", "x", "$1", "${1}x", "$x", "$$", "$0-$2", "\\1", "$1x", "${y}", "é", "$"))],
 "timeadd": lambda: [lit(TIME)(), lit(DUR)()], "timecmp": lambda: [lit(TIME)(), lit(TIME)()], "formatdate": lambda: [lit(DATEFMT)(), q(pick(*TIME[:2] + TIME[16:17]*3 + TIME))],
 "cidrhost": lambda: [lit(CIDR)(), pick(short, number)()], "cidrnetmask": lambda: [lit(CIDR)()], "cidrsubnet": lambda: [lit(CIDR)(), short(), pick(short, number)()], "cidrsubnets": lambda: [lit(CIDR)()] + [short() for _ in range(pick(0, 1, 2, 3))],
 "jsondecode": lambda: [lit(JSONT)()], "yamldecode": lambda: [lit(YAMLT)()], "csvdecode": lambda: [lit(CSVT)()], "base64decode": lambda: [lit(B64)()],
 "textencodebase64": lambda: [STR(), lit(ENC)()], "textdecodebase64": lambda: [lit(B64)(), lit(ENC)()],
 "fileset": lambda: [q(pick("files/dir", "./files/tmpl", "files", "nope", "files/dir/sub", "files/dir/")), lit(GLOB)()],
 "templatestring": lambda: ["local.t", TV()], "templatefile": lambda: [q("files/tmpl/" + pick("nested", "loop_plain", "cond_strip", "varref", "yaml", "heredocish", "localref", "missing", "map", "func", "greet", "file", "unknownfn", "escapes", "selfrec", "single", "empty", "noeol", "loop", "nope") + ".tftpl"), TV()],
 "substr": lambda: [STR(), short(), short()], "indent": lambda: [short(), lit(TEXT)()], "split": lambda: [cut(), STR()], "join": lambda: [cut()] + [pick(lst, same, st)(1) for _ in range(pick(1, 1, 2, 0))],
 "trim": lambda: [STR(), cut()], "trimprefix": lambda: [STR(), cut()], "trimsuffix": lambda: [STR(), cut()], "startswith": lambda: [string(), cut()], "endswith": lambda: [string(), cut()], "strcontains": lambda: [string(), cut()],
 "parseint": lambda: [q(pick("ff", "FF", "0x1f", "-10", "+10", "10", "z", "Zz", "1_0", "", "12345678901234567890123", "0b1", " 1", "é", "1.5")), pick("10", "16", "2", "36", "62", "63", "1", "0", "8", "-2", "local.u_num", "2.5", "37")],
 "element": lambda: [pick(lst, st, tup)(1), short()], "slice": lambda: [pick(lst, st, tup)(1), short(), short()], "chunklist": lambda: [lst(1), short()], "index": lambda: [lst(1), value(1)], "contains": lambda: [pick(lst, st)(1), value(1)],
 "lookup": lambda: [mp(1), pick(q("a"), q("b"), q("zz"), string())] + [value(1) for _ in range(pick(0, 1, 1, 2))], "merge": lambda: [mp(2) for _ in range(pick(0, 1, 2, 2, 3))], "zipmap": lambda: [lst(1), lst(1)], "transpose": lambda: [pick('{ a = ["x", "y"], b = ["y"] }', "{ a = [] }", '{ a = sensitive(["x"]) }', "{ a = local.u_list }", '{ a = ["x"], b = null }', "{ a = toset([\"q\", \"p\"]) }", mp(1))],
 "range": lambda: [pick(short, number)() for _ in range(pick(1, 2, 2, 3, 0, 4))], "sum": lambda: [pick("[%s]" % ", ".join(number() for _ in range(pick(0, 1, 2, 3))), st(1), lst(1))], "log": lambda: [number(), pick("2", "10", "0", "1", "-1", number())], "pow": lambda: [pick(number, short)(), short()],
 "matchkeys": lambda: [lst(1), lst(1), pick(lst, st)(1)], "setproduct": lambda: [pick(lst, st)(1) for _ in range(pick(0, 1, 2, 2, 3))], "flatten": lambda: [pick("[%s]" % ", ".join(pick(lst, st, tup)(1) for _ in range(pick(0, 1, 2, 3))), lst(2), st(2))],
 "concat": lambda: [lst(1) for _ in range(pick(0, 1, 2, 3))], "coalesce": lambda: [pick(string, number, lambda: "null", lambda: value(1))() for _ in range(pick(0, 1, 2, 3))], "coalescelist": lambda: [pick(lst, st)(1) for _ in range(pick(0, 1, 2, 3))],
 "convert": lambda: [value(2), constraint(2)], "uuidv5": lambda: [q(pick("dns", "url", "oid", "x500", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "foo", "", "DNS", "{6ba7b810-9dad-11d1-80b4-00c04fd430c8}", "urn:uuid:6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b8109dad11d180b400c04fd430c8")), STR()],
 "try": lambda: [pick(lambda: value(2), lambda: "local.u_obj.zz", lambda: "tonumber(\"x\")", lambda: "var.any.zz", lambda: "[][0]", lambda: "local.u_dyn.a", lambda: "sensitive(\"x\").y", lambda: "tobool(local.u_str)", lambda: expr(1))() for _ in range(pick(1, 2, 2, 3))], "can": lambda: [pick(lambda: value(2), lambda: "local.u_obj.zz", lambda: "tonumber(\"x\")", lambda: "local.u_dyn.a", lambda: "sensitive({})[\"a\"]", lambda: "regex(\"a\", local.u_str)", lambda: "local.nope", lambda: expr(1))()],
 "rsadecrypt": lambda: [lit(B64)(), pick('file("files/rsa.pem")', 'file("files/rsa_pkcs8.pem")', '"x"', '""')],
 "setunion": lambda: [pick(lst, st)(1) for _ in range(pick(1, 2, 3))], "setintersection": lambda: [pick(lst, st)(1) for _ in range(pick(1, 2, 2, 3))], "setsubtract": lambda: [pick(lst, st)(1) for _ in range(2)],
 "jsonencode": lambda: [value(3)], "yamlencode": lambda: [value(3)], "sort": lambda: [pick(same, lst, st)(1)], "distinct": lambda: [pick(same, lst)(2)], "one": lambda: [pick(lst, st, tup)(1)], "keys": lambda: [mp(2)], "values": lambda: [mp(2)], "compact": lambda: [lst(1)], "reverse": lambda: [pick(lst, st)(2)], "length": lambda: [value(2)],
}
for f in ("file", "filebase64", "fileexists", "filemd5", "basename", "dirname", "abspath", "pathexpand", "filesha1", "filesha256", "filesha512", "filebase64sha256", "filebase64sha512"): ARGS[f] = lambda: [lit(PATHS)()]
for f in ("upper", "lower", "title", "strrev", "chomp", "trimspace", "urlencode", "base64encode", "md5", "base64gzip", "sha1"): ARGS[f] = lambda: [pick(STR, STR, string)()]
SKIP = {"bcrypt", "uuid", "timestamp", "plantimestamp"}
NAMES = [n for n in FN if n not in SKIP]
def typed(ty, d=1):
    if maybe(.12): return value(d)
    if ty == "string": return string()
    if ty == "number": return number()
    if ty == "bool": return boolean()
    if ty == "dynamic": return value(d)
    return {"list": lst, "set": st, "map": mp}[ty[0]](d)
def call(d=1, name=None):
    name = name or pick(*NAMES)
    f = FN[name]
    if name in ARGS and maybe(.8):
        args = ARGS[name]()
        if args and maybe(.15): args[R.randrange(len(args))] = value(1)
    else:
        args = [typed(p["type"], d) for p in f["params"]]
        if "variadic" in f: args += [typed(f["variadic"]["type"], d) for _ in range(pick(0, 1, 2))]
        if maybe(.04): args.append(value(0))
        if args and maybe(.04): args.pop()
    tail = ""
    if maybe(.05) and args:
        args[-1] = pick("[%s]" % args[-1], lst(1), st(1), "local.u_list", "null", "local.u_dyn"); tail = "..."
    return ("core::" if maybe(.02) else "") + name + "(" + ", ".join(args) + tail + ")"

# ---- other expressions
BIN = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||"]
def binary(d):
    op = pick(*BIN)
    a = {"&&": boolean, "||": boolean}.get(op, number)
    if op in ("==", "!="): a = lambda: value(d)
    if maybe(.1): a = lambda: value(d)
    l, r = a(), a()
    if maybe(.25): r = "(%s %s %s)" % (r, pick(*BIN), a())
    return "%s%s %s %s" % (pick("", "", "", "!", "-"), l, op, r)
def cond(d): return "%s ? %s : %s" % (boolean() if maybe(.9) else value(0), value(d), value(d))
def templ(d):
    def part():
        s = lambda a="": pick(a, a, a + "~")
        e = lambda: pick(string, number, boolean, lambda: value(1))()
        c = R.random()
        if c < .35: return pick("a", " ", "\\n", "é", "x ", "\\t ", "$${", "%%{", "$", "%", "\\u00e9", "  \\n  ")
        if c < .75: return "${%s %s %s}" % (pick("", "~"), e(), pick("", "~"))
        if c < .87: return "%%{%s if %s %s}%s%%{%s endif %s}" % (s(), boolean(), s(), pick("y", " y ", "${%s}" % e(), "a%{ else }b", " a %{~ else ~} b "), s(), s())
        return "%%{%s for %sx in %s %s}%s%%{ endfor %s}" % (s(), pick("", "k, "), pick(lst, st, mp)(1), s(), pick("${x},", " - ${x}\\n", "x", "${jsonencode(x)}"), s())
    return '"' + "".join(part() for _ in range(pick(1, 1, 2, 3))) + '"'
def heredoc(d):
    lines = []
    for _ in range(pick(0, 1, 2, 3, 4)):
        ind = " " * pick(0, 2, 2, 4, 6)
        lines.append(ind + pick("text", "", "${%s}" % string(), "a ${~ %s ~} b" % string(), "%%{ if %s }" % pick("true", "false", "local.u_bool") + pick("\n", "") + ind + "in" + pick("\n", "") + ind + "%{ endif ~}", "%%{ for x in %s ~}\n%s${x}\n%s%%{ endfor ~}" % (pick('["a", "b"]', "var.names", "local.u_list", "[]", "var.secret_list"), ind, ind), "\\n \"q\"", "$${x} %%{y}", "\ttab", "é "))
    body = "\n".join(lines)
    return "<<%sEOT\n%s%s%sEOT" % (pick("", "-", "-"), body, "\n" if body or lines else "", pick("", "  ", "    "))
def forx(d):
    c = pick(lst, st, mp, lambda d: value(1), same)(1)
    vs = pick("x", "x", "k, x", "i, x")
    second = vs.split(", ")[0]
    item = lambda: pick("x", "x", second, "\"${x}\"", "x + 1", "[x]", "{ v = x }", "upper(x)", "x.a", "x[0]", value(1), "x == null", "tostring(x)", "sensitive(x)", "missing", "length(x)", "x.*.a", "[for y in [1, 2] : [x, y]]")
    c2 = "" if maybe(.6) else " if %s" % pick("x != null", "true", "false", "local.u_bool", "sensitive(true)", "x != \"a\"", "x", "null", second + " != 0", "length(x) > 0", "\"true\"", "var.nope", "contains([\"a\"], x)")
    if maybe(.5): return "[for %s in %s : %s%s]" % (vs, c, item(), c2)
    return "{for %s in %s : %s => %s%s%s}" % (vs, c, pick("x", "x", second, "\"k\"", "\"${x}\"", "tostring(x)", string(), "null", "1", "x.a", "upper(x)", "local.u_id", "[]"), item(), pick("", "", "", "..."), c2)
def base(d): return pick(lambda: lst(d), lambda: st(d), lambda: mp(d), lambda: tup(d), lambda: obj(d), lambda: "terraform_data.x", lambda: "var.any", lambda: "(%s)" % value(1), lambda: pick("local.u_obj", "local.u_tup", "local.u_dyn", "local.u_map", "local.u_list"), lambda: "var.names", lambda: "[{ a = 1 }, { a = 2 }]", lambda: "tolist([{ a = [1, 2], b = null }])", lambda: "{ a = { b = [{ c = 1 }] } }")()
def access(d):
    e = base(d)
    for _ in range(pick(1, 1, 2, 3)):
        e += pick(".a", ".b", ".zz", ".0", ".1", ".0.a", "[0]", "[1]", "[-1]", "[1.5]", "[\"a\"]", "[\"0\"]", "[true]", "[null]", "[local.u_num]", "[local.u_str]", "[sensitive(0)]", "[sensitive(\"a\")]", "[[]]", "[99]", ".*", "[*]", ".*.a", "[*].a", "[*][0]", ".*.0", "[*].a[0]", ".*.a[0]", ".id", ".output", "[\"zz\"]", "[1e30]", "[\"1.5\"]", "[local.u_dyn]", "[tonumber(null)]", "[var.none]", "[*].*", "[tostring(0)]", ".output.name")
    return e
def expr(d=2):
    return pick(lambda: binary(d), lambda: binary(d), lambda: cond(d), lambda: templ(d), lambda: forx(d), lambda: forx(d), lambda: access(d), lambda: access(d), lambda: call(1), lambda: "(%s)" % value(d))()

# ---- type constraints and variables
def constraint(d=2):
    if d <= 0 or maybe(.3): return pick("string", "number", "bool", "any", "string", "number")
    c = R.random()
    if c < .5: return "%s(%s)" % (pick("list", "set", "map"), constraint(d - 1))
    if c < .6: return "tuple([%s])" % ", ".join(constraint(d - 1) for _ in range(pick(0, 1, 2)))
    def attr():
        t = constraint(d - 1)
        if maybe(.5): t = "optional(%s%s)" % (t, ", " + literal(1, t) if maybe(.5) else "")
        return t
    return "object({ %s })" % ", ".join("%s = %s" % (k, attr()) for k in R.sample(["a", "b", "c"], pick(0, 1, 2, 3)))
def literal(d=2, like=None):
    if like and maybe(.7):
        head = like.split("(")[0]
        if head in ("string", "any"): return pick('"x"', "1", "true", '""', "null")
        if head == "number": return pick("1", '"2"', "0.5", "null")
        if head == "bool": return pick("true", '"false"', "null")
        if head in ("list", "set", "tuple"): return pick("[]", '["a"]', "[1, 2]", "[1, \"a\"]", "[{ a = 1 }]", "[[]]", "[null]", "[{ b = [] }, { a = \"x\" }]")
        return pick("{}", "{ a = 1 }", "{ a = \"x\", b = true }", "{ a = null }", "{ b = { a = [] } }", "{ c = [1], a = {} }", "{ zz = 1 }")
    if d <= 0: return pick("1", '"a"', "true", "null", "0.5", '"1"', '"true"', "\"\"", "-2")
    return pick(lambda: literal(0), lambda: "[%s]" % ", ".join(literal(d - 1) for _ in range(pick(0, 1, 2))), lambda: "{ %s }" % ", ".join("%s = %s" % (k, literal(d - 1)) for k in R.sample(["a", "b", "c", "zz"], pick(0, 1, 2))))()
def variable():
    t = constraint(3)
    case = {"expr": pick("var.v", "var.v", "var.v", "var.v", "[var.v]", "var.v.a", "jsonencode(var.v)", "try(var.v.a, \"none\")", "[for x in var.v : x]", "var.v == null")}
    lines = ["  type = " + t]
    if maybe(.1): lines = []
    if maybe(.5): lines.append("  default = " + literal(2, t))
    else:
        via = pick("tfvars", "tfvars", "arg")
        case["inputs"] = {"v": {"via": via, "text": literal(2, t) if via == "tfvars" or maybe(.8) else pick("x", "", "1", "true", "[", "null", "\"a\"", "a b", "é", "{}", " 1", "01")}}
    if maybe(.15): lines.append("  sensitive = " + pick("true", "false", "\"true\"", "null"))
    if maybe(.12): lines.append("  nullable = " + pick("true", "false"))
    if maybe(.1): lines.append("  ephemeral = true")
    if maybe(.25): lines.append("  validation {\n    condition = %s\n    error_message = %s\n  }" % (pick("var.v != null", "length(var.v) > 0", "can(var.v.a)", "true", "false", "var.v == var.str", "null", "\"x\"", "local.u_bool", "sensitive(true)", "alltrue([for x in var.v : x != null])", "var.v[0] == 1", "var.v > 1", "1", "\"true\""), pick('"Bad value."', '"bad"', '"Got ${var.v}."', '"${sensitive("x")}."', "null", "1", '""', "local.u_id", '"Bad ${jsonencode(var.v)}."')))
    case["variables"] = "variable \"v\" {\n" + "\n".join(lines) + "\n}\n"
    return case
def noise(e):
    """The text with one change."""
    if len(e) < 2: return e
    at = R.randrange(len(e))
    return pick(lambda: e[:at] + e[at + 1:], lambda: e[:at] + pick(*"(){}[]\"$%~.,:?=!&|\n*+-0a \\#/'`;@é") + e[at:], lambda: e[:at], lambda: e[:at] + e[R.randrange(at, len(e)):])()

def digits(): return "".join(R.choice("0123456789") for _ in range(pick(1, 1, 2, 3, 7, 16, 25, 60)))
def numeral(): return pick(lambda: digits().lstrip("0") or "0", lambda: digits(), lambda: (digits().lstrip("0") or "0") + "." + digits(), lambda: (digits()[:4].lstrip("0") or "1") + pick("", "." + digits()) + pick("e", "E") + pick("", "+", "-") + pick("0", "1", "5", "17", "30", "100", "308", "400", "900"))()
def num(_=0):
    a, b = (pick("", "", "-") + pick(numeral(), numeral(), pick(*NUMS)) for _ in range(2))
    n = "(%s %s %s)" % (a, pick("+", "-", "*", "/", "%"), b) if maybe(.5) else a
    return pick(lambda: n, lambda: "tostring(%s)" % n, lambda: '"${%s}"' % n, lambda: '"n=${%s}"' % n, lambda: "jsonencode(%s)" % n, lambda: "yamlencode(%s)" % n, lambda: "format(%s, %s)" % (q("%" + pick("", "+", "-", " ", "0", "#") + pick("", "8", "20") + pick("", ".0", ".3", ".20") + pick(*"vdgGfeEboxXsqt")), n), lambda: "tonumber(%s)" % q(pick("", "", "-", "+", " ") + numeral() + pick("", "", " ", "x", "_")), lambda: "%s(%s)" % (pick("floor", "ceil", "abs", "signum"), n), lambda: "parseint(%s, %s)" % (q(digits()), pick("10", "16", "36")), lambda: "%s %s %s" % (n, pick("==", "<", ">="), b), lambda: "log(%s, %s)" % (n, b), lambda: "pow(%s, %s)" % (a, pick("2", "3", "-1", "0.5", "10", "0")), lambda: "{ (%s) = 1 }" % n, lambda: "toset([%s, %s, %s])" % (n, b, a), lambda: "[10, 20, 30][%s]" % n, lambda: "jsondecode(%s)" % q(pick("", "-") + numeral()), lambda: "yamldecode(%s)" % q(pick("", "-", "+") + numeral()), lambda: "range(%s)" % pick("3", "0.5", "2, 5", "5, 2", "1, 2, 0.25", "0, 1, 0", "3, 0, -1"), lambda: "max(%s, %s)" % (n, b))()
def reference(_=0):
    r = pick("local", "var", "path", "terraform", "each", "count", "self", "data", "module", "terraform_data", "ephemeral", "provider", "resource", "action", "list", "null", "foo", "template", "core", "run", "check", "arg", "lazy", "a.b.c.d", "local.u_obj", "var.any", "terraform_data.x", "terraform_data.zz", "data.a.b", "module.m.o", "path.module", "path.root", "path.cwd", "path.zz", "terraform.workspace", "terraform.env", "terraform.applying", "each.key", "each.value", "count.index", "self.id", "local.subject", "local.nope", "var.nope", "resource.terraform_data.x", "data.terraform_data.x", "ephemeral.a.b", "action.a.b")
    for _ in range(pick(0, 0, 1, 1, 2)): r += pick(".id", ".x", ".output", "[0]", '["a"]', ".*", "[*]", "[local.u_str]", ".input", ".0", ".name", '["id"]', '["x"]', "[var.str]", ".u_str", ".str", ".module")
    return pick(lambda: r, lambda: r, lambda: "[%s]" % r, lambda: "try(%s, 1)" % r, lambda: "can(%s)" % r, lambda: "true ? 1 : %s" % r, lambda: "upper(%s)" % r, lambda: '"${%s}"' % r, lambda: "%s == null" % r)()
def quoted(_=0):
    body = "".join(pick("a", "é", "\\n", "\\t", "\\r", "\\\\", '\\"', "\\u00e9", "\\u0301", "\\U0001F600", "\\x", "\\u12", "\\ud800", "$", "%", "$${", "%%{", "${1}", "${", "}", "$$", "\\$", "'", "\t", "#", "//", "/*", "\\u0000", "e\u0301", "\\a", "\\0") for _ in range(pick(1, 2, 3, 5)))
    return pick('"%s"' % body, '"%s"' % body, "upper(\"%s\")" % body, "length(\"%s\")" % body, "{ \"%s\" = 1 }" % body, "<<EOT\n%s\nEOT" % body)

KINDS = [("fn", 44), ("binary", 6), ("cond", 7), ("template", 8), ("heredoc", 4), ("for", 8), ("access", 8), ("construct", 3), ("var", 9), ("noise", 9), ("num", 7), ("reference", 3), ("quoted", 3), ("console", 4)]
def case(kinds):
    kind = R.choices([k for k, _ in kinds], [w for _, w in kinds])[0]
    if kind == "fn":
        n = pick(*NAMES)
        c = {"group": "fn." + n, "expr": call(2, n)}
        if "local.t" in c["expr"]: c["locals"] = {"t": lit(TMPL)() if maybe(.7) else q(templ(2)[1:-1].replace("\\\\n", "\\n"))}
    elif kind == "var": c = {"group": "var.random", **variable()}
    elif kind == "noise": c = {"group": "noise", "expr": noise(pick(lambda: expr(1), lambda: call(1), lambda: heredoc(1), lambda: templ(1), quoted)())}
    elif kind == "console": c = {"group": "console", "expr": pick(lambda: value(3), lambda: value(2), num, lambda: call(1), lambda: "type(%s)" % value(2))().replace("\n", " ")}
    else: c = {"group": "op." + kind, "expr": {"binary": binary, "cond": cond, "template": templ, "heredoc": heredoc, "for": forx, "access": access, "construct": value, "num": num, "reference": reference, "quoted": quoted}[kind](2)}
    c["id"] = "random.%s/%s" % (c["group"], hashlib.sha1(json.dumps(c, sort_keys=True).encode()).hexdigest()[:10])
    return c
def main():
    R.seed(int(sys.argv[1]))
    kinds = [(k, w) for k, w in KINDS if len(sys.argv) < 4 or k in sys.argv[3].split(",")]
    seen = set()
    while len(seen) < int(sys.argv[2]):
        c = case(kinds)
        if c["id"] in seen or "\x00" in c["expr"]: continue
        seen.add(c["id"])
        print(json.dumps(c, ensure_ascii=False))
if __name__ == "__main__": main()
