// Zstandard, with its own library.
#include "coding.h"
#include "functions.h"

#if defined(__linux__)

#include <pthread.h>
#include <stdlib.h>

// As Zstandard lays them out.
typedef struct {
    void *bytes;
    size_t size, position;
} zstd_output;

typedef struct {
    const void *bytes;
    size_t size, position;
} zstd_input;

enum { ZSTD_WINDOW_TOO_LARGE = 16, ZSTD_NO_MEMORY = 64 };
// The parameter for the largest window, and the largest that a server may use, as a power of two: 8 megabytes
// (RFC 9659). The decoder allocates what the server asks for.
enum { ZSTD_LARGEST_WINDOW = 100, ZSTD_8_MEGABYTES = 23 };

static struct {
    void *(*create)(void);
    size_t (*free)(void *);
    size_t (*set)(void *, int parameter, int value);
    size_t (*decompress)(void *, zstd_output *, zstd_input *);
    unsigned (*is_error)(size_t);
} zstd;

typedef struct {
    void *decoder;
    // Whether a frame has ended, and the next one has not begun.
    bool is_between;
} unpacking;

static void *begin(void) {
    unpacking *state = calloc(1, sizeof *state);
    if (!state) return NULL;
    state->is_between = true;
    state->decoder = zstd.create();
    if (state->decoder && !zstd.is_error(zstd.set(state->decoder, ZSTD_LARGEST_WINDOW, ZSTD_8_MEGABYTES))) return state;
    zstd.free(state->decoder);
    free(state);
    return NULL;
}

static ccurl_decoding undo(void *context, ccurl_work *work) {
    unpacking *state = context;
    // Without bytes the library would begin a frame here.
    if (state->is_between && work->count == 0) return CCURL_GOES_ON;
    zstd_output output = {work->room, work->size, 0};
    zstd_input input = {work->bytes, work->count, 0};
    size_t result = zstd.decompress(state->decoder, &output, &input);
    work->bytes += input.position;
    work->count -= input.position;
    work->room += output.position;
    work->size -= output.position;
    state->is_between = result == 0;
    if (!zstd.is_error(result)) return CCURL_GOES_ON;
    switch (0 - result) {
    case ZSTD_WINDOW_TOO_LARGE: return CCURL_TOO_WIDE;
    case ZSTD_NO_MEMORY: return CCURL_NO_MEMORY;
    default: return CCURL_DAMAGED;
    }
}

static bool is_whole(const void *state) { return ((const unpacking *)state)->is_between; }

static void end(void *context) {
    unpacking *state = context;
    zstd.free(state->decoder);
    free(state);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_there;

#define FUNCTIONS(FUNCTION) \
    FUNCTION(zstd.create, ZSTD_createDStream) \
    FUNCTION(zstd.free, ZSTD_freeDStream) \
    FUNCTION(zstd.set, ZSTD_DCtx_setParameter) \
    FUNCTION(zstd.decompress, ZSTD_decompressStream) \
    FUNCTION(zstd.is_error, ZSTD_isError)
FUNCTIONS(CCURL_DECLARE_OPTIONAL)

static void open_library(void) {
    const ccurl_function functions[] = {FUNCTIONS(CCURL_ENTRY)};
    is_there = ccurl_find("libzstd.so.1", functions, sizeof functions / sizeof *functions);
}

const ccurl_coding *ccurl_zstd(void) {
    static const ccurl_coding coding = {begin, undo, is_whole, end};
    pthread_once(&once, open_library);
    return is_there ? &coding : NULL;
}

#endif
