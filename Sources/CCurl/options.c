// The options of a request, which Swift sets one by one.
#include "ccurl.h"

#if defined(__linux__)

#include "library.h"
#include "transfer.h"

#include <string.h>

// As libcurl lays it out.
typedef struct field_line {
    char *line;
    struct field_line *next;
} field_line;

static ccurl_setup setup_of(const ccurl_request *request) { return request->is_plain ? CCURL_COMMON : CCURL_SPECIAL; }

bool ccurl_transfer_begin(ccurl_transfer *transfer, const ccurl_request *request) {
    assert(transfer->state == CCURL_PREPARING && transfer->setup != CCURL_SPECIAL);
    transfer->request = *request;
    if (transfer->setup == CCURL_BARE) return true;
    transfer->setup = setup_of(request);
    return false;
}

void ccurl_transfer_keep_shared_options(ccurl_transfer *transfer) {
    assert(transfer->state == CCURL_PREPARING && transfer->setup == CCURL_BARE);
    transfer->setup = setup_of(&transfer->request);
}

void ccurl_set_hooks(ccurl_transfer *transfer, ccurl_hooks hooks) {
    assert(transfer->state == CCURL_PREPARING);
    transfer->hooks = hooks;
}

void ccurl_set_permit_end(ccurl_transfer *transfer, int64_t end) {
    assert(transfer->state == CCURL_PREPARING);
    transfer->request.permit_end = end;
}

void ccurl_trust_system(ccurl_transfer *transfer) {
    assert(transfer->state == CCURL_PREPARING);
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
    if (ccurl_has_file(file)) ccurl_api.easy_setopt(transfer->easy, CCURLOPT_CAPATH, NULL);
}

ccurl_code ccurl_set_long(ccurl_transfer *transfer, ccurl_option option, long value) {
    assert(transfer->state == CCURL_PREPARING);
    return ccurl_api.easy_setopt(transfer->easy, option, value);
}

ccurl_code ccurl_set_offset(ccurl_transfer *transfer, ccurl_option option, int64_t value) {
    assert(transfer->state == CCURL_PREPARING);
    return ccurl_api.easy_setopt(transfer->easy, option, value);
}

ccurl_code ccurl_set_text(ccurl_transfer *transfer, ccurl_option option, const char *value) {
    assert(transfer->state == CCURL_PREPARING);
    return ccurl_api.easy_setopt(transfer->easy, option, value);
}

// The list and its lines are one block, which the next request uses again.
bool ccurl_set_headers(ccurl_transfer *transfer, const char *lines, size_t count) {
    assert(transfer->state == CCURL_PREPARING);
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

#endif
