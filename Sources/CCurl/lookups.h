// The handles that were left to libcurl, which looks up their hosts: their transfers have ended.
#ifndef CCURL_LOOKUPS_H
#define CCURL_LOOKUPS_H

#include "transfer.h"

typedef struct ccurl_left_handle ccurl_left_handle;

// Those of a loop: whose lookup is under way, and whose lookup has ended.
typedef struct {
    ccurl_left_handle *first, *ended;
} ccurl_lookups;

// Leaves the transfer's handle to libcurl. Returns false if there is no memory.
bool ccurl_lookups_leave(ccurl_lookups *lookups, ccurl_transfer *transfer);
// Notes that libcurl has let go of a handle, with that result, and frees it.
void ccurl_lookups_end(ccurl_lookups *lookups, void *easy, ccurl_code result);
// Returns a handle whose lookup is still under way; NULL if there is none.
void *ccurl_lookups_first(const ccurl_lookups *lookups);
// See ccurl_loop_next_lookup.
bool ccurl_lookups_take_ended(ccurl_lookups *lookups, ccurl_lookup *lookup);

#endif
