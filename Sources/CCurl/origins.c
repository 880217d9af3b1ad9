#include "origins.h"

#if defined(__linux__)

int ccurl_origins_place(const ccurl_origins *list, uint64_t origin) {
    size_t known = list->count < CCURL_ORIGINS ? list->count : CCURL_ORIGINS;
    for (size_t i = 0; i < known; i++)
        if (list->origins[i] == origin) return (int)i;
    return -1;
}

bool ccurl_origins_contains(const ccurl_origins *list, uint64_t origin) {
    return ccurl_origins_place(list, origin) >= 0;
}

int ccurl_origins_add(ccurl_origins *list, uint64_t origin) {
    int place = ccurl_origins_place(list, origin);
    if (place >= 0) return place;
    place = (int)(list->count++ % CCURL_ORIGINS);
    list->origins[place] = origin;
    return place;
}

#endif
