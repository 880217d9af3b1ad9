// Functions of other libraries, which are opened when the program runs. With the package trait LinkedCurl, they are
// linked with the program instead.
#ifndef CCURL_FUNCTIONS_H
#define CCURL_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>

// A function by its name, and where its address goes.
typedef struct {
    void *place;
    const char *name;
    // Its address, if it is linked; otherwise NULL.
    void (*linked)(void);
} ccurl_function;

// A list of functions is a macro that applies another one, `FUNCTION(place, name)`, to each of them. These are such
// macros: the first two declare the functions, and the last makes an element of an array of `ccurl_function`.
#if defined(ERRAND_LINKED_CURL)
#define CCURL_DECLARE(place, name) void name(void);
// A function that may be missing. It must not be what makes the linker read its library.
#define CCURL_DECLARE_OPTIONAL(place, name) __attribute__((weak)) void name(void);
#define CCURL_ENTRY(place, name) {&(place), #name, name},
#else
#define CCURL_DECLARE(place, name)
#define CCURL_DECLARE_OPTIONAL(place, name)
#define CCURL_ENTRY(place, name) {&(place), #name, NULL},
#endif

// Takes the functions that are linked with the program. Returns false if one of them is not.
bool ccurl_take_linked(const ccurl_function *functions, size_t count);
// Takes functions of a library that is open, or of the whole program if it is NULL. Returns false if one is missing,
// whose place is left as it is.
bool ccurl_look_up(void *library, const ccurl_function *functions, size_t count);
// Takes the functions from the program, or else from that file. Returns false if the file or one of them is missing.
bool ccurl_find(const char *file, const ccurl_function *functions, size_t count);

#endif
