#include "http1.h"

#if defined(__linux__)

bool ccurl_http1_contains(const ccurl_http1_list *list, uint64_t origin) {
    size_t known = list->count < CCURL_HTTP1_ORIGINS ? list->count : CCURL_HTTP1_ORIGINS;
    for (size_t i = 0; i < known; i++)
        if (list->origins[i] == origin) return true;
    return false;
}

void ccurl_http1_add(ccurl_http1_list *list, uint64_t origin) {
    if (ccurl_http1_contains(list, origin)) return;
    list->origins[list->count++ % CCURL_HTTP1_ORIGINS] = origin;
}

#endif
