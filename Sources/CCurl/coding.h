// The codings, for decoder.c.
#ifndef CCURL_CODING_H
#define CCURL_CODING_H

#include "ccurl_decoder.h"

// Coded bytes that were not taken yet, and room for what is made of them.
typedef struct {
    const uint8_t *bytes;
    size_t count;
    uint8_t *room;
    size_t size;
} ccurl_work;

// One way to code a body, as the functions that undo it.
typedef struct {
    // Returns the state for one body; NULL if there is no memory.
    void *(*begin)(void);
    // Takes bytes and fills the room, until one of them is used up. Returns CCURL_GOES_ON or what is wrong.
    ccurl_decoding (*undo)(void *state, ccurl_work *work);
    // Whether the bytes may end here.
    bool (*is_whole)(const void *state);
    void (*end)(void *state);
} ccurl_coding;

// NULL for a coding whose library cannot be opened.
const ccurl_coding *ccurl_gzip(void);
const ccurl_coding *ccurl_deflate(void);
const ccurl_coding *ccurl_brotli(void);
const ccurl_coding *ccurl_zstd(void);

#endif
