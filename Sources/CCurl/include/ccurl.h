// The part of libcurl that the transport uses. It is opened at run time, so nothing has to be installed to build.
//
// Swift cannot call libcurl's variadic functions: each kind of argument has a wrapper here.
#ifndef CCURL_H
#define CCURL_H

#include "ccurl_numbers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: The library

// Opens the library, once in a process. Returns false if it cannot be opened. That it is missing or too old is
// remembered; after anything else, such as a lack of descriptors, the next call tries again.
bool ccurl_open(void);
// Says why the last ccurl_open of this thread returned false.
const char *ccurl_problem(void);
// Whether that was because the process had no descriptor or no memory left.
bool ccurl_lacks_resources(void);
// Returns the version as text.
const char *ccurl_version(void);
// Describes a result in a few words.
const char *ccurl_describe(ccurl_code code);
// Whether libcurl says when it is about to send a request (7.80 and later): CCURL_CONNECTED.
bool ccurl_tells_connected(void);
// Whether a broken connection may raise SIGPIPE. From 7.88 on, what OpenSSL and GnuTLS write goes through libcurl,
// which sends without the signal; other TLS libraries, and all of them before, write to the socket themselves.
bool ccurl_raises_pipe_signal(void);
// Whether libcurl was built with HTTP/3, and is new enough for it (8.23 and later).
bool ccurl_speaks_http3(void);
// Whether the environment names a proxy for https, whatever it names as exceptions.
bool ccurl_environment_has_proxy(void);
// Whether the process can open another descriptor.
bool ccurl_has_descriptors(void);

// MARK: A transfer

// Transfers of many requests on one thread. One thread at a time calls the functions of the loop: that thread or, while
// it is in ccurl_loop_wait, another one. Any thread may call ccurl_loop_wake and ccurl_loop_watch at any time.
typedef struct ccurl_loop ccurl_loop;

// One request and its response. From ccurl_loop_add until the loop lets go of it, it belongs to the thread that works
// on the loop.
typedef struct ccurl_transfer ccurl_transfer;
// Where the transfers of a transport get libcurl's handles from, which share TLS sessions and the addresses of hosts.
// Any thread may use it.
typedef struct ccurl_handles ccurl_handles;

// How far a transfer has come.
typedef enum {
    // There is a connection; the request is about to be sent.
    CCURL_CONNECTED = 1,
    // The connection is one of HTTP/2 or HTTP/3, which requests share: told with its first request or, where the TLS
    // library does not say, with the others. Comes before CCURL_CONNECTED.
    CCURL_SHARED,
    // The connection, which is new and encrypted, is certainly one of HTTP/1. Comes before CCURL_CONNECTED.
    CCURL_UNSHARED,
    // Bytes of the request's body have left, or bytes of the response's body have come.
    CCURL_PROGRESS,
    // The head of the response is complete.
    CCURL_HEAD_COMPLETE,
} ccurl_step;

// Why the shim ended a transfer.
typedef enum {
    CCURL_NO_REASON = 0,
    CCURL_HEAD_TOO_LARGE,
    CCURL_BODY_TOO_LARGE,
    // Two Content-Lengths that differ: a proxy that reads the other one takes other bytes for the next response.
    CCURL_TWO_LENGTHS,
    // A Content-Length that is not one number: libcurl would read its leading digits and cut the body there.
    CCURL_BAD_LENGTH,
    // A Transfer-Encoding other than chunked, which was not asked for.
    CCURL_BAD_TRANSFER_CODING,
    // A line of the head that is no header field.
    CCURL_BAD_FIELD,
    // A line after a chunked body that is none.
    CCURL_BAD_TRAILER,
    // More bytes after a chunked body than a head may have.
    CCURL_TRAILER_TOO_LARGE,
    // The server switched to a protocol that was not asked for.
    CCURL_UPGRADED,
    // This is the response, although libcurl would send the request again, as it does after a 417.
    CCURL_SETTLED,
    // The kept connection is not fit for another request. Nothing was sent.
    CCURL_STALE,
    // libcurl was about to send the request a second time.
    CCURL_REPEATED,
    // There is no connection of HTTP/3 that was kept. Nothing was sent.
    CCURL_LACKING_HTTP3,
    // The permit of the rate limit, or the lock of a refresh, ended before the first byte. Nothing was sent.
    CCURL_PERMIT_ENDED,
} ccurl_reason;

// Why libcurl was about to send a request a second time.
typedef enum {
    CCURL_NO_REPETITION = 0,
    // The kept connection died under the request.
    CCURL_DIED,
    // The server said that it did not work on the request (HTTP/2's REFUSED_STREAM).
    CCURL_REFUSED,
    // The server wants HTTP/1.1 for it (HTTP/2's HTTP_1_1_REQUIRED). The loop uses that for later requests to its
    // origin.
    CCURL_DOWNGRADED,
} ccurl_repetition;

// Whether a request goes over HTTP/3.
typedef enum {
    // Over TCP.
    CCURL_WITHOUT_HTTP3 = 0,
    // On a new connection: of HTTP/3, or over TCP if the server does not respond to that at once.
    CCURL_TRYING_HTTP3,
    // On a connection of HTTP/3 that was kept, and on no other.
    CCURL_KEEPING_HTTP3,
    // On any connection that was kept; or else on a new one, as if it were tried.
    CCURL_PREFERRING_HTTP3,
} ccurl_http3;

// What a hook returns in place of a count: to be called again after ccurl_loop_resume, or to end the transfer.
enum { CCURL_PAUSE = -1, CCURL_ABORT = -2 };

// What the thread that works on the loop calls while a transfer runs. Each may be NULL.
typedef struct {
    void *context;
    void (*on_step)(void *context, ccurl_step step);
    // Takes bytes of the response's body, all of them or none. Without this hook the transfer collects them.
    ptrdiff_t (*on_body)(void *context, const uint8_t *bytes, size_t count);
    // Takes bytes of a body of which ccurl_transfer_note_coded was called, likewise, without a limit on their number.
    ptrdiff_t (*on_coded_body)(void *context, const uint8_t *bytes, size_t count);
    // Fills the room with bytes of the request's body; 0 at its end.
    ptrdiff_t (*on_upload)(void *context, uint8_t *room, size_t count);
} ccurl_hooks;

// What the shim has to know of a request, besides libcurl's options.
typedef struct {
    // A number for the server, the same for all requests to it.
    uint64_t origin;
    // How many bytes the head (or a trailer) and the body of the response may have, unless the body is coded.
    size_t head_limit, body_limit;
    // Whether it goes over TLS.
    bool is_encrypted;
    // Whether it goes to a Unix socket: then its connection serves no other request.
    bool is_local;
    // Whether it only reads.
    bool is_safe;
    // Whether it waits for 100 Continue before its body is sent.
    bool expects_continue;
    // Whether it sets no options but those that every request sets.
    bool is_plain;
    // Whether it goes through a proxy that the options of the transport name.
    bool has_own_proxy;
    // Whether the options of the transport allow HTTP/3.
    bool may_use_http3;
    // When the permit of the rate limit ends, by ccurl_now_suspended; 0 if it does not, or is not known yet.
    int64_t permit_end;
} ccurl_request;

// Nanoseconds of a clock that also counts while the machine is suspended.
int64_t ccurl_now_suspended(void);

// Returns what libcurl's handles come from, and the caller holds that; NULL if there is no memory.
ccurl_handles *ccurl_handles_new(void);
// Lets go of it. The last one frees the handles that are in stock.
void ccurl_handles_release(ccurl_handles *handles);
// Returns a transfer for any loop that has these handles; NULL if there is no memory.
ccurl_transfer *ccurl_transfer_new(ccurl_handles *handles);
// Makes the transfer ready for another request. Returns false if there is no memory for that: then it can only be
// freed.
bool ccurl_transfer_reset(ccurl_transfer *transfer);
// The number of the loop that the transfer was last on, whose memory its handle has; 0 for one that is new.
int ccurl_transfer_loop_number(const ccurl_transfer *transfer);
void ccurl_transfer_free(ccurl_transfer *transfer);

// Begins to prepare a request. Returns whether the options that all requests share have to be set; then
// ccurl_transfer_keep_shared_options follows when they are.
bool ccurl_transfer_begin(ccurl_transfer *transfer, const ccurl_request *request);
// Has the options that are set now kept for the next requests.
void ccurl_transfer_keep_shared_options(ccurl_transfer *transfer);
// Sets when the permit of the rate limit ends, by ccurl_now_suspended.
void ccurl_set_permit_end(ccurl_transfer *transfer, int64_t end);
// Trusts the certificates in the system's file, if there is one, and in no folder: libcurl 7.87 and later then keep
// them in memory. With a folder, each connection reads the file anew, which takes tens of milliseconds. The file is the
// one that is built into libcurl or, if the system does not have that, the one that it has.
void ccurl_trust_system(ccurl_transfer *transfer);
ccurl_code ccurl_set_long(ccurl_transfer *transfer, ccurl_option option, long value);
ccurl_code ccurl_set_offset(ccurl_transfer *transfer, ccurl_option option, int64_t value);
ccurl_code ccurl_set_text(ccurl_transfer *transfer, ccurl_option option, const char *value);
// Sets the request's header fields: lines that end with a zero each. Returns false if there is no memory for them.
bool ccurl_set_headers(ccurl_transfer *transfer, const char *lines, size_t count);
// Sends a copy of these bytes as the request's body. Returns false if there is no memory for it.
bool ccurl_set_upload(ccurl_transfer *transfer, const void *bytes, size_t count);
// Sends a body without bytes.
void ccurl_set_empty_upload(ccurl_transfer *transfer);
// Asks the hook for the request's body.
void ccurl_stream_upload(ccurl_transfer *transfer);
void ccurl_set_hooks(ccurl_transfer *transfer, ccurl_hooks hooks);

// The head of a response as far as it has come, until the transfer is reset.
typedef struct {
    const uint8_t *bytes;
    size_t length;
    bool is_complete;
} ccurl_head_lines;

ccurl_head_lines ccurl_transfer_head(const ccurl_transfer *transfer);
// Whether a line of the head is about content codings.
bool ccurl_transfer_may_be_coded(const ccurl_transfer *transfer);
// Whether a line of the head is about other ways to the server (Alt-Svc).
bool ccurl_transfer_has_alternatives(const ccurl_transfer *transfer);
// Called at CCURL_HEAD_COMPLETE: the body is coded, and bytes of it go to the hook for that.
void ccurl_transfer_note_coded(ccurl_transfer *transfer);
// Hands the collected body over to the caller, who frees it.
uint8_t *ccurl_transfer_take_body(ccurl_transfer *transfer, size_t *length);

// Times are microseconds since the start; 0 for a step that was not needed.
typedef struct {
    int64_t looked_up, connected, encrypted, first_byte, total, sent, received;
    long new_connections, http_version;
} ccurl_timings;

ccurl_timings ccurl_transfer_timings(const ccurl_transfer *transfer);
// Returns the version of HTTP that the response came over; 0 if there is none.
long ccurl_transfer_http_version(const ccurl_transfer *transfer);
// Returns the version of HTTP of what has come so far, be it no whole head; 0 if nothing has.
long ccurl_transfer_spoken_version(const ccurl_transfer *transfer);

// What is known of a transfer that has failed.
typedef struct {
    ccurl_reason reason;
    ccurl_repetition repetition;
    // The errno with which the system refused a socket, and the one with which a connection failed; 0 for neither.
    int socket_error, connection_error;
    // Whether the server may have seen something of the request.
    bool may_have_been_seen;
    // Whether it was sent on a connection that was kept.
    bool was_on_kept_connection;
    // Whether it has a body of one byte or more, or a streamed one.
    bool has_upload;
    // libcurl's own words, until the transfer is reset; they may be empty.
    const char *words;
} ccurl_failure;

ccurl_failure ccurl_transfer_failure(const ccurl_transfer *transfer);
// Gives a transfer that was never started the words about the failure of another.
void ccurl_transfer_set_words(ccurl_transfer *transfer, const char *words);
// Whether the transfer, which runs, may still be looking up its host.
bool ccurl_transfer_may_look_up(const ccurl_transfer *transfer);
// Whether it was sent on a connection that was kept.
bool ccurl_transfer_is_on_kept_connection(const ccurl_transfer *transfer);
// Whether a socket was opened for it: its host was looked up, and it is on no connection that was kept.
bool ccurl_transfer_has_opened(const ccurl_transfer *transfer);
// Whether the transfer, which has ended, leaves a connection of HTTP/1 for the next request.
bool ccurl_transfer_leaves_connection(const ccurl_transfer *transfer);
// Returns what ccurl_transfer_begin was given.
ccurl_request ccurl_transfer_request(const ccurl_transfer *transfer);

// MARK: The loop

// How many loops a transport has at most.
enum { CCURL_MOST_LOOPS = 8 };

// Returns the loop with that number, below CCURL_MOST_LOOPS, for transfers that have these handles; NULL if there is no
// memory, or no descriptor left.
ccurl_loop *ccurl_loop_new(ccurl_handles *handles, int number);
void ccurl_loop_free(ccurl_loop *loop);
void ccurl_loop_set_long(ccurl_loop *loop, ccurl_multi_option option, long value);
// Names the calling thread.
void ccurl_name_thread(const char *name);
// Remembers what the calling thread works for, and returns it; NULL if that was never set.
void ccurl_set_current(const void *current);
const void *ccurl_current(void);
// Returns the number of cores to which the process is bound; 0 if the system does not say.
int ccurl_bound_cores(void);
// Whether the transfer, which is about to start, may go over HTTP/3: its options allow that, and its server has not
// asked for HTTP/1.1.
bool ccurl_loop_may_use_http3(const ccurl_loop *loop, const ccurl_transfer *transfer);
// Whether a connection to that origin may be one of HTTP/3 that takes requests.
bool ccurl_loop_has_http3(const ccurl_loop *loop, uint64_t origin);
// Chooses the way of a transfer that is about to start, or to start again. Without it, that is CCURL_WITHOUT_HTTP3.
void ccurl_transfer_choose_http3(ccurl_transfer *transfer, ccurl_http3 way);
// Whether the transfer, which has ended, found no connection for CCURL_KEEPING_HTTP3. Nothing was sent.
bool ccurl_transfer_lacks_http3(const ccurl_transfer *transfer);
// Starts a transfer, which waits for a connection that is being made, to share it, if it `may_share`. One whose
// response is streamed over TLS does not: it begins on a connection that no other request uses, and libcurl may work at
// once. Returns false if libcurl refuses it.
bool ccurl_loop_add(ccurl_loop *loop, ccurl_transfer *transfer, bool may_share);
// Starts a transfer again that lacked a connection of HTTP/3, likewise.
bool ccurl_loop_add_again(ccurl_loop *loop, ccurl_transfer *transfer, bool may_share);
// Whether others wait for the connection of the transfer, which runs and whose host was looked up: it is being made,
// for less than a second so far. When that second is over, the loop's thread has a turn.
bool ccurl_loop_awaits(ccurl_loop *loop, const ccurl_transfer *transfer);
// Ends a transfer that runs, but leaves the lookup of its host to libcurl. Returns false if none is under way: then it
// has to be removed.
bool ccurl_loop_leave_lookup(ccurl_loop *loop, ccurl_transfer *transfer);

// A lookup that was left to libcurl and has ended: with CCURLE_COULDNT_RESOLVE_HOST or _PROXY if it has failed.
typedef struct {
    uint64_t origin;
    ccurl_code result;
    char words[CCURL_ERROR_SIZE];
} ccurl_lookup;

// Takes the next one; returns false if there is none.
bool ccurl_loop_next_lookup(ccurl_loop *loop, ccurl_lookup *lookup);
// Ends a transfer that runs.
void ccurl_loop_remove(ccurl_loop *loop, ccurl_transfer *transfer);
// Called before a transfer is removed because its time is up: if nothing of a response has come on its connection for
// half of that time, it takes no more requests. Returns whether that is so. The limit is the longest silence that it
// was allowed, in microseconds; 0 for none.
bool ccurl_loop_note_timeout(ccurl_loop *loop, ccurl_transfer *transfer, int64_t limit);
// Whether a lookup goes on that was left to libcurl.
bool ccurl_loop_has_lookups(const ccurl_loop *loop);
// Whether libcurl still has a handle that was removed: ccurl_loop_free would wait for it.
bool ccurl_loop_is_busy(const ccurl_loop *loop);
// Resumes a transfer that a hook has paused. What libcurl has kept goes to the hooks at once. If one of them refuses
// it, the result says so; libcurl itself does not take note of that, so the transfer has to be removed.
ccurl_code ccurl_loop_resume(ccurl_loop *loop, ccurl_transfer *transfer);
// Returns a transfer that was paused because it kept the thread for too long, and that has to be resumed now; NULL if
// there is none, or if the next turn is early enough.
ccurl_transfer *ccurl_loop_next_rested(ccurl_loop *loop);
// Frees the handles of requests that have ended, where each request needs a new one, and creates the next.
void ccurl_loop_renew_handles(ccurl_loop *loop);
// Returns for how many milliseconds the loop's thread may wait; 0 if it may only look.
int ccurl_loop_prepare_wait(ccurl_loop *loop, bool may_wait);
// Waits for so long, unless something comes or the wait is ended. Another thread may work on the loop meanwhile.
void ccurl_loop_wait(ccurl_loop *loop, int milliseconds);
// Whether any thread may send the request: it is small, and a connection to its origin is idle, so that nothing has to
// be looked up, connected or encrypted anew.
bool ccurl_loop_can_send_at_once(const ccurl_loop *loop, const ccurl_transfer *transfer);
// Sends the request of the transfer that was added last, while the loop's thread waits. If that needs a new connection
// nevertheless, the loop's thread opens it.
void ccurl_loop_send_here(ccurl_loop *loop);
// Whether something is to be done before the wait of the loop's thread is over.
bool ccurl_loop_waits_too_long(const ccurl_loop *loop);
// Does what there is to do.
void ccurl_loop_work(ccurl_loop *loop);
// Returns the next transfer that has ended, with its result; NULL if there is none. The loop has let go of it.
ccurl_transfer *ccurl_loop_next_ended(ccurl_loop *loop, ccurl_code *result);
// Ends the wait. Any thread may call it.
void ccurl_loop_wake(ccurl_loop *loop);
// Shuts down the connection on which a thread has worked for too long without a pause; returns whether one is
// working. Another thread calls it every tenth of a second.
bool ccurl_loop_watch(ccurl_loop *loop);

#endif
