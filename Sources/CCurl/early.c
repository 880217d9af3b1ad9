#include "early.h"

#if defined(__linux__)

#include "ccurl_decisions.h"

// How often libcurl is made to send while nothing of the response comes, in microseconds: libcurl does not say when
// the end of a stream comes by itself.
#define PROBE_INTERVAL 50000

void ccurl_early_note(ccurl_early *early, ccurl_transfer *transfer, bool is_error) {
    ccurl_early_place *place = &transfer->early;
    if (!transfer->upload.exists || place->is_listed) return;
    bool has_streams = ccurl_transfer_get_long(transfer, CCURLINFO_HTTP_VERSION) >= CCURL_HTTP_VERSION_2_0;
    if (!is_error && !has_streams) return;
    place->is_listed = true;
    place->next = early->first;
    if (early->first) early->first->early.previous = transfer;
    early->first = transfer;
}

void ccurl_early_forget(ccurl_early *early, ccurl_transfer *transfer) {
    ccurl_early_place *place = &transfer->early;
    if (!place->is_listed) return;
    if (place->next) place->next->early.previous = place->previous;
    if (place->previous) place->previous->early.next = place->next;
    else early->first = place->next;
    place->next = place->previous = NULL;
    place->is_listed = false;
}

bool ccurl_early_is_response(const ccurl_transfer *transfer, ccurl_code result) {
    if (!transfer->early.is_listed || transfer->reason != CCURL_NO_REASON) return false;
    const ccurl_early_end end = {
        .result = result,
        .has_words = transfer->words[0],
        .has_whole_head = transfer->head.is_complete,
        .is_paused = transfer->is_paused,
        .has_length = transfer->head.content_length >= 0,
        .has_whole_body = ccurl_transfer_has_whole_body(transfer),
    };
    return ccurl_is_whole_response(&end);
}

ccurl_early_step ccurl_early_next_step(ccurl_early *early, ccurl_transfer *transfer, int64_t now) {
    bool is_whole = ccurl_transfer_has_whole_body(transfer);
    if (is_whole && ccurl_upload_has_more(transfer)) return CCURL_COMPLETE;
    early->due = now + PROBE_INTERVAL;
    if (is_whole || transfer->is_paused || now - transfer->early.probed < PROBE_INTERVAL) return CCURL_LEAVE;
    transfer->early.probed = now;
    return CCURL_PROBE;
}

#endif
