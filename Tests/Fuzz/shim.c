// Feeds the callbacks of the shim with heads and bodies in pieces, with input from libFuzzer.
#define DEBUG 1
#include "../../Sources/CCurl/callbacks.c"
#include "../../Sources/CCurl/transfer.c"
#include "../../Sources/CCurl/upload.c"

static ptrdiff_t taken;

static ptrdiff_t take(void *context, const uint8_t *bytes, size_t count) {
    (void)context;
    // Reads every byte, so that the sanitizer detects invalid memory.
    for (size_t i = 0; i < count; i++) taken += bytes[i] & 1;
    return count % 7 == 3 ? CCURL_PAUSE : count % 11 == 5 ? CCURL_ABORT : (ptrdiff_t)count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    static ccurl_loop *loop;
    if (!loop) {
        ccurl_open();
        loop = ccurl_loop_new(ccurl_handles_new());
    }
    const ccurl_request request = {.head_limit = 512, .body_limit = 1024};
    ccurl_transfer transfer = {.state = CCURL_SENDING, .loop = loop, .request = request};
    if (count > 0 && bytes[0] & 1) transfer.hooks.on_body = take;
    size_t upload = 0;
    while (count > 2) {
        size_t length = bytes[1] % 64;
        int kind = bytes[0] % 4;
        bytes += 2, count -= 2;
        if (length > count) length = count;
        // A copy of exactly that size, so that the sanitizer detects reads beyond it.
        char *piece = malloc(length + (length == 0));
        memcpy(piece, bytes, length);
        switch (kind) {
        case 0:
        case 1: take_head(piece, 1, length, &transfer); break;
        case 2: take_body(piece, 1, length, &transfer); break;
        default:
            if (!transfer.upload.bytes) {
                transfer.upload.bytes = malloc(100);
                memset(transfer.upload.bytes, 1, 100);
                transfer.upload.length = 100;
            }
            upload += give_bytes(piece, 1, length, &transfer);
        }
        free(piece);
        bytes += length, count -= length;
        assert(transfer.head.length <= 512 && transfer.body_length <= 1024);
        assert(upload <= 100);
    }
    size_t length;
    transfer.state = CCURL_ENDED;
    // The loop remembers those that rest, and this one is on the stack.
    ccurl_fairness_forget(&loop->fairness, &transfer.rest);
    free(ccurl_transfer_take_body(&transfer, &length));
    free(transfer.head.bytes);
    free(transfer.upload.bytes);
    return 0;
}
