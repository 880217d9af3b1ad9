#include "ccurl.h"

#if defined(__linux__)

#include "fields.h"
#include "loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// As libcurl lays it out.
typedef struct field_line {
    char *line;
    struct field_line *next;
} field_line;

// MARK: What the other files ask for

void *ccurl_transfer_easy(const ccurl_transfer *transfer) { return transfer->easy; }
ccurl_loop *ccurl_transfer_loop(const ccurl_transfer *transfer) { return transfer->loop; }
const ccurl_hooks *ccurl_transfer_hooks(const ccurl_transfer *transfer) { return &transfer->hooks; }
const ccurl_head *ccurl_transfer_lines(const ccurl_transfer *transfer) { return &transfer->head; }
ccurl_upload *ccurl_transfer_upload(ccurl_transfer *transfer) { return &transfer->upload; }
ccurl_connection *ccurl_transfer_connection(ccurl_transfer *transfer) { return &transfer->connection; }
ccurl_rest *ccurl_transfer_rest(ccurl_transfer *transfer) { return &transfer->rest; }
const char *ccurl_transfer_words(const ccurl_transfer *transfer) { return transfer->words; }
ccurl_reason ccurl_transfer_reason(const ccurl_transfer *transfer) { return transfer->reason; }
ccurl_repetition ccurl_transfer_repetition(const ccurl_transfer *transfer) { return transfer->repetition; }
ccurl_request ccurl_transfer_request(const ccurl_transfer *transfer) { return transfer->request; }
int64_t ccurl_transfer_started(const ccurl_transfer *transfer) { return transfer->started; }
bool ccurl_transfer_is_encrypted(const ccurl_transfer *transfer) { return transfer->request.is_encrypted; }
bool ccurl_transfer_is_streamed(const ccurl_transfer *transfer) { return transfer->hooks.on_body != NULL; }
bool ccurl_transfer_is_paused(const ccurl_transfer *transfer) { return transfer->is_paused; }

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
    return transfer->state == CONNECTING && !ccurl_transfer_was_sent(transfer);
}

bool ccurl_transfer_may_look_up(const ccurl_transfer *transfer) {
    return ccurl_transfer_is_connecting(transfer) && transfer->connection.opened == 0;
}

bool ccurl_transfer_is_on_kept_connection(const ccurl_transfer *transfer) {
    return transfer->connection.kind == CCURL_ON_KEPT_CONNECTION;
}

bool ccurl_transfer_has_opened(const ccurl_transfer *transfer) { return transfer->connection.opened > 0; }
int64_t ccurl_transfer_opened_at(const ccurl_transfer *transfer) { return transfer->connection.opened_at; }

bool ccurl_transfer_has_whole_body(const ccurl_transfer *transfer) {
    return transfer->head.is_complete && transfer->head.content_length >= 0 && !transfer->is_paused &&
           ccurl_transfer_get_offset(transfer, CCURLINFO_SIZE_DOWNLOAD_T) >= transfer->head.content_length;
}

bool ccurl_transfer_has_alternatives(const ccurl_transfer *transfer) { return transfer->head.has_alternatives; }
bool ccurl_transfer_may_be_coded(const ccurl_transfer *transfer) { return transfer->head.may_be_coded; }
void ccurl_transfer_note_coded(ccurl_transfer *transfer) { transfer->is_coded = true; }

// MARK: From the first request to the last

ccurl_transfer *ccurl_transfer_new(ccurl_loop *loop) {
    ccurl_transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer) return NULL;
    transfer->loop = loop;
    transfer->easy = ccurl_handles_create(ccurl_loop_handles(loop));
    if (!transfer->easy) {
        free(transfer);
        return NULL;
    }
    transfer->handles = ccurl_handles_hold(ccurl_loop_handles(loop));
    ccurl_head_clear(&transfer->head);
    ccurl_install_callbacks(transfer);
    return transfer;
}

// The longest head that a handle may keep until it is freed.
#define LARGEST_KEPT_HEAD (16 << 10)

// Exchanges the handle of a request that has ended for a new one. The old one may be freed later than the transfer, so
// it no longer has the buffer for words. With HTTP, libcurl calls no function when it frees a handle.
static void *exchange(ccurl_transfer *transfer) {
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_ERRORBUFFER, NULL);
    // Until it is freed, the handle keeps the head, too.
    if (transfer->head.length <= LARGEST_KEPT_HEAD) return ccurl_handles_exchange(transfer->handles, transfer->easy);
    ccurl_api.easy_cleanup(transfer->easy);
    return ccurl_handles_create(transfer->handles);
}

bool ccurl_transfer_reset(ccurl_transfer *transfer) {
    // A handle that was about to send again would do so with the next request: a reset does not make it forget.
    bool is_spent = !transfer->easy || transfer->reason == CCURL_REPEATED;
    is_spent |= transfer->state != PREPARING && ccurl_has_header_fault();
    // Before 7.80 the bytes that were sent show whether a request was, and only a reset makes libcurl forget those of
    // the one before.
    bool is_as_needed = transfer->setup == SHARED && !is_spent && ccurl_tells_connected();
    move(transfer, PREPARING);
    ccurl_transfer kept = {
        .state = PREPARING,
        .setup = is_as_needed ? SHARED : BARE,
        .easy = transfer->easy,
        .loop = transfer->loop,
        .handles = transfer->handles,
        .head = transfer->head,
        .fields = transfer->fields,
        .fields_capacity = transfer->fields_capacity,
    };
    ccurl_head_clear(&kept.head);
    // Before anything is freed, because a reset may read it. The connections are the loop's, and stay.
    if (is_spent) {
        kept.easy = transfer->easy ? exchange(transfer) : ccurl_handles_create(transfer->handles);
    } else if (!is_as_needed) {
        ccurl_api.easy_reset(transfer->easy);
    }
    ccurl_upload_forget(transfer);
    free(transfer->body);
    free(transfer->upload.bytes);
    *transfer = kept;
    if (!kept.easy) return false;
    if (!is_as_needed) ccurl_install_callbacks(transfer);
    return true;
}

void ccurl_transfer_free(ccurl_transfer *transfer) {
    assert(transfer->state == PREPARING);
    if (transfer->easy) ccurl_api.easy_cleanup(transfer->easy);
    ccurl_handles_release(transfer->handles);
    free(transfer->fields);
    free(transfer->head.bytes);
    free(transfer->body);
    free(transfer->upload.bytes);
    free(transfer);
}

void ccurl_transfer_start(ccurl_transfer *transfer) {
    assert(transfer->state == PREPARING);
    move(transfer, CONNECTING);
    transfer->started = ccurl_now();
}

void ccurl_transfer_end(ccurl_transfer *transfer, bool is_regular) {
    move(transfer, ENDED);
    if (!is_regular && transfer->setup == SHARED) transfer->setup = SPECIAL;
}

ccurl_code ccurl_transfer_resume(ccurl_transfer *transfer) {
    transfer->is_paused = false;
    return ccurl_api.easy_pause(transfer->easy, CCURLPAUSE_CONT);
}

static void start_again(ccurl_transfer *transfer, ccurl_reason former) {
    assert(transfer->reason == former);
    (void)former;
    move(transfer, CONNECTING);
    transfer->reason = CCURL_NO_REASON;
    memset(transfer->words, 0, sizeof transfer->words);
    transfer->connection.kind = CCURL_UNCONNECTED;
    transfer->upload.position = 0;
    ccurl_transfer_set_special_long(transfer, CCURLOPT_FORBID_REUSE, 0);
}

void ccurl_transfer_restart_without(ccurl_transfer *transfer) { start_again(transfer, CCURL_LACKING_HTTP3); }

void ccurl_transfer_restart(ccurl_transfer *transfer) {
    start_again(transfer, CCURL_STALE);
    ccurl_transfer_set_special_long(transfer, CCURLOPT_FRESH_CONNECT, 1);
}

void ccurl_transfer_leave(ccurl_transfer *transfer) {
    transfer->easy = NULL;
    move(transfer, LEFT);
}

// MARK: What is set

static setup setup_of(const ccurl_request *request) { return request->is_plain ? SHARED : SPECIAL; }

bool ccurl_transfer_begin(ccurl_transfer *transfer, const ccurl_request *request) {
    assert(transfer->state == PREPARING && transfer->setup != SPECIAL);
    transfer->request = *request;
    if (transfer->setup == BARE) return true;
    transfer->setup = setup_of(request);
    return false;
}

void ccurl_transfer_keep_shared_options(ccurl_transfer *transfer) {
    assert(transfer->state == PREPARING && transfer->setup == BARE);
    transfer->setup = setup_of(&transfer->request);
}

void ccurl_transfer_downgrade(ccurl_transfer *transfer) {
    transfer->is_downgraded = true;
    ccurl_transfer_set_special_long(transfer, CCURLOPT_HTTP_VERSION, CCURL_HTTP_VERSION_1_1);
}

void ccurl_transfer_note_stale(ccurl_transfer *transfer) {
    if (transfer->reason == CCURL_NO_REASON) transfer->reason = CCURL_STALE;
}

// MARK: HTTP/3

void ccurl_transfer_choose_http3(ccurl_transfer *transfer, ccurl_http3 way) {
    if (way == transfer->http3) return;
    transfer->http3 = way;
    long version = way == CCURL_WITHOUT_HTTP3   ? CCURL_HTTP_VERSION_2TLS
                   : way == CCURL_KEEPING_HTTP3 ? CCURL_HTTP_VERSION_3ONLY
                                                : CCURL_HTTP_VERSION_3;
    ccurl_transfer_set_special_long(transfer, CCURLOPT_HTTP_VERSION, version);
    // One that was kept may be over TCP, and then the way would not be tried.
    ccurl_transfer_set_special_long(transfer, CCURLOPT_FRESH_CONNECT, way == CCURL_TRYING_HTTP3);
}

ccurl_http3 ccurl_transfer_http3(const ccurl_transfer *transfer) { return transfer->http3; }

bool ccurl_transfer_is_unsent_over_http3(ccurl_transfer *transfer) {
    bool is_kept = transfer->connection.kind == CCURL_ON_KEPT_CONNECTION && transfer->http3 != CCURL_WITHOUT_HTTP3;
    // Of a stream, libcurl may have taken some already, which cannot be given a second time.
    bool can_begin_again = !transfer->upload.exists || transfer->upload.bytes;
    return is_kept && can_begin_again && ccurl_transfer_get_long(transfer, CCURLINFO_REQUEST_SIZE) == 0 &&
           ccurl_sockets_is_http3(ccurl_loop_sockets(transfer->loop), transfer);
}

void ccurl_transfer_note_lack_of_http3(ccurl_transfer *transfer) {
    if (transfer->reason == CCURL_NO_REASON) transfer->reason = CCURL_LACKING_HTTP3;
}

bool ccurl_transfer_lacks_http3(const ccurl_transfer *transfer) {
    return transfer->state == ENDED && transfer->reason == CCURL_LACKING_HTTP3;
}

void ccurl_transfer_set_special_long(ccurl_transfer *transfer, ccurl_option option, long value) {
    if (transfer->setup == SHARED) transfer->setup = SPECIAL;
    ccurl_api.easy_setopt(transfer->easy, option, value);
}

void ccurl_set_hooks(ccurl_transfer *transfer, ccurl_hooks hooks) {
    assert(transfer->state == PREPARING);
    transfer->hooks = hooks;
}

void ccurl_set_permit_end(ccurl_transfer *transfer, int64_t end) {
    assert(transfer->state == PREPARING);
    transfer->request.permit_end = end;
}

void ccurl_trust_system(ccurl_transfer *transfer) {
    assert(transfer->state == PREPARING);
    const char *file = ccurl_system_trust();
    if (file) {
        ccurl_api.easy_setopt(transfer->easy, CCURLOPT_CAINFO, file);
        ccurl_api.easy_setopt(transfer->easy, CCURLOPT_CAPATH, NULL);
        ccurl_api.easy_setopt(transfer->easy, CCURLOPT_PROXY_CAINFO, file);
        return;
    }
    if (!transfer->request.is_encrypted) return;
    // Before 7.84 libcurl does not say.
    if (ccurl_api.easy_getinfo(transfer->easy, CCURLINFO_CAINFO, &file) != CCURLE_OK || !file) return;
    if (ccurl_loop_has_file(transfer->loop, file)) ccurl_api.easy_setopt(transfer->easy, CCURLOPT_CAPATH, NULL);
}

ccurl_code ccurl_set_long(ccurl_transfer *transfer, ccurl_option option, long value) {
    assert(transfer->state == PREPARING);
    return ccurl_api.easy_setopt(transfer->easy, option, value);
}

ccurl_code ccurl_set_offset(ccurl_transfer *transfer, ccurl_option option, int64_t value) {
    assert(transfer->state == PREPARING);
    return ccurl_api.easy_setopt(transfer->easy, option, value);
}

ccurl_code ccurl_set_text(ccurl_transfer *transfer, ccurl_option option, const char *value) {
    assert(transfer->state == PREPARING);
    return ccurl_api.easy_setopt(transfer->easy, option, value);
}

// The list and its lines are one block, which the next request uses again.
bool ccurl_set_headers(ccurl_transfer *transfer, const char *lines, size_t count) {
    assert(transfer->state == PREPARING);
    size_t fields = 0;
    for (size_t i = 0; i < count; i++) fields += lines[i] == 0;
    size_t list = fields * sizeof(field_line);
    if (!ccurl_reserve(&transfer->fields, &transfer->fields_capacity, 0, list + count)) return false;
    field_line *field = (field_line *)transfer->fields;
    char *line = memcpy((char *)transfer->fields + list, lines, count);
    for (size_t i = 0; i < fields; i++) {
        field[i] = (field_line){.line = line, .next = i + 1 < fields ? &field[i + 1] : NULL};
        line += strlen(line) + 1;
    }
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_HTTPHEADER, fields > 0 ? field : NULL);
    return true;
}

// MARK: What has come

ccurl_head_lines ccurl_transfer_head(const ccurl_transfer *transfer) {
    const ccurl_head *head = &transfer->head;
    return (ccurl_head_lines){(const uint8_t *)head->bytes, head->length, head->is_complete};
}

uint8_t *ccurl_transfer_take_body(ccurl_transfer *transfer, size_t *length) {
    assert(transfer->state == ENDED);
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
    bool has_response = transfer->state == ENDED && transfer->head.is_complete;
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
