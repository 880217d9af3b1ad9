// The head of a response, which libcurl delivers line by line.
#ifndef CCURL_HEAD_H
#define CCURL_HEAD_H

#include "ccurl.h"

typedef struct {
    // The lines of the last head, each with its line break. An interim (1xx) head is replaced by the next.
    char *bytes;
    size_t length, capacity;
    // Whether the empty line at its end has come.
    bool is_complete;
    // The Content-Length; -1 without one.
    int64_t content_length;
    // The last line, which a folded line after it continues, unless it is the first.
    enum { ANOTHER_FIELD = 0, STATUS_LINE, CONTENT_LENGTH, TRANSFER_ENCODING } field;
    // Whether there is a line about content codings.
    bool may_be_coded;
    // Whether there is a line about other ways to the server (Alt-Svc).
    bool has_alternatives;
    // How many bytes of lines have come after the body.
    size_t trailer_length;
} ccurl_head;

// Takes a line of a head or, after it, of a trailer, each of which may have `limit` bytes. Returns false if the
// transfer has to end: because of the problem, or because there is no memory.
bool ccurl_head_take(ccurl_head *head, const char *line, size_t length, size_t limit, ccurl_reason *problem);
// Whether the status begins with these digits.
bool ccurl_head_has_status(const ccurl_head *head, const char *digits);
// Whether the status is 1xx: another head follows.
bool ccurl_head_is_interim(const ccurl_head *head);
// Forgets the lines, but keeps their memory.
void ccurl_head_clear(ccurl_head *head);

// Makes room for `more` bytes; returns false if there is no memory. It grows by half, so that each byte is moved a few
// times at most.
bool ccurl_reserve(void **buffer, size_t *capacity, size_t length, size_t more);

#endif
