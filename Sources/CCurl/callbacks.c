// What libcurl calls while it works on a transfer.

// For memmem.
#define _GNU_SOURCE

#include "ccurl.h"

#if defined(__linux__)

#include "fields.h"

#include <stdlib.h>
#include <string.h>

// How much memory a body gets at most before any of it has come.
#define FIRST_BODY_CAPACITY (1 << 20)

// As libcurl lays it out.
typedef struct {
    int library;
    void *connection;
} tls_session;

// MARK: Before the request is sent

// Returns the TLS library's session; NULL if there is none.
static const tls_session *tls_session_of(const ccurl_transfer *transfer) {
    tls_session *session = NULL;
    if (ccurl_api.easy_getinfo(transfer->easy, CCURLINFO_TLS_SSL_PTR, &session) != CCURLE_OK) return NULL;
    return session && session->connection ? session : NULL;
}

// Whether unread bytes of the other side are sure to be noticed. Under TLS they may be with its library,
// which cannot be asked for them if it names no session, if it is linked into libcurl, so that its functions are not
// found, and if it is one that the shim does not know. Plain http has a session if its proxy is reached over TLS; where
// libcurl may hide that, any proxy may be.
static bool can_notice_unread(const ccurl_transfer *transfer, const tls_session *session) {
    if (!session && transfer->request.is_encrypted) return false;
    if (!session) return !ccurl_hides_proxy_sessions() || !ccurl_transfer_get_long(transfer, CCURLINFO_USED_PROXY);
    return (session->library == CCURLSSLBACKEND_OPENSSL && ccurl_api.openssl_has_pending) ||
           (session->library == CCURLSSLBACKEND_GNUTLS && ccurl_api.gnutls_pending);
}

// Whether client and server have agreed on HTTP/2.
static bool has_agreed_on_http2(const ccurl_transfer *transfer) {
    const tls_session *session = tls_session_of(transfer);
    if (!session) return false;
    ccurl_datum name = {0};
    if (session->library == CCURLSSLBACKEND_OPENSSL && ccurl_api.openssl_alpn)
        ccurl_api.openssl_alpn(session->connection, &name.bytes, &name.length);
    else if (session->library == CCURLSSLBACKEND_GNUTLS && ccurl_api.gnutls_alpn)
        if (ccurl_api.gnutls_alpn(session->connection, &name) != 0) return false;
    return name.length == 2 && memcmp(name.bytes, "h2", 2) == 0;
}

// Whether the request is about to be the first on its connection, or the first that shows that requests share the
// connection: it is one of HTTP/3, or of HTTP/2; where the TLS library cannot be asked, that is a second one, since one
// of HTTP/1 is not used again.
static bool shows_sharing(ccurl_transfer *transfer, bool is_new) {
    if (!transfer->request.is_encrypted) return false;
    if (is_new && ccurl_sockets_is_http3(ccurl_loop_sockets(transfer->loop), transfer)) return true;
    if (is_new) return has_agreed_on_http2(transfer);
    const tls_session *session = tls_session_of(transfer);
    return session && !can_notice_unread(transfer, session) && !transfer->connection.may_be_http1;
}

// Whether a new connection is certainly one of HTTP/1.
static bool is_http1(const ccurl_transfer *transfer) {
    if (!transfer->request.is_encrypted) return true;
    const tls_session *session = tls_session_of(transfer);
    return session && can_notice_unread(transfer, session) && !has_agreed_on_http2(transfer);
}

// Whether the TLS library may hold unread bytes of the other side.
static bool may_have_unread(const ccurl_transfer *transfer) {
    const tls_session *session = tls_session_of(transfer);
    if (!can_notice_unread(transfer, session)) return true;
    if (!session) return false;
    if (session->library == CCURLSSLBACKEND_OPENSSL) return ccurl_api.openssl_has_pending(session->connection);
    return ccurl_api.gnutls_pending(session->connection) > 0;
}

// Whether the kept connection that the request is about to use is not fit for it: the other side has closed it, or
// bytes have come that no request asked for. libcurl 7.88 would take those for the next response, which may be
// another user's. Under TLS they may be session tickets, which mostly come with the first response: an unneeded new
// connection does less harm.
static bool is_stale(ccurl_transfer *transfer) {
    if (transfer->connection.kind == CCURL_ON_NEW_CONNECTION) return false;
    if (ccurl_sockets_is_stale(ccurl_loop_sockets(transfer->loop), transfer)) return true;
    if (transfer->connection.may_be_http1) return may_have_unread(transfer);
    // libcurl 8.12 sends what asks for HTTP/1.1 on a connection of HTTP/2 that it has.
    return transfer->is_downgraded;
}

// Whether the server asked for HTTP/1.1. Newer versions of libcurl put other words over the first of those that say so,
// or end them at their first byte; the rest still stands. They were all zero when the request began.
static bool was_downgraded(const ccurl_transfer *transfer) {
    static const char name[] = "HTTP_1_1_REQUIRED";
    return memmem(transfer->words, sizeof transfer->words, name, sizeof name - 1) != NULL;
}

// Whether the server certainly refused a request that libcurl is about to send again. On a new connection that no other
// request has joined, only a refusal and a downgrade make it do that, and about a refusal it says nothing. On others it
// may be that the connection ended. That matters only for a request that acts.
static bool is_refusal(const ccurl_transfer *transfer) {
    const ccurl_connection *connection = &transfer->connection;
    if (transfer->words[0]) return false;
    if (connection->kind == CCURL_ON_NEW_CONNECTION && !connection->is_joined) return true;
    return transfer->request.is_encrypted && transfer->request.is_safe && !connection->was_kept;
}

// libcurl sends a request again, unasked, up to five times: after a connection that it used for another request as well
// died, and after HTTP/2's REFUSED_STREAM. One permit is one send, and the retry policy decides what may be sent again.
void ccurl_transfer_refuse_repetition(ccurl_transfer *transfer) {
    if (transfer->reason != CCURL_NO_REASON) return;
    if (ccurl_transfer_is_unsent_over_http3(transfer)) return ccurl_transfer_note_lack_of_http3(transfer);
    transfer->reason = CCURL_REPEATED;
    if (was_downgraded(transfer)) transfer->repetition = CCURL_DOWNGRADED;
    else
        transfer->repetition = is_refusal(transfer) ? CCURL_REFUSED : CCURL_DIED;
}

void ccurl_transfer_tell(ccurl_transfer *transfer, ccurl_step step) {
    if (transfer->hooks.on_step) transfer->hooks.on_step(transfer->hooks.context, step);
}

static int note_connected(void *context, char *to, char *from, int to_port, int from_port) {
    (void)to, (void)from;
    ccurl_transfer *transfer = context;
    ccurl_connection *connection = &transfer->connection;
    // libcurl has given it the connection, even if it does not get to use it. A new one has no maker yet.
    ccurl_sockets_note_joined(ccurl_loop_sockets(transfer->loop), to_port, from_port);
    if (connection->kind != CCURL_UNCONNECTED) {
        ccurl_transfer_refuse_repetition(transfer);
        return CCURL_PREREQFUNC_ABORT;
    }
    move(transfer, SENDING);
    bool is_new = ccurl_transfer_get_long(transfer, CCURLINFO_NUM_CONNECTS) > 0;
    connection->kind = is_new ? CCURL_ON_NEW_CONNECTION : CCURL_ON_KEPT_CONNECTION;
    connection->to_port = to_port;
    connection->from_port = from_port;
    if (is_stale(transfer)) {
        // A connection that libcurl closes now has not died.
        ccurl_sockets_release(ccurl_loop_sockets(transfer->loop), transfer);
        // Otherwise libcurl would choose the connection of HTTP/2 or HTTP/3 again for the next request.
        if (transfer->is_downgraded || ccurl_sockets_is_http3(ccurl_loop_sockets(transfer->loop), transfer))
            ccurl_transfer_set_special_long(transfer, CCURLOPT_FORBID_REUSE, 1);
        bool is_kept = transfer->http3 == CCURL_KEEPING_HTTP3;
        transfer->reason = is_kept ? CCURL_LACKING_HTTP3 : CCURL_STALE;
        return CCURL_PREREQFUNC_ABORT;
    }
    if (is_new && transfer->request.is_encrypted) ccurl_flood_note_certificates(ccurl_loop_flood(transfer->loop));
    // Not only when its first response has ended: libcurl may use it again in the same turn.
    if (is_new) ccurl_sockets_note_made(ccurl_loop_sockets(transfer->loop), transfer, is_http1(transfer));
    if (shows_sharing(transfer, is_new)) ccurl_transfer_tell(transfer, CCURL_SHARED);
    ccurl_transfer_tell(transfer, CCURL_CONNECTED);
    // The last act before the first byte: the process may be stopped at any line above.
    if (transfer->request.permit_end && ccurl_now_suspended() >= transfer->request.permit_end) {
        // A connection that libcurl closes now has not died.
        ccurl_sockets_release(ccurl_loop_sockets(transfer->loop), transfer);
        transfer->reason = CCURL_PERMIT_ENDED;
        return CCURL_PREREQFUNC_ABORT;
    }
    return CCURL_PREREQFUNC_OK;
}

// MARK: The response

// To return fewer bytes than there are ends the transfer.
static size_t refuse(ccurl_transfer *transfer, ccurl_reason reason) {
    transfer->reason = reason;
    return 0;
}

// A connection about which the next request could not ask is closed with the response, instead of being kept in vain.
// Over HTTP/2 and HTTP/3 a surplus does no harm.
static void forbid_reuse_if_unsure(ccurl_transfer *transfer) {
    if (ccurl_transfer_get_long(transfer, CCURLINFO_HTTP_VERSION) >= CCURL_HTTP_VERSION_2_0) return;
    if (can_notice_unread(transfer, tls_session_of(transfer))) return;
    ccurl_transfer_set_special_long(transfer, CCURLOPT_FORBID_REUSE, 1);
}

static size_t take_head(char *bytes, size_t size, size_t count, void *context) {
    ccurl_transfer *transfer = context;
    ccurl_head *head = &transfer->head;
    size_t length = size * count;
    if (transfer->state != RECEIVING) {
        move(transfer, RECEIVING);
        transfer->first_byte = ccurl_now();
        ccurl_sockets_hear(ccurl_loop_sockets(transfer->loop), transfer);
    }
    bool was_complete = head->is_complete;
    ccurl_reason reason = CCURL_NO_REASON;
    if (!ccurl_head_take(head, bytes, length, transfer->request.head_limit, &reason))
        return refuse(transfer, reason);
    if (was_complete || !head->is_complete) return length;
    if (!ccurl_head_is_interim(head)) {
        forbid_reuse_if_unsure(transfer);
        ccurl_transfer_tell(transfer, CCURL_HEAD_COMPLETE);
        ccurl_upload_note_response(transfer, !ccurl_head_has_status(head, "2"));
    }
    if (transfer->request.expects_continue && ccurl_head_has_status(head, "417"))
        return refuse(transfer, CCURL_SETTLED);
    return length;
}

// Makes room for more bytes of the body: for all that are announced, but never for much more than have come, since a
// server may announce anything.
static bool reserve_body(ccurl_transfer *transfer, size_t more) {
    size_t wanted = transfer->body_length + more;
    if (wanted <= transfer->body_capacity) return true;
    size_t capacity = transfer->body_capacity * 2;
    int64_t announced = transfer->head.content_length;
    if (announced >= (int64_t)wanted) {
        if (capacity < FIRST_BODY_CAPACITY) capacity = FIRST_BODY_CAPACITY;
        if (capacity > (size_t)announced) capacity = (size_t)announced;
    }
    if (capacity < wanted) capacity = wanted;
    uint8_t *moved = realloc(transfer->body, capacity);
    if (!moved) return false;
    transfer->body = moved;
    transfer->body_capacity = capacity;
    return true;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context) {
    ccurl_transfer *transfer = context;
    size_t length = size * count;
    size_t limit = transfer->is_coded ? SIZE_MAX : transfer->request.body_limit;
    if (length > limit - transfer->body_length) return refuse(transfer, CCURL_BODY_TOO_LARGE);
    // A response that comes before all of its request was sent (see upload.c) rests like any other, and libcurl does
    // not lose it then: the end of its stream stays unread behind the piece that is kept back.
    if (!ccurl_fairness_note(transfer, length)) {
        transfer->is_paused = true;
        return CCURL_WRITEFUNC_PAUSE;
    }
    ccurl_sockets_hear(ccurl_loop_sockets(transfer->loop), transfer);
    ccurl_flood_note_body(ccurl_loop_flood(transfer->loop), length);
    const ccurl_hooks *hooks = &transfer->hooks;
    ptrdiff_t (*hook)(void *, const uint8_t *, size_t) = transfer->is_coded ? hooks->on_coded_body : hooks->on_body;
    if (hook) {
        ptrdiff_t taken = hook(hooks->context, (uint8_t *)bytes, length);
        transfer->is_paused = taken == CCURL_PAUSE;
        if (transfer->is_paused) return CCURL_WRITEFUNC_PAUSE;
        if (taken < 0) return 0;
    } else {
        if (!reserve_body(transfer, length)) return 0;
        memcpy(transfer->body + transfer->body_length, bytes, length);
    }
    transfer->body_length += length;
    ccurl_transfer_tell(transfer, CCURL_PROGRESS);
    return length;
}

// MARK: What libcurl is given

void ccurl_install_callbacks(ccurl_transfer *transfer) {
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_PRIVATE, transfer);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_ERRORBUFFER, transfer->words);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_HEADERFUNCTION, take_head);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_HEADERDATA, transfer);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_WRITEFUNCTION, take_body);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_WRITEDATA, transfer);
    ccurl_sockets_adopt(ccurl_loop_sockets(transfer->loop), transfer);
    if (!ccurl_tells_connected()) return;
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_PREREQFUNCTION, note_connected);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_PREREQDATA, transfer);
}

#endif
