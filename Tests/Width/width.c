// Limits how many tests run at once, unless the environment says how many.
//
// Swift Testing starts all tests together. On a small machine a thousand of them then wait for a few threads while
// their time limits run. Only the runner's own width makes a test wait before its time begins; a trait that admits
// tests one by one runs within their time limits. The runner reads this variable when it starts, after the
// constructors of everything that is linked into the tests. The variable is experimental: `WidthTests` fails when the
// runner no longer follows it.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "width.h"

// Four for each core, because most tests wait most of the time, and at least eight.
__attribute__((constructor)) static void limit_width(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    char width[24];
    snprintf(width, sizeof width, "%ld", cores > 2 ? 4 * cores : 8);
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", width, 0);
}

void errand_test_width(void) {}
