// The body of a request, and the response that comes before all of it was sent.
#ifndef CCURL_UPLOAD_H
#define CCURL_UPLOAD_H

#include "ccurl.h"

typedef struct {
    // The body; NULL for a streamed one.
    uint8_t *bytes;
    size_t length, position;
    // Whether there is one.
    bool exists;
    // Whether the transfer is in the loop's list of those whose response may come before all of the body was sent.
    bool is_answered;
    ccurl_transfer *next_answered, *previous_answered;
    // When libcurl was last made to send, in microseconds.
    int64_t probed;
} ccurl_upload;

// The transfers of a loop with a body whose response has begun, and when to look at them next, in microseconds; -1 for
// no such time.
typedef struct {
    ccurl_transfer *first;
    int64_t due;
} ccurl_answered;

// Notes that the response of the transfer has begun, and whether its status is not 2xx.
void ccurl_upload_note_response(ccurl_transfer *transfer, bool is_error);
// Takes the transfer off the list of those whose response has begun.
void ccurl_upload_forget(ccurl_transfer *transfer);
// Whether the request has no body, or one that is so small that it leaves with its head.
bool ccurl_upload_leaves_with_head(const ccurl_transfer *transfer);
// Whether what has come is the response, although libcurl's result is a failure.
bool ccurl_upload_is_response(ccurl_transfer *transfer, ccurl_code result);
// Returns a transfer that need not send the rest of its body, because its response is complete; NULL if there is none.
ccurl_transfer *ccurl_upload_next_complete(ccurl_loop *loop);

#endif
