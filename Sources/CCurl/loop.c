#include "ccurl.h"

#if defined(__linux__)

#include "library.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// The longest wait, in milliseconds. It only matters if a wakeup and libcurl's own timers were lost.
#define LONGEST_WAIT 10000
// What the loop's thread works on: nothing, or what its timers have asked for, which may be any connection.
#define NOTHING -1
#define TIMERS -2
// How long it may work on one, in microseconds of its own time, until that is done or has brought so many bytes of a
// body. Plain http knows no frames, but what is unpacked in one go there, for a slow reader, may be 64 megabytes.
#define LONGEST_TURN 50000
#define LONGEST_PLAIN_TURN 2000000
#define ENOUGH_BYTES (1 << 20)

static int note_wish(void *easy, int socket, int wish, void *context, void *unused) {
    (void)easy, (void)unused;
    ccurl_loop *loop = context;
    ccurl_watch *watch = ccurl_watch_of(loop, socket);
    if (!watch) return -1;
    watch->wanted = (wish & CCURL_POLL_IN ? EPOLLIN : 0) | (wish & CCURL_POLL_OUT ? EPOLLOUT : 0);
    // A connection that is kept will be wanted again, most often before anything comes on it.
    if (!watch->wanted && watch->is_own) return 0;
    return ccurl_loop_have_watched(loop, socket, watch, watch->wanted) ? 0 : -1;
}

static int note_timer(void *multi, long milliseconds, void *context) {
    (void)multi;
    ccurl_loop *loop = context;
    loop->due = milliseconds < 0 ? -1 : ccurl_now() + (int64_t)milliseconds * 1000;
    return 0;
}

ccurl_loop *ccurl_loop_new(void) {
    ccurl_loop *loop = calloc(1, sizeof *loop);
    if (!loop) return NULL;
    loop->due = loop->look_due = -1;
    atomic_init(&loop->worked_on, NOTHING);
    pthread_mutex_init(&loop->guard, NULL);
    loop->multi = ccurl_api.multi_init();
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->alarm = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = loop->alarm};
    if (!loop->multi || epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->alarm, &event) != 0) {
        ccurl_loop_free(loop);
        return NULL;
    }
    ccurl_api.multi_setopt(loop->multi, CCURLMOPT_SOCKETFUNCTION, note_wish);
    ccurl_api.multi_setopt(loop->multi, CCURLMOPT_SOCKETDATA, loop);
    ccurl_api.multi_setopt(loop->multi, CCURLMOPT_TIMERFUNCTION, note_timer);
    ccurl_api.multi_setopt(loop->multi, CCURLMOPT_TIMERDATA, loop);
    return loop;
}

void ccurl_loop_free(ccurl_loop *loop) {
    // First, because closing a TLS connection still writes to it.
    if (loop->multi) ccurl_api.multi_cleanup(loop->multi);
    if (loop->epoll >= 0) close(loop->epoll);
    if (loop->alarm >= 0) close(loop->alarm);
    free(loop->watches);
    pthread_mutex_destroy(&loop->guard);
    free(loop);
}

int ccurl_loop_set_long(ccurl_loop *loop, ccurl_multi_option option, long value) {
    return ccurl_api.multi_setopt(loop->multi, option, value);
}

static int wants_http1(const ccurl_loop *loop, uint64_t origin) {
    size_t known = loop->http1_count < CCURL_MOST_HTTP1_ORIGINS ? loop->http1_count : CCURL_MOST_HTTP1_ORIGINS;
    for (size_t i = 0; i < known; i++)
        if (loop->http1_origins[i] == origin) return 1;
    return 0;
}

// A server sends HTTP_1_1_REQUIRED where it cannot serve a request over HTTP/2 (RFC 9113, 7): one for which it needs
// the client's certificate, for instance.
static void note_http1(ccurl_loop *loop, uint64_t origin) {
    if (wants_http1(loop, origin)) return;
    loop->http1_origins[loop->http1_count++ % CCURL_MOST_HTTP1_ORIGINS] = origin;
}

int ccurl_loop_add(ccurl_loop *loop, ccurl_transfer *transfer) {
    transfer->started = ccurl_now();
    if (wants_http1(loop, transfer->origin)) {
        ccurl_api.easy_setopt(transfer->easy, CCURLOPT_HTTP_VERSION, (long)CCURL_HTTP_VERSION_1_1);
        transfer->is_special = 1;
    }
    return ccurl_api.multi_add_handle(loop->multi, transfer->easy);
}

void ccurl_loop_remove(ccurl_loop *loop, ccurl_transfer *transfer) {
    int may_look_up = transfer->sockets == 0 && transfer->tries == 0 && !transfer->first_byte;
    if (may_look_up && !ccurl_leaves_lookups()) {
        // Removed, libcurl would wait for the end of the lookup, and all other transfers with it. Left where it is, the
        // handle finds that it may not open a socket; then it goes.
        ccurl_transfer_orphan(transfer);
        loop->orphans++;
        return;
    }
    // A connection that is closed because nobody waits for the answer any more is not one that has died.
    ccurl_loop_release(loop, transfer);
    ccurl_upload_forget(transfer);
    ccurl_api.multi_remove_handle(loop->multi, transfer->easy);
    transfer->is_special = 1;
}

int ccurl_loop_is_busy(const ccurl_loop *loop) { return loop->orphans > 0; }

ccurl_code ccurl_loop_resume(ccurl_loop *loop, ccurl_transfer *transfer) {
    transfer->is_paused = 0;
    ccurl_code result = ccurl_api.easy_pause(transfer->easy, CCURLPAUSE_CONT);
    // Not every version has its timer set by that.
    loop->due = ccurl_now();
    // A transfer that is about to begin anew, on another connection, has nothing to go on with yet.
    return result == CCURLE_BAD_FUNCTION_ARGUMENT ? CCURLE_OK : result;
}

void ccurl_loop_wait(ccurl_loop *loop, int may_wait) {
    int64_t wait = may_wait ? LONGEST_WAIT : 0;
    int64_t due = loop->due < 0 || (loop->look_due >= 0 && loop->look_due < loop->due) ? loop->look_due : loop->due;
    if (may_wait && due >= 0) {
        int64_t left = (due - ccurl_now() + 999) / 1000;
        wait = left < 0 ? 0 : left < wait ? left : wait;
    }
    loop->count = epoll_wait(loop->epoll, loop->events, CCURL_MOST_EVENTS, (int)wait);
}

static void act(ccurl_loop *loop, int socket, int ready, int worked_on) {
    int running;
    atomic_fetch_add_explicit(&loop->turn, 1, memory_order_relaxed);
    atomic_store_explicit(&loop->worked_on, worked_on, memory_order_release);
    ccurl_api.multi_socket_action(loop->multi, socket, ready, &running);
    atomic_store_explicit(&loop->worked_on, NOTHING, memory_order_relaxed);
}

void ccurl_loop_note_body(ccurl_loop *loop, size_t count) {
    loop->taken += count;
    if (loop->taken < ENOUGH_BYTES) return;
    loop->taken = 0;
    atomic_fetch_add_explicit(&loop->turn, 1, memory_order_relaxed);
}

static void handle(ccurl_loop *loop, struct epoll_event event) {
    int socket = event.data.fd;
    if (socket == loop->alarm) {
        uint64_t calls;
        // There is nothing to do about a failure: it means that nobody has called.
        if (read(socket, &calls, sizeof calls) < 0) return;
        return;
    }
    ccurl_watch *watch = &loop->watches[socket];
    if (!watch->wanted) {
        ccurl_loop_have_watched(loop, socket, watch, 0);
        return;
    }
    if (event.events & EPOLLIN) {
        watch->heard = ccurl_now();
        watch->is_doubtful = 0;
    }
    int ready = (event.events & EPOLLIN ? CCURL_CSELECT_IN : 0) | (event.events & EPOLLOUT ? CCURL_CSELECT_OUT : 0);
    // With 0 libcurl finds out by itself what is wrong.
    if (event.events & (EPOLLERR | EPOLLHUP)) ready = 0;
    act(loop, socket, ready, socket);
}

void ccurl_loop_work(ccurl_loop *loop) {
    for (int i = 0; i < loop->count; i++) handle(loop, loop->events[i]);
    loop->count = 0;
    if (loop->due < 0 || loop->due > ccurl_now()) return;
    loop->due = -1;
    act(loop, CCURL_SOCKET_TIMEOUT, 0, TIMERS);
}

// The connection with the most bytes that nobody has read yet: a flood comes faster than it is worked off.
static int fullest(ccurl_loop *loop) {
    int found = -1, most = 0;
    for (size_t i = 0; i < loop->capacity; i++) {
        int count = 0;
        if (!loop->watches[i].is_own || ioctl((int)i, FIONREAD, &count) != 0 || count <= most) continue;
        found = (int)i;
        most = count;
    }
    return found;
}

// libcurl reads a connection until nothing is left on it. A server that sends HTTP/2 frames without meaning, faster
// than they can be read, keeps the thread there for as long as it likes; no cancel, no timeout and no other server gets
// its turn. Only another thread can end that: once the connection is shut down there is nothing left to read. The time
// that counts is the thread's own, so a busy machine does no harm. The guard keeps the descriptor from being closed,
// and given to somebody else, at this moment.
int ccurl_loop_watch(ccurl_loop *loop) {
    if (!atomic_load_explicit(&loop->has_clock, memory_order_acquire)) return 0;
    int worked_on = atomic_load_explicit(&loop->worked_on, memory_order_acquire);
    if (worked_on == NOTHING) return 0;
    unsigned turn = atomic_load_explicit(&loop->turn, memory_order_relaxed);
    struct timespec time;
    if (clock_gettime(loop->clock, &time) != 0) return 0;
    int64_t now = (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
    if (turn != loop->watched_turn) {
        loop->watched_turn = turn;
        loop->watched_from = now;
        return 1;
    }
    int64_t spent = now - loop->watched_from;
    if (spent < LONGEST_TURN) return 1;
    pthread_mutex_lock(&loop->guard);
    if (atomic_load(&loop->turn) == turn && atomic_load(&loop->worked_on) == worked_on) {
        int socket = worked_on == TIMERS ? fullest(loop) : worked_on;
        if (socket >= 0 && (loop->watches[socket].is_encrypted || spent > LONGEST_PLAIN_TURN))
            shutdown(socket, SHUT_RDWR);
    }
    pthread_mutex_unlock(&loop->guard);
    return 1;
}

void ccurl_loop_wake(ccurl_loop *loop) {
    uint64_t one = 1;
    // It only fails if so many calls wait that one more makes no difference.
    if (write(loop->alarm, &one, sizeof one) < 0) return;
}

ccurl_transfer *ccurl_loop_next_ended(ccurl_loop *loop, ccurl_code *result) {
    int left;
    ccurl_message *message;
    while ((message = ccurl_api.multi_info_read(loop->multi, &left))) {
        if (message->msg != CCURLMSG_DONE) continue;
        *result = message->data.result;
        ccurl_transfer *transfer = NULL;
        ccurl_api.easy_getinfo(message->easy, CCURLINFO_PRIVATE, &transfer);
        if (!transfer) {
            void *easy = message->easy;
            ccurl_api.multi_remove_handle(loop->multi, easy);
            ccurl_api.easy_cleanup(easy);
            loop->orphans--;
            continue;
        }
        ccurl_loop_keep(loop, transfer);
        ccurl_loop_release(loop, transfer);
        ccurl_api.multi_remove_handle(loop->multi, transfer->easy);
        if (transfer->objection == CCURL_SETTLED || ccurl_upload_is_response(transfer, *result)) *result = CCURLE_OK;
        ccurl_upload_forget(transfer);
        if (transfer->repetition == CCURL_DOWNGRADED) note_http1(loop, transfer->origin);
        if (*result != CCURLE_OK) transfer->is_special = 1;
        if (transfer->objection != CCURL_STALE) return transfer;
        // Of the old connection nothing was used.
        ccurl_transfer_refresh(transfer);
        if (ccurl_api.multi_add_handle(loop->multi, transfer->easy) == 0) continue;
        *result = CCURLE_OUT_OF_MEMORY;
        return transfer;
    }
    ccurl_transfer *complete = ccurl_upload_next_complete(loop);
    if (!complete) return NULL;
    ccurl_loop_remove(loop, complete);
    *result = CCURLE_OK;
    return complete;
}

void ccurl_loop_enter(ccurl_loop *loop, const char *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
    if (pthread_getcpuclockid(pthread_self(), &loop->clock) == 0)
        atomic_store_explicit(&loop->has_clock, 1, memory_order_release);
}

#endif
