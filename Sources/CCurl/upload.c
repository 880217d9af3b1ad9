#include "upload.h"

#if defined(__linux__)

#include "library.h"

#include <stdlib.h>
#include <string.h>

// The largest body that leaves with its head, in bytes.
#define SMALL (16 << 10)

static size_t give_bytes(char *bytes, size_t size, size_t count, void *context) {
    ccurl_transfer *transfer = context;
    ccurl_upload *upload = &transfer->upload;
    size_t room = size * count;
    size_t left = upload->length - upload->position;
    size_t length = left < room ? left : room;
    memcpy(bytes, upload->bytes + upload->position, length);
    upload->position += length;
    ccurl_transfer_tell(transfer, CCURL_PROGRESS);
    return length;
}

static size_t pull_bytes(char *bytes, size_t size, size_t count, void *context) {
    ccurl_transfer *transfer = context;
    const ccurl_hooks *hooks = &transfer->hooks;
    ptrdiff_t given = hooks->on_upload(hooks->context, (uint8_t *)bytes, size * count);
    if (given == CCURL_PAUSE) return CCURL_READFUNC_PAUSE;
    ccurl_transfer_tell(transfer, CCURL_PROGRESS);
    return given < 0 ? CCURL_READFUNC_ABORT : (size_t)given;
}

static void install(ccurl_transfer *transfer, size_t (*read)(char *, size_t, size_t, void *)) {
    transfer->upload.exists = true;
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_READFUNCTION, read);
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_READDATA, transfer);
}

bool ccurl_set_upload(ccurl_transfer *transfer, const void *bytes, size_t count) {
    ccurl_upload *upload = &transfer->upload;
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
    ccurl_api.easy_setopt(transfer->easy, CCURLOPT_POSTFIELDS, "");
}

void ccurl_stream_upload(ccurl_transfer *transfer) { install(transfer, pull_bytes); }

bool ccurl_upload_leaves_with_head(const ccurl_upload *upload) {
    return !upload->exists || (upload->bytes && upload->length <= SMALL);
}

bool ccurl_upload_has_more(const ccurl_transfer *transfer) {
    const ccurl_upload *upload = &transfer->upload;
    if (!upload->bytes) return true;
    return ccurl_transfer_get_offset(transfer, CCURLINFO_SIZE_UPLOAD_T) < (int64_t)upload->length;
}

#endif
