#include "lookups.h"

#if defined(__linux__)

#include "library.h"

#include <stdlib.h>

struct ccurl_left_handle {
    void *easy;
    ccurl_lookup lookup;
    ccurl_left_handle *next;
};

static int refuse_socket(void *context, int purpose, void *address) {
    (void)context, (void)purpose, (void)address;
    return CCURL_SOCKET_BAD;
}

static int refuse_connection(void *context, char *to, char *from, int to_port, int from_port) {
    (void)context, (void)to, (void)from, (void)to_port, (void)from_port;
    return CCURL_PREREQFUNC_ABORT;
}

static size_t refuse_bytes(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes, (void)size, (void)count, (void)context;
    return 0;
}

static size_t refuse_to_read(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes, (void)size, (void)count, (void)context;
    return CCURL_READFUNC_ABORT;
}

// Leaves a handle to libcurl: it can neither open a connection nor use one, and no longer knows its transfer. Its words
// about a failure go to that place.
static void leave(void *easy, char *words) {
    ccurl_api.easy_setopt(easy, CCURLOPT_PRIVATE, NULL);
    ccurl_api.easy_setopt(easy, CCURLOPT_ERRORBUFFER, words);
    ccurl_api.easy_setopt(easy, CCURLOPT_HTTPHEADER, NULL);
    ccurl_api.easy_setopt(easy, CCURLOPT_HEADERFUNCTION, refuse_bytes);
    ccurl_api.easy_setopt(easy, CCURLOPT_WRITEFUNCTION, refuse_bytes);
    ccurl_api.easy_setopt(easy, CCURLOPT_READFUNCTION, refuse_to_read);
    ccurl_api.easy_setopt(easy, CCURLOPT_OPENSOCKETFUNCTION, refuse_socket);
    // It may have waited for an HTTP/2 connection rather than for a lookup.
    ccurl_api.easy_setopt(easy, CCURLOPT_FRESH_CONNECT, 1L);
    if (ccurl_tells_connected()) ccurl_api.easy_setopt(easy, CCURLOPT_PREREQFUNCTION, refuse_connection);
}

bool ccurl_lookups_leave(ccurl_lookups *lookups, ccurl_transfer *transfer) {
    ccurl_left_handle *left = calloc(1, sizeof *left);
    if (!left) return false;
    left->easy = transfer->easy;
    left->lookup.origin = transfer->request.origin;
    left->next = lookups->first;
    lookups->first = left;
    leave(left->easy, left->lookup.words);
    ccurl_transfer_leave(transfer);
    return true;
}

void ccurl_lookups_end(ccurl_lookups *lookups, void *easy, ccurl_code result) {
    ccurl_left_handle **link = &lookups->first;
    while (*link && (*link)->easy != easy) link = &(*link)->next;
    ccurl_left_handle *left = *link;
    // Before its words may be freed.
    ccurl_api.easy_cleanup(easy);
    if (!left) return;
    *link = left->next;
    left->lookup.result = result;
    left->next = lookups->ended;
    lookups->ended = left;
}

void *ccurl_lookups_first(const ccurl_lookups *lookups) { return lookups->first ? lookups->first->easy : NULL; }

bool ccurl_lookups_take_ended(ccurl_lookups *lookups, ccurl_lookup *lookup) {
    ccurl_left_handle *left = lookups->ended;
    if (!left) return false;
    lookups->ended = left->next;
    *lookup = left->lookup;
    free(left);
    return true;
}

#endif
