#include "ccurl.h"

#if defined(__linux__)

#include "library.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

// The sockets that libcurl uses: which of those that it keeps are fit for another request, and what became of one that
// died.

// As libcurl has it.
typedef struct {
    int family, type, protocol;
    unsigned length;
    struct sockaddr address;
} socket_address;

ccurl_watch *ccurl_watch_of(ccurl_loop *loop, int socket) {
    if ((size_t)socket >= loop->capacity) {
        size_t capacity = (size_t)socket * 2 + 64;
        pthread_mutex_lock(&loop->guard);
        ccurl_watch *moved = realloc(loop->watches, capacity * sizeof *moved);
        if (moved) {
            memset(moved + loop->capacity, 0, (capacity - loop->capacity) * sizeof *moved);
            loop->watches = moved;
            loop->capacity = capacity;
        }
        pthread_mutex_unlock(&loop->guard);
        if (!moved) return NULL;
    }
    return &loop->watches[socket];
}

int ccurl_loop_have_watched(ccurl_loop *loop, int socket, ccurl_watch *watch, uint32_t events) {
    if (watch->watched == events) return 1;
    struct epoll_event event = {.events = events, .data.fd = socket};
    int is_done;
    if (!events) {
        // If that fails the socket is gone, and is watched no more either.
        epoll_ctl(loop->epoll, EPOLL_CTL_DEL, socket, &event);
        is_done = 1;
    } else {
        // A socket that libcurl has opened itself may be another one by now.
        int change = watch->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
        is_done = epoll_ctl(loop->epoll, change, socket, &event) == 0;
        if (!is_done && errno == ENOENT) is_done = epoll_ctl(loop->epoll, EPOLL_CTL_ADD, socket, &event) == 0;
        if (!is_done && errno == EEXIST) is_done = epoll_ctl(loop->epoll, EPOLL_CTL_MOD, socket, &event) == 0;
    }
    watch->watched = is_done ? events : 0;
    return is_done;
}

// FNV-1a: two servers that are taken for one cost a connection.
static uint64_t hash_of(const void *bytes, size_t count) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < count; i++) hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3;
    return hash;
}

static int open_socket(void *context, int purpose, socket_address *address) {
    (void)purpose;
    ccurl_transfer *transfer = context;
    // A second connection for a request that has been sent on the first.
    int was_sent = transfer->tries > 0;
    if (!ccurl_tells_connected()) was_sent = ccurl_get_long(transfer, CCURLINFO_REQUEST_SIZE) > 0;
    if (was_sent) {
        ccurl_transfer_refuse_repetition(transfer);
        return CCURL_SOCKET_BAD;
    }
    // A program that is started meanwhile is not to have it.
    int opened = socket(address->family, address->type | SOCK_CLOEXEC, address->protocol);
    transfer->sockets++;
    if (opened < 0) transfer->system_error = errno;
    ccurl_watch *watch = opened < 0 ? NULL : ccurl_watch_of(transfer->loop, opened);
    if (!watch) return opened;
    *watch = (ccurl_watch){.is_own = 1, .is_encrypted = transfer->is_encrypted};
    watch->server = hash_of(&address->address, address->length);
    return opened;
}

// How many bytes the other side has acknowledged; -1 if the system does not tell: it does since Linux 4.1.
static int64_t acknowledged(int socket) {
    // struct tcp_info of the kernel, of which the C library's headers may lack the end: tcpi_bytes_acked lies at 120.
    union {
        char bytes[256];
        int64_t words[32];
    } info;
    socklen_t length = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || length < 128) return -1;
    return info.words[15];
}

// Whether the server has seen nothing of a request that was sent on a kept connection.
//
// It has not if it had closed the connection before the request arrived: then its end came, and no acknowledgement of
// what was sent, which the end would have carried along (RFC 9293, 3.10.7.4). A reset proves nothing: it tells not what
// had been read. So the errors are told apart: none, or EPIPE, is an end that came first.
static int was_sent_too_late(const ccurl_transfer *transfer, const ccurl_watch *watch, int socket) {
    if (transfer->head_length > 0 || watch->acknowledged < 0) return 0;
    if (transfer->error[0] && !strstr(transfer->error, strerror(EPIPE))) return 0;
    return acknowledged(socket) == watch->acknowledged;
}

// A server that has closed one of its idle connections has, most often, closed the others too.
static void doubt_others(ccurl_loop *loop, uint64_t server) {
    for (size_t i = 0; i < loop->capacity; i++)
        loop->watches[i].is_doubtful |= loop->watches[i].is_http1 && loop->watches[i].server == server;
}

static int close_socket(void *context, int socket) {
    ccurl_loop *loop = context;
    pthread_mutex_lock(&loop->guard);
    if ((size_t)socket < loop->capacity) {
        ccurl_watch *watch = &loop->watches[socket];
        ccurl_transfer *user = watch->user;
        if (user && user->head_length == 0) {
            user->is_unseen = was_sent_too_late(user, watch, socket);
            doubt_others(loop, watch->server);
        }
        // Another process may have it too: closing it would not be enough.
        ccurl_loop_have_watched(loop, socket, watch, 0);
        if (user) user->kept_socket = 0;
        memset(watch, 0, sizeof *watch);
    }
    int result = close(socket);
    pthread_mutex_unlock(&loop->guard);
    return result;
}

void ccurl_loop_adopt(ccurl_loop *loop, ccurl_transfer *transfer) {
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_OPENSOCKETFUNCTION, open_socket);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_OPENSOCKETDATA, transfer);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_CLOSESOCKETFUNCTION, close_socket);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_CLOSESOCKETDATA, loop);
}

// The system is asked once for each connection.
static int has_ports(ccurl_watch *watch, int socket, int to_port, int from_port) {
    if (!watch->is_own) return 0;
    if (!watch->from_port) {
        union {
            struct sockaddr any;
            struct sockaddr_in four;
            struct sockaddr_in6 six;
        } own, other;
        socklen_t own_length = sizeof own, other_length = sizeof other;
        if (getsockname(socket, &own.any, &own_length) != 0) return 0;
        if (getpeername(socket, &other.any, &other_length) != 0) return 0;
        // The port is at the same place in both.
        watch->from_port = ntohs(own.four.sin_port);
        watch->to_port = ntohs(other.four.sin_port);
    }
    return watch->from_port == from_port && watch->to_port == to_port;
}

// The transfer's connection is one of these: the next at `socket` or after it; -1 if there is none. Two hosts may be
// reached from one port.
static int next_socket(ccurl_loop *loop, const ccurl_transfer *transfer, int socket) {
    if (!transfer->from_port) return -1;
    for (size_t i = (size_t)socket; i < loop->capacity; i++)
        if (has_ports(&loop->watches[i], (int)i, transfer->to_port, transfer->from_port)) return (int)i;
    return -1;
}

void ccurl_loop_keep(ccurl_loop *loop, ccurl_transfer *transfer) {
    int socket = -1;
    // At the end of a transfer libcurl tells the socket.
    if (ccurl_api.easy_getinfo(transfer->easy, CCURLINFO_ACTIVESOCKET, &socket) != 0 || socket < 0) return;
    if ((size_t)socket >= loop->capacity || !loop->watches[socket].is_own) return;
    long version = ccurl_get_long(transfer, CCURLINFO_HTTP_VERSION);
    if (version != CCURL_HTTP_VERSION_1_0 && version != CCURL_HTTP_VERSION_1_1) return;
    loop->watches[socket].is_http1 = 1;
    loop->watches[socket].is_doubtful = 0;
}

void ccurl_loop_release(ccurl_loop *loop, ccurl_transfer *transfer) {
    if (transfer->kept_socket) loop->watches[transfer->kept_socket - 1].user = NULL;
    transfer->kept_socket = 0;
}

int ccurl_loop_is_stale(ccurl_loop *loop, ccurl_transfer *transfer) {
    int count = 0, found = -1;
    char byte;
    for (int i = next_socket(loop, transfer, 0); i >= 0; i = next_socket(loop, transfer, i + 1)) {
        const ccurl_watch *watch = &loop->watches[i];
        // A surplus of either of two is one too many. So is an end.
        if (watch->is_doubtful) return 1;
        if (watch->is_http1 && recv(i, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0) return 1;
        found = i;
        count++;
    }
    if (count != 1 || !loop->watches[found].is_http1) return 0;
    loop->watches[found].user = transfer;
    loop->watches[found].acknowledged = acknowledged(found);
    transfer->kept_socket = found + 1;
    transfer->was_kept = 1;
    return 0;
}

// An HTTP/2 connection whose other end is gone without a word (a forgotten NAT entry, a server that was replaced) looks
// healthy until the kernel gives up, and each new request would be put on it. After a timeout it takes no new request.
// What waits on it already is left to its own timeout: the server may only be slow.
void ccurl_loop_distrust(ccurl_loop *loop, ccurl_transfer *transfer) {
    if (transfer->first_byte) return;
    int socket = next_socket(loop, transfer, 0);
    // Where something came in the second half of the wait, the server is slow and the connection well.
    int64_t now = ccurl_now();
    if (socket >= 0 && now - loop->watches[socket].heard < (now - transfer->started) / 2) return;
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_FORBID_REUSE, 1L);
    if (socket >= 0) loop->watches[socket].is_doubtful = 1;
}

#endif
