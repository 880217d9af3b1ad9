// The loop that runs libcurl's transfers on one thread.
//
// Why not libcurl's own, curl_multi_poll and curl_multi_perform? They came first here. With them, the cost of a turn
// grows with what is open, since each goes over all sockets and transfers; with epoll it grows with what has happened.
// What was built on it since needs a loop that deals with sockets one by one:
// - a connection that libcurl keeps stays watched, since it is usually used again before anything comes on it;
// - the loop knows when bytes last came on a connection, and gives no more requests to one that stays silent;
// - it knows which connection the thread works on, so that another thread can end a flood on it.
#include "ccurl.h"

#if defined(__linux__)

#include "callbacks.h"
#include "ccurl_decisions.h"
#include "inheritance.h"
#include "library.h"
#include "turn.h"
#include "unread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

// How many lookups may hang before others have to wait for them.
#define MOST_LOOKUPS 1000L
// How many requests share a connection at most: libcurl's own limit.
#define MOST_STREAMS 100L

// MARK: What libcurl asks for

static int note_wanted(void *easy, int socket, int events, void *context, void *unused) {
    (void)easy, (void)unused;
    ccurl_loop *loop = context;
    ccurl_watch *watch = ccurl_watch_of(&loop->sockets, socket);
    if (!watch) return -1;
    // One of libcurl's own, for a lookup.
    if (!watch->is_own) ccurl_keep_from_children(socket);
    watch->wanted = (events & CCURL_POLL_IN ? EPOLLIN : 0) | (events & CCURL_POLL_OUT ? EPOLLOUT : 0);
    // A connection that is kept will be wanted again, most often before anything comes on it.
    if (!watch->wanted && watch->is_own) return 0;
    // Not -1: libcurl would end every transfer of the loop, and then use some of them.
    if (!ccurl_sockets_watch(&loop->sockets, socket, watch, watch->wanted)) loop->has_unwatched = true;
    return 0;
}

static int note_timer(void *multi, long milliseconds, void *context) {
    (void)multi;
    ccurl_loop *loop = context;
    // Mostly at once: that needs no clock.
    loop->due = milliseconds > 0 ? ccurl_now() + (int64_t)milliseconds * 1000 : milliseconds;
    return 0;
}

// MARK: From beginning to end

ccurl_loop *ccurl_loop_new(ccurl_handles *handles, int number) {
    ccurl_loop *loop = calloc(1, sizeof *loop);
    if (!loop) return NULL;
    loop->due = loop->early.due = loop->handshake_due = loop->sockets.unread_due = -1;
    ccurl_flood_init(&loop->flood);
    pthread_mutex_init(&loop->sockets.guard, NULL);
    loop->sockets.lists = calloc(CCURL_PORTS, sizeof *loop->sockets.lists);
    loop->number = number;
    loop->handles = ccurl_handles_hold(handles);
    loop->multi = ccurl_new_multi();
    loop->sockets.epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->alarm = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    // Each call is an event of its own, so none has to be read away.
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = loop->alarm};
    bool is_whole = loop->multi && loop->sockets.lists;
    if (!is_whole || epoll_ctl(loop->sockets.epoll, EPOLL_CTL_ADD, loop->alarm, &event) != 0) {
        ccurl_loop_free(loop);
        return NULL;
    }
    ccurl_api.multi_setopt(loop->multi, CCURLMOPT_SOCKETFUNCTION, note_wanted);
    ccurl_api.multi_setopt(loop->multi, CCURLMOPT_SOCKETDATA, loop);
    ccurl_api.multi_setopt(loop->multi, CCURLMOPT_TIMERFUNCTION, note_timer);
    ccurl_api.multi_setopt(loop->multi, CCURLMOPT_TIMERDATA, loop);
    // From 8.20 on the threads of lookups belong to the multi handle, which would wait for them at its end, and gives
    // no more than twenty by itself. An older libcurl refuses both.
    ccurl_api.multi_setopt(loop->multi, CCURLMOPT_QUICK_EXIT, 1L);
    ccurl_api.multi_setopt(loop->multi, CCURLMOPT_RESOLVE_THREADS_MAX, MOST_LOOKUPS);
    return loop;
}

// Lets go of a handle that was left to libcurl.
static void let_go(ccurl_loop *loop, void *easy, ccurl_code result) {
    ccurl_api.multi_remove_handle(loop->multi, easy);
    ccurl_lookups_end(&loop->lookups, easy, result);
}

void ccurl_loop_free(ccurl_loop *loop) {
    for (void *easy; (easy = ccurl_lookups_first(&loop->lookups));) let_go(loop, easy, CCURLE_OK);
    for (ccurl_lookup lookup; ccurl_lookups_take_ended(&loop->lookups, &lookup);) {}
    // First, because closing a TLS connection still writes to it.
    if (loop->multi) ccurl_api.multi_cleanup(loop->multi);
    if (loop->sockets.epoll >= 0) close(loop->sockets.epoll);
    if (loop->alarm >= 0) close(loop->alarm);
    ccurl_handles_clean_up(loop->handles, loop->number);
    ccurl_handles_release(loop->handles);
    free(loop->sockets.watches);
    free(loop->sockets.lists);
    pthread_mutex_destroy(&loop->sockets.guard);
    free(loop);
}

void ccurl_loop_set_long(ccurl_loop *loop, ccurl_multi_option option, long value) {
    ccurl_api.multi_setopt(loop->multi, option, value);
}

// MARK: Transfers come and go

ccurl_transfer *ccurl_transfer_new(ccurl_handles *handles) {
    ccurl_transfer *transfer = ccurl_transfer_create(handles);
    if (transfer) ccurl_callbacks_install(transfer);
    return transfer;
}

bool ccurl_transfer_reset(ccurl_transfer *transfer) {
    if (!ccurl_transfer_renew(transfer)) return false;
    if (transfer->setup == CCURL_BARE) ccurl_callbacks_install(transfer);
    return true;
}

// Has the transfer, which may have been on another loop, belong to this one, and with it the connection that it opens.
static void take_over(ccurl_loop *loop, ccurl_transfer *transfer) {
    transfer->loop = loop;
    transfer->loop_number = loop->number;
    transfer->connecting = &loop->flood.connecting;
    // Not the transfer: a connection may be closed long after it.
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_CLOSESOCKETDATA, loop);
}

static void limit_streams(ccurl_loop *loop, long count) {
    ccurl_api.multi_setopt(loop->multi, CCURLMOPT_MAX_CONCURRENT_STREAMS, count);
}

// Gives libcurl a transfer that is started.
//
// A streamed response may stay unread. Over HTTP/2 and HTTP/3 the server may then send as much as libcurl has allowed
// for a stream, which is 32 MB with 7.88, and libcurl keeps it in memory if it reads the connection for others. So a
// connection never has two of them: each begins on a connection that is idle, or on a new one. Requests whose
// responses are collected may join it. With none of these, libcurl does not read while the stream is paused.
//
// There is no option for that, but libcurl adds no request to a connection that has as many as may be at once, and it
// looks for a connection as soon as it works on a transfer that was added. So it does that here, under a limit of one.
static bool give(ccurl_loop *loop, ccurl_transfer *transfer) {
    bool begins_alone = ccurl_transfer_begins_alone(transfer);
    if (begins_alone) {
        // Those that were added before may share.
        ccurl_turn_begin_added(loop);
        limit_streams(loop, 1);
    }
    bool is_added = ccurl_api.multi_add_handle(loop->multi, transfer->easy) == 0;
    if (begins_alone) {
        if (is_added) ccurl_turn_begin_added(loop);
        limit_streams(loop, MOST_STREAMS);
    }
    if (!is_added) ccurl_transfer_end(transfer, false);
    return is_added;
}

static void choose_read_size(ccurl_loop *loop, ccurl_transfer *transfer) {
    bool has_large = ccurl_origins_contains(&loop->large, transfer->request.origin);
    long size = ccurl_read_size(ccurl_transfer_is_streamed(transfer), has_large);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_BUFFERSIZE, size);
}

static void note_size(ccurl_loop *loop, ccurl_transfer *transfer) {
    if (ccurl_transfer_is_streamed(transfer)) return;
    if (ccurl_transfer_get_offset(transfer, CCURLINFO_SIZE_DOWNLOAD_T) <= CCURL_SMALL_READ) return;
    ccurl_origins_add(&loop->large, transfer->request.origin);
}

bool ccurl_loop_may_use_http3(const ccurl_loop *loop, const ccurl_transfer *transfer) {
    const ccurl_request *request = &transfer->request;
    return request->may_use_http3 && !ccurl_handles_have_http1(loop->handles, request->origin);
}

bool ccurl_loop_has_http3(const ccurl_loop *loop, uint64_t to) { return ccurl_sockets_have_http3(&loop->sockets, to); }

static void choose_connection(ccurl_loop *loop, ccurl_transfer *transfer, bool may_share) {
    may_share = may_share && !ccurl_transfer_begins_alone(transfer);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_PIPEWAIT, may_share ? 1L : 0L);
    if (ccurl_handles_have_http1(loop->handles, transfer->request.origin)) ccurl_transfer_downgrade(transfer);
}

bool ccurl_loop_add_again(ccurl_loop *loop, ccurl_transfer *transfer, bool may_share) {
    choose_connection(loop, transfer, may_share);
    ccurl_transfer_restart(transfer, CCURL_LACKING_HTTP3);
    return give(loop, transfer);
}

bool ccurl_loop_add(ccurl_loop *loop, ccurl_transfer *transfer, bool may_share) {
    take_over(loop, transfer);
    choose_read_size(loop, transfer);
    choose_connection(loop, transfer, may_share);
    ccurl_transfer_start(transfer);
    return give(loop, transfer);
}

bool ccurl_loop_next_lookup(ccurl_loop *loop, ccurl_lookup *lookup) {
    return ccurl_lookups_take_ended(&loop->lookups, lookup);
}

bool ccurl_loop_leave_lookup(ccurl_loop *loop, ccurl_transfer *transfer) {
    return ccurl_transfer_may_look_up(transfer) && ccurl_lookups_leave(&loop->lookups, transfer);
}

// Separates a transfer from the rest of the loop, and has libcurl let go of it.
static void detach(ccurl_loop *loop, ccurl_transfer *transfer) {
    // First, because a connection that libcurl closes now has not died.
    ccurl_sockets_release(&loop->sockets, &transfer->connection);
    ccurl_api.multi_remove_handle(loop->multi, transfer->easy);
    if (transfer->request.is_encrypted) ccurl_unread_note(&loop->sockets, &transfer->connection, ccurl_now());
}

static void forget(ccurl_loop *loop, ccurl_transfer *transfer) {
    ccurl_early_forget(&loop->early, transfer);
    ccurl_fairness_forget(&loop->fairness, &transfer->rest);
}

void ccurl_loop_remove(ccurl_loop *loop, ccurl_transfer *transfer) {
    // If it were removed, an older libcurl would wait for the end of the lookup, and all other transfers with it. Left
    // where it is, the handle finds that it may not open a socket; then it ends.
    if (!ccurl_leaves_lookups() && ccurl_loop_leave_lookup(loop, transfer)) return;
    forget(loop, transfer);
    if (transfer->is_paused && ccurl_leaks_paused()) ccurl_transfer_discard(transfer);
    detach(loop, transfer);
    ccurl_transfer_end(transfer, false);
}

bool ccurl_loop_note_timeout(ccurl_loop *loop, ccurl_transfer *transfer, int64_t limit) {
    // What is not read because its reader is slow may have come.
    if (transfer->is_paused) return false;
    int64_t now = ccurl_now(), started = transfer->started;
    if (!ccurl_sockets_exclude_silent(&loop->sockets, &transfer->connection, now, started, limit)) return false;
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_FORBID_REUSE, 1L);
    return true;
}

bool ccurl_loop_has_lookups(const ccurl_loop *loop) { return ccurl_lookups_first(&loop->lookups); }

bool ccurl_loop_is_busy(const ccurl_loop *loop) { return ccurl_loop_has_lookups(loop) && !ccurl_leaves_lookups(); }

ccurl_code ccurl_loop_resume(ccurl_loop *loop, ccurl_transfer *transfer) {
    ccurl_fairness_forget(&loop->fairness, &transfer->rest);
    // libcurl may hand over what it has kept back right away: that has a share of its own.
    ccurl_fairness_begin(&loop->fairness);
    ccurl_code result = ccurl_transfer_resume(transfer);
    // Not every version sets its timer then.
    loop->due = ccurl_now();
    // A transfer that is about to start again, on another connection, has nothing to resume yet.
    return result == CCURLE_BAD_FUNCTION_ARGUMENT ? CCURLE_OK : result;
}

ccurl_transfer *ccurl_loop_next_rested(ccurl_loop *loop) {
    ccurl_rest *rest = ccurl_fairness_next(&loop->fairness);
    return rest ? ccurl_transfer_with_rest(rest) : NULL;
}

void ccurl_loop_renew_handles(ccurl_loop *loop) { ccurl_handles_renew(loop->handles, loop->number); }

// Notes which connection of HTTP/1 a transfer that has ended leaves for the next: at the end, libcurl names the socket.
static void keep_connection(ccurl_loop *loop, ccurl_transfer *transfer) {
    int socket = -1;
    if (ccurl_api.easy_getinfo(transfer->easy, CCURLINFO_ACTIVESOCKET, &socket) != CCURLE_OK) return;
    long version = ccurl_transfer_get_long(transfer, CCURLINFO_HTTP_VERSION);
    if (version != CCURL_HTTP_VERSION_1_0 && version != CCURL_HTTP_VERSION_1_1) return;
    transfer->connection.is_left = socket >= 0;
    ccurl_sockets_keep(&loop->sockets, &transfer->connection, socket);
}

// Notes that a transfer has ended with its connection. libcurl may keep one of HTTP/3 nevertheless.
static void note_end(ccurl_loop *loop, ccurl_transfer *transfer) {
    if (!ccurl_sockets_is_http3(&loop->sockets, &transfer->connection)) return;
    ccurl_sockets_note_end(&loop->sockets, &transfer->connection);
    if (ccurl_transfer_can_begin_again(transfer)) ccurl_transfer_give_reason(transfer, CCURL_LACKING_HTTP3);
}

// Has libcurl let go of a transfer that it has ended with `result`. Returns what the result is to the caller.
static ccurl_code finish(ccurl_loop *loop, ccurl_transfer *transfer, ccurl_code result) {
    note_size(loop, transfer);
    // It was about to be sent again; newer versions of libcurl read its body again before they connect.
    if (result == CCURLE_SEND_FAIL_REWIND)
        ccurl_sockets_note_repetition(&loop->sockets, &transfer->connection, transfer->request.origin);
    if (result == CCURLE_RECV_ERROR || result == CCURLE_SEND_ERROR) note_end(loop, transfer);
    keep_connection(loop, transfer);
    detach(loop, transfer);
    bool is_settled = transfer->reason == CCURL_SETTLED;
    if (is_settled || ccurl_early_is_response(transfer, result)) result = CCURLE_OK;
    forget(loop, transfer);
    if (transfer->repetition == CCURL_DOWNGRADED) ccurl_handles_note_http1(loop->handles, transfer->request.origin);
    ccurl_transfer_end(transfer, result == CCURLE_OK);
    return result;
}

// Returns a transfer that need not send the rest of its body, because its response is complete; NULL if there is none.
static ccurl_transfer *next_complete(ccurl_loop *loop) {
    loop->early.due = -1;
    if (!loop->early.first) return NULL;
    int64_t now = ccurl_now();
    for (ccurl_transfer *transfer = loop->early.first; transfer; transfer = transfer->early.next) {
        switch (ccurl_early_next_step(&loop->early, transfer, now)) {
        case CCURL_COMPLETE: return transfer;
        case CCURL_LEAVE: break;
        case CCURL_PROBE:
            // Only a change of what is paused makes libcurl send.
            ccurl_api.easy_pause(transfer->easy, CCURLPAUSE_SEND);
            ccurl_loop_resume(loop, transfer);
        }
    }
    return NULL;
}

ccurl_transfer *ccurl_loop_next_ended(ccurl_loop *loop, ccurl_code *result) {
    int left;
    ccurl_message *message;
    while ((message = ccurl_api.multi_info_read(loop->multi, &left))) {
        if (message->msg != CCURLMSG_DONE) continue;
        ccurl_transfer *transfer = NULL;
        ccurl_api.easy_getinfo(message->easy, CCURLINFO_PRIVATE, &transfer);
        if (!transfer) {
            let_go(loop, message->easy, message->data.result);
            continue;
        }
        *result = finish(loop, transfer, message->data.result);
        if (transfer->reason != CCURL_STALE) return transfer;
        // Nothing was sent on the stale connection.
        ccurl_transfer_restart(transfer, CCURL_STALE);
        if (give(loop, transfer)) continue;
        *result = CCURLE_OUT_OF_MEMORY;
        return transfer;
    }
    ccurl_transfer *complete = next_complete(loop);
    if (!complete) return NULL;
    ccurl_loop_remove(loop, complete);
    *result = CCURLE_OK;
    return complete;
}

#endif
