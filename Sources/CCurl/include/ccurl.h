// The part of libcurl that the transport uses. It is opened at run time, so nothing has to be installed to build.
//
// Swift cannot call libcurl's variadic functions: each kind of argument has a wrapper here.
#ifndef CCURL_H
#define CCURL_H

#include "ccurl_numbers.h"

#include <stddef.h>
#include <stdint.h>

// Opens the library, once in a process. Returns 0, or not 0 if there is no libcurl or one that is too old.
int ccurl_open(void);
// What is wrong, when ccurl_open returned not 0.
const char *ccurl_problem(void);
// The version as text.
const char *ccurl_version(void);

// How far a transfer has come.
enum { CCURL_CONNECTED = 1, CCURL_HEAD_COMPLETE = 2 };

// Why the shim has ended a transfer.
enum {
    CCURL_HEAD_TOO_LARGE = 1,
    CCURL_BODY_TOO_LARGE,
    // Two Content-Lengths that differ: whoever wrote one of them takes other bytes for the next answer.
    CCURL_TWO_LENGTHS,
    // A Content-Length that is not one number: libcurl would read the digits it begins with and cut the body there.
    CCURL_BAD_LENGTH,
    // More bytes after a chunked body than a head may have.
    CCURL_TRAILER_TOO_LARGE,
    // The server changes to a protocol that nobody has asked for.
    CCURL_UPGRADED,
    // This is the answer, though libcurl would send the request again: it does after a 417.
    CCURL_SETTLED,
    // The connection that was to be used again is not fit for that. Nothing was sent.
    CCURL_STALE,
    // libcurl was about to send the request a second time.
    CCURL_REPEATED,
};

// Why libcurl was about to.
enum {
    // The connection that was kept has died under the request.
    CCURL_DIED = 1,
    // The server has said that it did not work on the request (HTTP/2's REFUSED_STREAM).
    CCURL_REFUSED,
    // The server wants HTTP/1.1 for it (HTTP/2's HTTP_1_1_REQUIRED). The loop uses that for later requests to its
    // origin.
    CCURL_DOWNGRADED,
};

// What a hook returns, in the place of a count, to be called again after ccurl_loop_resume; or to end the transfer.
enum { CCURL_PAUSE = -1, CCURL_ABORT = -2 };

// What is told about a transfer while it runs, on the thread of the loop. Each may be NULL.
typedef struct {
    void *context;
    void (*on_step)(void *context, int step);
    // Takes bytes of the body, all of them or none; without it they are collected.
    ptrdiff_t (*on_body)(void *context, const uint8_t *bytes, size_t count);
    // Fills the room with bytes of the request's body; 0 at its end.
    ptrdiff_t (*on_upload)(void *context, uint8_t *room, size_t count);
} ccurl_hooks;

// What works on transfers: one thread calls its functions, but for ccurl_loop_wake and ccurl_loop_watch.
typedef struct ccurl_loop ccurl_loop;

// One request and its answer while libcurl works on it. It belongs to the thread of the loop from start to end.
typedef struct ccurl_transfer {
    void *easy;
    ccurl_loop *loop;
    ccurl_hooks hooks;
    // The lines of the last head, each with its line break. An interim (1xx) head is replaced by the next.
    char *head;
    size_t head_length, head_capacity, head_limit;
    // The bytes that came as lines after the body.
    size_t trailer_length;
    // The body, as far as it has come. With a hook for it only its length is kept.
    uint8_t *body;
    size_t body_length, body_capacity, body_limit;
    // Whether the request asks to be told to go on before its body is sent.
    int expects;
    // Whether it goes over TLS.
    int is_encrypted;
    // Whether the request only reads.
    int is_safe;
    // The request's body.
    uint8_t *upload;
    size_t upload_length, upload_position;
    // Whether it has one, and whether it is in the loop's list of those whose response may come before all of it was
    // sent, and when it was looked at last. Whether the hook has paused the response.
    int has_upload, is_answered, is_paused;
    int64_t looked;
    struct ccurl_transfer *next_answered, *previous_answered;
    // The lines of the request's head.
    void *headers;
    size_t headers_capacity;
    // Whether a connection was ready for the request, where libcurl tells, and whether that was a new one.
    int tries, is_first;
    // The descriptor of the kept connection of HTTP/1 that it is on, plus one; 0 if there is none. Whether it was on
    // one.
    int kept_socket, was_kept;
    // Why it was about to be sent a second time.
    int repetition;
    // Whether it is certain that the server has seen nothing of the request, though it was sent.
    int is_unseen;
    // Set by the caller: whether those options are set that are the same for all requests, and whether others are that
    // a plain request does not set again.
    int is_prepared, is_special;
    // Microseconds of the monotonic clock: libcurl takes the first byte that is sent for the first that comes.
    int64_t started, first_byte;
    // Set by the caller where a proxy of its own was given.
    int has_own_proxy;
    // Why the transfer was ended here, if it was.
    int objection;
    // Set when the empty line after a head has come.
    int head_complete;
    // The Content-Length of the head; -1 if it has none yet.
    int64_t length;
    // Whether the last line of the head was a Content-Length: a folded line after it is a part of it.
    int is_within_length;
    // How many sockets were asked for, and why the system refused one, if it did.
    int sockets, system_error;
    // The ports of the connection on which the request was sent last, where libcurl tells.
    int to_port, from_port;
    // Set by the caller: a number for the server, the same for all requests to it.
    uint64_t origin;
    char error[256];
} ccurl_transfer;

ccurl_transfer *ccurl_transfer_new(ccurl_loop *loop);
// Makes the transfer ready for another request. A prepared one stays so unless it was special. 0 if there is no memory
// for that: then it can only be freed.
int ccurl_transfer_reset(ccurl_transfer *transfer);
void ccurl_transfer_free(ccurl_transfer *transfer);
// Hands the body over to the caller, who frees it.
uint8_t *ccurl_transfer_take_body(ccurl_transfer *transfer, size_t *length);

int ccurl_set_long(ccurl_transfer *transfer, ccurl_option option, long value);
int ccurl_set_offset(ccurl_transfer *transfer, ccurl_option option, int64_t value);
int ccurl_set_text(ccurl_transfer *transfer, ccurl_option option, const char *value);
// Has these lines sent in the head, each of which ends with a zero. 0 if there is no memory for them.
int ccurl_set_headers(ccurl_transfer *transfer, const char *lines, size_t count);
// Has the request's body read from a copy of these bytes. 0 if there is no memory for it.
int ccurl_set_upload(ccurl_transfer *transfer, const void *bytes, size_t count);
// Has a body without bytes sent.
void ccurl_set_empty_upload(ccurl_transfer *transfer);
// Has the request's body asked for through the hook.
void ccurl_stream_upload(ccurl_transfer *transfer);
// Whether on_step is told of CCURL_CONNECTED: libcurl can do that since 7.80.
int ccurl_tells_connected(void);
// Whether the process can open another descriptor.
int ccurl_has_descriptors(void);

// Times are microseconds since the start; 0 for a step that was not needed.
typedef struct {
    int64_t looked_up, connected, encrypted, first_byte, total, sent, received;
    long new_connections, http_version;
} ccurl_timings;

ccurl_timings ccurl_get_timings(ccurl_transfer *transfer);
long ccurl_get_long(ccurl_transfer *transfer, ccurl_info info);
int64_t ccurl_get_offset(ccurl_transfer *transfer, ccurl_info info);
const char *ccurl_describe(ccurl_code code);

// Has the calling thread be that of the loop, under this name.
void ccurl_loop_enter(ccurl_loop *loop, const char *name);

// NULL if there is no memory or no descriptor left for one.
ccurl_loop *ccurl_loop_new(void);
void ccurl_loop_free(ccurl_loop *loop);
int ccurl_loop_set_long(ccurl_loop *loop, ccurl_multi_option option, long value);
// 0, or not if libcurl will not have it.
int ccurl_loop_add(ccurl_loop *loop, ccurl_transfer *transfer);
void ccurl_loop_remove(ccurl_loop *loop, ccurl_transfer *transfer);
// Notes, of a transfer that is about to be removed because its time is up, that its connection is not to be trusted if
// nothing has come of its answer.
void ccurl_loop_distrust(ccurl_loop *loop, ccurl_transfer *transfer);
// Whether something that was removed is still with libcurl: ccurl_loop_free would wait for it.
int ccurl_loop_is_busy(const ccurl_loop *loop);
// Goes on after a hook has paused. What has waited is handed to the hooks at once; if one of them will not have it,
// that is the result of the transfer, which libcurl itself takes no note of: it has to be removed. Otherwise 0.
ccurl_code ccurl_loop_resume(ccurl_loop *loop, ccurl_transfer *transfer);
// Waits until there is something to do, or only looks.
void ccurl_loop_wait(ccurl_loop *loop, int may_wait);
// Does what there is to do.
void ccurl_loop_work(ccurl_loop *loop);
// Ends the wait. Every thread may call it.
void ccurl_loop_wake(ccurl_loop *loop);
// Ends the connection on which the loop's thread has been at work since the last call of this, for too long; returns
// whether the thread is at work. Called from another thread, a tenth of a second after the last time.
int ccurl_loop_watch(ccurl_loop *loop);
// The next transfer that has ended, with its result; NULL if there is none. The loop has let go of it.
ccurl_transfer *ccurl_loop_next_ended(ccurl_loop *loop, ccurl_code *result);

#endif
