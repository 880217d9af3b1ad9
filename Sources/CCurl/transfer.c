#include "ccurl.h"

#if defined(__linux__)

#include "library.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

// As libcurl has it.
typedef struct {
    int library;
    void *connection;
} tls_session;

typedef struct ccurl_header {
    char *line;
    struct ccurl_header *next;
} ccurl_header;

// Makes room for `more` bytes; 0 if there is no memory. Grows by half, so that each byte is moved a few times at most.
static int reserve(void **buffer, size_t *capacity, size_t length, size_t more) {
    if (more > SIZE_MAX / 2 - length) return 0;
    size_t wanted = length + more;
    if (wanted <= *capacity) return 1;
    size_t larger = *capacity + *capacity / 2;
    if (larger < wanted) larger = wanted;
    void *moved = realloc(*buffer, larger);
    if (!moved) return 0;
    *buffer = moved;
    *capacity = larger;
    return 1;
}

static void tell(ccurl_transfer *transfer, int step) {
    if (transfer->hooks.on_step) transfer->hooks.on_step(transfer->hooks.context, step);
}

static int object(ccurl_transfer *transfer, int objection) {
    transfer->objection = objection;
    return 0;
}

// Whether bytes of the other side's lie in the TLS library, unread.
static int has_unread(ccurl_transfer *transfer) {
    tls_session *session = NULL;
    if (ccurl_api.easy_getinfo(transfer->easy, CCURLINFO_TLS_SSL_PTR, &session) != 0) return 0;
    if (!session || !session->connection) return 0;
    if (session->library == CCURLSSLBACKEND_OPENSSL && ccurl_api.openssl_has_pending)
        return ccurl_api.openssl_has_pending(session->connection);
    if (session->library != CCURLSSLBACKEND_GNUTLS || !ccurl_api.gnutls_pending) return 0;
    return ccurl_api.gnutls_pending(session->connection) > 0;
}

// Whether the kept connection that the request is to go out on is not fit for it: the other side has closed it, or
// bytes have come that no request has asked for. libcurl 7.88 would take those for the next answer, which may be
// another user's. Under TLS they may be tickets, which come with the first answer most often: a new connection is the
// smaller evil.
static int is_stale(ccurl_transfer *transfer) {
    if (transfer->is_first) return 0;
    return ccurl_loop_is_stale(transfer->loop, transfer) ||
           (transfer->kept_socket && transfer->is_encrypted && has_unread(transfer));
}

static int is_refusal(const ccurl_transfer *transfer) {
    if (transfer->is_first) return 1;
    return transfer->is_encrypted && transfer->is_safe && !transfer->was_kept && !transfer->error[0];
}

// libcurl sends a request again, unasked, up to five times: after a kept connection that died, and after an answer of
// HTTP/2 that says that the request was refused. One permit is one send, and what may be sent again is decided
// elsewhere.
void ccurl_transfer_refuse_repetition(ccurl_transfer *transfer) {
    if (transfer->objection) return;
    transfer->objection = CCURL_REPEATED;
    // On a new connection nothing but these two has libcurl do that, and of a refusal it says nothing. On an old one of
    // HTTP/2 (of HTTP/1 they are watched) it is a refusal nearly always; or else a stream was reset for another reason
    // at the moment when the connection ended, which matters only for a request that acts.
    if ((transfer->is_first && transfer->error[0]) || strstr(transfer->error, "HTTP_1_1_REQUIRED"))
        transfer->repetition = CCURL_DOWNGRADED;
    else
        transfer->repetition = is_refusal(transfer) ? CCURL_REFUSED : CCURL_DIED;
}

static int note_connected(void *context, char *to, char *from, int to_port, int from_port) {
    (void)to, (void)from;
    ccurl_transfer *transfer = context;
    if (transfer->tries++ > 0) {
        ccurl_transfer_refuse_repetition(transfer);
        return CCURL_PREREQFUNC_ABORT;
    }
    transfer->to_port = to_port;
    transfer->from_port = from_port;
    transfer->is_first = ccurl_get_long(transfer, CCURLINFO_NUM_CONNECTS) > 0;
    if (is_stale(transfer)) {
        transfer->objection = CCURL_STALE;
        return CCURL_PREREQFUNC_ABORT;
    }
    tell(transfer, CCURL_CONNECTED);
    return CCURL_PREREQFUNC_OK;
}

static int has_status(const ccurl_transfer *transfer, const char *beginning) {
    const char *space = memchr(transfer->head, ' ', transfer->head_length);
    size_t count = strlen(beginning);
    return space && space + count < transfer->head + transfer->head_length && memcmp(space + 1, beginning, count) == 0;
}

// Whether the status of the head is 1xx: then another head follows. 101 would be the end of HTTP, which nobody asked
// for.
static int is_interim(const ccurl_transfer *transfer) {
    return has_status(transfer, "1");
}

static int is_space(char byte) { return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n'; }

// What is wrong with the line if it is a Content-Length, or goes on with one; 0 if nothing is. libcurl itself reads the
// digits at its beginning, and takes what comes after as many bytes for the next answer.
static int objection_to_length(ccurl_transfer *transfer, const char *line, size_t count) {
    static const char name[] = "content-length:";
    size_t i = sizeof name - 1;
    int is_folded = count > 0 && (*line == ' ' || *line == '\t');
    if (is_folded && transfer->is_within_length) return CCURL_BAD_LENGTH;
    transfer->is_within_length = count > i && strncasecmp(line, name, i) == 0;
    if (!transfer->is_within_length) return 0;
    while (count > i && is_space(line[count - 1])) count--;
    while (i < count && is_space(line[i])) i++;
    if (i == count) return CCURL_BAD_LENGTH;
    int64_t length = 0;
    for (; i < count; i++) {
        // libcurl takes one that is too large for none at all, and waits for the end of the connection.
        int64_t digit = line[i] - '0';
        if (digit < 0 || digit > 9 || length > (INT64_MAX - digit) / 10) return CCURL_BAD_LENGTH;
        length = length * 10 + digit;
    }
    int is_other = transfer->length >= 0 && transfer->length != length;
    transfer->length = length;
    return is_other ? CCURL_TWO_LENGTHS : 0;
}

static size_t take_head(char *bytes, size_t size, size_t count, void *context) {
    ccurl_transfer *transfer = context;
    size_t length = size * count;
    if (!transfer->first_byte) transfer->first_byte = ccurl_now();
    // A new status line begins a new head: the last was an interim one. What comes after the body is a trailer.
    if (length >= 5 && memcmp(bytes, "HTTP/", 5) == 0) {
        if (transfer->head_complete && !is_interim(transfer)) return object(transfer, CCURL_SETTLED);
        transfer->head_length = transfer->head_complete = 0;
        transfer->length = -1;
    } else if (transfer->head_complete) {
        transfer->trailer_length += length;
        return transfer->trailer_length > transfer->head_limit ? object(transfer, CCURL_TRAILER_TOO_LARGE) : length;
    }
    if (transfer->head_length + length > transfer->head_limit) return object(transfer, CCURL_HEAD_TOO_LARGE);
    int objection = objection_to_length(transfer, bytes, length);
    if (objection) return object(transfer, objection);
    if (!reserve((void **)&transfer->head, &transfer->head_capacity, transfer->head_length, length)) return 0;
    memcpy(transfer->head + transfer->head_length, bytes, length);
    transfer->head_length += length;
    if (length > 0 && (*bytes == '\r' || *bytes == '\n')) {
        transfer->head_complete = 1;
        if (has_status(transfer, "101")) return object(transfer, CCURL_UPGRADED);
        if (!is_interim(transfer)) {
            tell(transfer, CCURL_HEAD_COMPLETE);
            ccurl_upload_note_response(transfer, !has_status(transfer, "2"));
        }
        if (transfer->expects && has_status(transfer, "417")) return object(transfer, CCURL_SETTLED);
    }
    return length;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context) {
    ccurl_transfer *transfer = context;
    size_t length = size * count;
    if (length > transfer->body_limit - transfer->body_length) return object(transfer, CCURL_BODY_TOO_LARGE);
    ccurl_loop_note_body(transfer->loop, length);
    if (transfer->hooks.on_body) {
        ptrdiff_t taken = transfer->hooks.on_body(transfer->hooks.context, (uint8_t *)bytes, length);
        transfer->is_paused = taken == CCURL_PAUSE;
        if (transfer->is_paused) return CCURL_WRITEFUNC_PAUSE;
        if (taken < 0) return 0;
        transfer->body_length += length;
        return length;
    }
    if (!reserve((void **)&transfer->body, &transfer->body_capacity, transfer->body_length, length)) return 0;
    memcpy(transfer->body + transfer->body_length, bytes, length);
    transfer->body_length += length;
    return length;
}

static void install(ccurl_transfer *transfer) {
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_PRIVATE, transfer);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_ERRORBUFFER, transfer->error);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_HEADERFUNCTION, take_head);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_HEADERDATA, transfer);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_WRITEFUNCTION, take_body);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_WRITEDATA, transfer);
    ccurl_loop_adopt(transfer->loop, transfer);
    if (!ccurl_tells_connected()) return;
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_PREREQFUNCTION, note_connected);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_PREREQDATA, transfer);
}

ccurl_transfer *ccurl_transfer_new(ccurl_loop *loop) {
    ccurl_transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer) return NULL;
    transfer->loop = loop;
    transfer->easy = ccurl_api.easy_init();
    if (!transfer->easy) {
        free(transfer);
        return NULL;
    }
    install(transfer);
    return transfer;
}

int ccurl_transfer_reset(ccurl_transfer *transfer) {
    // A new handle costs about two microseconds. The connections are the loop's, and stay. A handle that was about to
    // begin anew would do so with the next request: resetting it does not make it forget.
    int is_spent = !transfer->easy || transfer->objection == CCURL_REPEATED;
    is_spent |= transfer->started && ccurl_has_header_fault();
    ccurl_transfer kept = {
        .easy = transfer->easy,
        .loop = transfer->loop,
        .head = transfer->head,
        .head_capacity = transfer->head_capacity,
        .headers = transfer->headers,
        .headers_capacity = transfer->headers_capacity,
        .is_prepared = transfer->is_prepared && !transfer->is_special && !is_spent && ccurl_tells_connected(),
    };
    // libcurl forgets them before they go.
    if (is_spent) {
        if (transfer->easy) ccurl_api.easy_cleanup(transfer->easy);
        kept.easy = ccurl_api.easy_init();
    } else if (!kept.is_prepared) {
        ccurl_api.easy_reset(transfer->easy);
    }
    ccurl_upload_forget(transfer);
    free(transfer->body);
    free(transfer->upload);
    *transfer = kept;
    if (!kept.easy) return 0;
    if (!kept.is_prepared) install(transfer);
    return 1;
}

void ccurl_transfer_free(ccurl_transfer *transfer) {
    if (transfer->easy) ccurl_api.easy_cleanup(transfer->easy);
    free(transfer->headers);
    free(transfer->head);
    free(transfer->body);
    free(transfer->upload);
    free(transfer);
}

void ccurl_transfer_refresh(ccurl_transfer *transfer) {
    transfer->objection = 0;
    transfer->tries = 0;
    transfer->is_special = 1;
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_FRESH_CONNECT, 1L);
}

static int refuse_socket(void *context, int purpose, void *address) {
    (void)context, (void)purpose, (void)address;
    return CCURL_SOCKET_BAD;
}

static int refuse_connection(void *context, char *to, char *from, int to_port, int from_port) {
    (void)context, (void)to, (void)from, (void)to_port, (void)from_port;
    return CCURL_PREREQFUNC_ABORT;
}

static size_t refuse_bytes(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes, (void)size, (void)count, (void)context;
    return 0;
}

static size_t give_nothing(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes, (void)size, (void)count, (void)context;
    return CCURL_READFUNC_ABORT;
}

void ccurl_transfer_orphan(ccurl_transfer *transfer) {
    void *easy = transfer->easy;
    ccurl_api.easy_setopt(easy, CCURLOPT_PRIVATE, NULL);
    ccurl_api.easy_setopt(easy, CCURLOPT_ERRORBUFFER, NULL);
    ccurl_api.easy_setopt(easy, CCURLOPT_HTTPHEADER, NULL);
    ccurl_api.easy_setopt(easy, CCURLOPT_HEADERFUNCTION, refuse_bytes);
    ccurl_api.easy_setopt(easy, CCURLOPT_WRITEFUNCTION, refuse_bytes);
    ccurl_api.easy_setopt(easy, CCURLOPT_READFUNCTION, give_nothing);
    ccurl_api.easy_setopt(easy, CCURLOPT_OPENSOCKETFUNCTION, refuse_socket);
    // It may have waited for an HTTP/2 connection rather than for a lookup.
    ccurl_api.easy_setopt(easy, CCURLOPT_FRESH_CONNECT, 1L);
    if (ccurl_tells_connected()) ccurl_api.easy_setopt(easy, CCURLOPT_PREREQFUNCTION, refuse_connection);
    transfer->easy = NULL;
}

uint8_t *ccurl_transfer_take_body(ccurl_transfer *transfer, size_t *length) {
    uint8_t *body = transfer->body;
    *length = transfer->body_length;
    transfer->body = NULL;
    transfer->body_length = 0;
    transfer->body_capacity = 0;
    return body;
}

int ccurl_set_long(ccurl_transfer *transfer, ccurl_option option, long value) {
    return ccurl_api.easy_setopt(transfer->easy, option, value);
}

int ccurl_set_offset(ccurl_transfer *transfer, ccurl_option option, int64_t value) {
    return ccurl_api.easy_setopt(transfer->easy, option, value);
}

int ccurl_set_text(ccurl_transfer *transfer, ccurl_option option, const char *value) {
    return ccurl_api.easy_setopt(transfer->easy, option, value);
}

// Nodes and lines are one block, which the next request uses again.
int ccurl_set_headers(ccurl_transfer *transfer, const char *lines, size_t count) {
    size_t fields = 0;
    for (size_t i = 0; i < count; i++) fields += lines[i] == 0;
    size_t nodes = fields * sizeof(ccurl_header);
    if (!reserve((void **)&transfer->headers, &transfer->headers_capacity, 0, nodes + count)) return 0;
    ccurl_header *header = (ccurl_header *)transfer->headers;
    char *line = memcpy((char *)transfer->headers + nodes, lines, count);
    for (size_t i = 0; i < fields; i++) {
        header[i] = (ccurl_header){.line = line, .next = i + 1 < fields ? &header[i + 1] : NULL};
        line += strlen(line) + 1;
    }
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_HTTPHEADER, fields > 0 ? header : NULL);
    return 1;
}

int64_t ccurl_get_offset(ccurl_transfer *transfer, ccurl_info info) {
    int64_t value = 0;
    ccurl_api.easy_getinfo(transfer->easy, info, &value);
    return value;
}

ccurl_timings ccurl_get_timings(ccurl_transfer *transfer) {
    return (ccurl_timings){
        .looked_up = ccurl_get_offset(transfer, CCURLINFO_NAMELOOKUP_TIME_T),
        .connected = ccurl_get_offset(transfer, CCURLINFO_CONNECT_TIME_T),
        .encrypted = ccurl_get_offset(transfer, CCURLINFO_APPCONNECT_TIME_T),
        .first_byte = transfer->first_byte ? transfer->first_byte - transfer->started : 0,
        .total = ccurl_get_offset(transfer, CCURLINFO_TOTAL_TIME_T),
        .sent = ccurl_get_long(transfer, CCURLINFO_REQUEST_SIZE) + ccurl_get_offset(transfer, CCURLINFO_SIZE_UPLOAD_T),
        .received =
            ccurl_get_long(transfer, CCURLINFO_HEADER_SIZE) + ccurl_get_offset(transfer, CCURLINFO_SIZE_DOWNLOAD_T),
        .new_connections = ccurl_get_long(transfer, CCURLINFO_NUM_CONNECTS),
        .http_version = ccurl_get_long(transfer, CCURLINFO_HTTP_VERSION),
    };
}

long ccurl_get_long(ccurl_transfer *transfer, ccurl_info info) {
    long value = 0;
    ccurl_api.easy_getinfo(transfer->easy, info, &value);
    return value;
}

#endif
