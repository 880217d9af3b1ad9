// A turn of the loop: what the thread waits for, and what it does then.
#include "turn.h"

#if defined(__linux__)

#include "library.h"
#include "transfer.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

// The longest wait, in milliseconds. It only matters if a wakeup and libcurl's own timers were lost.
#define LONGEST_WAIT 10000
// The milliseconds until the system is asked again to watch a socket that it has refused.
#define RETRY_PAUSE 10
// A connection that keeps the thread for longer, in microseconds, is served after the others from then on; and for how
// long the thread may work on all such connections in a turn.
#define LONG 2000
#define LONGEST_FOR_ALL 10000

// MARK: A turn

void ccurl_loop_wait(ccurl_loop *loop, bool may_wait) {
    int64_t wait = may_wait ? LONGEST_WAIT : 0;
    int64_t due = loop->due, probe = loop->answered.due;
    if (due < 0 || (probe >= 0 && probe < due)) due = probe;
    if (may_wait && due >= 0) {
        int64_t left = (due - ccurl_now() + 999) / 1000;
        wait = left < 0 ? 0 : left < wait ? left : wait;
    }
    if (loop->has_unwatched && wait > RETRY_PAUSE) wait = RETRY_PAUSE;
    // Those that rest are resumed in the next turn.
    if (loop->shares.first) wait = 0;
    loop->count = epoll_wait(loop->sockets.epoll, loop->events, CCURL_MOST_EVENTS, (int)wait);
}

static void act(ccurl_loop *loop, int socket, int ready) {
    int running;
    ccurl_flood_begin(&loop->flood, &loop->sockets, socket);
    ccurl_shares_begin(loop);
    ccurl_api.multi_socket_action(loop->multi, socket, ready, &running);
    ccurl_flood_end(&loop->flood);
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

static void handle(ccurl_loop *loop, struct epoll_event event) {
    int socket = event.data.fd;
    if (socket == loop->alarm) return;
    ccurl_watch *watch = &loop->sockets.watches[socket];
    if (!watch->wanted) {
        ccurl_sockets_watch(&loop->sockets, socket, watch, 0);
        return;
    }
    int64_t now = ccurl_now();
    if (event.events & EPOLLIN) {
        watch->heard = now;
        watch->is_doubtful = false;
    }
    int ready = (event.events & EPOLLIN ? CCURL_CSELECT_IN : 0) | (event.events & EPOLLOUT ? CCURL_CSELECT_OUT : 0);
    // With 0 libcurl finds out by itself what is wrong.
    if (event.events & (EPOLLERR | EPOLLHUP)) ready = 0;
    act(loop, socket, ready);
    // It may have moved.
    watch = &loop->sockets.watches[socket];
    watch->served = ccurl_now();
    watch->is_busy = watch->served - now > LONG;
}

static bool is_busy(const ccurl_loop *loop, int i) {
    int socket = loop->events[i].data.fd;
    return socket != loop->alarm && loop->sockets.watches[socket].is_busy;
}

static int64_t served(const ccurl_loop *loop, int i) { return loop->sockets.watches[loop->events[i].data.fd].served; }

// Handles the first `count` events, which are those of busy connections: first those that have waited for longest, and
// as many as there is time for, one at least. epoll reports the others again.
static void handle_busy(ccurl_loop *loop, int count) {
    int64_t end = ccurl_now() + LONGEST_FOR_ALL;
    do {
        int next = 0;
        for (int i = 1; i < count; i++)
            if (served(loop, i) < served(loop, next)) next = i;
        handle(loop, loop->events[next]);
        loop->events[next] = loop->events[--count];
    } while (count > 0 && ccurl_now() < end);
}

void ccurl_loop_work(ccurl_loop *loop) {
    watch_again(loop);
    ccurl_shares_begin_turn(loop);
    int busy = 0;
    for (int i = 0; i < loop->count; i++) {
        if (is_busy(loop, i)) loop->events[busy++] = loop->events[i];
        else handle(loop, loop->events[i]);
    }
    loop->count = 0;
    if (busy > 0) handle_busy(loop, busy);
    if (loop->due < 0 || loop->due > ccurl_now()) return;
    loop->due = -1;
    act(loop, CCURL_SOCKET_TIMEOUT, 0);
}

// MARK: For other threads

void ccurl_loop_wake(ccurl_loop *loop) {
    // The sum of all calls, which stays far below its limit of 64 bits.
    uint64_t one = 1;
    if (write(loop->alarm, &one, sizeof one) < 0) return;
}

bool ccurl_loop_watch(ccurl_loop *loop) { return ccurl_flood_watch(&loop->flood, &loop->sockets); }

#endif
