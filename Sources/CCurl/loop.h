// The loop, for the files of the shim.
#ifndef CCURL_LOOP_H
#define CCURL_LOOP_H

#include "flood.h"
#include "handles.h"
#include "fairness.h"
#include "sockets.h"
#include "unread.h"
#include "upload.h"

ccurl_sockets *ccurl_loop_sockets(ccurl_loop *loop);
ccurl_handles *ccurl_loop_handles(ccurl_loop *loop);
ccurl_answered *ccurl_loop_answered(ccurl_loop *loop);
ccurl_fairness *ccurl_loop_fairness(ccurl_loop *loop);
ccurl_flood *ccurl_loop_flood(ccurl_loop *loop);
// Whether another thread works in place of the loop's: it opens no connections.
bool ccurl_loop_is_on_callers_thread(const ccurl_loop *loop);
// Whether the system's file of certificates is there: once it was, it stays. Any thread may call it.
bool ccurl_loop_has_file(ccurl_loop *loop, const char *file);

#endif
