#include "origins.h"

#if defined(__linux__)

bool ccurl_origins_contains(const ccurl_origins *list, uint64_t origin) {
    size_t known = list->count < CCURL_ORIGINS ? list->count : CCURL_ORIGINS;
    for (size_t i = 0; i < known; i++)
        if (list->origins[i] == origin) return true;
    return false;
}

void ccurl_origins_add(ccurl_origins *list, uint64_t origin) {
    if (ccurl_origins_contains(list, origin)) return;
    list->origins[list->count++ % CCURL_ORIGINS] = origin;
}

#endif
