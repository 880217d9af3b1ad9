// A connection over TLS whose bytes are not those of HTTP. libcurl opens it and encrypts, and one thread waits for its
// descriptor.
#ifndef CCURL_STREAM_H
#define CCURL_STREAM_H

#include "ccurl_numbers.h"

#include <stdbool.h>
#include <stddef.h>

// It is not safe to use on two threads at once.
typedef struct ccurl_stream ccurl_stream;

// What a read or a write returns in place of a count.
enum {
    // Nothing can be done now.
    CCURL_STREAM_BLOCKED = -1,
    // The connection has ended.
    CCURL_STREAM_ENDED = -2,
};

// Connects to the host and the port of an https URL, and checks the certificate of the server, within so many
// milliseconds. `authorities` is the path of the certificates to trust; NULL for those of the system. Has SIGPIPE
// blocked on this thread from now on, because TLS libraries may raise it. ccurl_open has to have returned true.
//
// Returns NULL if that fails, with the result, and with libcurl's words, which may be empty.
ccurl_stream *ccurl_stream_open(
    const char *url, long milliseconds, const char *authorities, ccurl_code *result, char words[CCURL_ERROR_SIZE]);
void ccurl_stream_close(ccurl_stream *stream);

int ccurl_stream_descriptor(const ccurl_stream *stream);
// Reads what is there. Bytes may be left of which the descriptor says nothing, until this says that it is blocked.
ptrdiff_t ccurl_stream_read(ccurl_stream *stream, void *bytes, size_t count);
// Takes some bytes, and writes them, now or with a later call: of no bytes, too.
ptrdiff_t ccurl_stream_write(ccurl_stream *stream, const void *bytes, size_t count);
// Whether bytes that were taken are still to be written.
bool ccurl_stream_has_unwritten(const ccurl_stream *stream);

#endif
