// A turn of the loop: what the thread waits for, and what it does then.
//
// While the loop's thread waits, another thread may have a turn. It begins a transfer for which a connection is idle,
// and spares the loop's thread one of its two turns: only the response wakes it, if that has not come at once. Both
// threads work under one lock of the caller's. What the other thread does is short, because it waits for nothing and
// opens no connection: if there is need of one, the transfer ends, and the loop's thread starts it again.
#include "turn.h"

#if defined(__linux__)

#include "ccurl_decisions.h"
#include "library.h"
#include "unread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

// The longest wait, in milliseconds. It only matters if a wakeup and libcurl's own timers were lost.
#define LONGEST_WAIT 10000
// The milliseconds until the system is asked again to watch a socket that it has refused.
#define RETRY_PAUSE 10
// A connection that keeps the thread for longer, in microseconds, is served after the others from then on; and for how
// long the thread may work on all such connections in a turn.
#define LONG 2000
#define LONGEST_FOR_ALL 10000
// For how long the first requests to a server wait for the connection that one of them makes, in microseconds: longer
// than nearly every handshake takes, and short beside the timeouts of calls.
#define LONGEST_HANDSHAKE 1000000

void ccurl_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

static _Thread_local const void *current;

void ccurl_set_current(const void *now) { current = now; }
const void *ccurl_current(void) { return current; }

// MARK: A turn

// Returns the earlier of two times, of which a negative one is none.
static int64_t earlier(int64_t one, int64_t other) { return one < 0 || (other >= 0 && other < one) ? other : one; }

// Returns when there is something to do although nothing has come, in microseconds; INT64_MAX for no such time.
static int64_t next_due(const ccurl_loop *loop) {
    // Those that rest are resumed in the next turn.
    if (loop->fairness.first) return 0;
    int64_t due = earlier(earlier(loop->due, loop->early.due), loop->handshake_due);
    due = earlier(due, loop->sockets.unread_due);
    if (due < 0) due = INT64_MAX;
    if (!loop->has_unwatched) return due;
    int64_t retry = ccurl_now() + RETRY_PAUSE * 1000;
    return retry < due ? retry : due;
}

int ccurl_loop_prepare_wait(ccurl_loop *loop, bool may_wait) {
    loop->sockets.waits++;
    loop->waits_until = may_wait ? next_due(loop) : 0;
    if (loop->waits_until == INT64_MAX) return LONGEST_WAIT;
    if (loop->waits_until == 0) return 0;
    int64_t left = (loop->waits_until - ccurl_now() + 999) / 1000;
    return left < 0 ? 0 : left < LONGEST_WAIT ? (int)left : LONGEST_WAIT;
}

bool ccurl_loop_awaits(ccurl_loop *loop, const ccurl_transfer *transfer) {
    if (!ccurl_transfer_is_connecting(transfer)) return false;
    int64_t end = transfer->connection.opened_at + LONGEST_HANDSHAKE;
    if (end <= ccurl_now()) return false;
    loop->handshake_due = earlier(loop->handshake_due, end);
    return true;
}

void ccurl_loop_wait(ccurl_loop *loop, int milliseconds) {
    loop->count = epoll_wait(loop->sockets.epoll, loop->events, CCURL_MOST_EVENTS, milliseconds);
}

static void act(ccurl_loop *loop, int socket, int ready) {
    int running;
    ccurl_flood_begin(&loop->flood, &loop->sockets, socket);
    ccurl_fairness_begin(&loop->fairness);
    ccurl_api.multi_socket_action(loop->multi, socket, ready, &running);
    ccurl_flood_end(&loop->flood);
}

void ccurl_turn_begin_added(ccurl_loop *loop) {
    loop->due = -1;
    act(loop, CCURL_SOCKET_TIMEOUT, 0);
}

// What the system has refused for want of memory it may allow later; until then, the timeouts of calls hold. Another
// refusal does not pass, and nothing would ever come of the socket: its transfers fail instead.
static void watch_again(ccurl_loop *loop) {
    if (!loop->has_unwatched) return;
    loop->has_unwatched = false;
    for (size_t i = 0; i < loop->sockets.capacity; i++) {
        ccurl_watch *watch = &loop->sockets.watches[i];
        if (!watch->wanted || watch->watched) continue;
        if (ccurl_sockets_watch(&loop->sockets, (int)i, watch, watch->wanted)) continue;
        if (errno == ENOMEM || errno == ENOSPC) {
            loop->has_unwatched = true;
        } else {
            ccurl_sockets_give_up(&loop->sockets, (int)i);
            act(loop, (int)i, 0);
        }
    }
}

// Has libcurl work on a socket from that time on, and notes whether that took long.
static void serve(ccurl_loop *loop, int socket, int ready, int64_t began) {
    act(loop, socket, ready);
    // Looked up afterwards, because it may have moved.
    ccurl_watch *watch = &loop->sockets.watches[socket];
    watch->served = ccurl_now();
    watch->is_busy = watch->served - began > LONG;
}

static void handle(ccurl_loop *loop, struct epoll_event event) {
    int socket = event.data.fd;
    ccurl_watch *watch = &loop->sockets.watches[socket];
    // Its request has ended in this turn. The next wait reports what has come since.
    if (!watch->wanted) return;
    int64_t now = ccurl_now();
    if (event.events & EPOLLIN) {
        watch->heard = now;
        watch->may_have_unread = false;
    }
    int ready = (event.events & EPOLLIN ? CCURL_CSELECT_IN : 0) | (event.events & EPOLLOUT ? CCURL_CSELECT_OUT : 0);
    // With 0 libcurl finds out by itself what is wrong.
    if (event.events & (EPOLLERR | EPOLLHUP)) ready = 0;
    serve(loop, socket, ready, now);
}

static bool is_busy(const ccurl_loop *loop, int i) { return loop->sockets.watches[loop->events[i].data.fd].is_busy; }

// Handles the first `count` events, which are those of busy connections: first those that have waited for longest, and
// as many as there is time for, one at least. epoll reports the others again.
static void handle_busy(ccurl_loop *loop, int count) {
    int64_t end = ccurl_now() + LONGEST_FOR_ALL, served[CCURL_MOST_EVENTS];
    for (int i = 0; i < count; i++) served[i] = loop->sockets.watches[loop->events[i].data.fd].served;
    do {
        int next = ccurl_longest_waiting(served, count);
        handle(loop, loop->events[next]);
        loop->events[next] = loop->events[--count];
        served[next] = served[count];
    } while (count > 0 && ccurl_now() < end);
}

// Notes what has come on connections that no request uses, before one can be sent on any of them. Leaves the events of
// the others.
static void handle_idle(ccurl_loop *loop) {
    // With as many events as fit, there may be more.
    if (loop->count >= 0 && loop->count < CCURL_MOST_EVENTS) loop->sockets.looked = loop->sockets.waits;
    int count = 0;
    for (int i = 0; i < loop->count; i++) {
        int socket = loop->events[i].data.fd;
        if (socket == loop->alarm) continue;
        ccurl_watch *watch = &loop->sockets.watches[socket];
        if (watch->wanted) loop->events[count++] = loop->events[i];
        else ccurl_sockets_watch(&loop->sockets, socket, watch, 0);
    }
    loop->count = count;
}

// Has libcurl read on where something may be unread and nothing has come.
static void read_on(ccurl_loop *loop) {
    ccurl_sockets *sockets = &loop->sockets;
    if (sockets->unread_due < 0 || sockets->unread_due > ccurl_now()) return;
    sockets->unread_due = -1;
    for (int i = -1; (i = ccurl_unread_take(sockets, i)) >= 0;) serve(loop, i, CCURL_CSELECT_IN, ccurl_now());
}

void ccurl_loop_work(ccurl_loop *loop) {
    handle_idle(loop);
    watch_again(loop);
    ccurl_fairness_begin_turn(&loop->fairness);
    int busy = 0;
    for (int i = 0; i < loop->count; i++) {
        if (is_busy(loop, i)) loop->events[busy++] = loop->events[i];
        else handle(loop, loop->events[i]);
    }
    loop->count = 0;
    if (busy > 0) handle_busy(loop, busy);
    read_on(loop);
    // Those that are still awaited set it again at the end of the turn.
    loop->handshake_due = -1;
    if (loop->due >= 0 && loop->due <= ccurl_now()) ccurl_turn_begin_added(loop);
}

// MARK: A turn of another thread

bool ccurl_loop_can_send_at_once(const ccurl_loop *loop, const ccurl_transfer *transfer) {
    return !ccurl_transfer_begins_alone(transfer) && ccurl_upload_leaves_with_head(&transfer->upload) &&
           ccurl_sockets_have_idle(&loop->sockets, transfer->request.origin, ccurl_now());
}

static void send_on_callers_thread(ccurl_loop *loop) {
    loop->is_on_callers_thread = true;
    ccurl_turn_begin_added(loop);
    loop->is_on_callers_thread = false;
}

void ccurl_loop_send_here(ccurl_loop *loop) {
    if (!ccurl_raises_pipe_signal()) return send_on_callers_thread(loop);
    // The signal may come from another connection, which libcurl closes now.
    sigset_t pipe, former, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &former);
    // One that was pending before is the caller's, on a thread that blocks it anyway.
    bool was_pending =
        sigismember(&former, SIGPIPE) && sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE);
    send_on_callers_thread(loop);
    const struct timespec at_once = {0};
    while (!was_pending && sigtimedwait(&pipe, NULL, &at_once) > 0) {}
    if (!sigismember(&former, SIGPIPE)) pthread_sigmask(SIG_SETMASK, &former, NULL);
}

bool ccurl_loop_waits_too_long(const ccurl_loop *loop) { return next_due(loop) < loop->waits_until; }

// MARK: For other threads

void ccurl_loop_wake(ccurl_loop *loop) {
    // The sum of all calls, which stays far below its limit of 64 bits.
    uint64_t one = 1;
    if (write(loop->alarm, &one, sizeof one) < 0) return;
}

bool ccurl_loop_watch(ccurl_loop *loop) { return ccurl_flood_watch(&loop->flood, &loop->sockets); }

#endif
