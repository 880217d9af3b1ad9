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

static bool begins_with(const char *line, size_t count, const char *name) {
    size_t length = strlen(name);
    return count >= length && strncasecmp(line, name, length) == 0;
}

// Says what is wrong with the value of a Content-Length. libcurl itself reads the digits at its beginning, and takes
// what comes after as many bytes for the next response.
static ccurl_reason problem_with_length(ccurl_head *head, const char *line, size_t count) {
    size_t i = 0;
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
    return is_other ? CCURL_TWO_LENGTHS : CCURL_NO_REASON;
}

// Says what is wrong with the value of a Transfer-Encoding. libcurl 7.88 undoes compression there although it has not
// asked for any: without end, and with half of the bytes if it ends early.
static ccurl_reason problem_with_transfer_coding(const char *line, size_t count) {
    for (size_t i = 0; i < count;) {
        size_t start = i;
        while (i < count && line[i] != ',' && !is_space(line[i])) i++;
        size_t length = i - start;
        bool is_known = length == 0 || (length == 7 && strncasecmp(line + start, "chunked", length) == 0) ||
                        (length == 8 && strncasecmp(line + start, "identity", length) == 0);
        if (!is_known) return CCURL_BAD_TRANSFER_CODING;
        i++;
    }
    return CCURL_NO_REASON;
}

static bool is_folded_line(const char *line, size_t count) { return count > 0 && (*line == ' ' || *line == '\t'); }

// Whether the line is a field, continues one, or is the empty line at the end. Some versions of libcurl accept others.
static bool is_well_formed(const char *line, size_t count) {
    return count == 0 || is_space(*line) || memchr(line, ':', count);
}

// Says what is wrong with the line: whether it is a field and, of the two fields that say where the body ends, whether
// they do.
static ccurl_reason problem_with_line(ccurl_head *head, const char *line, size_t count) {
    static const char length[] = "content-length:", coding[] = "transfer-encoding:";
    bool is_folded = is_folded_line(line, count);
    if (!is_well_formed(line, count) || (is_folded && head->field == STATUS_LINE)) return CCURL_BAD_FIELD;
    if (is_folded && head->field == CONTENT_LENGTH) return CCURL_BAD_LENGTH;
    if (is_folded && head->field == TRANSFER_ENCODING) return problem_with_transfer_coding(line, count);
    head->field = ANOTHER_FIELD;
    if (begins_with(line, count, "content-encoding")) head->may_be_coded = true;
    if (begins_with(line, count, "alt-svc")) head->has_alternatives = true;
    if (begins_with(line, count, length)) {
        head->field = CONTENT_LENGTH;
        return problem_with_length(head, line + sizeof length - 1, count - (sizeof length - 1));
    }
    if (!begins_with(line, count, coding)) return CCURL_NO_REASON;
    head->field = TRANSFER_ENCODING;
    return problem_with_transfer_coding(line + sizeof coding - 1, count - (sizeof coding - 1));
}

static bool append(ccurl_head *head, const char *line, size_t length) {
    if (!ccurl_reserve((void **)&head->bytes, &head->capacity, head->length, length)) return false;
    memcpy(head->bytes + head->length, line, length);
    head->length += length;
    return true;
}

bool ccurl_head_take(ccurl_head *head, const char *line, size_t length, size_t limit, ccurl_reason *problem) {
    if (length >= 5 && memcmp(line, "HTTP/", 5) == 0) {
        // A second response: libcurl has sent the request again. Only after an interim head is this the response.
        if (head->is_complete && !ccurl_head_is_interim(head)) {
            *problem = CCURL_SETTLED;
            return false;
        }
        head->length = 0;
        head->is_complete = false;
        head->content_length = -1;
        head->may_be_coded = false;
        head->has_alternatives = false;
        head->field = STATUS_LINE;
        *problem = length > limit ? CCURL_HEAD_TOO_LARGE : CCURL_NO_REASON;
    } else if (head->is_complete) {
        head->trailer_length += length;
        if (head->trailer_length > limit) *problem = CCURL_TRAILER_TOO_LARGE;
        else if (!is_well_formed(line, length)) *problem = CCURL_BAD_TRAILER;
        return *problem == CCURL_NO_REASON;
    } else {
        *problem = head->length + length > limit ? CCURL_HEAD_TOO_LARGE : problem_with_line(head, line, length);
    }
    if (*problem != CCURL_NO_REASON || !append(head, line, length)) return false;
    head->is_complete = length > 0 && (*line == '\r' || *line == '\n');
    // That would be the end of HTTP on this connection.
    if (head->is_complete && ccurl_head_has_status(head, "101")) *problem = CCURL_UPGRADED;
    return *problem == CCURL_NO_REASON;
}

void ccurl_head_clear(ccurl_head *head) {
    *head = (ccurl_head){.bytes = head->bytes, .capacity = head->capacity, .content_length = -1};
}

#endif
