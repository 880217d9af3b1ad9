#include "ccurl.h"

#if defined(__linux__)

#include "library.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define OPT_WRITEDATA 10001
#define OPT_READDATA 10009
#define OPT_HEADERDATA 10029
#define OPT_FRESH_CONNECT 74
#define OPT_ERRORBUFFER 10010
#define OPT_POSTFIELDS 10015
#define OPT_HTTPHEADER 10023
#define OPT_PRIVATE 10103
#define OPT_PREREQDATA 10313
#define OPT_WRITEFUNCTION 20011
#define OPT_READFUNCTION 20012
#define OPT_HEADERFUNCTION 20079
#define OPT_PREREQFUNCTION 20312
#define INFO_HEAD_SIZE 0x20000B
#define INFO_REQUEST_SIZE 0x20000C
#define INFO_NEW_CONNECTIONS 0x20001A
#define INFO_HTTP_VERSION 0x20002E
#define INFO_UPLOADED 0x600007
#define INFO_DOWNLOADED 0x600008
#define INFO_TOTAL 0x600032
#define INFO_LOOKED_UP 0x600033
#define INFO_CONNECTED 0x600034
#define INFO_ENCRYPTED 0x600038
#define PAUSED 0x10000001
#define ABORTED 0x10000000

// As libcurl has it.
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

// Whether bytes have come on a connection that is to be used again: libcurl 7.88 would take them for the next answer. On an
// encrypted one they may be TLS's own, or HTTP/2's.
static int is_stale(ccurl_transfer *transfer, int to_port, int from_port) {
    return !transfer->is_encrypted && ccurl_get_long(transfer, INFO_NEW_CONNECTIONS) == 0 &&
           ccurl_loop_has_surplus(transfer->loop, to_port, from_port);
}

static int note_connected(void *context, char *to, char *from, int to_port, int from_port) {
    (void)to, (void)from;
    ccurl_transfer *transfer = context;
    // libcurl counts its own repetitions until it is reset, and gives up after a few.
    if (transfer->tries++ > 0) transfer->is_special = 1;
    if (is_stale(context, to_port, from_port)) return !object(context, CCURL_STALE);
    tell(context, CCURL_CONNECTED);
    return 0;
}

static int has_status(const ccurl_transfer *transfer, const char *beginning) {
    const char *space = memchr(transfer->head, ' ', transfer->head_length);
    size_t count = strlen(beginning);
    return space && space + count < transfer->head + transfer->head_length && memcmp(space + 1, beginning, count) == 0;
}

// Whether the status of the head is 1xx: then another head follows. 101 would be the end of HTTP, which nobody asked for.
static int is_interim(const ccurl_transfer *transfer) {
    return has_status(transfer, "1");
}

// Whether the line is a second Content-Length that differs from the first.
static int has_other_length(ccurl_transfer *transfer, const char *line, size_t count) {
    static const char name[] = "content-length:";
    size_t i = sizeof name - 1;
    if (count <= i || strncasecmp(line, name, i) != 0) return 0;
    int64_t length = 0;
    while (i < count && (line[i] == ' ' || line[i] == '\t')) i++;
    // Eighteen digits: what is longer is no length, as libcurl finds out.
    for (size_t end = i + 18; i < count && i < end && line[i] >= '0' && line[i] <= '9'; i++)
        length = length * 10 + (line[i] - '0');
    int is_other = transfer->length >= 0 && transfer->length != length;
    transfer->length = length;
    return is_other;
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
        return length;
    }
    if (transfer->head_length + length > transfer->head_limit) return object(transfer, CCURL_HEAD_TOO_LARGE);
    if (has_other_length(transfer, bytes, length)) return object(transfer, CCURL_TWO_LENGTHS);
    if (!reserve((void **)&transfer->head, &transfer->head_capacity, transfer->head_length, length)) return 0;
    memcpy(transfer->head + transfer->head_length, bytes, length);
    transfer->head_length += length;
    if (length > 0 && (*bytes == '\r' || *bytes == '\n')) {
        transfer->head_complete = 1;
        if (!is_interim(transfer)) tell(transfer, CCURL_HEAD_COMPLETE);
        if (transfer->expects && has_status(transfer, "417")) return object(transfer, CCURL_SETTLED);
    }
    return length;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context) {
    ccurl_transfer *transfer = context;
    size_t length = size * count;
    if (length > transfer->body_limit - transfer->body_length) return object(transfer, CCURL_BODY_TOO_LARGE);
    if (transfer->hooks.on_body) {
        ptrdiff_t taken = transfer->hooks.on_body(transfer->hooks.context, (uint8_t *)bytes, length);
        if (taken == CCURL_PAUSE) return PAUSED;
        if (taken < 0) return 0;
        transfer->body_length += length;
        return length;
    }
    if (!reserve((void **)&transfer->body, &transfer->body_capacity, transfer->body_length, length)) return 0;
    memcpy(transfer->body + transfer->body_length, bytes, length);
    transfer->body_length += length;
    return length;
}

static size_t give_upload(char *bytes, size_t size, size_t count, void *context) {
    ccurl_transfer *transfer = context;
    size_t room = size * count;
    size_t left = transfer->upload_length - transfer->upload_position;
    size_t length = left < room ? left : room;
    memcpy(bytes, transfer->upload + transfer->upload_position, length);
    transfer->upload_position += length;
    return length;
}

static size_t pull_upload(char *bytes, size_t size, size_t count, void *context) {
    ccurl_transfer *transfer = context;
    ptrdiff_t given = transfer->hooks.on_upload(transfer->hooks.context, (uint8_t *)bytes, size * count);
    if (given == CCURL_PAUSE) return PAUSED;
    return given < 0 ? ABORTED : (size_t)given;
}

static void install(ccurl_transfer *transfer) {
    ccurl_api.easy_setopt(transfer->easy, OPT_PRIVATE, transfer);
    ccurl_api.easy_setopt(transfer->easy, OPT_ERRORBUFFER, transfer->error);
    ccurl_api.easy_setopt(transfer->easy, OPT_HEADERFUNCTION, take_head);
    ccurl_api.easy_setopt(transfer->easy, OPT_HEADERDATA, transfer);
    ccurl_api.easy_setopt(transfer->easy, OPT_WRITEFUNCTION, take_body);
    ccurl_api.easy_setopt(transfer->easy, OPT_WRITEDATA, transfer);
    ccurl_loop_adopt(transfer->loop, transfer);
    if (!ccurl_tells_connected()) return;
    ccurl_api.easy_setopt(transfer->easy, OPT_PREREQFUNCTION, note_connected);
    ccurl_api.easy_setopt(transfer->easy, OPT_PREREQDATA, transfer);
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

void ccurl_transfer_reset(ccurl_transfer *transfer) {
    ccurl_transfer kept = {
        .easy = transfer->easy,
        .loop = transfer->loop,
        .head = transfer->head,
        .head_capacity = transfer->head_capacity,
        .headers = transfer->headers,
        .headers_capacity = transfer->headers_capacity,
        .is_prepared = transfer->is_prepared && !transfer->is_special && ccurl_tells_connected(),
    };
    // libcurl forgets them before they go.
    if (!kept.is_prepared) ccurl_api.easy_reset(transfer->easy);
    free(transfer->body);
    free(transfer->upload);
    *transfer = kept;
    if (!kept.is_prepared) install(transfer);
}

void ccurl_transfer_free(ccurl_transfer *transfer) {
    ccurl_api.easy_cleanup(transfer->easy);
    free(transfer->headers);
    free(transfer->head);
    free(transfer->body);
    free(transfer->upload);
    free(transfer);
}

void ccurl_transfer_refresh(ccurl_transfer *transfer) {
    transfer->objection = 0;
    transfer->is_special = 1;
    ccurl_api.easy_setopt(transfer->easy, OPT_FRESH_CONNECT, 1L);
}

uint8_t *ccurl_transfer_take_body(ccurl_transfer *transfer, size_t *length) {
    uint8_t *body = transfer->body;
    *length = transfer->body_length;
    transfer->body = NULL;
    transfer->body_length = 0;
    transfer->body_capacity = 0;
    return body;
}

int ccurl_set_long(ccurl_transfer *transfer, int option, long value) {
    return ccurl_api.easy_setopt(transfer->easy, option, value);
}

int ccurl_set_offset(ccurl_transfer *transfer, int option, int64_t value) {
    return ccurl_api.easy_setopt(transfer->easy, option, value);
}

int ccurl_set_text(ccurl_transfer *transfer, int option, const char *value) {
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
    ccurl_api.easy_setopt(transfer->easy, OPT_HTTPHEADER, fields > 0 ? header : NULL);
    return 1;
}

void ccurl_set_empty_upload(ccurl_transfer *transfer) { ccurl_api.easy_setopt(transfer->easy, OPT_POSTFIELDS, ""); }

int ccurl_set_upload(ccurl_transfer *transfer, const void *bytes, size_t count) {
    if (count > 0) {
        transfer->upload = malloc(count);
        if (!transfer->upload) return 0;
        memcpy(transfer->upload, bytes, count);
        transfer->upload_length = count;
    }
    ccurl_api.easy_setopt(transfer->easy, OPT_READFUNCTION, give_upload);
    ccurl_api.easy_setopt(transfer->easy, OPT_READDATA, transfer);
    return 1;
}

void ccurl_stream_upload(ccurl_transfer *transfer) {
    ccurl_api.easy_setopt(transfer->easy, OPT_READFUNCTION, pull_upload);
    ccurl_api.easy_setopt(transfer->easy, OPT_READDATA, transfer);
}

static int64_t get_offset(ccurl_transfer *transfer, int info) {
    int64_t value = 0;
    ccurl_api.easy_getinfo(transfer->easy, info, &value);
    return value;
}

ccurl_timings ccurl_get_timings(ccurl_transfer *transfer) {
    return (ccurl_timings){
        .looked_up = get_offset(transfer, INFO_LOOKED_UP),
        .connected = get_offset(transfer, INFO_CONNECTED),
        .encrypted = get_offset(transfer, INFO_ENCRYPTED),
        .first_byte = transfer->first_byte ? transfer->first_byte - transfer->started : 0,
        .total = get_offset(transfer, INFO_TOTAL),
        .sent = ccurl_get_long(transfer, INFO_REQUEST_SIZE) + get_offset(transfer, INFO_UPLOADED),
        .received = ccurl_get_long(transfer, INFO_HEAD_SIZE) + get_offset(transfer, INFO_DOWNLOADED),
        .new_connections = ccurl_get_long(transfer, INFO_NEW_CONNECTIONS),
        .http_version = ccurl_get_long(transfer, INFO_HTTP_VERSION),
    };
}

long ccurl_get_long(ccurl_transfer *transfer, int info) {
    long value = 0;
    ccurl_api.easy_getinfo(transfer->easy, info, &value);
    return value;
}

#endif
