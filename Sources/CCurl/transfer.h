// A transfer: one request and its response, and libcurl's handle for them. It knows no sockets, and looks into no other
// transfer.
//
// It is in one of these states:
//
//   PREPARING    Its options are set. libcurl does not know it.
//   CONNECTING   libcurl has it: it looks up the host, connects, or waits for a connection.
//   SENDING      libcurl has a connection, and sends the request. Before 7.80 it does not say so, and this state is
//                skipped.
//   RECEIVING    Bytes of a response have come. Some of the request may still have to be sent.
//   ENDED        libcurl has let go of it. What has come can be read.
//   LEFT         libcurl has kept the handle, whose lookup it cannot break off. The transfer has none.
//
// What moves it:
//
//   ccurl_transfer_start       PREPARING                        ->  CONNECTING
//   libcurl is about to send   CONNECTING                       ->  SENDING
//   bytes come                 CONNECTING, SENDING              ->  RECEIVING
//   ccurl_transfer_end         CONNECTING, SENDING, RECEIVING   ->  ENDED
//   ccurl_transfer_restart     ENDED                            ->  CONNECTING
//   ccurl_transfer_leave       CONNECTING                       ->  LEFT
//   ccurl_transfer_renew       PREPARING, ENDED, LEFT           ->  PREPARING
#ifndef CCURL_TRANSFER_H
#define CCURL_TRANSFER_H

#include "connection.h"
#include "fairness.h"
#include "handles.h"
#include "head.h"

typedef enum {
    CCURL_PREPARING = 0,
    CCURL_CONNECTING,
    CCURL_SENDING,
    CCURL_RECEIVING,
    CCURL_ENDED,
    CCURL_LEFT,
} ccurl_state;

// Which options the handle has.
typedef enum {
    // None but the callbacks.
    CCURL_BARE = 0,
    // Those that all requests share, and those that each sets again.
    CCURL_COMMON,
    // Others too: the next request begins with a bare handle.
    CCURL_SPECIAL,
} ccurl_setup;

// The body of a request.
typedef struct {
    // The body; NULL for a streamed one.
    uint8_t *bytes;
    size_t length, position;
    // Whether there is one.
    bool exists;
} ccurl_upload;

// A transfer's place in a list; see early.h.
typedef struct {
    bool is_listed;
    ccurl_transfer *next, *previous;
    // When libcurl was last made to send, in microseconds.
    int64_t probed;
} ccurl_early_place;

struct ccurl_transfer {
    ccurl_state state;
    ccurl_setup setup;
    // libcurl's handle; NULL once the transfer is without one.
    void *easy;
    // Only callbacks.c looks into it.
    ccurl_loop *loop;
    int loop_number;
    ccurl_handles *handles;
    // Where those over TLS are counted that are CONNECTING.
    int *connecting;
    ccurl_request request;
    ccurl_hooks hooks;
    ccurl_head head;
    // The response's body as far as it has come. With a hook for it, only its length is kept.
    uint8_t *body;
    size_t body_length, body_capacity;
    ccurl_upload upload;
    ccurl_connection connection;
    ccurl_rest rest;
    ccurl_early_place early;
    // The header fields of the request, which libcurl reads here.
    void *fields;
    size_t fields_capacity;
    // Whether it must not go over HTTP/2; whether it begins on no connection that others use, or on one that is being
    // made.
    bool is_downgraded, avoids_shared;
    ccurl_http3 http3;
    // Whether the response is paused: by a hook, or because it has used up its share.
    bool is_paused;
    // Whether the bytes of the body are coded, and others decode them.
    bool is_coded;
    ccurl_reason reason;
    ccurl_repetition repetition;
    // Microseconds of the monotonic clock. libcurl itself takes the first byte that is sent for the first that comes.
    int64_t started, first_byte;
    char words[CCURL_ERROR_SIZE];
};

// Returns the transfer with that part.
static inline ccurl_transfer *ccurl_transfer_with_connection(ccurl_connection *connection) {
    return (ccurl_transfer *)((char *)connection - offsetof(ccurl_transfer, connection));
}
static inline ccurl_transfer *ccurl_transfer_with_rest(ccurl_rest *rest) {
    return (ccurl_transfer *)((char *)rest - offsetof(ccurl_transfer, rest));
}

// MARK: From the first request to the last

// Returns a transfer with a bare handle; NULL if there is no memory.
ccurl_transfer *ccurl_transfer_create(ccurl_handles *handles);
// Makes it ready for another request. Returns false if there is no memory for that: then it can only be freed.
bool ccurl_transfer_renew(ccurl_transfer *transfer);
void ccurl_transfer_move(ccurl_transfer *transfer, ccurl_state next);
// Notes that it is given to libcurl.
void ccurl_transfer_start(ccurl_transfer *transfer);
// Notes that it is given to libcurl again, after it has ended for that reason before anything was sent.
void ccurl_transfer_restart(ccurl_transfer *transfer, ccurl_reason former);
// Notes that libcurl has let go of it, and whether it came to its regular end.
void ccurl_transfer_end(ccurl_transfer *transfer, bool is_regular);
// Notes that the handle is left to libcurl, and no longer the transfer's.
void ccurl_transfer_leave(ccurl_transfer *transfer);

// MARK: What is known of it

// Whether the response is handed over as it comes.
bool ccurl_transfer_is_streamed(const ccurl_transfer *transfer);
// Whether it begins on a connection that no other request uses: see ccurl_loop_add.
bool ccurl_transfer_begins_alone(const ccurl_transfer *transfer);
// Whether it runs, and has no connection yet on which it can be sent.
bool ccurl_transfer_is_connecting(const ccurl_transfer *transfer);
// Whether libcurl has begun to send the request on some connection.
bool ccurl_transfer_was_sent(const ccurl_transfer *transfer);
// Whether nothing of it was sent on its kept connection, and it can begin again, if that is one of HTTP/3: only when it
// sends does libcurl notice that the server has closed such a connection.
bool ccurl_transfer_can_begin_again(const ccurl_transfer *transfer);
// Whether all bytes of the response's body have come by its Content-Length, and none is kept back.
bool ccurl_transfer_has_whole_body(const ccurl_transfer *transfer);
// Whether libcurl's words about a failure name another error than EPIPE.
bool ccurl_transfer_has_other_error(const ccurl_transfer *transfer);
long ccurl_transfer_get_long(const ccurl_transfer *transfer, ccurl_info info);
int64_t ccurl_transfer_get_offset(const ccurl_transfer *transfer, ccurl_info info);

// MARK: What is done with it

// Notifies the hook how far it has come.
void ccurl_transfer_tell(ccurl_transfer *transfer, ccurl_step step);
// Notes why it has to end, unless there is a reason already.
void ccurl_transfer_give_reason(ccurl_transfer *transfer, ccurl_reason reason);
// Sets an option that the next request does not set itself.
void ccurl_transfer_set_special_long(ccurl_transfer *transfer, ccurl_option option, long value);
// Has it sent over HTTP/1.1.
void ccurl_transfer_downgrade(ccurl_transfer *transfer);
// Resumes a paused response.
ccurl_code ccurl_transfer_resume(ccurl_transfer *transfer);
// Has libcurl forget what it has kept of a paused response. The transfer has to be removed then.
void ccurl_transfer_discard(ccurl_transfer *transfer);

#endif
