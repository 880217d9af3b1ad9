#include "ccurl.h"

#if defined(__linux__)

#include "library.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define OPT_CLOSESOCKETDATA 10209
#define OPT_CLOSESOCKETFUNCTION 20208
#define OPT_OPENSOCKETDATA 10164
#define OPT_OPENSOCKETFUNCTION 20163
#define MULTI_SOCKETDATA 10002
#define MULTI_SOCKETFUNCTION 20001
#define MULTI_TIMERDATA 10005
#define MULTI_TIMERFUNCTION 20004
#define INFO_PRIVATE 0x100015
#define INFO_TO_PORT 0x200028
#define INFO_FROM_PORT 0x20002A
#define INFO_SOCKET 0x50002C
#define MSG_DONE 1
#define OUT_OF_MEMORY 27
#define BAD_ARGUMENT 43
#define POLL_IN 1
#define POLL_OUT 2
#define POLL_REMOVE 4
#define SELECT_IN 1
#define SELECT_OUT 2
#define TIMEOUT -1

// The longest wait, in milliseconds. It only matters if a wakeup and libcurl's own timers were lost.
#define LONGEST_WAIT 10000
#define MOST_EVENTS 256

typedef struct watch {
    // What libcurl wants to be told of, and what epoll tells, as events of epoll.
    uint32_t wanted, watched;
    // Whether it was opened here, and so is known until it is closed.
    int is_own;
    // Of a connection that has been used: libcurl names it by its ports only, when it is to be used again.
    int to_port, from_port;
} watch;

struct ccurl_loop {
    void *multi;
    int epoll, alarm;
    // When libcurl wants to be called at the latest, in microseconds; -1 if it does not.
    int64_t due;
    // By descriptor.
    watch *watches;
    size_t capacity;
    int count;
    struct epoll_event events[MOST_EVENTS];
};

// As libcurl has it.
typedef struct {
    int family, type, protocol;
    unsigned length;
    struct sockaddr address;
} socket_address;

static watch *watch_of(ccurl_loop *loop, int socket) {
    if ((size_t)socket >= loop->capacity) {
        size_t capacity = (size_t)socket * 2 + 64;
        watch *moved = realloc(loop->watches, capacity * sizeof *moved);
        if (!moved) return NULL;
        memset(moved + loop->capacity, 0, (capacity - loop->capacity) * sizeof *moved);
        loop->watches = moved;
        loop->capacity = capacity;
    }
    return &loop->watches[socket];
}

// 0 if the system will not have it.
static int have_watched(ccurl_loop *loop, int socket, watch *watch, uint32_t events) {
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

static int note_wish(void *easy, int socket, int wish, void *context, void *unused) {
    (void)easy, (void)unused;
    ccurl_loop *loop = context;
    watch *watch = watch_of(loop, socket);
    if (!watch) return -1;
    watch->wanted = wish == POLL_REMOVE ? 0 : (wish & POLL_IN ? EPOLLIN : 0) | (wish & POLL_OUT ? EPOLLOUT : 0);
    // A connection that is kept will be wanted again, most often before anything comes on it.
    if (!watch->wanted && watch->is_own) return 0;
    return have_watched(loop, socket, watch, watch->wanted) ? 0 : -1;
}

static int note_timer(void *multi, long milliseconds, void *context) {
    (void)multi;
    ccurl_loop *loop = context;
    loop->due = milliseconds < 0 ? -1 : ccurl_now() + (int64_t)milliseconds * 1000;
    return 0;
}

static int open_socket(void *context, int purpose, socket_address *address) {
    (void)purpose;
    // A program that is started meanwhile is not to have it.
    int opened = socket(address->family, address->type | SOCK_CLOEXEC, address->protocol);
    watch *watch = opened < 0 ? NULL : watch_of(context, opened);
    if (watch) *watch = (struct watch){.is_own = 1};
    return opened;
}

static int close_socket(void *context, int socket) {
    ccurl_loop *loop = context;
    if ((size_t)socket < loop->capacity) {
        // Another process may have it too: closing it would not be enough.
        have_watched(loop, socket, &loop->watches[socket], 0);
        memset(&loop->watches[socket], 0, sizeof *loop->watches);
    }
    return close(socket);
}

// libcurl tells the socket at the end of a transfer only.
static void remember_connection(ccurl_loop *loop, ccurl_transfer *transfer) {
    int socket = -1;
    if (transfer->is_encrypted || ccurl_api.easy_getinfo(transfer->easy, INFO_SOCKET, &socket) != 0 || socket < 0) return;
    if ((size_t)socket >= loop->capacity || !loop->watches[socket].is_own) return;
    loop->watches[socket].to_port = (int)ccurl_get_long(transfer, INFO_TO_PORT);
    loop->watches[socket].from_port = (int)ccurl_get_long(transfer, INFO_FROM_PORT);
}

int ccurl_loop_has_surplus(ccurl_loop *loop, int to_port, int from_port) {
    char byte;
    for (size_t i = 0; i < loop->capacity; i++) {
        const watch *watch = &loop->watches[i];
        // Two hosts may be reached from one port: then a surplus of either is one too many.
        if (watch->from_port == from_port && watch->to_port == to_port && watch->is_own &&
            recv((int)i, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
            return 1;
    }
    return 0;
}

ccurl_loop *ccurl_loop_new(void) {
    ccurl_loop *loop = calloc(1, sizeof *loop);
    if (!loop) return NULL;
    loop->due = -1;
    loop->multi = ccurl_api.multi_init();
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->alarm = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = loop->alarm};
    if (!loop->multi || epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->alarm, &event) != 0) {
        ccurl_loop_free(loop);
        return NULL;
    }
    ccurl_api.multi_setopt(loop->multi, MULTI_SOCKETFUNCTION, note_wish);
    ccurl_api.multi_setopt(loop->multi, MULTI_SOCKETDATA, loop);
    ccurl_api.multi_setopt(loop->multi, MULTI_TIMERFUNCTION, note_timer);
    ccurl_api.multi_setopt(loop->multi, MULTI_TIMERDATA, loop);
    return loop;
}

void ccurl_loop_free(ccurl_loop *loop) {
    // First, because closing a TLS connection still writes to it.
    if (loop->multi) ccurl_api.multi_cleanup(loop->multi);
    if (loop->epoll >= 0) close(loop->epoll);
    if (loop->alarm >= 0) close(loop->alarm);
    free(loop->watches);
    free(loop);
}

int ccurl_loop_set_long(ccurl_loop *loop, int option, long value) {
    return ccurl_api.multi_setopt(loop->multi, option, value);
}

void ccurl_loop_adopt(ccurl_loop *loop, ccurl_transfer *transfer) {
    ccurl_api.easy_setopt(transfer->easy, OPT_OPENSOCKETFUNCTION, open_socket);
    ccurl_api.easy_setopt(transfer->easy, OPT_OPENSOCKETDATA, loop);
    ccurl_api.easy_setopt(transfer->easy, OPT_CLOSESOCKETFUNCTION, close_socket);
    ccurl_api.easy_setopt(transfer->easy, OPT_CLOSESOCKETDATA, loop);
}

int ccurl_loop_add(ccurl_loop *loop, ccurl_transfer *transfer) {
    transfer->started = ccurl_now();
    return ccurl_api.multi_add_handle(loop->multi, transfer->easy);
}

void ccurl_loop_remove(ccurl_loop *loop, ccurl_transfer *transfer) {
    ccurl_api.multi_remove_handle(loop->multi, transfer->easy);
    transfer->is_special = 1;
}

int ccurl_loop_resume(ccurl_loop *loop, ccurl_transfer *transfer) {
    int result = ccurl_api.easy_pause(transfer->easy, 0);
    // Not every version has its timer set by that.
    loop->due = ccurl_now();
    // A transfer that is about to begin anew, on another connection, has nothing to go on with yet.
    return result == BAD_ARGUMENT ? 0 : result;
}

void ccurl_loop_wait(ccurl_loop *loop, int may_wait) {
    int64_t wait = may_wait ? LONGEST_WAIT : 0;
    if (may_wait && loop->due >= 0) {
        int64_t left = (loop->due - ccurl_now() + 999) / 1000;
        wait = left < 0 ? 0 : left < wait ? left : wait;
    }
    loop->count = epoll_wait(loop->epoll, loop->events, MOST_EVENTS, (int)wait);
}

static void handle(ccurl_loop *loop, struct epoll_event event) {
    int socket = event.data.fd, running;
    if (socket == loop->alarm) {
        uint64_t calls;
        // There is nothing to do about a failure: it means that nobody has called.
        if (read(socket, &calls, sizeof calls) < 0) return;
        return;
    }
    watch *watch = &loop->watches[socket];
    if (!watch->wanted) {
        have_watched(loop, socket, watch, 0);
        return;
    }
    int ready = (event.events & EPOLLIN ? SELECT_IN : 0) | (event.events & EPOLLOUT ? SELECT_OUT : 0);
    // With 0 libcurl finds out by itself what is wrong.
    if (event.events & (EPOLLERR | EPOLLHUP)) ready = 0;
    ccurl_api.multi_socket_action(loop->multi, socket, ready, &running);
}

void ccurl_loop_work(ccurl_loop *loop) {
    for (int i = 0; i < loop->count; i++) handle(loop, loop->events[i]);
    loop->count = 0;
    if (loop->due < 0 || loop->due > ccurl_now()) return;
    loop->due = -1;
    int running;
    ccurl_api.multi_socket_action(loop->multi, TIMEOUT, 0, &running);
}

void ccurl_loop_wake(ccurl_loop *loop) {
    uint64_t one = 1;
    // It only fails if so many calls wait that one more makes no difference.
    if (write(loop->alarm, &one, sizeof one) < 0) return;
}

ccurl_transfer *ccurl_loop_next_ended(ccurl_loop *loop, int *result) {
    int left;
    ccurl_message *message;
    while ((message = ccurl_api.multi_info_read(loop->multi, &left))) {
        if (message->msg != MSG_DONE) continue;
        *result = message->data.result;
        ccurl_transfer *transfer = NULL;
        ccurl_api.easy_getinfo(message->easy, INFO_PRIVATE, &transfer);
        remember_connection(loop, transfer);
        ccurl_api.multi_remove_handle(loop->multi, transfer->easy);
        if (transfer->objection == CCURL_SETTLED) *result = 0;
        if (*result != 0) transfer->is_special = 1;
        if (transfer->objection != CCURL_STALE) return transfer;
        // Of the old connection nothing was used.
        ccurl_transfer_refresh(transfer);
        if (ccurl_api.multi_add_handle(loop->multi, transfer->easy) == 0) continue;
        *result = OUT_OF_MEMORY;
        return transfer;
    }
    return NULL;
}

void ccurl_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

#endif
