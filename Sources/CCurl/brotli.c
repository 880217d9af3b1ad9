// Brotli, with its own library.
#include "coding.h"
#include "functions.h"

#if defined(__linux__)

#include <pthread.h>
#include <stdlib.h>

enum { BROTLI_FAILED = 0, BROTLI_ENDED = 1 };
// The errors of the library about memory, from the last to the first.
enum { BROTLI_LAST_OF_MEMORY = -31, BROTLI_FIRST_OF_MEMORY = -21 };

static struct {
    void *(*create)(void *(*allocate)(void *, size_t), void (*free)(void *, void *), void *context);
    void (*destroy)(void *);
    int (*decompress)(void *, size_t *count, const uint8_t **bytes, size_t *size, uint8_t **room, size_t *total);
    int (*error)(const void *);
} brotli;

typedef struct {
    void *decoder;
    bool has_ended;
} unpacking;

static void *begin(void) {
    unpacking *state = calloc(1, sizeof *state);
    if (!state) return NULL;
    state->decoder = brotli.create(NULL, NULL, NULL);
    if (state->decoder) return state;
    free(state);
    return NULL;
}

static ccurl_decoding undo(void *context, ccurl_work *work) {
    unpacking *state = context;
    if (state->has_ended) return work->count > 0 ? CCURL_SURPLUS : CCURL_GOES_ON;
    int result = brotli.decompress(state->decoder, &work->count, &work->bytes, &work->size, &work->room, NULL);
    state->has_ended = result == BROTLI_ENDED;
    if (result != BROTLI_FAILED) return CCURL_GOES_ON;
    int error = brotli.error(state->decoder);
    bool is_memory = error >= BROTLI_LAST_OF_MEMORY && error <= BROTLI_FIRST_OF_MEMORY;
    return is_memory ? CCURL_NO_MEMORY : CCURL_DAMAGED;
}

static bool is_whole(const void *state) { return ((const unpacking *)state)->has_ended; }

static void end(void *context) {
    unpacking *state = context;
    brotli.destroy(state->decoder);
    free(state);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_there;

#define FUNCTIONS(FUNCTION) \
    FUNCTION(brotli.create, BrotliDecoderCreateInstance) \
    FUNCTION(brotli.destroy, BrotliDecoderDestroyInstance) \
    FUNCTION(brotli.decompress, BrotliDecoderDecompressStream) \
    FUNCTION(brotli.error, BrotliDecoderGetErrorCode)
FUNCTIONS(CCURL_DECLARE_OPTIONAL)

static void open_library(void) {
    const ccurl_function functions[] = {FUNCTIONS(CCURL_ENTRY)};
    is_there = ccurl_find("libbrotlidec.so.1", functions, sizeof functions / sizeof *functions);
}

const ccurl_coding *ccurl_brotli(void) {
    static const ccurl_coding coding = {begin, undo, is_whole, end};
    pthread_once(&once, open_library);
    return is_there ? &coding : NULL;
}

#endif
