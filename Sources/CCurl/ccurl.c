#include "ccurl.h"

#if defined(__linux__)

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

// curl_multi_poll and curl_multi_wakeup came with 7.68.
#define OLDEST 0x074400
#define WITH_PREREQ 0x075000

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
#define INFO_PRIVATE 0x100015
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
#define INFO_TO_PORT 0x200028
#define INFO_FROM_PORT 0x20002A
#define INFO_SOCKET 0x50002C
#define PAUSED 0x10000001
#define ABORTED 0x10000000
#define GLOBAL_ALL 3
#define MSG_DONE 1

typedef struct {
    int age;
    const char *version;
    unsigned version_num;
} version_info;

typedef struct {
    int msg;
    void *easy;
    union {
        void *whatever;
        int result;
    } data;
} multi_message;

static struct {
    int (*global_init)(long);
    version_info *(*version_info)(int);
    void *(*easy_init)(void);
    void (*easy_reset)(void *);
    void (*easy_cleanup)(void *);
    int (*easy_setopt)(void *, int, ...);
    int (*easy_getinfo)(void *, int, ...);
    int (*easy_pause)(void *, int);
    const char *(*easy_strerror)(int);
    void *(*slist_append)(void *, const char *);
    void (*slist_free_all)(void *);
    void *(*multi_init)(void);
    int (*multi_cleanup)(void *);
    int (*multi_setopt)(void *, int, ...);
    int (*multi_add_handle)(void *, void *);
    int (*multi_remove_handle)(void *, void *);
    int (*multi_perform)(void *, int *);
    int (*multi_poll)(void *, void *, unsigned, int, int *);
    int (*multi_wakeup)(void *);
    multi_message *(*multi_info_read)(void *, int *);
} curl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *problem;
static version_info *version;

static void open_library(void) {
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        // It may be missing, but so may a library that it needs itself: the reason tells which.
        static char reason[512];
        const char *own = dlerror();
        snprintf(reason, sizeof reason,
                 "libcurl cannot be opened (%s): install it, on Debian and Ubuntu with `apt install libcurl4`, on Fedora "
                 "with `dnf install libcurl`, on Alpine with `apk add libcurl`",
                 own ? own : "libcurl.so.4");
        problem = reason;
        return;
    }
    struct {
        void *place;
        const char *name;
    } symbols[] = {
        {&curl.global_init, "curl_global_init"},
        {&curl.version_info, "curl_version_info"},
        {&curl.easy_init, "curl_easy_init"},
        {&curl.easy_reset, "curl_easy_reset"},
        {&curl.easy_cleanup, "curl_easy_cleanup"},
        {&curl.easy_setopt, "curl_easy_setopt"},
        {&curl.easy_getinfo, "curl_easy_getinfo"},
        {&curl.easy_pause, "curl_easy_pause"},
        {&curl.easy_strerror, "curl_easy_strerror"},
        {&curl.slist_append, "curl_slist_append"},
        {&curl.slist_free_all, "curl_slist_free_all"},
        {&curl.multi_init, "curl_multi_init"},
        {&curl.multi_cleanup, "curl_multi_cleanup"},
        {&curl.multi_setopt, "curl_multi_setopt"},
        {&curl.multi_add_handle, "curl_multi_add_handle"},
        {&curl.multi_remove_handle, "curl_multi_remove_handle"},
        {&curl.multi_perform, "curl_multi_perform"},
        {&curl.multi_poll, "curl_multi_poll"},
        {&curl.multi_wakeup, "curl_multi_wakeup"},
        {&curl.multi_info_read, "curl_multi_info_read"},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol) {
            problem = "the libcurl that is installed is older than 7.68: install a newer one";
            return;
        }
        memcpy(symbols[i].place, &symbol, sizeof symbol);
    }
    // A process that cannot have this has no memory left for anything else either.
    if (curl.global_init(GLOBAL_ALL) != 0) {
        problem = "libcurl could not be set up";
        return;
    }
    version = curl.version_info(0);
    if (version->version_num < OLDEST) problem = "the libcurl that is installed is older than 7.68: install a newer one";
}

int ccurl_open(void) {
    pthread_once(&once, open_library);
    return problem != NULL;
}

const char *ccurl_problem(void) { return problem; }
const char *ccurl_version(void) { return version ? version->version : ""; }

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

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

static void tell(ccurl_transfer *transfer, int step) {
    if (transfer->hooks.on_step) transfer->hooks.on_step(transfer->hooks.context, step);
}

static int object(ccurl_transfer *transfer, int objection) {
    transfer->objection = objection;
    return 0;
}

// The sockets of connections that are kept, by their ports: libcurl tells the socket at the end of a transfer only. An entry
// may be out of date, so it is a hint.
static _Atomic int sockets[1 << 16];

static _Atomic int *socket_between(int to_port, int from_port) {
    return &sockets[(unsigned)(to_port * 31 ^ from_port) % (sizeof sockets / sizeof *sockets)];
}

static void remember_socket(ccurl_transfer *transfer) {
    int socket = -1;
    if (transfer->is_encrypted || curl.easy_getinfo(transfer->easy, INFO_SOCKET, &socket) != 0 || socket < 0) return;
    *socket_between(ccurl_get_long(transfer, INFO_TO_PORT), ccurl_get_long(transfer, INFO_FROM_PORT)) = socket;
}

static int has_port(int (*ask)(int, struct sockaddr *, socklen_t *), int socket, int port) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (ask(socket, (struct sockaddr *)&address, &length) != 0) return 0;
    if (address.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&address)->sin_port) == port;
    return address.ss_family == AF_INET6 && ntohs(((struct sockaddr_in6 *)&address)->sin6_port) == port;
}

// Whether bytes have come on a connection that is to be used again: libcurl 7.88 would take them for the next answer. On an
// encrypted one they may be TLS's own, or HTTP/2's.
static int is_stale(ccurl_transfer *transfer, int to_port, int from_port) {
    if (transfer->is_encrypted || ccurl_get_long(transfer, INFO_NEW_CONNECTIONS) > 0) return 0;
    int socket = *socket_between(to_port, from_port);
    char byte;
    if (socket <= 0 || recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) return 0;
    return has_port(getpeername, socket, to_port) && has_port(getsockname, socket, from_port);
}

static int note_connected(void *context, char *to, char *from, int to_port, int from_port) {
    (void)to, (void)from;
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
    if (!transfer->first_byte) transfer->first_byte = now();
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
    curl.easy_setopt(transfer->easy, OPT_PRIVATE, transfer);
    curl.easy_setopt(transfer->easy, OPT_ERRORBUFFER, transfer->error);
    curl.easy_setopt(transfer->easy, OPT_HEADERFUNCTION, take_head);
    curl.easy_setopt(transfer->easy, OPT_HEADERDATA, transfer);
    curl.easy_setopt(transfer->easy, OPT_WRITEFUNCTION, take_body);
    curl.easy_setopt(transfer->easy, OPT_WRITEDATA, transfer);
    if (!ccurl_tells_connected()) return;
    curl.easy_setopt(transfer->easy, OPT_PREREQFUNCTION, note_connected);
    curl.easy_setopt(transfer->easy, OPT_PREREQDATA, transfer);
}

ccurl_transfer *ccurl_transfer_new(void) {
    ccurl_transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer) return NULL;
    transfer->easy = curl.easy_init();
    if (!transfer->easy) {
        free(transfer);
        return NULL;
    }
    install(transfer);
    return transfer;
}

void ccurl_transfer_reset(ccurl_transfer *transfer) {
    void *easy = transfer->easy;
    char *head = transfer->head;
    size_t head_capacity = transfer->head_capacity;
    free(transfer->body);
    free(transfer->upload);
    // Only now that libcurl has forgotten it.
    curl.easy_reset(easy);
    curl.slist_free_all(transfer->header_list);
    memset(transfer, 0, sizeof *transfer);
    transfer->easy = easy;
    transfer->head = head;
    transfer->head_capacity = head_capacity;
    install(transfer);
}

void ccurl_transfer_free(ccurl_transfer *transfer) {
    curl.easy_cleanup(transfer->easy);
    curl.slist_free_all(transfer->header_list);
    free(transfer->head);
    free(transfer->body);
    free(transfer->upload);
    free(transfer);
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
    return curl.easy_setopt(transfer->easy, option, value);
}

int ccurl_set_offset(ccurl_transfer *transfer, int option, int64_t value) {
    return curl.easy_setopt(transfer->easy, option, value);
}

int ccurl_set_text(ccurl_transfer *transfer, int option, const char *value) {
    return curl.easy_setopt(transfer->easy, option, value);
}

int ccurl_add_header(ccurl_transfer *transfer, const char *line) {
    void *longer = curl.slist_append(transfer->header_list, line);
    if (!longer) return 0;
    transfer->header_list = longer;
    curl.easy_setopt(transfer->easy, OPT_HTTPHEADER, longer);
    return 1;
}

void ccurl_set_empty_upload(ccurl_transfer *transfer) { curl.easy_setopt(transfer->easy, OPT_POSTFIELDS, ""); }

int ccurl_set_upload(ccurl_transfer *transfer, const void *bytes, size_t count) {
    if (count > 0) {
        transfer->upload = malloc(count);
        if (!transfer->upload) return 0;
        memcpy(transfer->upload, bytes, count);
        transfer->upload_length = count;
    }
    curl.easy_setopt(transfer->easy, OPT_READFUNCTION, give_upload);
    curl.easy_setopt(transfer->easy, OPT_READDATA, transfer);
    return 1;
}

void ccurl_stream_upload(ccurl_transfer *transfer) {
    curl.easy_setopt(transfer->easy, OPT_READFUNCTION, pull_upload);
    curl.easy_setopt(transfer->easy, OPT_READDATA, transfer);
}

int ccurl_tells_connected(void) { return version->version_num >= WITH_PREREQ; }

void ccurl_resume(ccurl_transfer *transfer) { curl.easy_pause(transfer->easy, 0); }

static int64_t get_offset(ccurl_transfer *transfer, int info) {
    int64_t value = 0;
    curl.easy_getinfo(transfer->easy, info, &value);
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
    curl.easy_getinfo(transfer->easy, info, &value);
    return value;
}

const char *ccurl_describe(int code) { return curl.easy_strerror(code); }
void ccurl_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

void *ccurl_multi_new(void) { return curl.multi_init(); }
void ccurl_multi_free(void *multi) { curl.multi_cleanup(multi); }

int ccurl_multi_set_long(void *multi, int option, long value) { return curl.multi_setopt(multi, option, value); }

int ccurl_multi_add(void *multi, ccurl_transfer *transfer) {
    transfer->started = now();
    return curl.multi_add_handle(multi, transfer->easy);
}

int ccurl_multi_remove(void *multi, ccurl_transfer *transfer) { return curl.multi_remove_handle(multi, transfer->easy); }
int ccurl_multi_perform(void *multi, int *running) { return curl.multi_perform(multi, running); }
int ccurl_multi_poll(void *multi, int milliseconds) { return curl.multi_poll(multi, NULL, 0, milliseconds, NULL); }
int ccurl_multi_wakeup(void *multi) { return curl.multi_wakeup(multi); }

// Begins anew on a new connection: of the old one nothing was used.
static void restart(void *multi, ccurl_transfer *transfer) {
    curl.multi_remove_handle(multi, transfer->easy);
    transfer->objection = 0;
    curl.easy_setopt(transfer->easy, OPT_FRESH_CONNECT, 1L);
    curl.multi_add_handle(multi, transfer->easy);
}

ccurl_transfer *ccurl_multi_next_ended(void *multi, int *result) {
    int left;
    multi_message *message;
    while ((message = curl.multi_info_read(multi, &left))) {
        if (message->msg != MSG_DONE) continue;
        *result = message->data.result;
        ccurl_transfer *transfer = NULL;
        curl.easy_getinfo(message->easy, INFO_PRIVATE, &transfer);
        remember_socket(transfer);
        if (transfer->objection == CCURL_SETTLED) *result = 0;
        if (transfer->objection != CCURL_STALE) return transfer;
        restart(multi, transfer);
    }
    return NULL;
}

#endif
