#include "sockets.h"

#if defined(__linux__)

#include "library.h"
#include "ports.h"
#include "system.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

// For how long a connection may have been idle, in microseconds. After 118 seconds libcurl does not use it again.
#define LONGEST_IDLE 60000000

// FNV-1a: two servers with the same hash cost a connection.
static uint64_t hash_of(const void *bytes, size_t count) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < count; i++) hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3;
    return hash;
}

// MARK: Sockets come and go

bool ccurl_sockets_add(ccurl_sockets *sockets, int socket, const ccurl_purpose *purpose) {
    ccurl_watch *watch = ccurl_watch_of(sockets, socket);
    if (!watch) return false;
    // libcurl closes a socket that was never connected by itself, and then this descriptor may come again.
    if (watch->is_own) ccurl_ports_leave(sockets, socket);
    pthread_mutex_lock(&sockets->guard);
    *watch = (ccurl_watch){
        .is_own = true,
        .is_encrypted = purpose->is_encrypted,
        .inode = ccurl_inode_of(socket),
        .server = hash_of(purpose->address, purpose->length),
        .is_http3 = purpose->is_http3,
        .origin = purpose->origin,
    };
    pthread_mutex_unlock(&sockets->guard);
    if (!purpose->is_local) ccurl_ports_join(sockets, socket);
    return true;
}

ccurl_connection *ccurl_sockets_user(const ccurl_sockets *sockets, int socket) {
    return (size_t)socket < sockets->capacity ? sockets->watches[socket].user : NULL;
}

// A server that has closed one of its idle connections has usually closed the others too.
static void exclude_others(ccurl_sockets *sockets, uint64_t server) {
    for (size_t i = 0; i < sockets->capacity; i++) {
        ccurl_watch *watch = &sockets->watches[i];
        if (watch->is_http1 && watch->server == server) watch->is_excluded = true;
    }
}

void ccurl_sockets_note_death(ccurl_sockets *sockets, int socket, bool has_other_error, int64_t sent) {
    const ccurl_watch *watch = &sockets->watches[socket];
    const ccurl_death death = {
        .has_other_error = has_other_error,
        .acknowledged_before = watch->acknowledged,
        .acknowledged = ccurl_acknowledged(socket),
        .sent = sent,
        .unacknowledged = ccurl_unacknowledged(socket),
    };
    watch->user->is_unseen = ccurl_was_sent_too_late(&death);
    exclude_others(sockets, watch->server);
}

int ccurl_sockets_close(ccurl_sockets *sockets, int socket) {
    pthread_mutex_lock(&sockets->guard);
    if ((size_t)socket < sockets->capacity) {
        ccurl_watch *watch = &sockets->watches[socket];
        // Another process may hold the socket too, and then closing it does not end the watch.
        ccurl_sockets_watch(sockets, socket, watch, 0);
        if (watch->user) watch->user->kept_socket = 0;
        if (watch->is_own) ccurl_ports_leave(sockets, socket);
        memset(watch, 0, sizeof *watch);
    }
    int result = close(socket);
    pthread_mutex_unlock(&sockets->guard);
    return result;
}

void ccurl_sockets_give_up(ccurl_sockets *sockets, int socket) {
    const ccurl_watch *watch = &sockets->watches[socket];
    // That it ends now says nothing about what the server has seen.
    if (watch->user) ccurl_sockets_release(sockets, watch->user);
    // The descriptor may be another file by now.
    if (watch->is_own && ccurl_inode_of(socket) == watch->inode) shutdown(socket, SHUT_RDWR);
}

// MARK: A request is about to be sent

// Notes that a request begins on the connection.
static void note_begun(ccurl_watch *watch, ccurl_connection *connection) {
    watch->requests++;
    bool is_shared = watch->is_encrypted && !watch->is_http1 && !watch->is_http3;
    // Before the first response, a server also refuses what is more than it works on at once.
    connection->shared = is_shared && watch->answered ? watch->inode : 0;
    connection->number = watch->requests;
}

void ccurl_sockets_note_repetition(ccurl_sockets *sockets, const ccurl_connection *connection, uint64_t origin) {
    if (!connection->shared) return;
    int place = ccurl_origins_place(&sockets->refusing, origin);
    if (place < 0) {
        place = ccurl_origins_add(&sockets->refusing, origin);
        sockets->turnovers[place] = (ccurl_turnover){0};
    }
    ccurl_turnover_note(&sockets->turnovers[place], connection->shared, connection->number, ccurl_now());
}

// Whether a connection of HTTP/2 has had as many requests as it may have.
static bool is_spent(const ccurl_sockets *sockets, ccurl_watch *watch, bool is_safe) {
    if (watch->is_http1 || watch->is_http3 || sockets->refusing.count == 0) return false;
    int place = ccurl_origins_place(&sockets->refusing, watch->origin);
    if (place < 0) return false;
    int64_t now = ccurl_now(), most = ccurl_turnover_limit(&sockets->turnovers[place], now);
    bool is_spent = ccurl_is_spent(watch->requests, most, is_safe, watch->spent ? now - watch->spent : 0);
    if (is_spent && !watch->spent) watch->spent = now;
    return is_spent;
}

void ccurl_sockets_note_made(
    ccurl_sockets *sockets, ccurl_connection *connection, uint64_t origin, bool is_http1) {
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
    watch->maker = connection;
    watch->is_http1 |= is_http1;
    connection->made_socket = found + 1;
    note_begun(watch, connection);
}

void ccurl_sockets_note_joined(ccurl_sockets *sockets, int to_port, int from_port) {
    const ccurl_connection joined = {.to_port = to_port, .from_port = from_port};
    for (int i = ccurl_ports_next(sockets, &joined, -1); i >= 0; i = ccurl_ports_next(sockets, &joined, i)) {
        ccurl_connection *maker = sockets->watches[i].maker;
        if (maker) maker->is_joined = true;
    }
}

static ccurl_fitness fitness_of(const ccurl_sockets *sockets, ccurl_watch *watch, ccurl_use use) {
    const ccurl_kept_connection kept = {
        .is_http1 = watch->is_http1,
        .is_excluded = watch->is_excluded,
        .has_ended = watch->has_ended,
        .is_spent = is_spent(sockets, watch, use.is_safe),
        .is_watched = watch->watched & EPOLLIN,
        .is_on_callers_thread = use.is_on_callers_thread,
        .idle_since = watch->idle_since,
        .waits = sockets->waits,
        .looked = sockets->looked,
    };
    return ccurl_connection_fitness(&kept);
}

static bool is_silent(int socket) {
    char byte;
    return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
}

bool ccurl_sockets_is_stale(ccurl_sockets *sockets, ccurl_connection *connection, ccurl_use use) {
    int count = 0, found = -1;
    for (int i = ccurl_ports_next(sockets, connection, -1); i >= 0; i = ccurl_ports_next(sockets, connection, i)) {
        ccurl_watch *watch = &sockets->watches[i];
        connection->may_be_http1 |= watch->is_http1;
        // Of two candidates, surplus bytes or the end of either count.
        ccurl_fitness fitness = fitness_of(sockets, watch, use);
        if (fitness == CCURL_UNFIT || (fitness == CCURL_FIT_IF_SILENT && !is_silent(i))) return true;
        watch->idle_since = 0;
        watch->used_in = sockets->waits;
        found = i;
        count++;
    }
    // Of a connection that the shim does not know, this cannot be known.
    if (count == 0) return true;
    if (count > 1) return false;
    ccurl_watch *watch = &sockets->watches[found];
    note_begun(watch, connection);
    // One that was kept once is most likely kept again.
    if (!watch->is_http3) sockets->reused[watch->origin % CCURL_REUSED] = found + 1;
    if (!watch->is_http1) return false;
    watch->user = connection;
    watch->acknowledged = use.can_ask_later ? CCURL_NOT_ASKED : ccurl_acknowledged(found);
    connection->kept_socket = found + 1;
    connection->was_kept = true;
    return false;
}

bool ccurl_sockets_is_http3(ccurl_sockets *sockets, const ccurl_connection *connection) {
    int socket = ccurl_ports_next(sockets, connection, -1);
    // A socket of TCP and one of UDP can have the same ports.
    return socket >= 0 && sockets->watches[socket].is_http3 && ccurl_ports_next(sockets, connection, socket) < 0;
}

// MARK: A request has ended

void ccurl_sockets_note_end(ccurl_sockets *sockets, const ccurl_connection *connection) {
    int socket = ccurl_ports_next(sockets, connection, -1);
    if (socket >= 0) sockets->watches[socket].has_ended = true;
}

void ccurl_sockets_keep(ccurl_sockets *sockets, const ccurl_connection *connection, int socket) {
    if (socket < 0 || (size_t)socket >= sockets->capacity || !sockets->watches[socket].is_own) return;
    ccurl_watch *watch = &sockets->watches[socket];
    watch->is_http1 = true;
    watch->is_excluded = false;
    // In the same turn, libcurl may have sent another request on it.
    if (watch->user != connection && watch->used_in == sockets->waits) return;
    watch->idle_since = sockets->waits;
}

void ccurl_sockets_release(ccurl_sockets *sockets, ccurl_connection *connection) {
    ccurl_watch *watch = connection->kept_socket ? &sockets->watches[connection->kept_socket - 1] : NULL;
    if (watch && watch->user == connection) watch->user = NULL;
    connection->kept_socket = 0;
    watch = connection->made_socket ? &sockets->watches[connection->made_socket - 1] : NULL;
    if (watch && watch->maker == connection) watch->maker = NULL;
    connection->made_socket = 0;
}

// MARK: Between requests

bool ccurl_sockets_have_http3(const ccurl_sockets *sockets, uint64_t origin) {
    for (int i = sockets->http3; i > 0; i = sockets->watches[i - 1].next_http3) {
        const ccurl_watch *watch = &sockets->watches[i - 1];
        if (watch->origin != origin || watch->is_excluded || watch->has_ended) continue;
        if (ccurl_inode_of(i - 1) == watch->inode) return true;
    }
    return false;
}

bool ccurl_sockets_have_idle(const ccurl_sockets *sockets, uint64_t origin, int64_t now) {
    int socket = sockets->reused[origin % CCURL_REUSED] - 1;
    if (socket < 0) return false;
    const ccurl_watch *watch = &sockets->watches[socket];
    bool is_idle = watch->is_own && !watch->wanted && !watch->user && !watch->is_excluded;
    return is_idle && watch->origin == origin && now - watch->heard < LONGEST_IDLE;
}

void ccurl_sockets_forget_idle(ccurl_sockets *sockets, uint64_t origin) {
    sockets->reused[origin % CCURL_REUSED] = 0;
}

void ccurl_sockets_hear(ccurl_sockets *sockets, const ccurl_connection *connection, int64_t now) {
    // Each piece of a body comes by here, and finds its connection in its list.
    int socket = ccurl_ports_next_known(sockets, connection, -1);
    if (socket < 0) socket = ccurl_ports_next(sockets, connection, -1);
    if (socket < 0) return;
    ccurl_watch *watch = &sockets->watches[socket];
    watch->answered = watch->heard = now;
    watch->is_excluded = false;
}

bool ccurl_sockets_exclude_silent(
    ccurl_sockets *sockets, const ccurl_connection *connection, int64_t now, int64_t started, int64_t limit) {
    int socket = ccurl_ports_next(sockets, connection, -1);
    if (socket < 0) return true;
    ccurl_watch *watch = &sockets->watches[socket];
    if (!ccurl_was_silent(now, started, watch->answered, limit)) return false;
    watch->is_excluded = true;
    return true;
}

#endif
