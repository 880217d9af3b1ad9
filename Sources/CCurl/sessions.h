// The TLS sessions that the transfers of a loop share.
#ifndef CCURL_SESSIONS_H
#define CCURL_SESSIONS_H

#include "ccurl.h"

// The sessions that servers have given: a new connection to a server goes on with one, which saves a round trip or the
// costly part of the handshake. Before 8.12 libcurl keeps them with a handle, where the next request, on another
// handle, does not find them.
typedef struct ccurl_sessions ccurl_sessions;

// Returns new sessions; NULL if this libcurl needs none, or has no memory for them. The other functions do nothing with
// NULL.
ccurl_sessions *ccurl_sessions_new(void);
// Has a new handle use the sessions. They have to exist for as long as it does.
void ccurl_sessions_use(ccurl_sessions *sessions, void *easy);
// Frees the sessions, which no handle uses any more.
void ccurl_sessions_free(ccurl_sessions *sessions);

#endif
