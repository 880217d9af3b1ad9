import Foundation

/// More rounds than each run of the suite has time for, if `ERRAND_LONG_RUN` is set; `.ci/hostile` sets it.
enum LongRun {
    static let isWanted = ProcessInfo.processInfo.environment["ERRAND_LONG_RUN"] != nil
}
