// The handles that were left to libcurl, which looks up their hosts: their transfers have ended.
#ifndef CCURL_ORPHANS_H
#define CCURL_ORPHANS_H

#include "ccurl.h"

typedef struct ccurl_orphan ccurl_orphan;

// Those of a loop: whose lookup is under way, and whose lookup has ended.
typedef struct {
    ccurl_orphan *first, *ended;
} ccurl_orphans;

// Leaves the transfer's handle to libcurl. Returns false if there is no memory.
bool ccurl_orphans_add(ccurl_orphans *orphans, ccurl_transfer *transfer);
// Notes that libcurl has let go of a handle, with that result, and frees it.
void ccurl_orphans_end(ccurl_orphans *orphans, void *easy, ccurl_code result);
// Returns a handle whose lookup is still under way; NULL if there is none.
void *ccurl_orphans_first(const ccurl_orphans *orphans);
// See ccurl_loop_next_lookup.
bool ccurl_orphans_take_ended(ccurl_orphans *orphans, ccurl_lookup *lookup);

#endif
