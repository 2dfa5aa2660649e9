"""Every event that the source can write into a log, and every one that
docs/operating.md describes: {process: {event: {"levels", "fields"}}}."""
import os
import re
import subprocess

TOP = os.environ.get("AGENTNODE_SOURCE_DIR") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCUMENT = "docs/operating.md"
# Where a file's lines go; the first prefix that fits.
PLACES = (
    ("common/", "every process"),
    ("egress-proxy/", "agentnode-egress-proxy"),
    ("llm-broker/keyring/", "agentnode-keyring"),
    ("llm-broker/key/", "agentnode-llm-key"),
    ("llm-broker/", "agentnode-llm-broker"),
    ("supervisor/gate/", "agentnode-gate"),
    ("supervisor/ledger/", "agentnode-ledger"),
    ("supervisor/unpack/", "agentnode-unpack"),
    ("supervisor/", "agentnode"),
)
# Calls whose event is no literal: what it may be.
VARIABLE = {("supervisor/gate/gate_stderr.c", "err->event"):
            ("workload_stderr", "workload_stdout")}
CALL = re.compile(r"\blog_(event|write|fatal|line_send|emit)\(")
FIELD = re.compile(r'\bLOG_(TEXT|BYTES|INT|UINT|BOOL)\(\s*"(\w+)"')
HEAD = {"ts", "level", "process", "sandbox", "event", "cut"}


def arguments(text, start):
    """The text between the parentheses that open before start."""
    depth, at, quoted = 1, start, False
    while depth:
        char = text[at]
        if quoted:
            at += char == "\\"
            quoted = char != '"'
        elif char == '"':
            quoted = True
        else:
            depth += (char == "(") - (char == ")")
        at += 1
    return text[start:at - 1]


def sources():
    out = subprocess.run(
        ["git", "-C", TOP, "ls-files", "-co", "--exclude-standard", "*.c"],
        check=True, capture_output=True, text=True).stdout.split()
    return [name for name in out if not name.startswith("tests/")
            and os.path.exists(os.path.join(TOP, name))]


def names_of(path, words):
    """The events of one call; [] for the definition of a function."""
    literal = re.search(r'(?:^|,)\s*"(\w+)"\s*(?:,|$)', words)
    if literal:
        return [literal.group(1)]
    for (name, variable), events in VARIABLE.items():
        if name == path and variable in words:
            return list(events)
    if path == "common/log.c":
        return []
    raise ValueError(f"{path}: which event is this: {words[:80]}")


def calls():
    """(path, event, level, fields) of every call in the source."""
    for path in sources():
        with open(os.path.join(TOP, path), encoding="utf-8") as file:
            text = file.read()
        for found in CALL.finditer(text):
            words = arguments(text, found.end())
            head = words.split("LOG_TEXT(")[0].split("LOG_U")[0]
            fields = {name for _, name in FIELD.findall(words)}
            if "LOG_REQUEST(" in words:
                fields.add("request")
            level = re.findall(r"LOG_(\w+)_LEVEL", words)
            if found.group(1) == "fatal":
                level, fields = ["ERROR"], {"detail", "exit_code"}
            if path == "common/log.c":
                # Its fields are in a table before the call.
                fields = {"suppressed": {"of", "count"},
                          "log_lost": {"count", "error"}}.get(
                              (names_of(path, head) or [""])[0], set())
            for event in names_of(path, head):
                yield path, event, {one.lower() for one in level}, fields


def in_source():
    found = {}
    for path, event, levels, fields in calls():
        process = next(name for prefix, name in PLACES
                       if path.startswith(prefix))
        row = found.setdefault(process, {}).setdefault(
            event, {"levels": set(), "fields": set()})
        row["levels"] |= levels
        row["fields"] |= fields
    return found


def in_document():
    found, process = {}, None
    with open(os.path.join(TOP, DOCUMENT), encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                title = re.match(r"### Events of `?([\w -]+?)`?$",
                                 line.strip())
                process = title.group(1) if title else None
            elif process and line.startswith("| `"):
                cells = [cell.strip() for cell in line.split("|")[1:-1]]
                event, = re.findall(r"`(\w+)`", cells[0])
                found.setdefault(process, {})[event] = {
                    "levels": set(re.findall(r"\w+", cells[1])),
                    "fields": set(re.findall(r"`(\w+)`", cells[2])),
                    "text": cells[3]}
    return found


def differences():
    """Sentences; none when source and document say the same."""
    source, document = in_source(), in_document()
    for process in sorted(set(source) | set(document)):
        written = source.get(process, {})
        told = document.get(process, {})
        for event in sorted(set(written) - set(told)):
            yield f"{process}: {event} is not in {DOCUMENT}"
        for event in sorted(set(told) - set(written)):
            yield f"{process}: {event} is in {DOCUMENT} and nowhere else"
        for event in sorted(set(told) & set(written)):
            for what in ("levels", "fields"):
                if told[event][what] != written[event][what]:
                    yield (f"{process}: {event}: {what} are "
                           f"{sorted(written[event][what])}, {DOCUMENT} has "
                           f"{sorted(told[event][what])}")
            if len(told[event]["text"]) < 10:
                yield f"{process}: {event}: says nothing"


def unknown(line, document):
    """What of a line (an object) the document does not have, or ''."""
    process, event = line.get("process", ""), line.get("event", "")
    row = document.get(process, {}).get(
        event, document.get("every process", {}).get(event))
    if row is None:
        return f"{process}: {event}"
    extra = set(line) - HEAD - row["fields"]
    return f"{process}: {event}: {sorted(extra)}" if extra else ""


# Tables of codes: the file, and what a row of it looks like.
CODE_TABLES = {
    "agentnode-egress-proxy": (
        ("egress-proxy/deny.c", r'\[DENY_\w+\] = \{"(\w+)"'),),
    "agentnode-llm-broker": (
        ("llm-broker/call_code.c", r'\[CALL_\w+\] = \{"(\w+)"'),),
    "agentnode-llm-key": (
        ("llm-broker/key/key_lane.c",
         r'key_lane_failures\[\] = \{([^}]*)\}'),),
    "agentnode-gate": (
        ("supervisor/gate/mcp_policy.c", r'\[MCP_\w+\] = \{"(\w+)"'),
        ("supervisor/gate/tools_fault.c", r'\[TOOLS_\w+\] = \{"(\w+)"')),
    "agentnode-ledger": tuple(
        (f"supervisor/ledger/{name}.c", r'"((?:audit|budget|rate)_\w+)"')
        for name in ("ledger", "ledger_budget", "ledger_rate", "main")),
    "agentnode": (
        ("supervisor/agent/tool_refusal.c", r'\{"(\w+)", "'),
        ("supervisor/agent", r'tool_session_close\([^,;]+,\s*"(\w+)"'),
        ("supervisor", r'\bsandbox_close\([^,;]+,\s*"(\w+)"'),
        ("supervisor/sandbox_plan.c", r'"(wiring_\w+)"'),
        ("supervisor/engine/gate_part.c", r'return "(\w+)"'),
        ("supervisor", r'\bhost_run_close\([^,;]+,\s*"(\w+)"')),
}
# What those patterns find that is no code.
NO_CODES = {
    "agentnode-egress-proxy": {"none"}, "agentnode-gate": {"allowed"},
    "agentnode-ledger": {"audit_failed", "audit_key", "budget_close"}}


def codes_in_source():
    found = {}
    for process, tables in CODE_TABLES.items():
        for place, pattern in tables:
            for path in sources():
                if path != place and not path.startswith(place + "/"):
                    continue
                with open(os.path.join(TOP, path), encoding="utf-8") as file:
                    text = file.read()
                for match in re.findall(pattern, text):
                    found.setdefault(process, set()).update(
                        re.findall(r"\w+", match))
    return {process: codes - NO_CODES.get(process, set())
            for process, codes in found.items()}


def codes_in_document():
    found, process = {}, None
    with open(os.path.join(TOP, DOCUMENT), encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                title = re.match(r"### Codes of `?([\w -]+?)`?$",
                                 line.strip())
                process = title.group(1) if title else None
            elif process and line.startswith("| `"):
                cells = [cell.strip() for cell in line.split("|")[1:-1]]
                if len(cells[1]) < 10:
                    raise ValueError(f"{process}: {cells[0]} says nothing")
                found.setdefault(process, set()).update(
                    re.findall(r"`(\w+)`", cells[0]))
    return found


def code_differences():
    source, document = codes_in_source(), codes_in_document()
    for process in sorted(set(source) | set(document)):
        written = source.get(process, set())
        told = document.get(process, set())
        for code in sorted(written - told):
            yield f"{process}: code {code} is not in {DOCUMENT}"
        for code in sorted(told - written):
            yield f"{process}: code {code} is in {DOCUMENT} and nowhere else"
