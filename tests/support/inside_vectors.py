"""Runs inside a sandbox: plays every vector against the sandbox's own proxy
port and prints [[name, code wanted, what came], ...] as JSON."""
import concurrent.futures
import json
import sys

sys.path.insert(0, sys.argv[1])
import vectors  # noqa: E402

PROXY = ("127.0.0.1", 3128)


def play(row):
    name, kind, payload, code = row
    return [name, kind, code, vectors.attempt(PROXY, kind, payload, 25)]


rows = list(vectors.rows())
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print(json.dumps(list(pool.map(play, rows))))
