// The body of a request, and the response that comes before all of it was sent.
//
// Over HTTP/2 a server may answer completely, and then ask with RST_STREAM(NO_ERROR) that the rest of the body is kept
// (RFC 9113, 8.1). libcurl 7.88 does one of two things then: it goes on sending, finds the stream closed, and drops the
// response it has delivered (its result is HTTP2_STREAM, without words), or it waits for ever for room to send the
// rest. After an error over HTTP/1.1 it stops sending, but not if the body's stream has paused it: then it waits for
// that stream. So the loop looks after every such request once its response has begun: one that is complete by its
// Content-Length is taken; otherwise libcurl is made to send, which is when it notices.
#include "ccurl.h"

#if defined(__linux__)

#include "library.h"

#include <stdlib.h>
#include <string.h>

// How often libcurl is made to send while nothing of the response comes, in microseconds: the end of a stream may come
// by itself, and libcurl tells of it to nobody.
#define LOOK_INTERVAL 50000

static size_t give_upload(char *bytes, size_t size, size_t count, void *context) {
    ccurl_transfer *transfer = context;
    size_t room = size * count;
    size_t left = transfer->upload_length - transfer->upload_position;
    size_t length = left < room ? left : room;
    memcpy(bytes, transfer->upload + transfer->upload_position, length);
    transfer->upload_position += length;
    return length;
}

static size_t pull_upload(char *bytes, size_t size, size_t count, void *context) {
    ccurl_transfer *transfer = context;
    ptrdiff_t given = transfer->hooks.on_upload(transfer->hooks.context, (uint8_t *)bytes, size * count);
    if (given == CCURL_PAUSE) return CCURL_READFUNC_PAUSE;
    return given < 0 ? CCURL_READFUNC_ABORT : (size_t)given;
}

int ccurl_set_upload(ccurl_transfer *transfer, const void *bytes, size_t count) {
    if (count > 0) {
        transfer->upload = malloc(count);
        if (!transfer->upload) return 0;
        memcpy(transfer->upload, bytes, count);
        transfer->upload_length = count;
    }
    transfer->has_upload = 1;
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_READFUNCTION, give_upload);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_READDATA, transfer);
    return 1;
}

void ccurl_set_empty_upload(ccurl_transfer *transfer) {
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_POSTFIELDS, "");
}

void ccurl_stream_upload(ccurl_transfer *transfer) {
    transfer->has_upload = 1;
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_READFUNCTION, pull_upload);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_READDATA, transfer);
}

void ccurl_upload_note_response(ccurl_transfer *transfer, int is_error) {
    if (!transfer->has_upload || transfer->is_answered) return;
    if (!is_error && ccurl_get_long(transfer, CCURLINFO_HTTP_VERSION) != CCURL_HTTP_VERSION_2_0) return;
    ccurl_loop *loop = transfer->loop;
    transfer->is_answered = 1;
    transfer->next_answered = loop->answered;
    if (loop->answered) loop->answered->previous_answered = transfer;
    loop->answered = transfer;
}

void ccurl_upload_forget(ccurl_transfer *transfer) {
    if (!transfer->is_answered) return;
    ccurl_transfer *next = transfer->next_answered, *previous = transfer->previous_answered;
    if (next) next->previous_answered = previous;
    if (previous) previous->next_answered = next;
    else transfer->loop->answered = next;
    transfer->next_answered = transfer->previous_answered = NULL;
    transfer->is_answered = 0;
}

// Whether all bytes of the response's body have come, and were taken.
static int has_whole_body(ccurl_transfer *transfer) {
    return transfer->head_complete && transfer->length >= 0 && !transfer->is_paused &&
           ccurl_get_offset(transfer, CCURLINFO_SIZE_DOWNLOAD_T) >= transfer->length;
}

// Whether some of the request's body is left. Of a stream that is never known.
static int has_more_to_send(ccurl_transfer *transfer) {
    if (!transfer->upload) return 1;
    return ccurl_get_offset(transfer, CCURLINFO_SIZE_UPLOAD_T) < (int64_t)transfer->upload_length;
}

int ccurl_upload_is_response(ccurl_transfer *transfer, ccurl_code result) {
    if (result != CCURLE_HTTP2_STREAM || !transfer->is_answered || transfer->objection || transfer->error[0]) return 0;
    return transfer->length < 0 ? transfer->head_complete && !transfer->is_paused : has_whole_body(transfer);
}

ccurl_transfer *ccurl_upload_next_complete(ccurl_loop *loop) {
    loop->look_due = -1;
    if (!loop->answered) return NULL;
    int64_t now = ccurl_now();
    for (ccurl_transfer *transfer = loop->answered; transfer; transfer = transfer->next_answered) {
        int is_whole = has_whole_body(transfer);
        if (is_whole && has_more_to_send(transfer)) return transfer;
        loop->look_due = now + LOOK_INTERVAL;
        if (is_whole || transfer->is_paused || now - transfer->looked < LOOK_INTERVAL) continue;
        transfer->looked = now;
        // Only a change makes libcurl send.
        ccurl_api.easy_pause(transfer->easy, CCURLPAUSE_SEND);
        ccurl_loop_resume(loop, transfer);
    }
    return NULL;
}

#endif
