#ifndef PEER_H
#define PEER_H

// For strcasestr and memmem.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

// Serves on a free port of 127.0.0.1, whose number it prints, until it is ended.
int peer_serve(void);
// Gets the URL again and again for so long, with so many transfers at once; prints how often, and how long it took.
int peer_loop(const char *url, int transfers, double seconds);

#endif
