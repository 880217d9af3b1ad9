#if canImport(Glibc)
import Glibc

/// The sanitizer that the tests are built with.
package enum Sanitizer {
    /// Whether there is one. It starts threads and opens files by functions of its own, which a library that is loaded
    /// first cannot replace.
    package static let isOn = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
}
#endif
