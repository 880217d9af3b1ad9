// The TLS sessions that the transfers of a loop share.
#ifndef CCURL_SESSIONS_H
#define CCURL_SESSIONS_H

#include "ccurl.h"

// The sessions that servers have given: a new connection to a server goes on with one, which saves a round trip or the
// costly part of the handshake. Before 8.12 libcurl keeps them with a handle, where the next request, on another
// handle, does not find them.
//
// Transfers outlive the loop, so each of them and the loop hold the sessions.
typedef struct ccurl_sessions ccurl_sessions;

// Returns sessions that the caller holds; NULL if this libcurl needs none, or has no memory for them. The other
// functions do nothing with NULL.
ccurl_sessions *ccurl_sessions_new(void);
// Returns the sessions, which one more holds.
ccurl_sessions *ccurl_sessions_hold(ccurl_sessions *sessions);
// Has a new handle use the sessions. They have to be held for as long as it exists.
void ccurl_sessions_use(ccurl_sessions *sessions, void *easy);
// Lets go of the sessions.
void ccurl_sessions_release(ccurl_sessions *sessions);

#endif
