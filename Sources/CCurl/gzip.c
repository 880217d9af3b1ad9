// gzip and deflate, with zlib.
#include "coding.h"
#include "functions.h"

#if defined(__linux__)

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

// As zlib lays it out.
typedef struct {
    const uint8_t *next_in;
    unsigned avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *message;
    void *state;
    void *(*allocate)(void *, unsigned, unsigned);
    void (*free)(void *, void *);
    void *opaque;
    int data_type;
    unsigned long checksum, reserved;
} zlib_stream;

enum { ZLIB_OK = 0, ZLIB_END = 1, ZLIB_NO_MEMORY = -4, ZLIB_NO_PROGRESS = -5, ZLIB_SYNC_FLUSH = 2 };
// The formats, as zlib is told them together with the size of the window.
enum { ZLIB_WRAPPED = 15, ZLIB_RAW = -15, ZLIB_GZIP = 15 + 16, ZLIB_GZIP_OR_WRAPPED = 15 + 32 };

static struct {
    int (*init)(zlib_stream *, int format, const char *version, int size);
    int (*reset)(zlib_stream *, int format);
    int (*inflate)(zlib_stream *, int flush);
    int (*end)(zlib_stream *);
} zlib;

typedef struct {
    zlib_stream stream;
    bool is_deflate, has_begun;
    // Whether a member of gzip, or all of deflate, has ended.
    bool has_ended;
} inflating;

static void *begin(bool is_deflate) {
    inflating *state = calloc(1, sizeof *state);
    if (state) state->is_deflate = is_deflate;
    return state;
}

static void *begin_gzip(void) { return begin(false); }
static void *begin_deflate(void) { return begin(true); }

// By its name, deflate is wrapped as zlib does it (RFC 9110, 8.4.1.2), but many servers send it raw. The wrapping
// begins with the method 8 and the size of the window; raw bytes would do so only with an uncompressed block whose
// padding is not zero, and nothing writes that.
static int format(const inflating *state, uint8_t first) {
    if (!state->is_deflate) return ZLIB_GZIP_OR_WRAPPED;
    return (first & 0x8F) == 8 ? ZLIB_WRAPPED : ZLIB_RAW;
}

static ccurl_decoding undo(void *context, ccurl_work *work) {
    inflating *state = context;
    zlib_stream *stream = &state->stream;
    if (work->count > 0 && !state->has_begun) {
        // zlib compares the first digit of the version and the size with its own.
        int result = zlib.init(stream, format(state, *work->bytes), "1", (int)sizeof *stream);
        if (result != ZLIB_OK) return CCURL_NO_MEMORY;
        state->has_begun = true;
    }
    if (work->count > 0 && state->has_ended) {
        if (state->is_deflate) return CCURL_SURPLUS;
        // Further members follow (RFC 1952, 2.2), whose first byte is this.
        if (*work->bytes != 0x1F) return CCURL_SURPLUS;
        zlib.reset(stream, ZLIB_GZIP);
        state->has_ended = false;
    }
    if (!state->has_begun || state->has_ended) return CCURL_GOES_ON;
    unsigned given = work->count < UINT_MAX ? (unsigned)work->count : UINT_MAX;
    unsigned room = work->size < UINT_MAX ? (unsigned)work->size : UINT_MAX;
    stream->next_in = work->bytes;
    stream->avail_in = given;
    stream->next_out = work->room;
    stream->avail_out = room;
    int result = zlib.inflate(stream, ZLIB_SYNC_FLUSH);
    work->bytes += given - stream->avail_in;
    work->count -= given - stream->avail_in;
    work->room += room - stream->avail_out;
    work->size -= room - stream->avail_out;
    switch (result) {
    case ZLIB_END: state->has_ended = true; return CCURL_GOES_ON;
    case ZLIB_OK:
    case ZLIB_NO_PROGRESS: return CCURL_GOES_ON;
    case ZLIB_NO_MEMORY: return CCURL_NO_MEMORY;
    default: return CCURL_DAMAGED;
    }
}

static bool is_whole(const void *state) { return ((const inflating *)state)->has_ended; }

static void end(void *context) {
    inflating *state = context;
    if (state->has_begun) zlib.end(&state->stream);
    free(state);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_there;

#define FUNCTIONS(FUNCTION) \
    FUNCTION(zlib.init, inflateInit2_) \
    FUNCTION(zlib.reset, inflateReset2) \
    FUNCTION(zlib.inflate, inflate) \
    FUNCTION(zlib.end, inflateEnd)
FUNCTIONS(CCURL_DECLARE_OPTIONAL)

static void open_library(void) {
    const ccurl_function functions[] = {FUNCTIONS(CCURL_ENTRY)};
    is_there = ccurl_find("libz.so.1", functions, sizeof functions / sizeof *functions);
}

static const ccurl_coding *unless_missing(const ccurl_coding *coding) {
    pthread_once(&once, open_library);
    return is_there ? coding : NULL;
}

const ccurl_coding *ccurl_gzip(void) {
    static const ccurl_coding gzip = {begin_gzip, undo, is_whole, end};
    return unless_missing(&gzip);
}

const ccurl_coding *ccurl_deflate(void) {
    static const ccurl_coding deflate = {begin_deflate, undo, is_whole, end};
    return unless_missing(&deflate);
}

#endif
