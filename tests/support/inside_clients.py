"""Runs inside a sandbox: many real clients fetch one allowed URL, each in
its own way, and one that is not allowed. Prints one JSON object
{client: "ok" or what happened}. Standard library only."""
import json
import os
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request

HOST, OTHER, CA = sys.argv[1], sys.argv[2], sys.argv[3]
WANTED = "hello from the test internet"
BARE = {k: v for k, v in os.environ.items()
        if "proxy" not in k.lower() and k != "NODE_USE_ENV_PROXY"}
results = {}


def note(name, text):
    results[name] = "ok" if WANTED in text else text.strip()[-300:] or "empty"


def command(name, *argv, env=None, stdin=None):
    try:
        done = subprocess.run(argv, env=env, input=stdin, timeout=20,
                              capture_output=True, text=True)
        note(name, done.stdout if WANTED in done.stdout
             else f"exit {done.returncode}: {done.stdout}{done.stderr}")
    except (OSError, subprocess.TimeoutExpired) as error:
        note(name, repr(error))


def urllib_get(name, host, proxies=None):
    context = ssl.create_default_context(cafile=CA)
    handlers = [urllib.request.HTTPSHandler(context=context)]
    if proxies is not None:
        handlers.append(urllib.request.ProxyHandler(proxies))
    try:
        with urllib.request.build_opener(*handlers).open(
                f"https://{host}/", timeout=15) as answer:
            note(name, answer.read().decode())
    except (OSError, urllib.error.URLError) as error:
        note(name, repr(error))


def raw_tls(name, host):
    try:
        context = ssl.create_default_context(cafile=CA)
        with context.wrap_socket(socket.create_connection((host, 443), 15),
                                 server_hostname=host) as conn:
            conn.sendall(b"GET / HTTP/1.1\r\nHost: " + host.encode()
                         + b"\r\nConnection: close\r\n\r\n")
            text = b""
            while True:
                more = conn.recv(4096)
                if not more:
                    break
                text += more
            note(name, text.decode())
    except OSError as error:
        note(name, repr(error))


FETCH = ("fetch('https://%s/').then(r=>r.text()).then(t=>console.log(t))"
         ".catch(e=>{console.log(String(e),String(e.cause));"
         "process.exit(1)})")
AGENT = """
const http=require('http'),tls=require('tls'),https=require('https');
const r=http.request({host:'127.0.0.1',port:3128,method:'CONNECT',
path:'%s:443',headers:{Host:'%s:443'}});r.on('connect',(res,sock)=>{
if(res.statusCode!==200){console.log(res.statusCode,
res.headers['x-agentnode-reason']);process.exit(1)}
https.get({host:'%s',createConnection:()=>tls.connect({socket:sock,
servername:'%s'})},a=>{a.on('data',d=>console.log(String(d)));
a.on('end',()=>process.exit(0))})});r.on('error',e=>console.log(e));r.end();
"""


def main():
    node_ca = dict(os.environ, NODE_EXTRA_CA_CERTS=CA)
    bare_ca = dict(BARE, NODE_EXTRA_CA_CERTS=CA)
    urllib_get("python_urllib_proxy", HOST)
    urllib_get("python_urllib_direct", HOST, {})
    raw_tls("python_raw_tls", HOST)
    for name in sys.argv[4:]:
        program = {"node22": "/node22/bin/node", "node": "node",
                   "node18": "/usr/bin/node"}.get(name)
        if program:
            command(name + "_fetch", program, "-e", FETCH % HOST,
                    env=node_ca)
            command(name + "_fetch_no_proxy_variables", program, "-e",
                    FETCH % HOST, env=bare_ca)
            command(name + "_https_connect_agent", program, "-e",
                    AGENT % (HOST, HOST, HOST, HOST), env=node_ca)
        elif name == "curl":
            command("curl_proxy", "curl", "-sS", "--cacert", CA,
                    f"https://{HOST}/")
            command("curl_direct", "curl", "-sS", "--cacert", CA,
                    f"https://{HOST}/", env=BARE)
        elif name == "openssl":
            request = f"GET / HTTP/1.1\r\nHost: {HOST}\r\n" \
                      "Connection: close\r\n\r\n"
            command("openssl_direct", "openssl", "s_client", "-quiet",
                    "-ign_eof", "-verify_return_error", "-CAfile", CA,
                    "-connect", f"{HOST}:443", "-servername", HOST,
                    stdin=request)
            command("openssl_proxy", "openssl", "s_client", "-quiet",
                    "-ign_eof", "-verify_return_error", "-CAfile", CA,
                    "-proxy", "127.0.0.1:3128", "-connect", f"{HOST}:443",
                    "-servername", HOST, stdin=request)
    refused = {}
    good = dict(results)
    results.clear()
    urllib_get("urllib_proxy_other", OTHER)
    urllib_get("urllib_direct_other", OTHER, {})
    raw_tls("raw_tls_other", OTHER)
    refused.update(results)
    print(json.dumps({"allowed": good, "other": refused}))


main()
