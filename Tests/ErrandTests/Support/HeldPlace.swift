import Dispatch
@testable import Errand

/// Holds the place of a file, as a disk does that hangs: no work on the file is done until this is released.
final class HeldPlace: Sendable {
    private let gate = DispatchSemaphore(value: 0)

    /// Returns when work on the file hangs.
    init(_ path: String) async {
        let hasBegun = Promise<Void, Never>()
        DiskThreads.shared.submit(at: DiskPlace(path)) { [gate] in
            hasBegun.complete(.success(()))
            gate.wait()
        }
        await hasBegun.completion()
    }

    /// Lets the disk respond again.
    func release() { gate.signal() }

    deinit { release() }
}
