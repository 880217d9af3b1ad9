// The fields of a transfer, for transfer.c and callbacks.c only.
#ifndef CCURL_FIELDS_H
#define CCURL_FIELDS_H

#include "handles.h"
#include "library.h"
#include "transfer.h"

// See transfer.h.
typedef enum { PREPARING = 0, CONNECTING, SENDING, RECEIVING, ENDED, LEFT } state;

// Which options the handle has.
typedef enum {
    // None but the callbacks.
    BARE = 0,
    // Those that all requests share, and those that each sets again.
    SHARED,
    // Others too: the next request begins with a bare handle.
    SPECIAL,
} setup;

struct ccurl_transfer {
    state state;
    setup setup;
    void *easy;
    ccurl_loop *loop;
    ccurl_handles *handles;
    ccurl_request request;
    ccurl_hooks hooks;
    ccurl_head head;
    // The response's body as far as it has come. With a hook for it, only its length is kept.
    uint8_t *body;
    size_t body_length, body_capacity;
    ccurl_upload upload;
    ccurl_connection connection;
    ccurl_rest rest;
    // The header fields of the request, which libcurl reads here.
    void *fields;
    size_t fields_capacity;
    // Whether it must not go over HTTP/2.
    bool is_downgraded;
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

static inline void move(ccurl_transfer *transfer, state next) {
    static const unsigned former[] = {
        [PREPARING] = 1 << PREPARING | 1 << ENDED | 1 << LEFT,
        [CONNECTING] = 1 << PREPARING | 1 << ENDED,
        [SENDING] = 1 << CONNECTING,
        [RECEIVING] = 1 << CONNECTING | 1 << SENDING,
        [ENDED] = 1 << CONNECTING | 1 << SENDING | 1 << RECEIVING,
        [LEFT] = 1 << CONNECTING,
    };
    assert(former[next] & 1u << transfer->state);
    (void)former;
    int change = (next == CONNECTING) - (transfer->state == CONNECTING);
    if (change && transfer->request.is_encrypted) ccurl_flood_note_connecting(ccurl_loop_flood(transfer->loop), change);
    transfer->state = next;
}

// Has libcurl call the functions of callbacks.c for this transfer.
void ccurl_install_callbacks(ccurl_transfer *transfer);

#endif
