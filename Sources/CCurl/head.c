#include "head.h"

#if defined(__linux__)

#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool ccurl_reserve(void **buffer, size_t *capacity, size_t length, size_t more) {
    if (more > SIZE_MAX / 2 - length) return false;
    size_t wanted = length + more;
    if (wanted <= *capacity) return true;
    size_t larger = *capacity + *capacity / 2;
    if (larger < wanted) larger = wanted;
    void *moved = realloc(*buffer, larger);
    if (!moved) return false;
    *buffer = moved;
    *capacity = larger;
    return true;
}

bool ccurl_head_has_status(const ccurl_head *head, const char *digits) {
    if (!head->bytes) return false;
    const char *space = memchr(head->bytes, ' ', head->length);
    size_t count = strlen(digits);
    return space && space + count < head->bytes + head->length && memcmp(space + 1, digits, count) == 0;
}

bool ccurl_head_is_interim(const ccurl_head *head) { return ccurl_head_has_status(head, "1"); }

static bool is_space(char byte) { return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n'; }

// Says what is wrong with the line if it is a Content-Length or continues one. libcurl itself reads the digits at its
// beginning, and takes what comes after as many bytes for the next response.
static ccurl_objection objection_to_length(ccurl_head *head, const char *line, size_t count) {
    static const char name[] = "content-length:";
    size_t i = sizeof name - 1;
    bool is_folded = count > 0 && (*line == ' ' || *line == '\t');
    if (is_folded && head->is_within_length) return CCURL_BAD_LENGTH;
    head->is_within_length = count > i && strncasecmp(line, name, i) == 0;
    if (!head->is_within_length) return CCURL_NO_OBJECTION;
    while (count > i && is_space(line[count - 1])) count--;
    while (i < count && is_space(line[i])) i++;
    if (i == count) return CCURL_BAD_LENGTH;
    int64_t length = 0;
    for (; i < count; i++) {
        // libcurl ignores a length that is too large, and waits for the end of the connection.
        int64_t digit = line[i] - '0';
        if (digit < 0 || digit > 9 || length > (INT64_MAX - digit) / 10) return CCURL_BAD_LENGTH;
        length = length * 10 + digit;
    }
    bool is_other = head->content_length >= 0 && head->content_length != length;
    head->content_length = length;
    return is_other ? CCURL_TWO_LENGTHS : CCURL_NO_OBJECTION;
}

static bool append(ccurl_head *head, const char *line, size_t length) {
    if (!ccurl_reserve((void **)&head->bytes, &head->capacity, head->length, length)) return false;
    memcpy(head->bytes + head->length, line, length);
    head->length += length;
    return true;
}

bool ccurl_head_take(ccurl_head *head, const char *line, size_t length, size_t limit, ccurl_objection *objection) {
    if (length >= 5 && memcmp(line, "HTTP/", 5) == 0) {
        // A second response: libcurl has sent the request again. Only after an interim head is this the response.
        if (head->is_complete && !ccurl_head_is_interim(head)) {
            *objection = CCURL_SETTLED;
            return false;
        }
        head->length = 0;
        head->is_complete = false;
        head->content_length = -1;
    } else if (head->is_complete) {
        head->trailer_length += length;
        if (head->trailer_length > limit) *objection = CCURL_TRAILER_TOO_LARGE;
        return head->trailer_length <= limit;
    }
    *objection = head->length + length > limit ? CCURL_HEAD_TOO_LARGE : objection_to_length(head, line, length);
    if (*objection != CCURL_NO_OBJECTION || !append(head, line, length)) return false;
    head->is_complete = length > 0 && (*line == '\r' || *line == '\n');
    // That would be the end of HTTP on this connection.
    if (head->is_complete && ccurl_head_has_status(head, "101")) *objection = CCURL_UPGRADED;
    return *objection == CCURL_NO_OBJECTION;
}

void ccurl_head_clear(ccurl_head *head) {
    *head = (ccurl_head){.bytes = head->bytes, .capacity = head->capacity, .content_length = -1};
}

#endif
