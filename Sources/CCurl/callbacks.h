// What libcurl calls while it works on a transfer.
#ifndef CCURL_CALLBACKS_H
#define CCURL_CALLBACKS_H

#include "parts.h"

// Has libcurl call the functions of callbacks.c for the transfer's handle.
void ccurl_callbacks_install(ccurl_transfer *transfer);

#endif
