#!/usr/bin/env python3
"""`agentnode egress check` answers as the proxy would, for every kind of
entry, and sends nothing: it also answers where there is no network."""
import json
import os

import harness
from harness import check

EXAMPLE = ["--allow", "example.com"]
WILD = ["--allow", "*.example.com"]
RAW = ["--allow", "tcp://10.1.2.0/24:5432", "--allow",
       "tcp://[2001:db8::]/32:22"]
PLAIN = ["--allow", "http://plain.example"]

# name, options, target, exit code, deny code or None, rule or None
ROWS = [
    ("exact", EXAMPLE, "example.com:443", 0, None, "example.com:443"),
    ("b009_dot_and_case", EXAMPLE, "EXAMPLE.com.:443", 0, None,
     "example.com:443"),
    ("b006_suffix_confusion", EXAMPLE, "evilexample.com:443", 3,
     "host_not_allowed", None),
    ("b006_prefix", EXAMPLE, "example.com.evil.com:443", 3,
     "host_not_allowed", None),
    ("b007_child_of_exact", EXAMPLE, "a.example.com:443", 3,
     "host_not_allowed", None),
    ("b007_apex_of_wildcard", WILD, "example.com:443", 3,
     "host_not_allowed", None),
    ("wildcard", WILD, "a.b.example.com:443", 0, None, "*.example.com:443"),
    ("b063_port", EXAMPLE, "example.com:8443", 3, "port_not_allowed",
     "example.com:443"),
    ("b001_empty", [], "example.com:443", 3, "host_not_allowed", None),
    ("b020_deny_wins", WILD + ["--deny", "bad.example.com"],
     "bad.example.com:443", 3, "host_denied", "bad.example.com"),
    ("raw", RAW, "10.1.2.3:5432", 0, None, "tcp://10.1.2.0/24:5432"),
    ("raw_v6", RAW, "[2001:db8::7]:22", 0, None,
     "tcp://[2001:db8::]/32:22"),
    ("raw_port", RAW, "10.1.2.3:22", 3, "port_not_allowed",
     "tcp://10.1.2.0/24:5432"),
    ("b025_literal", RAW, "10.1.3.3:5432", 3, "ip_literal", None),
    ("b018_metadata", EXAMPLE, "169.254.169.254:80", 3, "ip_literal", None),
    ("b018_metadata_in_range", ["--allow", "tcp://169.254.0.0/16:80"],
     "169.254.169.254:80", 3, "address_not_allowed",
     "tcp://169.254.0.0/16:80"),
    ("b018_localhost", EXAMPLE, "localhost:443", 3, "host_not_allowed",
     None),
    ("plain_http", PLAIN, "http://plain.example:80", 0, None,
     "http://plain.example:80"),
    ("plain_http_by_port", PLAIN, "plain.example:80", 0, None,
     "http://plain.example:80"),
    ("b045_tls_entry_is_no_plain_http", EXAMPLE, "http://example.com:443",
     3, "port_not_allowed", "example.com:443"),
    ("idn_entry", ["--allow", "m\u00fcnchen.de"], "xn--mnchen-3ya.de:443", 0,
     None, "xn--mnchen-3ya.de:443"),
    ("b013_idn_target", ["--allow", "m\u00fcnchen.de"],
     "m\u00fcnchen.de:443", 3, "bad_request", None),
]
ROWS += [(f"bad_target_{n}", EXAMPLE, target, 3, "bad_request", None)
         for n, target in enumerate([
             "user@example.com:443", "example.com:443.evil.com",
             "example.com:0443", ":443", "example.com:0",
             "example.com:65536", "example.com", "example.com..:443",
             "[example.com]:443", "xn--:443", "a..b:443", "127.1:443",
             "0x7f.1:443", "0177.0.0.1:443", "2130706433:443", "0x:443",
             "1e1.0.0.1:443", "[fe80::1%25eth0]:443", "example.com%00:443",
             "https://example.com:443", "example.com:443/x", "",
             "\x1b[31mexample.com:443"])]

MALFORMED = ["", "127.1", "127.0.0.1", "localhost", "intranet", "*", "*.com",
             "*.co.uk", "*.github.io", "*.amazonaws.com", "a.*.example",
             "https://a.example", "user@a.example", "a.example/x",
             "a.example:0", "a.example:65536", "a b.example",
             "tcp://a.example:22", "tcp://10.0.0.1/8:22", "tcp://10.0.0.0/8",
             "tcp://0.0.0.0/0:22", "tcp://169.254.169.254:80",
             "http://a.example/", "xn--.example"]


def matches(value, schema):
    """The part of JSON Schema that the file uses."""
    if set(value) != set(schema["required"]):
        return False
    names = {str: "string", bool: "boolean", type(None): "null"}
    for key, rule in schema["properties"].items():
        allowed = rule["type"]
        allowed = [allowed] if isinstance(allowed, str) else allowed
        if names.get(type(value[key])) not in allowed:
            return False
        if "enum" in rule and value[key] not in rule["enum"]:
            return False
    return True


def main():
    home = harness.folder()
    with open(os.path.join(harness.SOURCE, "config", "schema",
                           "egress_check.json"), encoding="utf-8") as file:
        schema = json.load(file)
    for name, options, target, code, deny, rule in ROWS:
        got = harness.agentnode(home, "egress", "check", *options, "--json",
                                "--", target)
        value = got.json() if got.code in (0, 3) else None
        check(name, got.code == code and value["code"] == deny
              and value["rule"] == rule and value["allowed"] == (code == 0),
              got)
        check(f"{name}: schema", value and matches(value, schema), got)
        text = harness.agentnode(home, "egress", "check", *options, "--",
                                 target)
        check(f"{name}: text", text.code == code
              and (deny or "allowed") in text.out
              and (rule or "none") in text.out
              and "\x1b" not in text.out, text)
    for entry in MALFORMED:
        for option in ("--allow", "--deny"):
            if option == "--deny" and entry in (
                    "*.com", "*.co.uk", "*.github.io", "*.amazonaws.com",
                    "localhost", "intranet", "tcp://10.0.0.0/8",
                    "tcp://0.0.0.0/0:22", "tcp://169.254.169.254:80"):
                continue
            got = harness.agentnode(home, "egress", "check", option, entry,
                                    "--", "a.example:443")
            check(f"{option} {entry!r} is named",
                  got.code == 5 and f'"{entry}"' in got.err
                  and got.out == "", got)
    from_config(home)
    got = harness.run("unshare", "-n", harness.AGENTNODE, "egress", "check",
                      *EXAMPLE, "--", "example.com:443",
                      env=harness.environment(home))
    check("b026_without_a_network", got.code == 0, got)
    check("usage", harness.agentnode(home, "egress", "check").code == 2)
    harness.finish()


def from_config(home):
    """Without --allow the configuration counts; its deny list always."""
    for key, value in (("egress.allow", "*.example.com"),
                       ("egress.deny", "bad.example.com")):
        got = harness.agentnode(home, "config", "set", key, value)
        check(f"config set {key}", got.code == 0, got)
    rows = [([], "a.example.com:443", 0), ([], "bad.example.com:443", 3),
            (["--allow", "other.example"], "a.example.com:443", 3),
            (["--allow", "bad.example.com"], "bad.example.com:443", 3)]
    for options, target, code in rows:
        got = harness.agentnode(home, "egress", "check", *options, "--",
                                target)
        check(f"configured: {options} {target}", got.code == code, got)


if __name__ == "__main__":
    main()
