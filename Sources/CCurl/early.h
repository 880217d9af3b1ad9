// Responses that come before all of their requests was sent.
//
// Over HTTP/2 a server may respond completely and then ask, with RST_STREAM(NO_ERROR), that the client keep the rest
// of the body (RFC 9113, 8.1). libcurl 7.88 does one of two things then. It goes on sending, finds the stream closed
// and drops the response that it has delivered: its result is HTTP2_STREAM without words or, if that was the last
// request of the connection, PARTIAL_FILE; newer versions have others. Or it waits for ever for room to send the rest.
// (The curl program sees that only with large bodies: it hands over the body with the head, and a small one leaves with
// it.) After an error over HTTP/1.1 it stops sending, unless the body's stream has paused it: then it waits for that
// stream. So the loop looks after every such request once its response has begun. One that is complete by its
// Content-Length is taken; otherwise the loop makes libcurl send, which is when libcurl notices.
#ifndef CCURL_EARLY_H
#define CCURL_EARLY_H

#include "upload.h"

// The transfers of a loop with a body whose response has begun, and when to look at them next, in microseconds; -1 for
// no such time.
typedef struct {
    ccurl_transfer *first;
    int64_t due;
} ccurl_early;

// Notes that the response of the transfer has begun, and whether its status is not 2xx.
void ccurl_early_note(ccurl_early *early, ccurl_transfer *transfer, bool is_error);
// Takes the transfer off the list.
void ccurl_early_forget(ccurl_early *early, ccurl_transfer *transfer);
// Whether what has come is the response, although libcurl's result is a failure.
bool ccurl_early_is_response(const ccurl_transfer *transfer, ccurl_code result);

typedef enum {
    // It is left as it is.
    CCURL_LEAVE,
    // libcurl is made to send.
    CCURL_PROBE,
    // It need not send the rest of its body, because its response is complete.
    CCURL_COMPLETE,
} ccurl_early_step;

// Returns what is to be done with a transfer of the list. `now` is in microseconds.
ccurl_early_step ccurl_early_next_step(ccurl_early *early, ccurl_transfer *transfer, int64_t now);

#endif
