"""Starts Glewlwyd, an authorization server in C: `glewlwyd.py <public key of the app that signs, as JWK> ...`.

It prints `ready <port> <port of the browser>`, and serves until it is killed, with which Glewlwyd ends too. There are
two issuers, `http://127.0.0.1:<port>/api/oidc` and `.../api/strict`; the latter accepts only sign-ins with pushed
parameters, and wants a nonce in each proof. `tool` is a public app, `web` and `form` have a secret, which they send in
the header and in the form, and `signer` signs its requests. A refresh token is good for one use; the second use of one
ends the last one of that sign-in.

The browser does what the browser of the only user would do, in one step. `/open?address=...` opens a page for Ann, who
agrees to everything, and answers with the redirect to the app. Glewlwyd has no button to refuse: with `user=refuses`
nobody is signed in, and it is told not to ask, which it hears only without pushed parameters. On another device Ann
answers at `/activate?user_code=...`; whoever refuses there goes away, and the device waits until its code expires.

Glewlwyd is configured with its own API, and nothing is added to it. Version 2.7.5 decodes no secret in a header, takes
only the URL of an endpoint as the audience of a signature for it, and gives no reason for most of its refusals.
"""

import ctypes
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from base64 import urlsafe_b64encode
from hashlib import sha256
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

SCHEMA = "/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3"
MODULES = "/usr/lib/glewlwyd"
# The same as in server.py.
SECRET = "s3cret %41+%&=:/"
PASSWORD = "password of Ann"
SCOPES = ["openid", "read", "write"]
# The last one also lets an app that has a secret or a key revoke and examine tokens.
GRANTS = ["code", "refresh_token", "device_authorization", "client_credentials"]
ISSUERS = ["oidc", "strict"]

parent = os.getppid()
prctl = ctypes.CDLL(None).prctl


def openssl(*arguments, key=None):
    return subprocess.run(["openssl", *arguments], input=key, capture_output=True, check=True, text=True).stdout


def create_database(path):
    database = sqlite3.connect(path)
    # In this mode SQLite opens its files once, so that they can be removed while Glewlwyd is running.
    database.execute("PRAGMA journal_mode=WAL")
    with open(SCHEMA) as schema:
        database.executescript(schema.read())
    database.close()


def start(folder, port):
    with open(f"{folder}/glewlwyd.conf", "w") as file:
        file.write(f"""
            port={port} bind_address="127.0.0.1" external_url="http://127.0.0.1:{port}" login_url="login.html"
            api_prefix="api" log_mode="console" log_level="NONE" cookie_secure=0 session_key="session"
            admin_scope="g_admin" profile_scope="g_profile" hash_algorithm="SHA256"
            user_module_path="{MODULES}/user" client_module_path="{MODULES}/client"
            user_auth_scheme_module_path="{MODULES}/scheme" plugin_module_path="{MODULES}/plugin"
            database={{ type="sqlite3" path="{folder}/database" }};
        """)
    # It gets the signal when this process ends, for whatever reason.
    return subprocess.Popen(
        ["glewlwyd", "-c", file.name], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, preexec_fn=lambda: prctl(1, signal.SIGKILL))


def answers():
    """Waits until Glewlwyd answers. Returns `False` if it ends instead."""
    while process.poll() is None:
        try:
            return ask("/config")[0] == 200
        except OSError:
            time.sleep(0.02)
    return False


def ask(path, body=None, method=None, cookie=""):
    """Sends a request to Glewlwyd. Returns the status, the head and the body of its answer."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    method = method or ("GET" if body is None else "POST")
    text = None if body is None else json.dumps(body)
    connection.request(method, path, text, {"Content-Type": "application/json", "Cookie": cookie})
    answer = connection.getresponse()
    result = answer.status, answer.headers, answer.read().decode()
    connection.close()
    return result


def tell(path, body, method="POST", cookie=None):
    status, head, text = ask(f"/api/{path}", body, method, admin if cookie is None else cookie)
    if status != 200:
        sys.exit(f"{method} {path}: {status} {text}")
    return (head["Set-Cookie"] or "").split(";")[0]


def sign_in(name, password):
    return tell("auth/", {"username": name, "password": password}, cookie="")


def with_id(key):
    """The key, with the thumbprint of RFC 7638 as its id unless it has one."""
    members = {name: key[name] for name in ("crv", "e", "kty", "n", "x", "y") if name in key}
    text = json.dumps(members, separators=(",", ":"), sort_keys=True)
    return {"kid": urlsafe_b64encode(sha256(text.encode()).digest()).decode().rstrip("="), **key}


def add_app(name, method, **more):
    tell("client/", {
        "client_id": name, "name": name, "enabled": True, "confidential": method != "none",
        "token_endpoint_auth_method": [method], "authorization_type": GRANTS, "scope": SCOPES,
        # The port of an address is compared too.
        "redirect_uri": ["https://app.test/signed-in"], **more})
    tell(f"auth/grant/{name}", {"scope": " ".join(SCOPES)}, "PUT", ann)


def add_issuer(name, is_strict):
    tell("mod/plugin/", {"module": "oidc", "name": name, "display_name": name, "parameters": {
        "iss": f"http://127.0.0.1:{port}/api/{name}", "oauth-as-iss-id": True, "subject-type": "public",
        "jwt-type": "ecdsa", "jwt-key-size": "256", "key": key, "cert": openssl("pkey", "-pubout", key=key),
        "access-token-duration": 3600, "refresh-token-duration": 86400, "code-duration": 60,
        "refresh-token-rolling": True, "refresh-token-one-use": "always", "allow-non-oidc": True,
        "auth-type-code-enabled": True, "auth-type-code-revoke-replayed": True, "auth-type-token-enabled": False,
        "auth-type-none-enabled": False, "auth-type-password-enabled": False, "auth-type-client-enabled": True,
        "auth-type-device-enabled": True, "auth-type-refresh-enabled": True, "allowed-scope": SCOPES,
        "name-claim": "mandatory", "email-claim": "mandatory",
        "pkce-allowed": True, "pkce-method-plain-allowed": False, "pkce-required": True,
        "introspection-revocation-allowed": True, "introspection-revocation-allow-target-client": True,
        "request-parameter-allow": True, "client-jwks-parameter": "jwks", "request-maximum-exp": 3600,
        "device-authorization-expiration": 60, "device-authorization-interval": 1,
        "oauth-par-allowed": True, "oauth-par-required": is_strict, "oauth-par-duration": 60,
        "oauth-par-request_uri-prefix": "urn:ietf:params:oauth:request_uri:",
        "oauth-dpop-allowed": True, "oauth-dpop-iat-duration": 60, "oauth-dpop-iat-gap-duration": 10,
        "oauth-dpop-nonce-mandatory": is_strict, "oauth-dpop-nonce-counter": 5}})


class Browser(BaseHTTPRequestHandler):
    def do_GET(self):
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        agrees = query.get("user") != "refuses"
        if url.path == "/open":
            # What the buttons of Glewlwyd's page for Ann lead to, and what stands for the lack of them.
            page = urlsplit(query["address"])._replace(scheme="", netloc="").geturl()
            self.answer(*ask(page + ("&g_continue" if agrees else "&prompt=none"), cookie=ann if agrees else ""))
        elif url.path == "/activate":
            pages = [f"/api/{name}/device?code={query['user_code']}&g_continue" for name in ISSUERS]
            places = [ask(page, cookie=ann if agrees else "")[1]["Location"] or "" for page in pages]
            is_known = any("prompt=deviceComplete" in place for place in places) or not agrees
            self.answer(200 if is_known else 400, {}, "You can go back to the device." if is_known else "")
        else:
            self.answer(404, {}, "")

    def answer(self, status, head, text):
        self.send_response(status)
        if "Location" in head:
            self.send_header("Location", head["Location"])
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *args): pass


class Browsers(ThreadingHTTPServer):
    def service_actions(self):
        if os.getppid() != parent or process.poll() is not None:
            sys.exit()


signal.signal(signal.SIGTERM, lambda *_: sys.exit())
with tempfile.TemporaryDirectory() as folder:
    create_database(f"{folder}/database")
    for _ in range(5):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        process = start(folder, port)
        if answers():
            break
    else:
        sys.exit("Glewlwyd does not start")
    # The database comes with this user.
    admin = sign_in("admin", "password")
    for name in SCOPES[1:]:
        tell("scope/", {"name": name, "display_name": name, "password_required": False, "scheme": {}})
    tell("user/", {"username": "ann", "name": "Ann", "email": "ann@app.test", "password": PASSWORD, "enabled": True,
                   "scope": ["g_profile", *SCOPES]})
    ann = sign_in("ann", PASSWORD)
    keys = [with_id(json.loads(text)) for text in sys.argv[1:]]
    add_app("tool", "none")
    add_app("web", "client_secret_basic", client_secret=SECRET)
    add_app("form", "client_secret_post", client_secret=SECRET)
    add_app("signer", "private_key_jwt", jwks={"keys": keys})
    key = openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    for name in ISSUERS:
        add_issuer(name, name == "strict")

http = Browsers(("127.0.0.1", 0), Browser)
print("ready", port, http.server_port, flush=True)
try:
    http.serve_forever()
finally:
    process.kill()
    process.wait()
