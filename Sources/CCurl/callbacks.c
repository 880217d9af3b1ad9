// For memmem.
#define _GNU_SOURCE

#include "callbacks.h"

#if defined(__linux__)

#include "library.h"
#include "tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// As libcurl lays it out.
typedef struct {
    int family, type, protocol;
    unsigned length;
    struct sockaddr address;
} socket_address;

// MARK: Before the request is sent

// Whether the request is about to be the first on its connection, or the first that shows that requests share the
// connection: it is one of HTTP/3, or of HTTP/2; where the TLS library cannot be asked, that is a second one, since one
// of HTTP/1 is not used again.
static bool shows_sharing(ccurl_transfer *transfer, bool is_new) {
    if (!transfer->request.is_encrypted) return false;
    if (is_new && ccurl_sockets_is_http3(&transfer->loop->sockets, &transfer->connection)) return true;
    if (is_new) return ccurl_tls_has_agreed_on_http2(transfer);
    return !transfer->connection.may_be_http1 && ccurl_tls_hides_unread(transfer);
}

// Whether a new connection is certainly one of HTTP/1.
static bool is_http1(const ccurl_transfer *transfer) {
    if (!transfer->request.is_encrypted) return true;
    return ccurl_tls_shows_unread(transfer) && !ccurl_tls_has_agreed_on_http2(transfer);
}

// Whether the kept connection that the request is about to use is not fit for it: the other side has closed it, or
// bytes have come that no request asked for. libcurl 7.88 would take those for the next response, which may be
// another user's. Under TLS they may be session tickets, which mostly come with the first response: an unneeded new
// connection does less harm.
static bool is_stale(ccurl_transfer *transfer) {
    ccurl_loop *loop = transfer->loop;
    if (transfer->connection.kind == CCURL_ON_NEW_CONNECTION) return false;
    const ccurl_use use = {
        .can_ask_later = !transfer->request.is_encrypted && !transfer->upload.exists,
        .is_safe = transfer->request.is_safe,
        .is_on_callers_thread = loop->is_on_callers_thread,
    };
    if (ccurl_sockets_is_stale(&loop->sockets, &transfer->connection, use)) return true;
    if (transfer->connection.may_be_http1) return ccurl_tls_may_have_unread(transfer);
    // libcurl 8.12 sends what asks for HTTP/1.1 on a connection of HTTP/2 that it has.
    return transfer->is_downgraded;
}

// Whether the server asked for HTTP/1.1. Newer versions of libcurl put other words over the first of those that say so,
// or end them at their first byte; the rest still stands. They were all zero when the request began.
static bool was_downgraded(const ccurl_transfer *transfer) {
    static const char name[] = "HTTP_1_1_REQUIRED";
    return memmem(transfer->words, sizeof transfer->words, name, sizeof name - 1) != NULL;
}

// libcurl sends a request again, unasked, up to five times: after a connection that it used for another request as well
// died, and after HTTP/2's REFUSED_STREAM. One permit is one send, and the retry policy decides what may be sent again.
static void refuse_repetition(ccurl_transfer *transfer) {
    if (transfer->reason != CCURL_NO_REASON) return;
    const ccurl_connection *connection = &transfer->connection;
    if (ccurl_transfer_can_begin_again(transfer) && ccurl_sockets_is_http3(&transfer->loop->sockets, connection)) {
        transfer->reason = CCURL_LACKING_HTTP3;
        return;
    }
    // Words are about an error, and then it is no refusal.
    if (!transfer->words[0])
        ccurl_sockets_note_repetition(&transfer->loop->sockets, connection, transfer->request.origin);
    const ccurl_second_send send = {
        .has_words = transfer->words[0],
        .asks_for_http1 = was_downgraded(transfer),
        .is_on_new_connection = connection->kind == CCURL_ON_NEW_CONNECTION,
        .is_joined = connection->is_joined,
        .was_on_kept_http1 = connection->was_kept,
        .is_encrypted = transfer->request.is_encrypted,
        .is_safe = transfer->request.is_safe,
    };
    transfer->reason = CCURL_REPEATED;
    transfer->repetition = ccurl_repetition_of(&send);
}

static int note_connected(void *context, char *to, char *from, int to_port, int from_port) {
    (void)to, (void)from;
    ccurl_transfer *transfer = context;
    ccurl_connection *connection = &transfer->connection;
    ccurl_sockets *sockets = &transfer->loop->sockets;
    // libcurl has given it the connection, even if it does not get to use it. A new one has no maker yet.
    if (!transfer->request.is_local) ccurl_sockets_note_joined(sockets, to_port, from_port);
    if (connection->kind != CCURL_UNCONNECTED) {
        refuse_repetition(transfer);
        return CCURL_PREREQFUNC_ABORT;
    }
    ccurl_transfer_move(transfer, CCURL_SENDING);
    bool is_new = ccurl_transfer_get_long(transfer, CCURLINFO_NUM_CONNECTS) > 0;
    connection->kind = is_new ? CCURL_ON_NEW_CONNECTION : CCURL_ON_KEPT_CONNECTION;
    // Of a Unix socket, libcurl may name the ports of an earlier connection.
    connection->to_port = transfer->request.is_local ? 0 : to_port;
    connection->from_port = transfer->request.is_local ? 0 : from_port;
    if (is_stale(transfer)) {
        // A connection that libcurl closes now has not died.
        ccurl_sockets_release(sockets, connection);
        // Otherwise libcurl would choose an idle connection of HTTP/2 or HTTP/3 again for the next request.
        if (!connection->may_be_http1 || transfer->is_downgraded || ccurl_sockets_is_http3(sockets, connection))
            ccurl_transfer_set_special_long(transfer, CCURLOPT_FORBID_REUSE, 1);
        bool is_kept = transfer->http3 == CCURL_KEEPING_HTTP3;
        transfer->reason = is_kept ? CCURL_LACKING_HTTP3 : CCURL_STALE;
        return CCURL_PREREQFUNC_ABORT;
    }
    if (is_new && transfer->request.is_encrypted) ccurl_flood_note_certificates(&transfer->loop->flood);
    // Not only when its first response has ended: libcurl may use it again in the same turn.
    if (is_new) ccurl_sockets_note_made(sockets, connection, transfer->request.origin, is_http1(transfer));
    if (shows_sharing(transfer, is_new)) ccurl_transfer_tell(transfer, CCURL_SHARED);
    else if (is_new && transfer->request.is_encrypted && is_http1(transfer))
        ccurl_transfer_tell(transfer, CCURL_UNSHARED);
    ccurl_transfer_tell(transfer, CCURL_CONNECTED);
    // The last act before the first byte: the process may be stopped at any line above.
    if (transfer->request.permit_end && ccurl_now_suspended() >= transfer->request.permit_end) {
        // A connection that libcurl closes now has not died.
        ccurl_sockets_release(sockets, connection);
        transfer->reason = CCURL_PERMIT_ENDED;
        return CCURL_PREREQFUNC_ABORT;
    }
    return CCURL_PREREQFUNC_OK;
}

// MARK: Sockets

// Whether the transfer may open a connection; otherwise, it has to end.
static bool may_open(ccurl_transfer *transfer) {
    ccurl_loop *loop = transfer->loop;
    // A second connection, for a request that was sent on the first.
    if (ccurl_transfer_was_sent(transfer)) {
        refuse_repetition(transfer);
        return false;
    }
    // Its connection has ended, or takes no more requests for now.
    if (transfer->http3 == CCURL_KEEPING_HTTP3) {
        ccurl_transfer_give_reason(transfer, CCURL_LACKING_HTTP3);
        return false;
    }
    // Its connection is not as it seemed. The loop's thread opens another.
    if (loop->is_on_callers_thread) {
        ccurl_sockets_forget_idle(&loop->sockets, transfer->request.origin);
        ccurl_transfer_give_reason(transfer, CCURL_STALE);
        return false;
    }
    return true;
}

// Opens a socket and, if it is a Unix socket, connects it, which succeeds or fails at once. If the server's queue is
// full, an older libcurl would try all the time, and others do not say what is wrong. Returns a negative number with
// errno.
static int open_for(const ccurl_transfer *transfer, const socket_address *address) {
    bool connects = transfer->request.is_local && !ccurl_ignores_connected();
    // A program that is started at this moment does not inherit it.
    int type = address->type | SOCK_CLOEXEC | (connects ? SOCK_NONBLOCK : 0);
    int opened = socket(address->family, type, address->protocol);
    if (opened < 0 || !connects || connect(opened, &address->address, address->length) == 0) return opened;
    int problem = errno;
    close(opened);
    errno = problem;
    return CCURL_SOCKET_BAD;
}

static int note_opened(void *context, int socket, int purpose) {
    (void)socket, (void)purpose;
    const ccurl_transfer *transfer = context;
    bool is_connected = transfer->request.is_local && !ccurl_ignores_connected();
    return is_connected ? CCURL_SOCKOPT_ALREADY_CONNECTED : CCURL_SOCKOPT_OK;
}

static int open_socket(void *context, int purpose, socket_address *address) {
    (void)purpose;
    ccurl_transfer *transfer = context;
    if (!may_open(transfer)) return CCURL_SOCKET_BAD;
    int opened = open_for(transfer, address);
    ccurl_connection *connection = &transfer->connection;
    if (connection->opened++ == 0) connection->opened_at = ccurl_now();
    if (opened < 0) {
        connection->refusal = errno;
        return opened;
    }
    const ccurl_purpose use = {
        .origin = transfer->request.origin,
        .is_encrypted = transfer->request.is_encrypted,
        .is_http3 = address->type & SOCK_DGRAM,
        .is_local = transfer->request.is_local,
        .address = &address->address,
        .length = address->length,
    };
    // One for which there is no memory is used, but once.
    ccurl_sockets_add(&transfer->loop->sockets, opened, &use);
    return opened;
}

static int close_socket(void *context, int socket) {
    ccurl_loop *loop = context;
    ccurl_connection *user = ccurl_sockets_user(&loop->sockets, socket);
    ccurl_transfer *transfer = user ? ccurl_transfer_with_connection(user) : NULL;
    if (transfer && transfer->head.length == 0) {
        int64_t sent = ccurl_transfer_get_long(transfer, CCURLINFO_REQUEST_SIZE);
        ccurl_sockets_note_death(&loop->sockets, socket, ccurl_transfer_has_other_error(transfer), sent);
    }
    return ccurl_sockets_close(&loop->sockets, socket);
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
    if (ccurl_tls_shows_unread(transfer)) return;
    ccurl_transfer_set_special_long(transfer, CCURLOPT_FORBID_REUSE, 1);
}

static size_t take_head(char *bytes, size_t size, size_t count, void *context) {
    ccurl_transfer *transfer = context;
    ccurl_head *head = &transfer->head;
    size_t length = size * count;
    if (transfer->state != CCURL_RECEIVING) {
        ccurl_transfer_move(transfer, CCURL_RECEIVING);
        transfer->first_byte = ccurl_now();
        ccurl_sockets_hear(&transfer->loop->sockets, &transfer->connection, transfer->first_byte);
    }
    bool was_complete = head->is_complete;
    ccurl_reason reason = CCURL_NO_REASON;
    if (!ccurl_head_take(head, bytes, length, transfer->request.head_limit, &reason))
        return refuse(transfer, reason);
    if (was_complete || !head->is_complete) return length;
    if (!ccurl_head_is_interim(head)) {
        forbid_reuse_if_unsure(transfer);
        ccurl_transfer_tell(transfer, CCURL_HEAD_COMPLETE);
        ccurl_early_note(&transfer->loop->early, transfer, !ccurl_head_has_status(head, "2"));
    }
    if (transfer->request.expects_continue && ccurl_head_has_status(head, "417"))
        return refuse(transfer, CCURL_SETTLED);
    return length;
}

// Makes room for more bytes of the body.
static bool reserve_body(ccurl_transfer *transfer, size_t more) {
    size_t wanted = transfer->body_length + more;
    if (wanted <= transfer->body_capacity) return true;
    size_t capacity = ccurl_body_capacity(transfer->body_capacity, wanted, transfer->head.content_length);
    uint8_t *moved = realloc(transfer->body, capacity);
    if (!moved) return false;
    transfer->body = moved;
    transfer->body_capacity = capacity;
    return true;
}

// How long after the head a body begins that is told as progress, in microseconds. Most come with the head.
enum { PROGRESS_PAUSE = 1000 };

static size_t take_body(char *bytes, size_t size, size_t count, void *context) {
    ccurl_transfer *transfer = context;
    size_t length = size * count;
    size_t limit = transfer->is_coded ? SIZE_MAX : transfer->request.body_limit;
    if (length > limit - transfer->body_length) return refuse(transfer, CCURL_BODY_TOO_LARGE);
    // A response that comes before all of its request was sent (see early.h) rests like any other, and libcurl does
    // not lose it then: the end of its stream stays unread behind the piece that is kept back.
    int64_t now = ccurl_now();
    if (!ccurl_fairness_note(&transfer->loop->fairness, &transfer->rest, length, now)) {
        transfer->is_paused = true;
        return CCURL_WRITEFUNC_PAUSE;
    }
    ccurl_sockets_hear(&transfer->loop->sockets, &transfer->connection, now);
    ccurl_flood_note_body(&transfer->loop->flood, length);
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
    // The head was progress, too.
    if (now - transfer->first_byte > PROGRESS_PAUSE) ccurl_transfer_tell(transfer, CCURL_PROGRESS);
    return length;
}

// MARK: What libcurl is given

void ccurl_callbacks_install(ccurl_transfer *transfer) {
    void *easy = transfer->easy;
    ccurl_api.easy_setopt(easy, CCURLOPT_PRIVATE, transfer);
    ccurl_api.easy_setopt(easy, CCURLOPT_ERRORBUFFER, transfer->words);
    ccurl_api.easy_setopt(easy, CCURLOPT_HEADERFUNCTION, take_head);
    ccurl_api.easy_setopt(easy, CCURLOPT_HEADERDATA, transfer);
    ccurl_api.easy_setopt(easy, CCURLOPT_WRITEFUNCTION, take_body);
    ccurl_api.easy_setopt(easy, CCURLOPT_WRITEDATA, transfer);
    ccurl_api.easy_setopt(easy, CCURLOPT_OPENSOCKETFUNCTION, open_socket);
    ccurl_api.easy_setopt(easy, CCURLOPT_OPENSOCKETDATA, transfer);
    ccurl_api.easy_setopt(easy, CCURLOPT_SOCKOPTFUNCTION, note_opened);
    ccurl_api.easy_setopt(easy, CCURLOPT_SOCKOPTDATA, transfer);
    ccurl_api.easy_setopt(easy, CCURLOPT_CLOSESOCKETFUNCTION, close_socket);
    if (!ccurl_tells_connected()) return;
    ccurl_api.easy_setopt(easy, CCURLOPT_PREREQFUNCTION, note_connected);
    ccurl_api.easy_setopt(easy, CCURLOPT_PREREQDATA, transfer);
}

#endif
