#include "orphans.h"

#if defined(__linux__)

#include "library.h"
#include "transfer.h"

#include <stdlib.h>

struct ccurl_orphan {
    void *easy;
    ccurl_lookup lookup;
    ccurl_orphan *next;
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

bool ccurl_orphans_add(ccurl_orphans *orphans, ccurl_transfer *transfer) {
    ccurl_orphan *orphan = calloc(1, sizeof *orphan);
    if (!orphan) return false;
    orphan->easy = ccurl_transfer_easy(transfer);
    orphan->lookup.origin = ccurl_transfer_request(transfer).origin;
    orphan->next = orphans->first;
    orphans->first = orphan;
    leave(orphan->easy, orphan->lookup.words);
    ccurl_transfer_orphan(transfer);
    return true;
}

void ccurl_orphans_end(ccurl_orphans *orphans, void *easy, ccurl_code result) {
    ccurl_orphan **link = &orphans->first;
    while (*link && (*link)->easy != easy) link = &(*link)->next;
    ccurl_orphan *orphan = *link;
    // Before its words may be freed.
    ccurl_api.easy_cleanup(easy);
    if (!orphan) return;
    *link = orphan->next;
    orphan->lookup.result = result;
    orphan->next = orphans->ended;
    orphans->ended = orphan;
}

void *ccurl_orphans_first(const ccurl_orphans *orphans) { return orphans->first ? orphans->first->easy : NULL; }

bool ccurl_orphans_take_ended(ccurl_orphans *orphans, ccurl_lookup *lookup) {
    ccurl_orphan *orphan = orphans->ended;
    if (!orphan) return false;
    orphans->ended = orphan->next;
    *lookup = orphan->lookup;
    free(orphan);
    return true;
}

#endif
