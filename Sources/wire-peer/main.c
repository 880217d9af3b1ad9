// The programs that errand-bench compares with: `wire-peer serve`, `wire-peer loop <url> <transfers> <seconds>`, which
// a file of certificates to trust may follow, and `wire-peer allocations <url> <seconds>`.
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments) {
#if defined(__linux__)
    if (count == 2 && strcmp(arguments[1], "serve") == 0) return peer_serve();
    if ((count == 5 || count == 6) && strcmp(arguments[1], "loop") == 0)
        return peer_loop(arguments[2], atoi(arguments[3]), atof(arguments[4]), count == 6 ? arguments[5] : NULL, false);
    if (count == 4 && strcmp(arguments[1], "allocations") == 0)
        return peer_loop(arguments[2], 1, atof(arguments[3]), NULL, true);
#endif
    (void)arguments;
    fprintf(stderr, "wire-peer is run by errand-bench, on Linux\n");
    return count > 0;
}
