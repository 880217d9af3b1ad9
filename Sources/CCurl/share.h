// What the transfers of a transport share, whichever loop they are on.
#ifndef CCURL_SHARE_H
#define CCURL_SHARE_H

#include "ccurl.h"

// The TLS sessions that servers have given: a new connection to a server goes on with one, which saves a round trip or
// the costly part of the handshake. And the addresses of hosts, each of which is looked up once. By itself libcurl
// keeps both for one loop or, before 8.12, the sessions for one handle.
typedef struct ccurl_share ccurl_share;

// Returns a new share; NULL if there is no memory. The other functions do nothing with NULL.
ccurl_share *ccurl_share_new(void);
// Has a new handle use the share, which has to exist for as long as the handle does.
void ccurl_share_use(ccurl_share *share, void *easy);
// Frees a share that no handle uses any more.
void ccurl_share_free(ccurl_share *share);

#endif
