/// The budget of a client for retries. When a whole backend is down, the budget runs out, and the client stops
/// multiplying the load.
///
/// The numbers are those that large clouds found to work: a full budget pays for 35 retries after failures, and a retry
/// that succeeds gives back what it cost.
final class RetryQuota: Sendable {
    static let capacity = 500
    static let costAfterFailure = 14
    static let costAfterThrottle = 5
    static let refill = 1

    private let units = Lock(RetryQuota.capacity)

    /// The remaining units.
    var level: Int { units.withLock { $0 } }

    /// Pays for a retry and returns its cost; `nil` if there is not enough left.
    func withdraw(afterThrottle: Bool) -> Int? {
        let cost = afterThrottle ? Self.costAfterThrottle : Self.costAfterFailure
        return units.withLock { units in
            guard units >= cost else { return nil }
            units -= cost
            return cost
        }
    }

    /// Records a success: a retry gives back what it cost, a first attempt gives one unit.
    func deposit(_ paid: Int?) {
        units.withLock { $0 = min(Self.capacity, $0 + (paid ?? Self.refill)) }
    }
}
