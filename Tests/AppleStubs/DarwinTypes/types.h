// What only C can declare: a structure and a function of one name.
#pragma once

// https://developer.apple.com/documentation/kernel/timespec
// The same two members everywhere.
#include <bits/types/struct_timespec.h>

// https://developer.apple.com/documentation/kernel/timeval
// Its second member is an `int` there.
#include <bits/types/struct_timeval.h>

// https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/man2/stat.2.html
struct stat {
    int st_dev;
    unsigned short st_mode;
    unsigned short st_nlink;
    unsigned long long st_ino;
    unsigned int st_uid;
    unsigned int st_gid;
    struct timespec st_mtimespec;
    struct timespec st_ctimespec;
    long long st_size;
};
int stat(const char *path, struct stat *status);
int lstat(const char *path, struct stat *status);
int fstat(int descriptor, struct stat *status);

// https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/man2/flock.2.html
struct flock {
    long long l_start;
};
int flock(int descriptor, int operation);
