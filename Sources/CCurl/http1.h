// The origins that asked for HTTP/1.1.
//
// A server sends HTTP_1_1_REQUIRED where it cannot serve a request over HTTP/2 (RFC 9113, 7), for instance one for
// which it needs the client's certificate.
#ifndef CCURL_HTTP1_H
#define CCURL_HTTP1_H

#include "ccurl.h"

enum { CCURL_HTTP1_ORIGINS = 64 };

// One too many displaces the oldest, which can ask again.
typedef struct {
    uint64_t origins[CCURL_HTTP1_ORIGINS];
    size_t count;
} ccurl_http1_list;

bool ccurl_http1_contains(const ccurl_http1_list *list, uint64_t origin);
void ccurl_http1_add(ccurl_http1_list *list, uint64_t origin);

#endif
