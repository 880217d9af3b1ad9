"""An authorization server of idpyoidc, for tests of signing in: `provider.py <public key of the app that signs>`.

It prints `ready <port>`, and serves until it is killed. Its only user, Ann, agrees to everything. It accepts a sign-in
only with pushed parameters (RFC 9126), and binds all tokens to a key (DPoP, RFC 9449). `/me` is an API that takes those
tokens. `tool` is a public app, and `signer` signs its requests. `/asked` lists the names of the parameters that each
path has received.

The endpoints of idpyoidc answer all requests. A comment marks what is added by hand because idpyoidc 5.0.0 does not
check it, or not as the RFC says. It has no nonces for proofs, and pushed parameters do not expire there.
"""

import json
import logging
import sys
import threading
import time
from hashlib import sha256

from cryptojwt.utils import as_unicode, b64e
from flask import Flask, Response, jsonify, request
from idpyoidc.message.oauth2 import PushedAuthorizationRequest
from idpyoidc.server import Server
from idpyoidc.server.configure import ASConfiguration
from idpyoidc.server.exception import ClientAuthenticationError
from idpyoidc.server.oauth2.add_on.dpop import DPoPProof, userinfo_post_parse_request
from werkzeug.serving import make_server

logging.disable(logging.CRITICAL)
app = Flask("errand")
http = make_server("127.0.0.1", 0, app, threaded=True)
issuer = f"http://127.0.0.1:{http.server_port}"
lock, asked, used = threading.Lock(), {}, set()


def endpoint(path, name, *methods, **kwargs):
    return {"path": path, "class": f"idpyoidc.server.{name}", "kwargs": {"client_authn_method": methods, **kwargs}}


APPS = ["private_key_jwt", "public"]
TOKEN = {"class": "idpyoidc.server.token.jwt_token.JWTToken", "kwargs": {"lifetime": 3600}}
server = Server(ASConfiguration({
    "issuer": issuer,
    "key_conf": {"key_defs": [{"type": "EC", "crv": "P-256", "use": ["sig"]}]},
    "token_handler_args": {"code": {"lifetime": 60}, "token": TOKEN, "refresh": TOKEN},
    "endpoint": {
        "metadata": endpoint(".well-known/oauth-authorization-server", "oauth2.server_metadata.ServerMetadata"),
        # By default the page wants `response_type` beside the reference, unlike RFC 9126 (4).
        "page": endpoint("authorize", "oauth2.authorization.Authorization", "pushed_authz",
                         request_cls=PushedAuthorizationRequest),
        "pushed": endpoint("par", "oauth2.pushed_authorization.PushedAuthorization", *APPS, ttl=60),
        "token": endpoint("token", "oauth2.token.Token", *APPS, revoke_refresh_on_issue=True),
        "me": endpoint("me", "oidc.userinfo.UserInfo", "dpop"),
    },
    "add_ons": {
        "pkce": {"function": "idpyoidc.server.oauth2.add_on.pkce.add_support",
                 "kwargs": {"essential": True, "code_challenge_methods": {"S256": None}}},
        "dpop": {"function": "idpyoidc.server.oauth2.add_on.dpop.add_support",
                 "kwargs": {"dpop_signing_alg_values_supported": ["ES256"], "dpop_endpoints": ["token"]}},
    },
    "authentication": {"ann": {
        "acr": "ann", "class": "idpyoidc.server.user_authn.user.NoAuthn",
        "kwargs": {"user": as_unicode(b64e(b'{"uid": "ann"}'))}}},
    "userinfo": {"class": "idpyoidc.server.user_info.UserInfo", "kwargs": {"db": {"ann": {"name": "Ann"}}}},
}))

# The add-on sets the algorithms too early, and they are lost. Without them a refresh returns a token of type Bearer.
server.context.provider_info.update(
    require_pushed_authorization_requests=True, dpop_signing_alg_values_supported=["ES256"],
    authorization_response_iss_parameter_supported=True)
for client, method in [("tool", "public"), ("signer", "private_key_jwt")]:
    server.context.cdb[client] = {
        "client_id": client, "redirect_uris": [("https://app.test/signed-in", {})],
        "client_authn_method": [method, "pushed_authz", "dpop_client_auth"],
        "allowed_scopes": ["profile", "offline_access"]}
server.keyjar.import_jwks({"keys": [json.loads(sys.argv[1])]}, "signer")
for name in ("pushed_authorization", "token"):
    # The issuer is an audience too, as RFC 9126 (2) demands. By default only the URL of the endpoint is one.
    server.endpoint[name].allowed_targets.append("")


class WrongKey(ValueError): pass


def check_proof(args, client_id, context, http_info, auth_info, **kwargs):
    """By hand: a proof is recent, is used once, belongs to the token, and is by the key that the token is bound to."""
    # The add-on has verified its signature, its method and its URL.
    proof = DPoPProof().verify_header(http_info["headers"]["dpop"])
    proof.verify()
    if proof["alg"] != "ES256" or abs(proof["iat"] - time.time()) > 60 or proof["jti"] in used:
        raise ValueError("the proof is old, or was used before, or has another algorithm")
    used.add(proof["jti"])
    token = auth_info.get("token")
    if token and proof.get("ath") != as_unicode(b64e(sha256(token.encode()).digest())):
        raise ValueError("the proof is for another token")
    text = token or args.get("code") or args.get("refresh_token")
    grant = context.session_manager.get_session_info_by_token(text, grant=True)["grant"]
    if args["dpop_jkt"] != (grant.extra.get("dpop_jkt") or grant.authorization_request.get("dpop_jkt")):
        raise WrongKey("the proof is by another key")
    return args


# The add-on checks a call too. But it expects the hash of the token in hexadecimal, not in base64 (RFC 9449, 4.2), and
# checks it only if it gets the token.
server.endpoint["userinfo"].post_parse_request += [
    lambda args, client_id, context, auth_info, **more: userinfo_post_parse_request(
        args, client_id, context, {}, **more),
    check_proof]
server.endpoint["token"].post_parse_request.append(check_proof)
endpoints = {endpoint.endpoint_path: endpoint for endpoint in server.endpoint.values()}


def refusal(code, text):
    answer, is_call = jsonify(error=code, error_description=text), request.path == "/me"
    if is_call:
        answer.headers["WWW-Authenticate"] = f'DPoP error="{code}", algs="ES256"'
    return answer, 401 if is_call or code == "invalid_client" else 400


@app.errorhandler(ValueError)
@app.errorhandler(ClientAuthenticationError)
def refuse(error):
    if isinstance(error, (WrongKey, ClientAuthenticationError)):
        code = "invalid_grant" if isinstance(error, WrongKey) else "invalid_client"
        return refusal("invalid_token" if request.path == "/me" else code, str(error))
    return refusal("invalid_dpop_proof" if request.path in ("/me", "/token") else "invalid_request", str(error))


@app.route("/<path:path>", methods=["GET", "POST"])
def serve(path):
    if path not in endpoints:
        return jsonify(asked), 200 if path == "asked" else 404
    endpoint, form = endpoints[path], request.values.to_dict()
    about = {"method": request.method, "url": request.base_url}
    about["headers"] = {key.lower(): value for key, value in request.headers.items()}
    more = {"issue_refresh": True} if path == "token" else {}
    with lock:
        asked.setdefault(path, []).append(sorted(form))
        args = endpoint.parse_request(form, http_info=about)
        if "error" not in args:
            args = endpoint.process_request(args, http_info=about, **more)
        if "error" in args:
            return refusal(args["error"], args.get("error_description", ""))
        if "http_response" in args:
            return jsonify(args["http_response"]), 201
        done = endpoint.do_response(request=form, **args)
    if endpoint.response_placement == "url":
        return Response(status=302, headers={"Location": done["response"]})
    return Response(done["response"], headers=done["http_headers"])


print("ready", http.server_port, flush=True)
http.serve_forever()
