#if os(Linux)
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The descriptors and threads of this process, as the system reports them. Those of Dispatch, which the tasks run on,
/// do not count: they come and go as it likes, and have its queues in their names.
struct Census: Equatable {
    let descriptors: Int
    let threads: Int

    init() throws {
        descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count { thread in
            let name = FileManager.default.contents(atPath: "/proc/self/task/\(thread)/comm")
            // One that has ended since has no name.
            return name.map { !String(decoding: $0, as: UTF8.self).contains("-qos") } ?? false
        }
    }

    /// Returns the census when it no longer changes. Polls, because a thread that was asked to end takes a while, and
    /// the kernel does not report its end.
    static func settled() async throws -> Census {
        var (census, times) = (try Census(), 0)
        while times < 50 {
            try await Task.sleep(for: .milliseconds(10))
            let next = try Census()
            times = next == census ? times + 1 : 0
            census = next
        }
        return census
    }

    /// Returns the census when there is no more of anything than in another one, or the settled one after a minute:
    /// longer than a busy machine takes to end a thread.
    static func settled(atMost limit: Census) async throws -> Census {
        for _ in 0..<6000 {
            let census = try Census()
            if census.descriptors <= limit.descriptors, census.threads <= limit.threads { return census }
            try await Task.sleep(for: .milliseconds(10))
        }
        return try await settled()
    }
}
#endif
