// The part of libcurl that the transport uses, opened at run time: nothing has to be installed to build.
//
// The numbers of options, infos and results are facts of libcurl's stable ABI (soname libcurl.so.4). Variadic functions of
// libcurl cannot be called from Swift; they have one wrapper for each kind of argument here.
#ifndef CCURL_H
#define CCURL_H

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
    // This is the answer, though libcurl would send the request again: it does after a 417.
    CCURL_SETTLED,
    // The connection that was to be used again has bytes that no request has asked for. Nothing was sent.
    CCURL_STALE,
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

// What works on transfers: one thread calls its functions, but for ccurl_loop_wake.
typedef struct ccurl_loop ccurl_loop;

// One request and its answer while libcurl works on it. It belongs to the thread of the loop from start to end.
typedef struct ccurl_transfer {
    void *easy;
    ccurl_loop *loop;
    ccurl_hooks hooks;
    // The lines of the last head, each with its line break. An interim (1xx) head is replaced by the next.
    char *head;
    size_t head_length, head_capacity, head_limit;
    // The body, as far as it has come. With a hook for it only its length is kept.
    uint8_t *body;
    size_t body_length, body_capacity, body_limit;
    // Whether the request asks to be told to go on before its body is sent.
    int expects;
    // Whether it goes over TLS.
    int is_encrypted;
    // The request's body.
    uint8_t *upload;
    size_t upload_length, upload_position;
    // The lines of the request's head.
    void *headers;
    size_t headers_capacity;
    // How often a connection was ready for the request, where libcurl tells: it may try several.
    int tries;
    // Set by the caller: whether those options are set that are the same for all requests, and whether others are that a
    // plain request does not set again.
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
    char error[256];
} ccurl_transfer;

ccurl_transfer *ccurl_transfer_new(ccurl_loop *loop);
// Makes the transfer ready for another request. A prepared one stays so unless it was special.
void ccurl_transfer_reset(ccurl_transfer *transfer);
void ccurl_transfer_free(ccurl_transfer *transfer);
// Hands the body over to the caller, who frees it.
uint8_t *ccurl_transfer_take_body(ccurl_transfer *transfer, size_t *length);

int ccurl_set_long(ccurl_transfer *transfer, int option, long value);
int ccurl_set_offset(ccurl_transfer *transfer, int option, int64_t value);
int ccurl_set_text(ccurl_transfer *transfer, int option, const char *value);
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

// Times are microseconds since the start; 0 for a step that was not needed.
typedef struct {
    int64_t looked_up, connected, encrypted, first_byte, total, sent, received;
    long new_connections, http_version;
} ccurl_timings;

ccurl_timings ccurl_get_timings(ccurl_transfer *transfer);
long ccurl_get_long(ccurl_transfer *transfer, int info);
const char *ccurl_describe(int code);

// Names the calling thread.
void ccurl_name_thread(const char *name);

// NULL if there is no memory or no descriptor left for one.
ccurl_loop *ccurl_loop_new(void);
void ccurl_loop_free(ccurl_loop *loop);
int ccurl_loop_set_long(ccurl_loop *loop, int option, long value);
// 0, or not if libcurl will not have it.
int ccurl_loop_add(ccurl_loop *loop, ccurl_transfer *transfer);
void ccurl_loop_remove(ccurl_loop *loop, ccurl_transfer *transfer);
// Goes on after a hook has paused. What has waited is handed to the hooks at once; if one of them will not have it, that is
// the result of the transfer, which libcurl itself takes no note of: it has to be removed. Otherwise 0.
int ccurl_loop_resume(ccurl_loop *loop, ccurl_transfer *transfer);
// Waits until there is something to do, or only looks.
void ccurl_loop_wait(ccurl_loop *loop, int may_wait);
// Does what there is to do.
void ccurl_loop_work(ccurl_loop *loop);
// Ends the wait. Every thread may call it.
void ccurl_loop_wake(ccurl_loop *loop);
// The next transfer that has ended, with its result; NULL if there is none. The loop has let go of it.
ccurl_transfer *ccurl_loop_next_ended(ccurl_loop *loop, int *result);

#endif
