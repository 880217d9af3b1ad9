// What loop.c has done at once, and not in the next turn.
#ifndef CCURL_TURN_H
#define CCURL_TURN_H

#include "parts.h"

// Has libcurl do what its timers ask for: a transfer that was added begins, and chooses its connection.
void ccurl_turn_begin_added(ccurl_loop *loop);

#endif
