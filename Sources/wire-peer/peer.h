#ifndef PEER_H
#define PEER_H

// For strcasestr and memmem.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdbool.h>

// Serves on a free port of 127.0.0.1 until the process ends; prints the port number.
int peer_serve(void);
// Gets the URL for that many seconds, with that many concurrent transfers; prints how often, how long it took, and how
// often memory was allocated, if that is to be counted. Trusts the authorities of that file, if there is one, instead
// of the system's.
int peer_loop(const char *url, int transfers, double seconds, const char *authorities, bool counts_allocations);

#endif
