#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

// Counts what the process allocates from now on. Returns 0 where that cannot be counted.
int allocations_begin(void);
// Stops counting, and returns the number.
long allocations_end(void);

#endif
