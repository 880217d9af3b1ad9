// What the transfers of a transport share, whichever loop they are on.
#ifndef CCURL_HANDLES_H
#define CCURL_HANDLES_H

#include "ccurl.h"

// Where the transfers of a transport get libcurl's handles from. All of them share their TLS sessions and the addresses
// of hosts, whichever loop they are on.
//
// Some versions of libcurl need a new handle for each request (see ccurl_has_header_fault). To free one and create one
// costs a caller several microseconds, because most of the memory comes from the thread of a loop. So the caller
// exchanges the handle for a new one, and the thread of the loop that had it frees and creates them.
//
// Transfers outlive their loops, so each of them and each loop hold the handles. Any thread may call these functions.

// Returns the handles, which one more holds.
ccurl_handles *ccurl_handles_hold(ccurl_handles *handles);

// Returns a handle that is new; NULL if there is no memory.
void *ccurl_handles_create(ccurl_handles *handles);
// Returns a handle that is new in exchange for one that was on the loop with that number, and is not to be used again;
// NULL if there is no memory.
void *ccurl_handles_exchange(ccurl_handles *handles, void *spent, int loop);
// Frees the handles that were on the loop with that number, and creates a new one for each.
void ccurl_handles_renew(ccurl_handles *handles, int loop);
// Frees the handles that were on the loop with that number, and those that were created for it.
void ccurl_handles_clean_up(ccurl_handles *handles, int loop);

// Notes that an origin has asked for HTTP/1.1. A server sends HTTP_1_1_REQUIRED where it cannot serve a request over
// HTTP/2 (RFC 9113, 7), for instance one for which it needs the client's certificate.
void ccurl_handles_note_http1(ccurl_handles *handles, uint64_t origin);
// Whether that origin has asked for HTTP/1.1.
bool ccurl_handles_have_http1(ccurl_handles *handles, uint64_t origin);

#endif
