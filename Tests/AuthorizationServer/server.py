"""An authorization server of Authlib, for tests of signing in: `server.py <public key of the app that signs, as JWK>`.

It prints `ready <port>`, and serves until it is killed. Its only user, Ann, agrees to everything, unless the address of
the page says `user=refuses`. On another device she answers at `/activate?user_code=...`, likewise.

An app is registered for one way of proving itself, and every other one is refused. A refresh token is good for one use;
the second use of one ends all tokens of that sign-in, as RFC 9700 (4.14.2) asks. `/me` is an API that takes its access
tokens, and `/spent` says how many refresh tokens were used, and how many were used again.
"""

import base64
import json
import logging
import os
import sys
import threading
import time

# Plain http, on this machine only.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

from authlib.integrations.flask_oauth2 import AuthorizationServer, ResourceProtector, current_token
from authlib.oauth2.rfc6749 import OAuth2Error, grants
from authlib.oauth2.rfc6749.models import AuthorizationCodeMixin, ClientMixin, TokenMixin
from authlib.oauth2.rfc6750 import BearerTokenValidator
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7523 import JWTBearerClientAssertion
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata
from authlib.oauth2.rfc8628 import DeviceAuthorizationEndpoint, DeviceCodeGrant, DeviceCredentialDict
from authlib.oauth2.rfc9207 import IssuerParameter
from authlib.oidc.core import OpenIDCode, UserInfo
from flask import Flask, jsonify, request
from joserfc.jwk import ECKey
from werkzeug.serving import make_server

PUBLISHED = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
# No RFC has the last one: some servers decode nothing.
METHODS = [*PUBLISHED, "raw_basic"]
GRANTS = ["authorization_code", "refresh_token", "client_credentials", DeviceCodeGrant.GRANT_TYPE]
# Decoded as RFC 6749 asks it would be another text, so it has to be encoded, unless the server decodes nothing.
SECRET = "s3cret %41+%&=:/"

lock = threading.RLock()
key = ECKey.generate_key("P-256")
codes, devices, decisions, tokens = {}, {}, {}, []
spent = {"used": 0, "again": 0}


class App(ClientMixin):
    def __init__(self, name, method, public_key=None):
        self.name, self.method, self.public_key = name, method, public_key

    def get_client_id(self): return self.name
    def get_default_redirect_uri(self): return None
    def get_allowed_scope(self, scope): return scope or ""
    # A native app chooses its port when it starts (RFC 8252, 7.3).
    def check_redirect_uri(self, uri): return uri.startswith("http://127.0.0.1:") or uri == "https://app.test/signed-in"
    def check_client_secret(self, secret): return secret == SECRET
    def check_endpoint_auth_method(self, method, endpoint): return method == self.method
    def check_response_type(self, kind): return kind == "code"
    def check_grant_type(self, kind): return kind in GRANTS and (kind != "client_credentials" or self.method != "none")


class Code(AuthorizationCodeMixin):
    def __init__(self, code, asked):
        self.code, self.client = code, asked.client.get_client_id()
        self.redirect_uri, self.scope = asked.payload.redirect_uri, asked.payload.scope or ""
        data = asked.payload.data
        self.nonce = data.get("nonce")
        self.code_challenge, self.code_challenge_method = data.get("code_challenge"), data.get("code_challenge_method")

    def get_redirect_uri(self): return self.redirect_uri
    def get_scope(self): return self.scope
    def get_nonce(self): return self.nonce
    def get_auth_time(self): return None
    def get_acr(self): return None
    def get_amr(self): return None


class Issued(TokenMixin):
    def __init__(self, members, client, user, family):
        self.access, self.refresh = members["access_token"], members.get("refresh_token")
        self.scope, self.end = members.get("scope", ""), time.time() + members["expires_in"]
        self.client, self.user, self.family, self.is_spent, self.gone = client, user, family, False, False

    def check_client(self, client): return client.get_client_id() == self.client
    def get_scope(self): return self.scope
    def get_expires_in(self): return int(self.end - time.time())
    def is_expired(self): return self.end < time.time()
    def is_revoked(self): return self.gone
    def get_user(self): return self.user
    def get_client(self): return apps[self.client]


apps = {
    "tool": App("tool", "none"), "web": App("web", "client_secret_basic"), "form": App("form", "client_secret_post"),
    "raw": App("raw", "raw_basic"),
    "signer": App("signer", "private_key_jwt", ECKey.import_key(json.loads(sys.argv[1]))),
}


def save_token(members, asked):
    with lock:
        # Those that come from one sign-in are one family.
        before = getattr(asked, "refresh_token", None)
        family = before.family if isinstance(before, Issued) else len(tokens)
        tokens.append(Issued(members, asked.client.get_client_id(), asked.user, family))


def end_family(token):
    for other in tokens:
        other.gone = other.gone or other.family == token.family


app = Flask("errand")
app.config["OAUTH2_REFRESH_TOKEN_GENERATOR"] = True
server = AuthorizationServer(app, query_client=apps.get, save_token=save_token)


class CodeGrant(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    def save_authorization_code(self, code, asked): codes[code] = Code(code, asked)

    def query_authorization_code(self, code, client):
        found = codes.get(code)
        return found if found and found.client == client.get_client_id() else None

    def delete_authorization_code(self, code): codes.pop(code.code, None)
    def authenticate_user(self, code): return "ann"


class RefreshGrant(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, text):
        with lock:
            token = next((token for token in tokens if token.refresh == text), None)
            if token and token.is_spent:
                spent["again"] += 1
                end_family(token)
            if not token or token.gone or token.is_spent:
                return None
            token.is_spent = True
            spent["used"] += 1
            return token

    def authenticate_user(self, token): return token.user

    def revoke_old_credential(self, token): pass


class ClientGrant(grants.ClientCredentialsGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS


class DeviceGrant(DeviceCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    def query_device_credential(self, code): return devices.get(code)
    def query_user_grant(self, user_code): return decisions.get(user_code)

    def should_slow_down(self, credential):
        polled, credential["polled"] = credential.get("polled"), time.monotonic()
        return polled is not None and credential["polled"] - polled < 0.9


class Devices(DeviceAuthorizationEndpoint):
    CLIENT_AUTH_METHODS = METHODS
    EXPIRES_IN, INTERVAL = 60, 1

    def get_verification_uri(self): return f"{issuer}/activate"

    def save_device_credential(self, client_id, scope, data):
        end = time.time() + data["expires_in"]
        devices[data["device_code"]] = DeviceCredentialDict(client_id=client_id, scope=scope, expires_at=end, **data)


class Revocation(RevocationEndpoint):
    CLIENT_AUTH_METHODS = METHODS

    def query_token(self, text, hint):
        return next((token for token in tokens if text in (token.access, token.refresh)), None)

    def revoke_token(self, token, asked): end_family(token)


class Assertion(JWTBearerClientAssertion):
    CLIENT_AUTH_METHOD = "private_key_jwt"
    used = set()

    # The issuer only: an assertion for any other audience is refused.
    def get_audiences(self): return [issuer]

    def validate_jti(self, claims, jti):
        is_new = jti not in self.used
        self.used.add(jti)
        return is_new

    def resolve_client_public_key(self, client): return client.public_key


def authenticate_raw(query_client, asked):
    """Compares the secret in the header as it is."""
    kind, _, pair = asked.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "basic":
        return None
    name, _, secret = base64.b64decode(pair).decode().partition(":")
    found = query_client(name)
    return found if found and found.check_client_secret(secret) else None


class Identity(OpenIDCode):
    def exists_nonce(self, nonce, asked): return any(code.nonce == nonce for code in codes.values())
    def resolve_client_private_key(self, client): return key
    def get_client_algorithm(self, client): return "ES256"
    def get_client_claims(self, client): return {"iss": issuer, "aud": [client.get_client_id()]}
    def generate_user_info(self, user, scope): return UserInfo(sub=user, name="Ann")


class Issuer(IssuerParameter):
    def get_issuer(self): return issuer


class Validator(BearerTokenValidator):
    def authenticate_token(self, text): return next((token for token in tokens if token.access == text), None)


server.register_grant(CodeGrant, [CodeChallenge(required=True), Identity(require_nonce=False)])
for grant in (RefreshGrant, ClientGrant, DeviceGrant):
    server.register_grant(grant)
for endpoint in (Devices, Revocation):
    server.register_endpoint(endpoint)
server.register_client_auth_method("private_key_jwt", Assertion())
server.register_client_auth_method("raw_basic", authenticate_raw)
server.register_extension(Issuer())
protector = ResourceProtector()
protector.register_token_validator(Validator())


@app.get("/.well-known/oauth-authorization-server")
def metadata():
    document = AuthorizationServerMetadata(
        issuer=issuer, authorization_endpoint=f"{issuer}/authorize", token_endpoint=f"{issuer}/token",
        revocation_endpoint=f"{issuer}/revoke", jwks_uri=f"{issuer}/keys", scopes_supported=["openid", "read", "write"],
        response_types_supported=["code"], grant_types_supported=GRANTS, code_challenge_methods_supported=["S256"],
        token_endpoint_auth_methods_supported=PUBLISHED, token_endpoint_auth_signing_alg_values_supported=["ES256"])
    document.validate()
    document.update(
        device_authorization_endpoint=f"{issuer}/device", authorization_response_iss_parameter_supported=True)
    return jsonify(document)


@app.get("/authorize")
def authorize():
    user = None if request.args.get("user") == "refuses" else "ann"
    try:
        grant = server.get_consent_grant(end_user="ann")
    except OAuth2Error as error:
        return server.handle_error_response(request, error)
    return server.create_authorization_response(grant_user=user, grant=grant)


@app.get("/activate")
def activate():
    decisions[request.args["user_code"]] = ("ann", request.args.get("user") != "refuses")
    return "You can go back to the device."


@app.post("/token")
def token(): return server.create_token_response()


@app.post("/device")
def device(): return server.create_endpoint_response("device_authorization")


@app.post("/revoke")
def revoke(): return server.create_endpoint_response("revocation")


@app.get("/me")
@protector()
def me(): return jsonify(user=current_token.user, scope=current_token.scope)


@app.get("/spent")
def counts(): return jsonify(spent)


logging.getLogger("werkzeug").setLevel(logging.ERROR)
http = make_server("127.0.0.1", 0, app, threaded=True)
issuer = f"http://127.0.0.1:{http.server_port}"
print("ready", http.server_port, flush=True)
http.serve_forever()
