import Foundation

/// More rounds than each run of the suite has time for, if `ERRAND_LONG_RUN` is set; `.ci/hostile` sets it.
package enum LongRun {
    package static let isWanted = ProcessInfo.processInfo.environment["ERRAND_LONG_RUN"] != nil
}
