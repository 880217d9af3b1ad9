#include "flood.h"

#if defined(__linux__)

#include "ccurl_decisions.h"
#include "library.h"
#include "system.h"

#include <pthread.h>
#include <sys/socket.h>

// What the thread works on, where it is no connection: nothing; what libcurl's timers asked for, on any connection; the
// same, or a connection on which nothing has come, while a connection over TLS begins for which certificates may have
// to be read: that takes a slow machine long, and is no flood.
#define TIMERS CCURL_SOCKET_TIMEOUT
#define NOTHING -2
#define BEGINNING -3
// A turn that has brought so many bytes of a body was no flood until then.
#define ENOUGH_BYTES (1 << 20)
// A connection that floods is read faster: this is one record of TLS.
#define FEW_BYTES 16384
// How long libcurl has the certificates in memory, from 7.87 on: a day, of which an hour is left out here. In
// microseconds.
#define CERTIFICATES_KEPT (INT64_C(23) * 3600 * 1000000)

void ccurl_flood_init(ccurl_flood *flood) { atomic_init(&flood->worked_on, NOTHING); }

static bool may_read_certificates(const ccurl_flood *flood) {
    bool is_kept = ccurl_keeps_certificates() && flood->has_certificates;
    return !is_kept || ccurl_now() - flood->has_certificates > CERTIFICATES_KEPT;
}

void ccurl_flood_begin(ccurl_flood *flood, const ccurl_sockets *sockets, int socket) {
    clockid_t clock;
    if (pthread_getcpuclockid(pthread_self(), &clock) != 0) return;
    atomic_store_explicit(&flood->clock, clock, memory_order_relaxed);
    atomic_fetch_add_explicit(&flood->turn, 1, memory_order_release);
    bool may_begin = flood->connecting > 0 && may_read_certificates(flood) &&
                     (socket == TIMERS || !sockets->watches[socket].heard);
    atomic_store_explicit(&flood->worked_on, may_begin ? BEGINNING : socket, memory_order_release);
}

void ccurl_flood_end(ccurl_flood *flood) {
    atomic_store_explicit(&flood->worked_on, NOTHING, memory_order_relaxed);
}

void ccurl_flood_note_body(ccurl_flood *flood, size_t count) {
    flood->taken += count;
    if (flood->taken < ENOUGH_BYTES) return;
    flood->taken = 0;
    atomic_fetch_add_explicit(&flood->turn, 1, memory_order_relaxed);
}

void ccurl_flood_note_certificates(ccurl_flood *flood) {
    if (may_read_certificates(flood)) flood->has_certificates = ccurl_now();
}

// Returns the connection with the most unread bytes: a flood comes faster than it can be read. -1 if there is none.
static int fullest(const ccurl_sockets *sockets) {
    int found = -1;
    int64_t most = 0;
    for (size_t i = 0; i < sockets->capacity; i++) {
        const ccurl_watch *watch = &sockets->watches[i];
        int64_t count = watch->is_own ? ccurl_unread((int)i) : 0;
        // libcurl closes a socket that never became a connection by itself, and then the program may open another
        // file under this descriptor. Only a connection has bytes to read, and it is closed under the guard.
        if (count <= most || ccurl_inode_of((int)i) != watch->inode) continue;
        found = (int)i;
        most = count;
    }
    return found;
}

// Returns the connection of which the most bytes have been read since this was asked last; -1 if they are few, or if
// the system does not know.
static int most_read(ccurl_sockets *sockets) {
    int found = -1;
    int64_t most = FEW_BYTES;
    for (size_t i = 0; i < sockets->capacity; i++) {
        ccurl_watch *watch = &sockets->watches[i];
        if (!watch->is_own) continue;
        int64_t received = ccurl_received((int)i), unread = ccurl_unread((int)i);
        // As above.
        if (received < 0 || unread < 0 || ccurl_inode_of((int)i) != watch->inode) continue;
        int64_t count = received - unread - watch->read;
        watch->read += count;
        if (count <= most) continue;
        found = (int)i;
        most = count;
    }
    return found;
}

// Under the guard a descriptor cannot be closed and become another file while it is looked at or shut down.
bool ccurl_flood_watch(ccurl_flood *flood, ccurl_sockets *sockets) {
    int worked_on = atomic_load_explicit(&flood->worked_on, memory_order_acquire);
    if (worked_on == NOTHING) return false;
    unsigned turn = atomic_load_explicit(&flood->turn, memory_order_acquire);
    struct timespec time;
    if (clock_gettime(atomic_load_explicit(&flood->clock, memory_order_relaxed), &time) != 0) return false;
    int64_t now = (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
    if (turn != flood->watched_turn) {
        flood->watched_turn = turn;
        flood->watched_from = now;
        flood->has_asked = false;
        return true;
    }
    int64_t spent = now - flood->watched_from;
    ccurl_flood_stage stage = ccurl_flood_stage_of(spent, worked_on == BEGINNING, flood->has_asked);
    if (stage == CCURL_NO_FLOOD) return true;
    pthread_mutex_lock(&sockets->guard);
    // In the same turn libcurl also works on the connections whose timers are due. What it reads all the time floods.
    int socket = most_read(sockets);
    bool is_same = atomic_load(&flood->turn) == turn && atomic_load(&flood->worked_on) == worked_on;
    if (stage == CCURL_FLOOD && is_same) {
        if (socket < 0) socket = worked_on < 0 ? fullest(sockets) : worked_on;
        if (socket >= 0 && ccurl_may_end_flood(spent, sockets->watches[socket].is_encrypted)) {
            shutdown(socket, SHUT_RDWR);
            flood->watched_from = now;
        }
    }
    flood->has_asked = true;
    pthread_mutex_unlock(&sockets->guard);
    return true;
}

#endif
