#include "ccurl.h"

#if defined(__linux__)

#include "ccurl_decisions.h"
#include "library.h"
#include "transfer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// MARK: From the first request to the last

ccurl_transfer *ccurl_transfer_create(ccurl_handles *handles) {
    ccurl_transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer) return NULL;
    transfer->easy = ccurl_handles_create(handles);
    if (!transfer->easy) {
        free(transfer);
        return NULL;
    }
    transfer->handles = ccurl_handles_hold(handles);
    ccurl_head_clear(&transfer->head);
    return transfer;
}

void ccurl_transfer_move(ccurl_transfer *transfer, ccurl_state next) {
    static const unsigned former[] = {
        [CCURL_PREPARING] = 1 << CCURL_PREPARING | 1 << CCURL_ENDED | 1 << CCURL_LEFT,
        [CCURL_CONNECTING] = 1 << CCURL_PREPARING | 1 << CCURL_ENDED,
        [CCURL_SENDING] = 1 << CCURL_CONNECTING,
        [CCURL_RECEIVING] = 1 << CCURL_CONNECTING | 1 << CCURL_SENDING,
        [CCURL_ENDED] = 1 << CCURL_CONNECTING | 1 << CCURL_SENDING | 1 << CCURL_RECEIVING,
        [CCURL_LEFT] = 1 << CCURL_CONNECTING,
    };
    assert(former[next] & 1u << transfer->state);
    (void)former;
    int change = (next == CCURL_CONNECTING) - (transfer->state == CCURL_CONNECTING);
    if (change && transfer->request.is_encrypted) *transfer->connecting += change;
    transfer->state = next;
}

// The longest head that a handle may keep until it is freed.
#define LARGEST_KEPT_HEAD (16 << 10)

// Exchanges the handle of a request that has ended for a new one. The old one may be freed later than the transfer, so
// it no longer has the buffer for words. With HTTP, libcurl calls no function when it frees a handle.
static void *exchange(ccurl_transfer *transfer) {
    if (!transfer->easy) return ccurl_handles_create(transfer->handles);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_ERRORBUFFER, NULL);
    // Until it is freed, the handle keeps the head, too.
    if (transfer->head.length <= LARGEST_KEPT_HEAD)
        return ccurl_handles_exchange(transfer->handles, transfer->easy, transfer->loop_number);
    ccurl_api.easy_cleanup(transfer->easy);
    return ccurl_handles_create(transfer->handles);
}

int ccurl_transfer_loop_number(const ccurl_transfer *transfer) { return transfer->loop_number; }

bool ccurl_transfer_renew(ccurl_transfer *transfer) {
    assert(!transfer->early.is_listed && !transfer->rest.is_resting);
    const ccurl_used_handle used = {
        .is_gone = !transfer->easy,
        .is_repeating = transfer->reason == CCURL_REPEATED,
        .was_started = transfer->state != CCURL_PREPARING,
        .has_shared_options = transfer->setup == CCURL_COMMON,
        .has_header_fault = ccurl_has_header_fault(),
        .tells_connected = ccurl_tells_connected(),
    };
    ccurl_handle_choice choice = ccurl_choose_handle(&used);
    ccurl_transfer_move(transfer, CCURL_PREPARING);
    ccurl_transfer kept = {
        .setup = choice == CCURL_KEPT_HANDLE ? CCURL_COMMON : CCURL_BARE,
        .easy = transfer->easy,
        .handles = transfer->handles,
        .loop_number = transfer->loop_number,
        .head = transfer->head,
        .fields = transfer->fields,
        .fields_capacity = transfer->fields_capacity,
    };
    ccurl_head_clear(&kept.head);
    // Before anything is freed, because a reset may read it. The connections are the loop's, and stay.
    if (choice == CCURL_NEW_HANDLE) kept.easy = exchange(transfer);
    else if (choice == CCURL_BARE_HANDLE) ccurl_api.easy_reset(transfer->easy);
    free(transfer->body);
    free(transfer->upload.bytes);
    *transfer = kept;
    return kept.easy;
}

void ccurl_transfer_free(ccurl_transfer *transfer) {
    assert(transfer->state == CCURL_PREPARING);
    if (transfer->easy) ccurl_api.easy_cleanup(transfer->easy);
    ccurl_handles_release(transfer->handles);
    free(transfer->fields);
    free(transfer->head.bytes);
    free(transfer->body);
    free(transfer->upload.bytes);
    free(transfer);
}

void ccurl_transfer_start(ccurl_transfer *transfer) {
    assert(transfer->state == CCURL_PREPARING);
    ccurl_transfer_move(transfer, CCURL_CONNECTING);
    transfer->started = ccurl_now();
}

void ccurl_transfer_restart(ccurl_transfer *transfer, ccurl_reason former) {
    assert(transfer->reason == former);
    ccurl_transfer_move(transfer, CCURL_CONNECTING);
    transfer->reason = CCURL_NO_REASON;
    memset(transfer->words, 0, sizeof transfer->words);
    transfer->connection.kind = CCURL_UNCONNECTED;
    transfer->connection.shared = 0;
    transfer->upload.position = 0;
    ccurl_transfer_set_special_long(transfer, CCURLOPT_FORBID_REUSE, 0);
    if (former != CCURL_STALE) return;
    // One of HTTP/2 may be in use, so libcurl would choose it again. Another that is idle is as good as a new one.
    if (transfer->connection.may_be_http1 || transfer->avoids_shared)
        ccurl_transfer_set_special_long(transfer, CCURLOPT_FRESH_CONNECT, 1);
    else transfer->avoids_shared = true;
}

void ccurl_transfer_end(ccurl_transfer *transfer, bool is_regular) {
    ccurl_transfer_move(transfer, CCURL_ENDED);
    if (!is_regular && transfer->setup == CCURL_COMMON) transfer->setup = CCURL_SPECIAL;
}

void ccurl_transfer_leave(ccurl_transfer *transfer) {
    transfer->easy = NULL;
    ccurl_transfer_move(transfer, CCURL_LEFT);
}

// MARK: What is done with it

void ccurl_transfer_tell(ccurl_transfer *transfer, ccurl_step step) {
    if (transfer->hooks.on_step) transfer->hooks.on_step(transfer->hooks.context, step);
}

void ccurl_transfer_give_reason(ccurl_transfer *transfer, ccurl_reason reason) {
    if (transfer->reason == CCURL_NO_REASON) transfer->reason = reason;
}

void ccurl_transfer_set_special_long(ccurl_transfer *transfer, ccurl_option option, long value) {
    if (transfer->setup == CCURL_COMMON) transfer->setup = CCURL_SPECIAL;
    ccurl_api.easy_setopt(transfer->easy, option, value);
}

void ccurl_transfer_downgrade(ccurl_transfer *transfer) {
    transfer->is_downgraded = true;
    ccurl_transfer_set_special_long(transfer, CCURLOPT_HTTP_VERSION, CCURL_HTTP_VERSION_1_1);
}

ccurl_code ccurl_transfer_resume(ccurl_transfer *transfer) {
    transfer->is_paused = false;
    return ccurl_api.easy_pause(transfer->easy, CCURLPAUSE_CONT);
}

static size_t discard(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes, (void)context;
    return size * count;
}

void ccurl_transfer_discard(ccurl_transfer *transfer) {
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_WRITEFUNCTION, discard);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_HEADERFUNCTION, discard);
    ccurl_transfer_resume(transfer);
}

// MARK: What is known of it

ccurl_request ccurl_transfer_request(const ccurl_transfer *transfer) { return transfer->request; }
bool ccurl_transfer_is_streamed(const ccurl_transfer *transfer) { return transfer->hooks.on_body != NULL; }

bool ccurl_transfer_begins_alone(const ccurl_transfer *transfer) {
    return transfer->request.is_encrypted && (ccurl_transfer_is_streamed(transfer) || transfer->avoids_shared);
}

long ccurl_transfer_get_long(const ccurl_transfer *transfer, ccurl_info info) {
    long value = 0;
    if (transfer->easy) ccurl_api.easy_getinfo(transfer->easy, info, &value);
    return value;
}

int64_t ccurl_transfer_get_offset(const ccurl_transfer *transfer, ccurl_info info) {
    int64_t value = 0;
    if (transfer->easy) ccurl_api.easy_getinfo(transfer->easy, info, &value);
    return value;
}

bool ccurl_transfer_was_sent(const ccurl_transfer *transfer) {
    if (ccurl_tells_connected()) return transfer->connection.kind != CCURL_UNCONNECTED;
    return ccurl_transfer_get_long(transfer, CCURLINFO_REQUEST_SIZE) > 0;
}

bool ccurl_transfer_is_connecting(const ccurl_transfer *transfer) {
    // Before 7.80 it is CONNECTING until the response comes.
    return transfer->state == CCURL_CONNECTING && !ccurl_transfer_was_sent(transfer);
}

bool ccurl_transfer_may_look_up(const ccurl_transfer *transfer) {
    return ccurl_transfer_is_connecting(transfer) && transfer->connection.opened == 0;
}

bool ccurl_transfer_is_on_kept_connection(const ccurl_transfer *transfer) {
    return transfer->connection.kind == CCURL_ON_KEPT_CONNECTION;
}

bool ccurl_transfer_leaves_connection(const ccurl_transfer *transfer) { return transfer->connection.is_left; }

bool ccurl_transfer_has_opened(const ccurl_transfer *transfer) { return transfer->connection.opened > 0; }

bool ccurl_transfer_can_begin_again(const ccurl_transfer *transfer) {
    bool is_kept = ccurl_transfer_is_on_kept_connection(transfer) && transfer->http3 != CCURL_WITHOUT_HTTP3;
    // Of a stream, libcurl may have taken some already, which cannot be given a second time.
    bool has_all = !transfer->upload.exists || transfer->upload.bytes;
    return is_kept && has_all && ccurl_transfer_get_long(transfer, CCURLINFO_REQUEST_SIZE) == 0;
}

bool ccurl_transfer_has_whole_body(const ccurl_transfer *transfer) {
    return transfer->head.is_complete && transfer->head.content_length >= 0 && !transfer->is_paused &&
           ccurl_transfer_get_offset(transfer, CCURLINFO_SIZE_DOWNLOAD_T) >= transfer->head.content_length;
}

bool ccurl_transfer_has_other_error(const ccurl_transfer *transfer) {
    return transfer->words[0] && !strstr(transfer->words, strerror(EPIPE));
}

bool ccurl_transfer_lacks_http3(const ccurl_transfer *transfer) {
    return transfer->state == CCURL_ENDED && transfer->reason == CCURL_LACKING_HTTP3;
}

bool ccurl_transfer_has_alternatives(const ccurl_transfer *transfer) { return transfer->head.has_alternatives; }
bool ccurl_transfer_may_be_coded(const ccurl_transfer *transfer) { return transfer->head.may_be_coded; }
void ccurl_transfer_note_coded(ccurl_transfer *transfer) { transfer->is_coded = true; }

// MARK: What has come

ccurl_head_lines ccurl_transfer_head(const ccurl_transfer *transfer) {
    const ccurl_head *head = &transfer->head;
    return (ccurl_head_lines){(const uint8_t *)head->bytes, head->length, head->is_complete};
}

uint8_t *ccurl_transfer_take_body(ccurl_transfer *transfer, size_t *length) {
    assert(transfer->state == CCURL_ENDED);
    uint8_t *body = transfer->body;
    *length = transfer->body_length;
    transfer->body = NULL;
    transfer->body_length = 0;
    transfer->body_capacity = 0;
    return body;
}

ccurl_timings ccurl_transfer_timings(const ccurl_transfer *transfer) {
    int64_t first_byte = transfer->first_byte ? transfer->first_byte - transfer->started : 0;
    int64_t total = ccurl_transfer_get_offset(transfer, CCURLINFO_TOTAL_TIME_T);
    return (ccurl_timings){
        .looked_up = ccurl_transfer_get_offset(transfer, CCURLINFO_NAMELOOKUP_TIME_T),
        .connected = ccurl_transfer_get_offset(transfer, CCURLINFO_CONNECT_TIME_T),
        .encrypted = ccurl_transfer_get_offset(transfer, CCURLINFO_APPCONNECT_TIME_T),
        .first_byte = first_byte,
        // libcurl's clock begins a little later.
        .total = total > first_byte ? total : first_byte,
        .sent = ccurl_transfer_get_long(transfer, CCURLINFO_REQUEST_SIZE) +
                ccurl_transfer_get_offset(transfer, CCURLINFO_SIZE_UPLOAD_T),
        .received = ccurl_transfer_get_long(transfer, CCURLINFO_HEADER_SIZE) +
                    ccurl_transfer_get_offset(transfer, CCURLINFO_SIZE_DOWNLOAD_T),
        .new_connections = ccurl_transfer_get_long(transfer, CCURLINFO_NUM_CONNECTS),
        .http_version = ccurl_transfer_get_long(transfer, CCURLINFO_HTTP_VERSION),
    };
}

long ccurl_transfer_http_version(const ccurl_transfer *transfer) {
    bool has_response = transfer->state == CCURL_ENDED && transfer->head.is_complete;
    return has_response ? ccurl_transfer_get_long(transfer, CCURLINFO_HTTP_VERSION) : 0;
}

long ccurl_transfer_spoken_version(const ccurl_transfer *transfer) {
    return transfer->head.length > 0 ? ccurl_transfer_get_long(transfer, CCURLINFO_HTTP_VERSION) : 0;
}

void ccurl_transfer_set_words(ccurl_transfer *transfer, const char *words) {
    snprintf(transfer->words, sizeof transfer->words, "%s", words);
}

ccurl_failure ccurl_transfer_failure(const ccurl_transfer *transfer) {
    // About a transfer that never began, libcurl reports what the one before it on the same handle has sent.
    bool may_have_begun = transfer->connection.kind != CCURL_UNCONNECTED || !ccurl_tells_connected();
    return (ccurl_failure){
        .reason = transfer->reason,
        .repetition = transfer->repetition,
        .socket_error = transfer->connection.refusal,
        .connection_error = (int)ccurl_transfer_get_long(transfer, CCURLINFO_OS_ERRNO),
        .may_have_been_seen = may_have_begun && !transfer->connection.is_unseen &&
                              ccurl_transfer_get_long(transfer, CCURLINFO_REQUEST_SIZE) > 0,
        .was_on_kept_connection = ccurl_transfer_is_on_kept_connection(transfer),
        .has_upload = transfer->upload.exists,
        .words = transfer->words,
    };
}

#endif
