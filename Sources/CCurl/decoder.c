// Undoes codings, one after the other, without ever holding more than a small buffer between two of them.
#include "ccurl_decoder.h"

#if defined(__linux__)

#include "coding.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// As many as libcurl allows.
#define MOST_CODINGS 5
// How many bytes wait between two codings.
#define BUFFER_SIZE (16 << 10)
// How many bytes are moved in one run: a few milliseconds.
#define MOST_WORK (1 << 20)
// What coded bytes may have more than what was coded, for each stage: an honest coding makes fewer bytes, or hardly
// more. Without such a limit, codings that make nothing could take time without end.
#define SURCHARGE (1 << 20)

// One coding that is undone. What it makes goes to the next stage, or to the caller.
typedef struct {
    const ccurl_coding *coding;
    void *state;
    // The bytes for it: the caller's for the first stage, otherwise what is left in the buffer.
    const uint8_t *bytes;
    size_t count;
    uint8_t *buffer;
    // Whether it may have more to give, since it has filled its room.
    bool was_full;
    // How many bytes it has taken.
    size_t taken;
} stage;

struct ccurl_decoder {
    stage stages[MOST_CODINGS];
    size_t count, limit, made;
};

// MARK: The codings

static const struct {
    const char *name;
    const ccurl_coding *(*coding)(void);
    // An older name of another one, which no request names.
    bool is_alias;
} codings[] = {
    {"gzip", ccurl_gzip, false}, {"deflate", ccurl_deflate, false}, {"br", ccurl_brotli, false},
    {"zstd", ccurl_zstd, false}, {"x-gzip", ccurl_gzip, true},
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char names[64];

static void list_names(void) {
    for (size_t i = 0; i < sizeof codings / sizeof *codings; i++) {
        if (codings[i].is_alias || !codings[i].coding()) continue;
        if (*names) strcat(names, ", ");
        strcat(names, codings[i].name);
    }
    if (!*names) strcat(names, "identity");
}

const char *ccurl_codings(void) {
    pthread_once(&once, list_names);
    return names;
}

static const ccurl_coding *coding_named(const char *name) {
    for (size_t i = 0; i < sizeof codings / sizeof *codings; i++)
        if (strcasecmp(codings[i].name, name) == 0) return codings[i].coding();
    return NULL;
}

// MARK: From beginning to end

ccurl_decoder *ccurl_decoder_new(size_t limit) {
    ccurl_decoder *decoder = calloc(1, sizeof *decoder);
    if (decoder) decoder->limit = limit;
    return decoder;
}

void ccurl_decoder_free(ccurl_decoder *decoder) {
    for (size_t i = 0; i < decoder->count; i++) {
        decoder->stages[i].coding->end(decoder->stages[i].state);
        free(decoder->stages[i].buffer);
    }
    free(decoder);
}

bool ccurl_decoder_undo(ccurl_decoder *decoder, const char *name) {
    const ccurl_coding *coding = coding_named(name);
    if (!coding || decoder->count == MOST_CODINGS) return false;
    stage next = {.coding = coding};
    if (decoder->count > 0 && !(next.buffer = malloc(BUFFER_SIZE))) return false;
    next.state = coding->begin();
    if (!next.state) {
        free(next.buffer);
        return false;
    }
    decoder->stages[decoder->count++] = next;
    return true;
}

// MARK: A run

static bool exceeds(size_t taken, size_t limit) {
    return limit < (SIZE_MAX - SURCHARGE) / 2 && taken > limit * 2 + SURCHARGE;
}

// Returns the last stage that has something to do, because what it makes is nearest to the caller; NULL if there is
// none. The buffers after it are empty.
static stage *next_stage(ccurl_decoder *decoder) {
    for (size_t i = decoder->count; i > 0; i--) {
        stage *stage = &decoder->stages[i - 1];
        if (stage->count > 0 || stage->was_full) return stage;
    }
    return NULL;
}

// Has a stage undo its coding, and returns how many bytes it has taken and made.
static ccurl_decoding run(stage *stage, uint8_t *room, size_t size, size_t *taken, size_t *made) {
    ccurl_work work = {stage->bytes, stage->count, room, size};
    ccurl_decoding result = stage->coding->undo(stage->state, &work);
    *taken = stage->count - work.count;
    *made = size - work.size;
    bool is_idle = *taken == 0 && *made == 0 && stage->count > 0;
    stage->bytes = work.bytes;
    stage->count = work.count;
    stage->taken += *taken;
    stage->was_full = work.size == 0;
    // A coding that neither takes nor makes anything would be asked for ever.
    return result == CCURL_GOES_ON && is_idle ? CCURL_DAMAGED : result;
}

ccurl_decoding ccurl_decoder_run(
    ccurl_decoder *decoder, const uint8_t **bytes, size_t *count, uint8_t **room, size_t *size) {
    stage *first = decoder->stages, *last = first + decoder->count - 1;
    first->bytes = *bytes;
    first->count = *count;
    ccurl_decoding result = CCURL_GOES_ON;
    for (size_t work = 0; result == CCURL_GOES_ON && *size > 0 && work < MOST_WORK;) {
        stage *stage = next_stage(decoder);
        if (!stage) {
            result = CCURL_WANTS_BYTES;
            break;
        }
        size_t taken, made;
        if (stage == last) {
            // One byte more than the limit shows that there are too many.
            size_t left = decoder->limit - decoder->made;
            result = run(stage, *room, *size > left ? left + 1 : *size, &taken, &made);
            *room += made;
            *size -= made;
            if (made > left) result = CCURL_TOO_MANY;
            decoder->made += made;
        } else {
            result = run(stage, stage[1].buffer, BUFFER_SIZE, &taken, &made);
            stage[1].bytes = stage[1].buffer;
            stage[1].count = made;
        }
        work += taken + made;
        if (exceeds(stage->taken, decoder->limit)) result = CCURL_TOO_MANY;
    }
    *bytes = first->bytes;
    *count = first->count;
    first->bytes = NULL;
    first->count = 0;
    return result;
}

ccurl_decoding ccurl_decoder_end(const ccurl_decoder *decoder) {
    if (decoder->stages[0].taken == 0) return CCURL_WHOLE;
    for (size_t i = 0; i < decoder->count; i++)
        if (!decoder->stages[i].coding->is_whole(decoder->stages[i].state)) return CCURL_CUT;
    return CCURL_WHOLE;
}

#endif
