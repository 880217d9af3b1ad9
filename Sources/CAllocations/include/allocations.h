#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

// Counts from now on how often the process allocates memory, and how often it reads a clock. Returns 0 where that
// cannot be counted.
int allocations_begin(void);
// Stops counting, and returns the number of allocations.
long allocations_end(void);
// Returns how often a clock was read while allocations were counted.
long clock_readings(void);

#endif
