#include "ccurl.h"

#if defined(__linux__)

#include "library.h"
#include "ports.h"
#include "transfer.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// For how long a connection may have been idle, in microseconds. After 118 seconds libcurl does not use it again.
#define LONGEST_IDLE 60000000
// A connection that floods is read faster: this is one record of TLS.
#define FEW_BYTES 16384
// Stands for a number of acknowledged bytes that the system was not asked for.
#define NOT_ASKED -2

// As libcurl lays it out.
typedef struct {
    int family, type, protocol;
    unsigned length;
    struct sockaddr address;
} socket_address;

ccurl_watch *ccurl_watch_of(ccurl_sockets *sockets, int socket) {
    if ((size_t)socket >= sockets->capacity) {
        size_t capacity = (size_t)socket * 2 + 64;
        pthread_mutex_lock(&sockets->guard);
        ccurl_watch *moved = realloc(sockets->watches, capacity * sizeof *moved);
        if (moved) {
            memset(moved + sockets->capacity, 0, (capacity - sockets->capacity) * sizeof *moved);
            sockets->watches = moved;
            sockets->capacity = capacity;
        }
        pthread_mutex_unlock(&sockets->guard);
        if (!moved) return NULL;
    }
    return &sockets->watches[socket];
}

bool ccurl_sockets_watch(ccurl_sockets *sockets, int socket, ccurl_watch *watch, uint32_t events) {
    if (watch->watched == events) return true;
    struct epoll_event event = {.events = events, .data.fd = socket};
    bool is_done;
    if (!events) {
        // If this fails, the socket is gone and is not watched either.
        epoll_ctl(sockets->epoll, EPOLL_CTL_DEL, socket, &event);
        is_done = true;
    } else {
        // A socket that libcurl opened itself may be another one by now.
        int change = watch->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
        is_done = epoll_ctl(sockets->epoll, change, socket, &event) == 0;
        if (!is_done && errno == ENOENT) is_done = epoll_ctl(sockets->epoll, EPOLL_CTL_ADD, socket, &event) == 0;
        if (!is_done && errno == EEXIST) is_done = epoll_ctl(sockets->epoll, EPOLL_CTL_MOD, socket, &event) == 0;
    }
    watch->watched = is_done ? events : 0;
    return is_done;
}

// FNV-1a: two servers with the same hash cost a connection.
static uint64_t hash_of(const void *bytes, size_t count) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < count; i++) hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3;
    return hash;
}

// Returns the number of the socket behind the descriptor, which no other open file has; 0 if there is none.
static uint64_t inode_of(int socket) {
    struct stat status;
    return fstat(socket, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

// MARK: Sockets come and go

static int open_socket(void *context, int purpose, socket_address *address) {
    (void)purpose;
    ccurl_transfer *transfer = context;
    ccurl_sockets *sockets = ccurl_loop_sockets(ccurl_transfer_loop(transfer));
    // A second connection, for a request that was sent on the first.
    if (ccurl_transfer_was_sent(transfer)) {
        ccurl_transfer_refuse_repetition(transfer);
        return CCURL_SOCKET_BAD;
    }
    // Its connection has ended, or takes no more requests for now.
    if (ccurl_transfer_http3(transfer) == CCURL_KEEPING_HTTP3) {
        ccurl_transfer_note_lack_of_http3(transfer);
        return CCURL_SOCKET_BAD;
    }
    // Its connection is not as it seemed. The loop's thread opens another.
    if (ccurl_loop_is_on_callers_thread(ccurl_transfer_loop(transfer))) {
        sockets->reused[ccurl_transfer_request(transfer).origin % CCURL_REUSED] = 0;
        ccurl_transfer_note_stale(transfer);
        return CCURL_SOCKET_BAD;
    }
    // A program that is started at this moment does not inherit it.
    int opened = socket(address->family, address->type | SOCK_CLOEXEC, address->protocol);
    ccurl_connection *connection = ccurl_transfer_connection(transfer);
    if (connection->opened++ == 0) connection->opened_at = ccurl_now();
    if (opened < 0) connection->refusal = errno;
    ccurl_watch *watch = opened < 0 ? NULL : ccurl_watch_of(sockets, opened);
    if (!watch) return opened;
    // libcurl closes a socket that was never connected by itself, and then this descriptor may come again.
    if (watch->is_own) ccurl_ports_leave(sockets, opened);
    pthread_mutex_lock(&sockets->guard);
    *watch = (ccurl_watch){
        .is_own = true,
        .is_encrypted = ccurl_transfer_is_encrypted(transfer),
        .inode = inode_of(opened),
        .server = hash_of(&address->address, address->length),
        .is_http3 = (address->type & SOCK_DGRAM) != 0,
        .origin = ccurl_transfer_request(transfer).origin,
    };
    pthread_mutex_unlock(&sockets->guard);
    ccurl_ports_join(sockets, opened);
    return opened;
}

// The kernel's struct tcp_info, whose end the C library's headers may lack: tcpi_bytes_acked is at byte 120, and
// tcpi_bytes_received follows.
typedef union {
    char bytes[256];
    struct {
        int64_t others[15], acknowledged, received;
    };
} connection_info;

// Returns whether the system knows these numbers of bytes. It does since Linux 4.1.
static bool ask_info(int socket, connection_info *info) {
    socklen_t length = sizeof *info;
    return getsockopt(socket, IPPROTO_TCP, TCP_INFO, info, &length) == 0 && length >= 17 * sizeof(int64_t);
}

// Returns how many bytes the other side has acknowledged; -1 if the system does not know.
static int64_t acknowledged(int socket) {
    connection_info info;
    return ask_info(socket, &info) ? info.acknowledged : -1;
}

// Whether the server has seen nothing of a request that was sent on a kept connection.
//
// It has not if it had closed the connection before the request arrived: then its FIN came without an acknowledgement
// of what was sent, which the FIN would have carried (RFC 9293, 3.10.7.4). A reset proves nothing: it does not say
// what was read. So the errors are told apart: none, or EPIPE, means that the FIN came first.
static bool was_sent_too_late(const ccurl_transfer *transfer, const ccurl_watch *watch, int socket) {
    const char *words = ccurl_transfer_words(transfer);
    if (words[0] && !strstr(words, strerror(EPIPE))) return false;
    if (watch->acknowledged != NOT_ASKED)
        return watch->acknowledged >= 0 && acknowledged(socket) == watch->acknowledged;
    long sent = ccurl_transfer_get_long(transfer, CCURLINFO_REQUEST_SIZE);
    int unacknowledged = 0;
    return sent > 0 && ioctl(socket, SIOCOUTQ, &unacknowledged) == 0 && unacknowledged >= sent;
}

// Whether the system can be asked after the connection has died, instead of before the request: all that is sent is the
// head, of which libcurl knows the length.
static bool can_ask_later(ccurl_transfer *transfer) {
    return !ccurl_transfer_is_encrypted(transfer) && !ccurl_transfer_upload(transfer)->exists;
}

// A server that has closed one of its idle connections has usually closed the others too.
static void exclude_others(ccurl_sockets *sockets, uint64_t server) {
    for (size_t i = 0; i < sockets->capacity; i++) {
        ccurl_watch *watch = &sockets->watches[i];
        if (watch->is_http1 && watch->server == server) watch->is_excluded = true;
    }
}

static int close_socket(void *context, int socket) {
    ccurl_sockets *sockets = context;
    pthread_mutex_lock(&sockets->guard);
    if ((size_t)socket < sockets->capacity) {
        ccurl_watch *watch = &sockets->watches[socket];
        ccurl_transfer *user = watch->user;
        if (user && ccurl_transfer_lines(user)->length == 0) {
            ccurl_transfer_connection(user)->is_unseen = was_sent_too_late(user, watch, socket);
            exclude_others(sockets, watch->server);
        }
        // Another process may hold the socket too, and then closing it does not end the watch.
        ccurl_sockets_watch(sockets, socket, watch, 0);
        if (user) ccurl_transfer_connection(user)->kept_socket = 0;
        if (watch->is_own) ccurl_ports_leave(sockets, socket);
        memset(watch, 0, sizeof *watch);
    }
    int result = close(socket);
    pthread_mutex_unlock(&sockets->guard);
    return result;
}

void ccurl_sockets_adopt(ccurl_sockets *sockets, ccurl_transfer *transfer) {
    void *easy = ccurl_transfer_easy(transfer);
    ccurl_api.easy_setopt(easy, CCURLOPT_OPENSOCKETFUNCTION, open_socket);
    ccurl_api.easy_setopt(easy, CCURLOPT_OPENSOCKETDATA, transfer);
    ccurl_api.easy_setopt(easy, CCURLOPT_CLOSESOCKETFUNCTION, close_socket);
    ccurl_api.easy_setopt(easy, CCURLOPT_CLOSESOCKETDATA, sockets);
}

void ccurl_sockets_keep(ccurl_sockets *sockets, ccurl_transfer *transfer) {
    int socket = -1;
    // At the end of a transfer libcurl names the socket.
    if (ccurl_api.easy_getinfo(ccurl_transfer_easy(transfer), CCURLINFO_ACTIVESOCKET, &socket) != CCURLE_OK) return;
    if (socket < 0 || (size_t)socket >= sockets->capacity || !sockets->watches[socket].is_own) return;
    long version = ccurl_transfer_get_long(transfer, CCURLINFO_HTTP_VERSION);
    if (version != CCURL_HTTP_VERSION_1_0 && version != CCURL_HTTP_VERSION_1_1) return;
    ccurl_watch *watch = &sockets->watches[socket];
    watch->is_http1 = true;
    watch->is_excluded = false;
    // In the same turn, libcurl may have sent another request on it.
    if (watch->user != transfer && watch->used_in == sockets->waits) return;
    watch->idle_since = sockets->waits;
}

void ccurl_sockets_release(ccurl_sockets *sockets, ccurl_transfer *transfer) {
    ccurl_connection *connection = ccurl_transfer_connection(transfer);
    ccurl_watch *watch = connection->kept_socket ? &sockets->watches[connection->kept_socket - 1] : NULL;
    if (watch && watch->user == transfer) watch->user = NULL;
    connection->kept_socket = 0;
    watch = connection->made_socket ? &sockets->watches[connection->made_socket - 1] : NULL;
    if (watch && watch->maker == transfer) watch->maker = NULL;
    connection->made_socket = 0;
}

void ccurl_sockets_note_made(ccurl_sockets *sockets, ccurl_transfer *transfer, bool is_http1) {
    ccurl_connection *connection = ccurl_transfer_connection(transfer);
    uint64_t origin = ccurl_transfer_request(transfer).origin;
    int count = 0, found = -1;
    for (int i = ccurl_ports_next(sockets, connection, -1); i >= 0; i = ccurl_ports_next(sockets, connection, i)) {
        // Another host's connection may have the same ports.
        if (sockets->watches[i].origin != origin || (is_http1 && sockets->watches[i].is_http3)) continue;
        found = i;
        count++;
    }
    connection->is_joined = count != 1;
    if (count != 1) return;
    ccurl_watch *watch = &sockets->watches[found];
    watch->maker = transfer;
    watch->is_http1 |= is_http1;
    connection->made_socket = found + 1;
}

void ccurl_sockets_note_joined(ccurl_sockets *sockets, int to_port, int from_port) {
    const ccurl_connection joined = {.to_port = to_port, .from_port = from_port};
    for (int i = ccurl_ports_next(sockets, &joined, -1); i >= 0; i = ccurl_ports_next(sockets, &joined, i)) {
        ccurl_transfer *maker = sockets->watches[i].maker;
        if (maker) ccurl_transfer_connection(maker)->is_joined = true;
    }
}

// Whether nothing has come on a connection since its last response ended, as far as the loop knows: a wait that began
// after that is over, and epoll has reported all that had come by then. In the turn in which the response ended, a
// surplus is most likely to come, and there was no such wait; on a caller's thread, the loop's may know more by now.
static bool is_silent(const ccurl_sockets *sockets, const ccurl_transfer *transfer, const ccurl_watch *watch) {
    bool has_waited = watch->idle_since > 0 && watch->idle_since < sockets->looked;
    bool is_watched = sockets->looked == sockets->waits && (watch->watched & EPOLLIN);
    return has_waited && is_watched && !ccurl_loop_is_on_callers_thread(ccurl_transfer_loop(transfer));
}

bool ccurl_sockets_is_stale(ccurl_sockets *sockets, ccurl_transfer *transfer) {
    ccurl_connection *connection = ccurl_transfer_connection(transfer);
    int count = 0, found = -1;
    char byte;
    for (int i = ccurl_ports_next(sockets, connection, -1); i >= 0; i = ccurl_ports_next(sockets, connection, i)) {
        ccurl_watch *watch = &sockets->watches[i];
        connection->may_be_http1 |= watch->is_http1;
        // Of two candidates, surplus bytes or the end of either count.
        if (watch->is_excluded || watch->has_ended) return true;
        bool must_ask = watch->is_http1 && !is_silent(sockets, transfer, watch);
        if (must_ask && recv(i, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0) return true;
        watch->idle_since = 0;
        watch->used_in = sockets->waits;
        found = i;
        count++;
    }
    // Of a connection that the shim does not know, this cannot be known.
    if (count == 0) return true;
    if (count > 1) return false;
    // One that was kept once is most likely kept again.
    const ccurl_watch *watch = &sockets->watches[found];
    if (!watch->is_http3) sockets->reused[watch->origin % CCURL_REUSED] = found + 1;
    if (!watch->is_http1) return false;
    sockets->watches[found].user = transfer;
    sockets->watches[found].acknowledged = can_ask_later(transfer) ? NOT_ASKED : acknowledged(found);
    connection->kept_socket = found + 1;
    connection->was_kept = true;
    return false;
}

bool ccurl_sockets_is_http3(ccurl_sockets *sockets, ccurl_transfer *transfer) {
    const ccurl_connection *connection = ccurl_transfer_connection(transfer);
    int socket = ccurl_ports_next(sockets, connection, -1);
    // A socket of TCP and one of UDP can have the same ports.
    return socket >= 0 && sockets->watches[socket].is_http3 && ccurl_ports_next(sockets, connection, socket) < 0;
}

void ccurl_sockets_note_end(ccurl_sockets *sockets, ccurl_transfer *transfer) {
    int socket = ccurl_ports_next(sockets, ccurl_transfer_connection(transfer), -1);
    if (!ccurl_sockets_is_http3(sockets, transfer)) return;
    sockets->watches[socket].has_ended = true;
    if (ccurl_transfer_is_unsent_over_http3(transfer)) ccurl_transfer_note_lack_of_http3(transfer);
}

bool ccurl_sockets_have_http3(const ccurl_sockets *sockets, uint64_t origin) {
    for (int i = sockets->http3; i > 0; i = sockets->watches[i - 1].next_http3) {
        const ccurl_watch *watch = &sockets->watches[i - 1];
        if (watch->origin != origin || watch->is_excluded || watch->has_ended) continue;
        if (inode_of(i - 1) == watch->inode) return true;
    }
    return false;
}

bool ccurl_sockets_have_idle(const ccurl_sockets *sockets, uint64_t origin) {
    int socket = sockets->reused[origin % CCURL_REUSED] - 1;
    if (socket < 0) return false;
    const ccurl_watch *watch = &sockets->watches[socket];
    bool is_idle = watch->is_own && !watch->wanted && !watch->user && !watch->is_excluded;
    return is_idle && watch->origin == origin && ccurl_now() - watch->heard < LONGEST_IDLE;
}

void ccurl_sockets_hear(ccurl_sockets *sockets, ccurl_transfer *transfer) {
    const ccurl_connection *connection = ccurl_transfer_connection(transfer);
    // Each piece of a body comes by here, and finds its connection in its list.
    int socket = ccurl_ports_next_known(sockets, connection, -1);
    if (socket < 0) socket = ccurl_ports_next(sockets, connection, -1);
    if (socket < 0) return;
    ccurl_watch *watch = &sockets->watches[socket];
    watch->answered = watch->heard = ccurl_now();
    watch->is_excluded = false;
}

// An HTTP/2 connection whose other end is gone without a word (a forgotten NAT entry, a server that was replaced) looks
// healthy until the kernel gives up, and libcurl would put each new request on it. After a timeout it takes no more
// requests, unless responses show that the server is only slow; a server that answers nothing may still send frames
// that belong to no request. Those that wait on the connection already keep their own timeouts.
//
// That holds for a response of which some has come, too: nothing more came in the second half of the wait. But what is
// not read because its reader is slow may have come.
bool ccurl_sockets_note_timeout(ccurl_sockets *sockets, ccurl_transfer *transfer, int64_t limit) {
    if (ccurl_transfer_is_paused(transfer)) return false;
    int socket = ccurl_ports_next(sockets, ccurl_transfer_connection(transfer), -1);
    // If bytes of responses came in the second half of the wait, the server is slow and the connection works.
    int64_t now = ccurl_now(), wait = now - ccurl_transfer_started(transfer);
    // The wait is for the head, or for what comes next in a body that may have begun long before.
    if (limit > 0 && limit < wait) wait = limit;
    if (socket >= 0 && now - sockets->watches[socket].answered < wait / 2) return false;
    ccurl_api.easy_setopt(ccurl_transfer_easy(transfer), CCURLOPT_FORBID_REUSE, 1L);
    if (socket >= 0) sockets->watches[socket].is_excluded = true;
    return true;
}

void ccurl_sockets_give_up(ccurl_sockets *sockets, int socket) {
    const ccurl_watch *watch = &sockets->watches[socket];
    // That it ends now says nothing about what the server has seen.
    if (watch->user) ccurl_sockets_release(sockets, watch->user);
    // The descriptor may be another file by now.
    if (watch->is_own && inode_of(socket) == watch->inode) shutdown(socket, SHUT_RDWR);
}

int ccurl_sockets_fullest(const ccurl_sockets *sockets) {
    int found = -1, most = 0;
    for (size_t i = 0; i < sockets->capacity; i++) {
        const ccurl_watch *watch = &sockets->watches[i];
        int count = 0;
        if (!watch->is_own || ioctl((int)i, FIONREAD, &count) != 0 || count <= most) continue;
        // libcurl closes a socket that never became a connection by itself, and then the program may open another
        // file under this descriptor. Only a connection has bytes to read, and it is closed under the guard.
        if (inode_of((int)i) != watch->inode) continue;
        found = (int)i;
        most = count;
    }
    return found;
}

int ccurl_sockets_most_read(ccurl_sockets *sockets) {
    int found = -1;
    int64_t most = FEW_BYTES;
    for (size_t i = 0; i < sockets->capacity; i++) {
        ccurl_watch *watch = &sockets->watches[i];
        connection_info info;
        int unread = 0;
        if (!watch->is_own || !ask_info((int)i, &info) || ioctl((int)i, FIONREAD, &unread) != 0) continue;
        // As above.
        if (inode_of((int)i) != watch->inode) continue;
        int64_t count = info.received - unread - watch->read;
        watch->read += count;
        if (count <= most) continue;
        found = (int)i;
        most = count;
    }
    return found;
}

#endif
