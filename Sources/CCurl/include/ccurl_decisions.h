// What the engine decides, over the values that it is given. Nothing here asks libcurl, the system or a clock, so that
// tests can.
#ifndef CCURL_DECISIONS_H
#define CCURL_DECISIONS_H

#include "ccurl.h"

// MARK: Which connection

// What is known of a kept connection that libcurl is about to use again.
typedef struct {
    // Whether it carries HTTP/1: then nothing may come while no request waits for it. The frames of HTTP/2 belong to
    // streams, and some come unasked.
    bool is_http1;
    // Whether it takes no more requests; whether it has ended, although libcurl may not have noticed.
    bool is_excluded, has_ended;
    // Whether it has had as many requests as it may have.
    bool is_spent;
    // Whether the system reports to the loop what comes on it.
    bool is_watched;
    // Whether a caller's thread asks. By now, the loop's thread may know more.
    bool is_on_callers_thread;
    // The number of the loop's last wait that had begun when the end of its last request was noted, or 0 if that is not
    // noted yet; the number of waits that have begun; and of the last one after which the loop learned of all that had
    // come.
    uint64_t idle_since, waits, looked;
} ccurl_kept_connection;

typedef enum {
    CCURL_FIT,
    // If the system has nothing to read on it.
    CCURL_FIT_IF_SILENT,
    CCURL_UNFIT,
} ccurl_fitness;

// Returns whether a kept connection is fit for another request.
ccurl_fitness ccurl_connection_fitness(const ccurl_kept_connection *kept);

// Returns whether a connection takes no more requests because the time of one was up on it: no bytes of a response have
// come in the second half of the wait. Times are microseconds: now, the start of the request, when such bytes came last
// on its connection, and the longest silence that it was allowed; 0 for none.
bool ccurl_was_silent(int64_t now, int64_t started, int64_t answered, int64_t limit);

// How many requests a server takes on a connection of HTTP/2, as its refusals show. nginx (`keepalive_requests`) and
// others announce with the last one that it is the last, and refuse what was sent meanwhile. libcurl does not say
// whether a request was refused, or whether its connection died under it, so a request that acts would fail each time.
typedef struct {
    // The connection with the last refusal, and how many requests it has taken at most; and how many the one before,
    // or of several that were similar the one with the fewest. 0 if there was none.
    uint64_t connection;
    int64_t taken, taken_before;
    // When the last refusal was noted, in microseconds.
    int64_t noted;
} ccurl_turnover;

// Notes that libcurl is about to send a request again which was, counted from 1, the one with that number on its
// connection.
void ccurl_turnover_note(ccurl_turnover *turnover, uint64_t connection, int64_t number, int64_t now);
// Returns how many requests a connection may have: one fewer than two in a row have taken, because libcurl 7.88 loses a
// response that comes together with the end. 0 if their numbers are not similar, or very small: something else may have
// ended them. After an hour without a refusal it is 0, too: the server may have changed.
int64_t ccurl_turnover_limit(const ccurl_turnover *turnover, int64_t now);
// Returns whether a connection that may have so many requests takes no more. `since` microseconds after the first one
// that was turned away, from a second on, those that only read are let through: the server ends the connection with the
// first of them. libcurl offers a connection again and again that others still use.
bool ccurl_is_spent(int64_t requests, int64_t most, bool is_safe, int64_t since);

// MARK: What the server has seen

// Stands for a number of acknowledged bytes that the system was not asked for.
enum { CCURL_NOT_ASKED = -2 };

// What is known of a kept connection that died under a request before any of a response came.
typedef struct {
    // Whether an error was found other than EPIPE.
    bool has_other_error;
    // How many bytes the other side had acknowledged before the request, or CCURL_NOT_ASKED; and has by now. -1 if the
    // system does not know.
    int64_t acknowledged_before, acknowledged;
    // How many bytes were sent, and are not acknowledged.
    int64_t sent, unacknowledged;
} ccurl_death;

// Returns whether the server has certainly seen nothing of the request.
bool ccurl_was_sent_too_late(const ccurl_death *death);

// What is known of a request that libcurl is about to send a second time.
typedef struct {
    // Whether libcurl has words about that, and whether they ask for HTTP/1.1.
    bool has_words, asks_for_http1;
    // Whether the request was sent on a new connection, which others may have joined; whether it was on one that was
    // kept, of HTTP/1.
    bool is_on_new_connection, is_joined, was_on_kept_http1;
    bool is_encrypted, is_safe;
} ccurl_second_send;

// Returns why it is about to do so.
ccurl_repetition ccurl_repetition_of(const ccurl_second_send *send);

// What is known of a transfer that has failed after its response had begun, with a body that was not sent completely.
typedef struct {
    ccurl_code result;
    // Whether libcurl has words about that.
    bool has_words;
    bool has_whole_head, is_paused;
    // Whether the response has a length, and whether that much has come.
    bool has_length, has_whole_body;
} ccurl_early_end;

// Returns whether what has come is the whole response.
bool ccurl_is_whole_response(const ccurl_early_end *end);

// MARK: Who is served next

// Returns the index of the connection that has waited for longest; there is one at least.
int ccurl_longest_waiting(const int64_t *served, int count);

// Returns whether a transfer has used up its share of a turn. The pieces of bodies, one at least, are all that came in
// the turn; the times, in microseconds, are those since the first piece of the transfer and since the first of all.
bool ccurl_has_used_share(size_t pieces, size_t bytes, int64_t alone, int64_t together);

typedef enum {
    CCURL_NO_FLOOD,
    // If it goes on: what is read has to be asked for first.
    CCURL_SUSPECTED_FLOOD,
    CCURL_FLOOD,
} ccurl_flood_stage;

// Returns whether the thread has been kept for too long by what it works on, in microseconds of its own time: a
// connection, over TLS or not, or the beginning of one for which certificates may have to be read.
ccurl_flood_stage ccurl_flood_stage_of(int64_t spent, bool is_beginning, bool has_asked);
// Returns whether a connection that was read all that time may be ended.
bool ccurl_may_end_flood(int64_t spent, bool is_encrypted);

// MARK: What a transfer gets

typedef enum {
    // The same, with the options that all requests share.
    CCURL_KEPT_HANDLE,
    // The same, with no options.
    CCURL_BARE_HANDLE,
    CCURL_NEW_HANDLE,
} ccurl_handle_choice;

// What is known of a handle whose request is over.
typedef struct {
    // Whether it is with libcurl, which looks up a host.
    bool is_gone;
    // Whether it was about to send its request again, and whether a request was started with it at all.
    bool is_repeating, was_started;
    // Whether it has only the options that all requests share, and those that each sets again.
    bool has_shared_options;
    // Whether this libcurl cannot use a handle again that had a response, and whether it says when it connects.
    bool has_header_fault, tells_connected;
} ccurl_used_handle;

// Returns which handle the next request gets.
ccurl_handle_choice ccurl_choose_handle(const ccurl_used_handle *used);

// How much libcurl reads at once, in bytes.
enum { CCURL_SMALL_READ = 16 << 10, CCURL_LARGE_READ = 100 << 10 };

// Returns how much libcurl reads at once for a response that is a stream or not, from a server that has sent larger
// ones than CCURL_SMALL_READ or not.
long ccurl_read_size(bool is_streamed, bool has_large_responses);

// Returns the room for a body for which `wanted` bytes are needed now, if there is room for `capacity` and the response
// has announced so many; -1 if it has not.
size_t ccurl_body_capacity(size_t capacity, size_t wanted, int64_t announced);

#endif
