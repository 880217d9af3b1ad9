import Errand
import ErrandTestSupport
import ErrandTesting

extension TestClock {
    /// Takes as many permits as possible for that long. Returns the instants at which they were taken.
    func taken(from limiter: RateLimiter, for duration: Duration, tasks: Int = 40) async -> [Instant] {
        let end = now.advanced(by: duration)
        let taken = Noted<[Instant]>([])
        await withTaskGroup { group in
            for _ in 0..<tasks {
                group.addTask { [self] in
                    while now < end {
                        guard (try? await limiter.acquire(before: end)) != nil else { return }
                        taken.update { $0.append(now) }
                    }
                }
            }
        }
        return taken.value
    }
}

func thrownError<Value>(_ operation: () async throws(ServiceError) -> Value) async -> ServiceError? {
    do throws(ServiceError) {
        _ = try await operation()
        return nil
    } catch {
        return error
    }
}
