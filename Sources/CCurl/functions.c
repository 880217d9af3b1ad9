// For RTLD_DEFAULT.
#define _GNU_SOURCE

#include "functions.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <string.h>

bool ccurl_take_linked(const ccurl_function *functions, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!functions[i].linked) return false;
        memcpy(functions[i].place, &functions[i].linked, sizeof functions[i].linked);
    }
    return true;
}

bool ccurl_look_up(void *library, const ccurl_function *functions, size_t count) {
    bool is_complete = true;
    for (size_t i = 0; i < count; i++) {
        void *function = dlsym(library ? library : RTLD_DEFAULT, functions[i].name);
        if (function)
            memcpy(functions[i].place, &function, sizeof function);
        else
            is_complete = false;
    }
    return is_complete;
}

bool ccurl_find(const char *file, const ccurl_function *functions, size_t count) {
    if (ccurl_take_linked(functions, count)) return true;
    void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    return library && ccurl_look_up(library, functions, count);
}

#endif
