// Undoes the codings of a response's body: gzip, deflate, Brotli and Zstandard. Their libraries are opened at run time,
// so nothing has to be installed to build, and a coding without its library is not offered to servers.
#ifndef CCURL_DECODER_H
#define CCURL_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The names of the codings that can be undone, as a value of Accept-Encoding: "identity" if there are none.
const char *ccurl_codings(void);

// How far a decoder has come.
typedef enum {
    // It wants more room, or simply to be called again.
    CCURL_GOES_ON = 0,
    // It has undone all that it was given, and wants more coded bytes.
    CCURL_WANTS_BYTES,
    // The coded bytes have ended where they should.
    CCURL_WHOLE,
    // They have ended too early.
    CCURL_CUT,
    // They are not what the coding makes.
    CCURL_DAMAGED,
    // Bytes came after the end of what was coded.
    CCURL_SURPLUS,
    // More bytes than the limit, undone or on the way.
    CCURL_TOO_MANY,
    // They can be undone only with more memory than a server may ask for.
    CCURL_TOO_WIDE,
    CCURL_NO_MEMORY,
} ccurl_decoding;

// One body that is being decoded. It is not safe to use on two threads at once.
typedef struct ccurl_decoder ccurl_decoder;

// Creates the decoder of a body that has been coded in this many ways, of which ccurl_decoder_undo names each. Up to
// `limit` bytes may come out. Returns NULL if there is no memory.
ccurl_decoder *ccurl_decoder_new(size_t limit);
void ccurl_decoder_free(ccurl_decoder *decoder);
// Undoes one more coding: first the one that the server applied last. Returns false if the decoder does not know it,
// undoes five codings already, or has no memory.
bool ccurl_decoder_undo(ccurl_decoder *decoder, const char *name);
// Undoes as much of the coded bytes as there is room for, and moves both past what was taken and what was made. It
// returns before that if the codings cost much and make little, so that the caller can see whether anybody still wants
// the body.
ccurl_decoding ccurl_decoder_run(
    ccurl_decoder *decoder, const uint8_t **bytes, size_t *count, uint8_t **room, size_t *size);
// Called when there are no more coded bytes: CCURL_WHOLE or CCURL_CUT. A body without bytes is whole.
ccurl_decoding ccurl_decoder_end(const ccurl_decoder *decoder);

#endif
