// A list of the origins of which something is known.
#ifndef CCURL_ORIGINS_H
#define CCURL_ORIGINS_H

#include "ccurl.h"

enum { CCURL_ORIGINS = 64 };

// One too many displaces the oldest, of which it can become known again.
typedef struct {
    uint64_t origins[CCURL_ORIGINS];
    size_t count;
} ccurl_origins;

// Returns the place of an origin in the list; -1 if it is not in there.
int ccurl_origins_place(const ccurl_origins *list, uint64_t origin);
bool ccurl_origins_contains(const ccurl_origins *list, uint64_t origin);
// Returns the place of an origin, which is added if it is not in there.
int ccurl_origins_add(ccurl_origins *list, uint64_t origin);

#endif
