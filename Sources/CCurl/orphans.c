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

bool ccurl_orphans_add(ccurl_orphans *orphans, ccurl_transfer *transfer) {
    ccurl_orphan *orphan = calloc(1, sizeof *orphan);
    if (!orphan) return false;
    orphan->easy = ccurl_transfer_easy(transfer);
    orphan->lookup.origin = ccurl_transfer_request(transfer).origin;
    orphan->next = orphans->first;
    orphans->first = orphan;
    ccurl_transfer_orphan(transfer, orphan->lookup.words);
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
