"""An authorization server of django-oauth-toolkit, for tests of signing in.

It prints `ready <port>`, and serves until it is killed. Its issuer is `http://127.0.0.1:<port>/o`. Its only user, Ann,
agrees to everything, unless the address of the page says `user=refuses`. On another device she answers at
`/activate?user_code=...`, likewise.

`tool` is a public app, `web` has a secret, and `service` has the same one and no user. A refresh token is good for one
use; the second use of one ends all tokens of that sign-in. `/me` is an API that takes the access tokens.

The endpoints and the documents are those of the toolkit, with the settings that follow RFC 9700 turned on. Of the
documents of 3.4.1, none names the endpoint for other devices, which is `/o/device-authorization/`; and the redirect of
a refusal has no `iss`, though they say that every redirect has one.
"""

import logging
import socketserver
import threading
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import django
from django.conf import settings
from jwcrypto.jwk import JWK

# Decoded as RFC 6749 asks it would be another text, so it has to be encoded.
SECRET = "s3cret %41+%&=:/"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


class Handler(WSGIRequestHandler):
    def log_message(self, *args): pass


class Threads(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads, request_queue_size = True, 64

    # The system may be asked for the name of this machine, which takes long without a network.
    def server_bind(self):
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address
        self.setup_environ()


lock = threading.Lock()
logging.disable(logging.CRITICAL)
http = Threads(("127.0.0.1", 0), Handler)
origin = f"http://127.0.0.1:{http.server_port}"
settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF=__name__, USE_TZ=True,
    MIDDLEWARE=["django.middleware.common.CommonMiddleware", f"{__name__}.sign_in"],
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "oauth2_provider"],
    # In memory, the same for all threads.
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "file:/errand?vfs=memdb"}},
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
    OAUTH2_PROVIDER={
        "OIDC_ENABLED": True, "OIDC_ISS_ENDPOINT": f"{origin}/o",
        "OIDC_RSA_PRIVATE_KEY": JWK.generate(kty="RSA", size=2048).export_to_pem(True, None).decode(),
        "OAUTH2_VALIDATOR_CLASS": f"{__name__}.Validator",
        "SCOPES": {name: name for name in ("openid", "profile", "email", "read", "write")},
        "DEFAULT_SCOPES": ["read"],
        "ACCESS_TOKEN_EXPIRE_SECONDS": 3600, "REFRESH_TOKEN_REUSE_PROTECTION": True,
        "OAUTH_DEVICE_VERIFICATION_URI": f"{origin}/activate", "DEVICE_FLOW_INTERVAL": 1,
        "OAUTH_DEVICE_VERIFICATION_URI_COMPLETE": origin + "/activate?user_code={user_code}",
        **{f"COMPLIANT_BCP_RFC9700_{name}": True for name in (
            "IMPLICIT_GRANT", "PASSWORD_GRANT", "PKCE_METHOD", "ACCESS_TOKEN_TRANSPORT", "AUTHZ_RESPONSE_ISS",
            "TOKEN_STORAGE")},
    })
django.setup()

from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, HttpResponseBadRequest, JsonResponse
from django.urls import include, path
from oauth2_provider import urls
from oauth2_provider.models import Application
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauth2_provider.views import AuthorizationView
from oauth2_provider.views.device import DeviceGrantForm
from oauth2_provider.views.generic import ProtectedResourceMetadataView


class Validator(OAuth2Validator):
    def get_additional_claims(self):
        return {"name": lambda asked: asked.user.first_name, "email": lambda asked: asked.user.email,
                "preferred_username": lambda asked: asked.user.username}

    # An app of the toolkit has one type of grant, beside the refreshing.
    def validate_grant_type(self, client_id, kind, client, request, *args, **more):
        is_device = kind == DEVICE and request.client.client_type == Application.CLIENT_PUBLIC
        return is_device or super().validate_grant_type(client_id, kind, client, request, *args, **more)


class Page(AuthorizationView):
    def create_authorization_response(self, request, scopes, credentials, allow):
        agrees = allow and request.GET.get("user") != "refuses"
        return super().create_authorization_response(request, scopes, credentials, agrees)


class Me(ProtectedResourceMetadataView):
    resource_metadata_url = f"{origin}/.well-known/oauth-protected-resource"

    def get(self, request):
        token = self.verify_request(request)[1].access_token
        return JsonResponse({"user": token.user and token.user.username, "scope": token.scope})


def sign_in(answer):
    def signed_in(request):
        request.user = ann
        # Of requests at the same time with the same refresh token, the toolkit lets more than one succeed.
        with lock:
            return answer(request)

    return signed_in


def activate(request):
    """Does what two pages of the toolkit do, one after the other."""
    form = DeviceGrantForm(request.GET)
    if not form.is_valid():
        return HttpResponseBadRequest(form.errors.as_text())
    device = form.cleaned_data["device_grant"]
    device.user, device.status = ann, device.DENIED if request.GET.get("user") == "refuses" else device.AUTHORIZED
    device.save(update_fields=["user", "status"])
    return HttpResponse("You can go back to the device.")


# The documents of RFC 8414 and RFC 9728 are at the root.
urlpatterns = [
    path("o/authorize/", Page.as_view()), path("o/", include("oauth2_provider.urls")),
    path("", include(urls.metadata_urlpatterns)), path("activate", activate), path("me", Me.as_view())]
call_command("migrate", verbosity=0)
ann = User.objects.create(username="ann", first_name="Ann", email="ann@app.test")
# A native app chooses its port when it starts (RFC 8252, 7.3), but its path is one of these.
REDIRECTS = "http://127.0.0.1/ http://127.0.0.1/back https://app.test/signed-in"
for name, kind, grant, more in (
        ("tool", Application.CLIENT_PUBLIC, Application.GRANT_AUTHORIZATION_CODE, {"redirect_uris": REDIRECTS}),
        ("web", Application.CLIENT_CONFIDENTIAL, Application.GRANT_AUTHORIZATION_CODE,
         {"redirect_uris": REDIRECTS, "client_secret": SECRET}),
        ("service", Application.CLIENT_CONFIDENTIAL, Application.GRANT_CLIENT_CREDENTIALS, {"client_secret": SECRET})):
    app = Application(client_id=name, client_type=kind, authorization_grant_type=grant, skip_authorization=True,
                      algorithm=Application.RS256_ALGORITHM, hash_client_secret=False, **more)
    app.full_clean()
    app.save()

http.set_app(get_wsgi_application())
print("ready", http.server_port, flush=True)
http.serve_forever()
