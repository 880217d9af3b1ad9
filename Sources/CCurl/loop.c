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

#include "library.h"
#include "transfer.h"
#include "turn.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

// How much libcurl reads at once: what most responses fit into; and for streams, and for servers whose responses are
// larger, as much as makes a difference. Until 8.6 each transfer allocates that much and frees it, and from 64 KB on,
// glibc's free tidies up each time.
#define SMALL_READ (16 << 10)
#define LARGE_READ (100 << 10)
// How many lookups may hang before others have to wait for them.
#define MOST_LOOKUPS 1000L

ccurl_sockets *ccurl_loop_sockets(ccurl_loop *loop) { return &loop->sockets; }
ccurl_handles *ccurl_loop_handles(ccurl_loop *loop) { return loop->handles; }
ccurl_answered *ccurl_loop_answered(ccurl_loop *loop) { return &loop->answered; }
ccurl_fairness *ccurl_loop_fairness(ccurl_loop *loop) { return &loop->fairness; }
ccurl_flood *ccurl_loop_flood(ccurl_loop *loop) { return &loop->flood; }
bool ccurl_loop_is_on_callers_thread(const ccurl_loop *loop) { return loop->is_on_callers_thread; }

bool ccurl_loop_has_file(ccurl_loop *loop, const char *file) {
    if (atomic_load_explicit(&loop->has_file, memory_order_relaxed)) return true;
    if (access(file, R_OK) != 0) return false;
    atomic_store_explicit(&loop->has_file, true, memory_order_relaxed);
    return true;
}

// MARK: What libcurl asks for

static int note_wanted(void *easy, int socket, int events, void *context, void *unused) {
    (void)easy, (void)unused;
    ccurl_loop *loop = context;
    ccurl_watch *watch = ccurl_watch_of(&loop->sockets, socket);
    if (!watch) return -1;
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
    loop->due = milliseconds < 0 ? -1 : ccurl_now() + (int64_t)milliseconds * 1000;
    return 0;
}

// MARK: From beginning to end

ccurl_loop *ccurl_loop_new(void) {
    ccurl_loop *loop = calloc(1, sizeof *loop);
    if (!loop) return NULL;
    loop->due = loop->answered.due = loop->handshake_due = loop->sockets.unread_due = -1;
    ccurl_flood_init(&loop->flood);
    pthread_mutex_init(&loop->sockets.guard, NULL);
    loop->sockets.lists = calloc(CCURL_PORTS, sizeof *loop->sockets.lists);
    loop->handles = ccurl_handles_new();
    loop->multi = ccurl_api.multi_init();
    loop->sockets.epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->alarm = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    // Each call is an event of its own, so none has to be read away.
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = loop->alarm};
    bool is_whole = loop->multi && loop->sockets.lists && loop->handles;
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

// Gives libcurl a transfer that is started.
static bool give(ccurl_loop *loop, ccurl_transfer *transfer) {
    if (ccurl_api.multi_add_handle(loop->multi, ccurl_transfer_easy(transfer)) == 0) return true;
    ccurl_transfer_end(transfer, false);
    return false;
}

static void choose_read_size(ccurl_loop *loop, ccurl_transfer *transfer) {
    bool is_large = ccurl_transfer_is_streamed(transfer) ||
                    ccurl_origins_contains(&loop->large, ccurl_transfer_request(transfer).origin);
    long size = is_large ? LARGE_READ : SMALL_READ;
    ccurl_api.easy_setopt(ccurl_transfer_easy(transfer), CCURLOPT_BUFFERSIZE, size);
}

static void note_size(ccurl_loop *loop, ccurl_transfer *transfer) {
    if (ccurl_transfer_is_streamed(transfer)) return;
    if (ccurl_transfer_get_offset(transfer, CCURLINFO_SIZE_DOWNLOAD_T) <= SMALL_READ) return;
    ccurl_origins_add(&loop->large, ccurl_transfer_request(transfer).origin);
}

bool ccurl_loop_may_use_http3(const ccurl_loop *loop, const ccurl_transfer *transfer) {
    ccurl_request request = ccurl_transfer_request(transfer);
    return request.may_use_http3 && !ccurl_origins_contains(&loop->http1, request.origin);
}

bool ccurl_loop_has_http3(const ccurl_loop *loop, uint64_t to) { return ccurl_sockets_have_http3(&loop->sockets, to); }

static void choose_connection(ccurl_loop *loop, ccurl_transfer *transfer, bool may_share) {
    ccurl_api.easy_setopt(ccurl_transfer_easy(transfer), CCURLOPT_PIPEWAIT, may_share ? 1L : 0L);
    if (ccurl_origins_contains(&loop->http1, ccurl_transfer_request(transfer).origin))
        ccurl_transfer_downgrade(transfer);
}

bool ccurl_loop_add_again(ccurl_loop *loop, ccurl_transfer *transfer, bool may_share) {
    choose_connection(loop, transfer, may_share);
    ccurl_transfer_restart_without(transfer);
    return give(loop, transfer);
}

bool ccurl_loop_add(ccurl_loop *loop, ccurl_transfer *transfer, bool may_share) {
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

void ccurl_loop_remove(ccurl_loop *loop, ccurl_transfer *transfer) {
    // If it were removed, an older libcurl would wait for the end of the lookup, and all other transfers with it. Left
    // where it is, the handle finds that it may not open a socket; then it ends.
    if (!ccurl_leaves_lookups() && ccurl_loop_leave_lookup(loop, transfer)) return;
    // First, because a connection that libcurl closes now has not died.
    ccurl_sockets_release(&loop->sockets, transfer);
    ccurl_upload_forget(transfer);
    ccurl_fairness_forget(transfer);
    ccurl_api.multi_remove_handle(loop->multi, ccurl_transfer_easy(transfer));
    ccurl_unread_note(&loop->sockets, transfer);
    ccurl_transfer_end(transfer, false);
}

bool ccurl_loop_note_timeout(ccurl_loop *loop, ccurl_transfer *transfer, int64_t limit) {
    return ccurl_sockets_note_timeout(&loop->sockets, transfer, limit);
}

bool ccurl_loop_is_busy(const ccurl_loop *loop) {
    return ccurl_lookups_first(&loop->lookups) && !ccurl_leaves_lookups();
}

ccurl_code ccurl_loop_resume(ccurl_loop *loop, ccurl_transfer *transfer) {
    ccurl_fairness_forget(transfer);
    // libcurl may hand over what it has kept back right away: that has a share of its own.
    ccurl_fairness_begin(loop);
    ccurl_code result = ccurl_transfer_resume(transfer);
    // Not every version sets its timer then.
    loop->due = ccurl_now();
    // A transfer that is about to start again, on another connection, has nothing to resume yet.
    return result == CCURLE_BAD_FUNCTION_ARGUMENT ? CCURLE_OK : result;
}

// Has libcurl let go of a transfer that it has ended with `result`. Returns what the result is to the caller.
static ccurl_code finish(ccurl_loop *loop, ccurl_transfer *transfer, ccurl_code result) {
    note_size(loop, transfer);
    if (result == CCURLE_RECV_ERROR || result == CCURLE_SEND_ERROR) ccurl_sockets_note_end(&loop->sockets, transfer);
    ccurl_sockets_keep(&loop->sockets, transfer);
    ccurl_sockets_release(&loop->sockets, transfer);
    ccurl_api.multi_remove_handle(loop->multi, ccurl_transfer_easy(transfer));
    ccurl_unread_note(&loop->sockets, transfer);
    bool is_settled = ccurl_transfer_reason(transfer) == CCURL_SETTLED;
    if (is_settled || ccurl_upload_is_response(transfer, result)) result = CCURLE_OK;
    ccurl_upload_forget(transfer);
    ccurl_fairness_forget(transfer);
    if (ccurl_transfer_repetition(transfer) == CCURL_DOWNGRADED)
        ccurl_origins_add(&loop->http1, ccurl_transfer_request(transfer).origin);
    ccurl_transfer_end(transfer, result == CCURLE_OK);
    return result;
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
        if (ccurl_transfer_reason(transfer) != CCURL_STALE) return transfer;
        // Nothing was sent on the stale connection.
        ccurl_transfer_restart(transfer);
        if (give(loop, transfer)) continue;
        *result = CCURLE_OUT_OF_MEMORY;
        return transfer;
    }
    ccurl_transfer *complete = ccurl_upload_next_complete(loop);
    if (!complete) return NULL;
    ccurl_loop_remove(loop, complete);
    *result = CCURLE_OK;
    return complete;
}

#endif
