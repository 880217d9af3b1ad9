// Over HTTP/2 a server may respond completely and then ask, with RST_STREAM(NO_ERROR), that the client keep the rest
// of the body (RFC 9113, 8.1). libcurl 7.88 does one of two things then. It goes on sending, finds the stream closed
// and drops the response that it has delivered: its result is HTTP2_STREAM without words or, if that was the last
// request of the connection, PARTIAL_FILE; newer versions have others. Or it waits for ever for room to send the rest.
// (The curl program sees that only with large bodies: it hands over the body with the head, and a small one leaves with
// it.) After an error over HTTP/1.1 it stops sending, unless the body's stream has paused it: then it waits for that
// stream. So the loop looks after every such request once its response has begun. One that is complete by its
// Content-Length is taken; otherwise the loop makes libcurl send, which is when libcurl notices.
#include "ccurl.h"

#if defined(__linux__)

#include "library.h"
#include "transfer.h"

#include <stdlib.h>
#include <string.h>

// How often libcurl is made to send while nothing of the response comes, in microseconds: libcurl does not say when
// the end of a stream comes by itself.
#define PROBE_INTERVAL 50000

// The largest body that leaves with its head, in bytes.
#define SMALL (16 << 10)

static size_t give_bytes(char *bytes, size_t size, size_t count, void *context) {
    ccurl_upload *upload = ccurl_transfer_upload(context);
    size_t room = size * count;
    size_t left = upload->length - upload->position;
    size_t length = left < room ? left : room;
    memcpy(bytes, upload->bytes + upload->position, length);
    upload->position += length;
    ccurl_transfer_tell(context, CCURL_PROGRESS);
    return length;
}

static size_t pull_bytes(char *bytes, size_t size, size_t count, void *context) {
    const ccurl_hooks *hooks = ccurl_transfer_hooks(context);
    ptrdiff_t given = hooks->on_upload(hooks->context, (uint8_t *)bytes, size * count);
    if (given == CCURL_PAUSE) return CCURL_READFUNC_PAUSE;
    ccurl_transfer_tell(context, CCURL_PROGRESS);
    return given < 0 ? CCURL_READFUNC_ABORT : (size_t)given;
}

static void install(ccurl_transfer *transfer, size_t (*read)(char *, size_t, size_t, void *)) {
    ccurl_transfer_upload(transfer)->exists = true;
    ccurl_api.easy_setopt(ccurl_transfer_easy(transfer), CCURLOPT_READFUNCTION, read);
    ccurl_api.easy_setopt(ccurl_transfer_easy(transfer), CCURLOPT_READDATA, transfer);
}

bool ccurl_set_upload(ccurl_transfer *transfer, const void *bytes, size_t count) {
    ccurl_upload *upload = ccurl_transfer_upload(transfer);
    if (count > 0) {
        upload->bytes = malloc(count);
        if (!upload->bytes) return false;
        memcpy(upload->bytes, bytes, count);
        upload->length = count;
    }
    install(transfer, give_bytes);
    return true;
}

void ccurl_set_empty_upload(ccurl_transfer *transfer) {
    ccurl_api.easy_setopt(ccurl_transfer_easy(transfer), CCURLOPT_POSTFIELDS, "");
}

void ccurl_stream_upload(ccurl_transfer *transfer) { install(transfer, pull_bytes); }

bool ccurl_upload_leaves_with_head(const ccurl_transfer *transfer) {
    const ccurl_upload *upload = ccurl_transfer_upload((ccurl_transfer *)transfer);
    return !upload->exists || (upload->bytes && upload->length <= SMALL);
}

void ccurl_upload_note_response(ccurl_transfer *transfer, bool is_error) {
    ccurl_upload *upload = ccurl_transfer_upload(transfer);
    if (!upload->exists || upload->is_answered) return;
    bool has_streams = ccurl_transfer_get_long(transfer, CCURLINFO_HTTP_VERSION) >= CCURL_HTTP_VERSION_2_0;
    if (!is_error && !has_streams) return;
    ccurl_answered *answered = ccurl_loop_answered(ccurl_transfer_loop(transfer));
    upload->is_answered = true;
    upload->next_answered = answered->first;
    if (answered->first) ccurl_transfer_upload(answered->first)->previous_answered = transfer;
    answered->first = transfer;
}

void ccurl_upload_forget(ccurl_transfer *transfer) {
    ccurl_upload *upload = ccurl_transfer_upload(transfer);
    if (!upload->is_answered) return;
    ccurl_transfer *next = upload->next_answered, *previous = upload->previous_answered;
    if (next) ccurl_transfer_upload(next)->previous_answered = previous;
    if (previous) ccurl_transfer_upload(previous)->next_answered = next;
    else ccurl_loop_answered(ccurl_transfer_loop(transfer))->first = next;
    upload->next_answered = upload->previous_answered = NULL;
    upload->is_answered = false;
}

// Whether some of the request's body is left to send. Of a stream this is not known.
static bool has_more_to_send(ccurl_transfer *transfer) {
    const ccurl_upload *upload = ccurl_transfer_upload(transfer);
    if (!upload->bytes) return true;
    return ccurl_transfer_get_offset(transfer, CCURLINFO_SIZE_UPLOAD_T) < (int64_t)upload->length;
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

bool ccurl_upload_is_response(ccurl_transfer *transfer, ccurl_code result) {
    if (!has_broken_off(result) || !ccurl_transfer_upload(transfer)->is_answered) return false;
    if (ccurl_transfer_reason(transfer) != CCURL_NO_REASON) return false;
    const ccurl_head *head = ccurl_transfer_lines(transfer);
    if (head->content_length >= 0) return ccurl_transfer_has_whole_body(transfer);
    // Without a length, only the end of its stream completes it, which libcurl does not report by itself.
    if (result != CCURLE_HTTP2_STREAM || ccurl_transfer_words(transfer)[0]) return false;
    return head->is_complete && !ccurl_transfer_is_paused(transfer);
}

// Only a change of what is paused makes libcurl send.
static void probe(ccurl_loop *loop, ccurl_transfer *transfer) {
    ccurl_api.easy_pause(ccurl_transfer_easy(transfer), CCURLPAUSE_SEND);
    ccurl_loop_resume(loop, transfer);
}

ccurl_transfer *ccurl_upload_next_complete(ccurl_loop *loop) {
    ccurl_answered *answered = ccurl_loop_answered(loop);
    answered->due = -1;
    if (!answered->first) return NULL;
    int64_t now = ccurl_now();
    ccurl_transfer *transfer = answered->first;
    for (; transfer; transfer = ccurl_transfer_upload(transfer)->next_answered) {
        ccurl_upload *upload = ccurl_transfer_upload(transfer);
        bool is_whole = ccurl_transfer_has_whole_body(transfer);
        if (is_whole && has_more_to_send(transfer)) return transfer;
        answered->due = now + PROBE_INTERVAL;
        if (is_whole || ccurl_transfer_is_paused(transfer) || now - upload->probed < PROBE_INTERVAL) continue;
        upload->probed = now;
        probe(loop, transfer);
    }
    return NULL;
}

#endif
