import Dispatch
import Errand

/// Holds the place of a file, as a disk does that hangs: no work on the file is done until this is released.
package final class HeldPlace: Sendable {
    private let gate = DispatchSemaphore(value: 0)

    /// Returns when work on the file hangs.
    package init(_ path: String) async {
        await withCheckedContinuation { continuation in
            DiskThreads.submit(by: .system, at: path) { [gate] in
                continuation.resume()
                gate.wait()
            }
        }
    }

    /// Lets the disk respond again.
    package func release() { gate.signal() }

    deinit { release() }
}
