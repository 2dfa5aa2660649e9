#!/usr/bin/env python3
"""Every vector over the wire against the real, confined proxy: refused with
its code, no lookup for a name that is not allowed, not a byte upstream."""
import concurrent.futures

import drive
import harness
import vectors
from harness import check

# Names that may be looked up: allowed by name, refused by their answer.
LOOKED_UP = {"private", "mixed", "mapped", "nat64", "metadata", "zero",
             "missing", "api"}


def play(proxy, row):
    name, kind, payload, code = row
    return row, vectors.attempt(proxy.address, kind, payload)


def main():
    harness.need("openssl")
    net = drive.TestInternet()
    proxy = drive.standard(net, "--limit", "hello_timeout_ms=1500",
                           "--limit", "head_timeout_ms=3000")
    rows = list(vectors.rows())
    plain = [r for r in rows if r[1] != "hello"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for (name, _kind, _payload, code), got in pool.map(
                lambda r: play(proxy, r), plain):
            check(name, got["reason"] == code and got["status"] >= 400,
                  f"wanted {code}, got {got}")
    for row in rows:
        if row[1] != "hello":
            continue
        name, _kind, _payload, code = row
        before = len(proxy.codes())
        seen = len(net.api.seen)
        _row, got = play(proxy, row)
        harness.wait_until(lambda: len(proxy.codes()) > before, 3)
        codes = proxy.codes()[before:]
        check(name, got["status"] == 200 and got["closed"]
              and got["bytes"] == 0 and codes == [code]
              and len(net.api.seen) == seen,
              f"wanted {code}, got {got}, log {codes}")
    asked = {q[0] for q in net.dns.queries}
    extra = [q for q in asked if q.split(".")[0] not in LOOKED_UP]
    check("b026_no_lookup_of_denied_names", not extra, extra)
    check("at least 60 vectors", len(rows) >= 60, len(rows))
    check("proxy ends in order", proxy.stop() == 0, proxy.process.returncode)
    harness.finish()


if __name__ == "__main__":
    main()
