#include "tls.h"

#if defined(__linux__)

#include "library.h"

#include <string.h>

// As libcurl lays it out.
typedef struct {
    int library;
    void *connection;
} session;

// Returns the TLS library's session; NULL if there is none.
static const session *session_of(const ccurl_transfer *transfer) {
    session *found = NULL;
    if (ccurl_api.easy_getinfo(transfer->easy, CCURLINFO_TLS_SSL_PTR, &found) != CCURLE_OK) return NULL;
    return found && found->connection ? found : NULL;
}

static bool shows_unread(const ccurl_transfer *transfer, const session *session) {
    if (!session && transfer->request.is_encrypted) return false;
    if (!session) return !ccurl_hides_proxy_sessions() || !ccurl_transfer_get_long(transfer, CCURLINFO_USED_PROXY);
    return (session->library == CCURLSSLBACKEND_OPENSSL && ccurl_api.openssl_has_pending) ||
           (session->library == CCURLSSLBACKEND_GNUTLS && ccurl_api.gnutls_pending);
}

bool ccurl_tls_shows_unread(const ccurl_transfer *transfer) { return shows_unread(transfer, session_of(transfer)); }

bool ccurl_tls_may_have_unread(const ccurl_transfer *transfer) {
    const session *session = session_of(transfer);
    if (!shows_unread(transfer, session)) return true;
    if (!session) return false;
    if (session->library == CCURLSSLBACKEND_OPENSSL) return ccurl_api.openssl_has_pending(session->connection);
    return ccurl_api.gnutls_pending(session->connection) > 0;
}

bool ccurl_tls_hides_unread(const ccurl_transfer *transfer) {
    const session *session = session_of(transfer);
    return session && !shows_unread(transfer, session);
}

bool ccurl_tls_has_agreed_on_http2(const ccurl_transfer *transfer) {
    const session *session = session_of(transfer);
    if (!session) return false;
    ccurl_datum name = {0};
    if (session->library == CCURLSSLBACKEND_OPENSSL && ccurl_api.openssl_alpn)
        ccurl_api.openssl_alpn(session->connection, &name.bytes, &name.length);
    else if (session->library == CCURLSSLBACKEND_GNUTLS && ccurl_api.gnutls_alpn)
        if (ccurl_api.gnutls_alpn(session->connection, &name) != 0) return false;
    return name.length == 2 && memcmp(name.bytes, "h2", 2) == 0;
}

#endif
