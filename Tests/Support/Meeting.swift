import Foundation

/// A barrier at which threads wait until a number of them has arrived.
package final class Meeting: @unchecked Sendable {
    // The condition guards the count.
    private let condition = NSCondition()
    private var missing: Int

    package init(of count: Int) { missing = count }

    /// Arrives at the barrier, and waits for the others.
    package func wait() {
        condition.lock()
        defer { condition.unlock() }
        missing -= 1
        if missing <= 0 { condition.broadcast() }
        while missing > 0 { condition.wait() }
    }
}
