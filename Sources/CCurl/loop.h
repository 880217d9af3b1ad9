// The loop, for the files of the shim.
#ifndef CCURL_LOOP_H
#define CCURL_LOOP_H

#include "sessions.h"
#include "share.h"
#include "sockets.h"
#include "upload.h"

ccurl_sockets *ccurl_loop_sockets(ccurl_loop *loop);
ccurl_sessions *ccurl_loop_sessions(ccurl_loop *loop);
ccurl_answered *ccurl_loop_answered(ccurl_loop *loop);
ccurl_shares *ccurl_loop_shares(ccurl_loop *loop);
// Notes that bytes of a body have come: the loop's thread has not worked in vain.
void ccurl_loop_note_body(ccurl_loop *loop, size_t count);
// One more or one less transfer over TLS is not connected yet.
void ccurl_loop_note_connecting(ccurl_loop *loop, int change);
// A new connection over TLS has begun; libcurl has the certificates in memory, if it keeps any.
void ccurl_loop_note_certificates(ccurl_loop *loop);

#endif
