import Foundation

/// Where threads wait until so many have come.
package final class Meeting: @unchecked Sendable {
    // The condition guards what is below it.
    private let condition = NSCondition()
    private var missing: Int

    package init(of count: Int) { missing = count }

    /// Comes to the meeting, and waits for the rest.
    package func wait() {
        condition.lock()
        defer { condition.unlock() }
        missing -= 1
        if missing <= 0 { condition.broadcast() }
        while missing > 0 { condition.wait() }
    }
}
