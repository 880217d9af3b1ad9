#include "ccurl_decisions.h"

// MARK: Which connection

// Whether nothing has come on a connection since its last response ended, as far as the loop knows: a wait that began
// after that is over, and the system has reported all that had come by then. In the turn in which the response ended, a
// surplus is most likely to come, and there was no such wait.
static bool is_known_silent(const ccurl_kept_connection *kept) {
    bool has_waited = kept->idle_since > 0 && kept->idle_since < kept->looked;
    return has_waited && kept->looked == kept->waits && kept->is_watched && !kept->is_on_callers_thread;
}

ccurl_fitness ccurl_connection_fitness(const ccurl_kept_connection *kept) {
    if (kept->is_excluded || kept->has_ended || kept->is_spent) return CCURL_UNFIT;
    return kept->is_http1 && !is_known_silent(kept) ? CCURL_FIT_IF_SILENT : CCURL_FIT;
}

// An HTTP/2 connection whose other end is gone without a word (a forgotten NAT entry, a server that was replaced) looks
// healthy until the kernel gives up, and libcurl would put each new request on it. After a timeout it takes no more
// requests, unless responses show that the server is only slow; a server that answers nothing may still send frames
// that belong to no request. Those that wait on the connection already keep their own timeouts.
//
// That holds for a response of which some has come, too: nothing more came in the second half of the wait.
bool ccurl_was_silent(int64_t now, int64_t started, int64_t answered, int64_t limit) {
    // The wait is for the head, or for what comes next in a body that may have begun long before.
    int64_t wait = now - started;
    if (limit > 0 && limit < wait) wait = limit;
    return now - answered >= wait / 2;
}

// A connection with fewer requests than this would not be worth it, and dies for many reasons.
#define FEWEST_REQUESTS 5
// For how long a number is believed after the last refusal, in microseconds: an hour.
#define BELIEVED (INT64_C(3600) * 1000000)
// For how long a spent connection takes nothing at all, in microseconds.
#define SPENT 1000000

// Of what was refused, the first need not be noticed: it may have failed in another way before. Connections that die
// early have similar numbers by chance.
static bool is_similar(int64_t one, int64_t other) {
    int64_t difference = one > other ? one - other : other - one;
    if (one < 16 || other < 16) return difference == 0;
    return difference <= 8 || difference <= one / 8;
}

void ccurl_turnover_note(ccurl_turnover *turnover, uint64_t connection, int64_t number, int64_t now) {
    int64_t taken = turnover->taken, before = turnover->taken_before;
    if (turnover->connection != connection) {
        bool is_lower = before > 0 && before < taken && is_similar(before, taken);
        *turnover = (ccurl_turnover){connection, number - 1, is_lower ? before : taken, now};
    } else if (number <= taken) {
        // Those that were sent later may come first.
        turnover->taken = number - 1;
    }
    turnover->noted = now;
}

int64_t ccurl_turnover_limit(const ccurl_turnover *turnover, int64_t now) {
    int64_t taken = turnover->taken, before = turnover->taken_before;
    if (now - turnover->noted > BELIEVED || !is_similar(taken, before)) return 0;
    int64_t least = taken < before ? taken : before;
    return least > FEWEST_REQUESTS ? least - 1 : 0;
}

bool ccurl_is_spent(int64_t requests, int64_t most, bool is_safe, int64_t since) {
    if (most == 0 || requests < most) return false;
    return !is_safe || since < SPENT;
}

// MARK: What the server has seen

// It has seen nothing if it had closed the connection before the request arrived: then its FIN came without an
// acknowledgement of what was sent, which the FIN would have carried (RFC 9293, 3.10.7.4). A reset proves nothing: it
// does not say what was read. So the errors are told apart: none, or EPIPE, means that the FIN came first.
bool ccurl_was_sent_too_late(const ccurl_death *death) {
    if (death->has_other_error) return false;
    if (death->acknowledged_before == CCURL_NOT_ASKED)
        return death->sent > 0 && death->unacknowledged >= death->sent;
    return death->acknowledged_before >= 0 && death->acknowledged == death->acknowledged_before;
}

// Whether the server certainly refused the request. On a new connection that no other request has joined, only a
// refusal and a downgrade make libcurl send again, and about a refusal it says nothing. On others it may be that the
// connection ended. That matters only for a request that acts.
static bool is_refusal(const ccurl_second_send *send) {
    if (send->has_words) return false;
    if (send->is_on_new_connection && !send->is_joined) return true;
    return send->is_encrypted && send->is_safe && !send->was_on_kept_http1;
}

ccurl_repetition ccurl_repetition_of(const ccurl_second_send *send) {
    if (send->asks_for_http1) return CCURL_DOWNGRADED;
    return is_refusal(send) ? CCURL_REFUSED : CCURL_DIED;
}

// Whether libcurl says that a stream or its connection ended too early, and not that something is wrong with what came.
static bool has_broken_off(ccurl_code result) {
    switch (result) {
    case CCURLE_HTTP2:
    case CCURLE_HTTP2_STREAM:
    case CCURLE_PARTIAL_FILE:
    case CCURLE_SEND_ERROR:
    case CCURLE_RECV_ERROR: return true;
    default: return false;
    }
}

bool ccurl_is_whole_response(const ccurl_early_end *end) {
    if (!has_broken_off(end->result)) return false;
    if (end->has_length) return end->has_whole_body;
    // Without a length, only the end of its stream completes it, which libcurl does not report by itself.
    return end->result == CCURLE_HTTP2_STREAM && !end->has_words && end->has_whole_head && !end->is_paused;
}

// MARK: Who is served next

int ccurl_longest_waiting(const int64_t *served, int count) {
    int found = 0;
    for (int i = 1; i < count; i++)
        if (served[i] < served[found]) found = i;
    return found;
}

// A share, in microseconds: that of all transfers together where the pieces are small, and that of one transfer where
// they are large. A large download does not need as much as that for what libcurl reads at once, and is not paused.
#define LONGEST_SHARE 3000
#define LONGEST_LARGE_SHARE 20000
// The average size from which pieces are large, in bytes.
#define LARGE_PIECE 4096

bool ccurl_has_used_share(size_t pieces, size_t bytes, int64_t alone, int64_t together) {
    return bytes / pieces >= LARGE_PIECE ? alone >= LONGEST_LARGE_SHARE : together >= LONGEST_SHARE;
}

// How long the thread may work on one connection, in microseconds of its own time. Plain http has no frames to flood
// with, so it is given the time in which a burst of requests begins, or in which certificates are read.
#define LONGEST_TURN 50000
#define LONGEST_PLAIN_TURN 2000000

ccurl_flood_stage ccurl_flood_stage_of(int64_t spent, bool is_beginning, bool has_asked) {
    if (spent < (is_beginning ? LONGEST_PLAIN_TURN : LONGEST_TURN)) return CCURL_NO_FLOOD;
    return has_asked ? CCURL_FLOOD : CCURL_SUSPECTED_FLOOD;
}

bool ccurl_may_end_flood(int64_t spent, bool is_encrypted) { return is_encrypted || spent > LONGEST_PLAIN_TURN; }

// MARK: What a transfer gets

ccurl_handle_choice ccurl_choose_handle(const ccurl_used_handle *used) {
    // One that was about to send again would do so with the next request: a reset does not make it forget.
    if (used->is_gone || used->is_repeating) return CCURL_NEW_HANDLE;
    if (used->was_started && used->has_header_fault) return CCURL_NEW_HANDLE;
    // Before 7.80 the bytes that were sent show whether a request was, and only a reset makes libcurl forget those of
    // the one before.
    return used->has_shared_options && used->tells_connected ? CCURL_KEPT_HANDLE : CCURL_BARE_HANDLE;
}

// What most responses fit into; and for streams, and for servers whose responses are larger, as much as makes a
// difference. Until 8.6 each transfer allocates that much and frees it, and from 64 KB on, glibc's free tidies up each
// time.
long ccurl_read_size(bool is_streamed, bool has_large_responses) {
    return is_streamed || has_large_responses ? CCURL_LARGE_READ : CCURL_SMALL_READ;
}

// How much memory a body gets at most before any of it has come.
#define FIRST_BODY_CAPACITY (1 << 20)

// For all that is announced, but never for much more than has come, since a server may announce anything.
size_t ccurl_body_capacity(size_t capacity, size_t wanted, int64_t announced) {
    size_t larger = capacity * 2;
    if (announced >= (int64_t)wanted) {
        if (larger < FIRST_BODY_CAPACITY) larger = FIRST_BODY_CAPACITY;
        if (larger > (size_t)announced) larger = (size_t)announced;
    }
    return larger < wanted ? wanted : larger;
}
