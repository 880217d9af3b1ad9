/// What a client may spend on retries. When a whole backend is down, it runs dry, and the client stops multiplying
/// the load.
///
/// The figures are those that large clouds found to work: full, it pays for 35 retries after failures; a backend that
/// fails now and then gives back what its retries took.
final class RetryQuota: Sendable {
    static let capacity = 500
    static let costAfterFailure = 14
    static let costAfterThrottle = 5
    static let refill = 1

    private let units = Lock(RetryQuota.capacity)

    /// What is left.
    var level: Int { units.withLock { $0 } }

    /// Pays for a retry; `nil` if there is not enough left.
    func withdraw(afterThrottle: Bool) -> Int? {
        let cost = afterThrottle ? Self.costAfterThrottle : Self.costAfterFailure
        return units.withLock { units in
            guard units >= cost else { return nil }
            units -= cost
            return cost
        }
    }

    /// Takes note of a success: the retry that brought it gives back what it took, a first try gives a little.
    func deposit(_ paid: Int?) {
        units.withLock { $0 = min(Self.capacity, $0 + (paid ?? Self.refill)) }
    }
}
