#if os(Linux)
import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Measures how a disk that does not respond affects everything else.
struct HungDisk {
    /// More of each kind than there are threads for tasks, or for files.
    private static let calls = 8
    private static let deadline = Duration.milliseconds(500)

    let base: String
    /// A folder on a disk that hangs, with a file `body`.
    let hung: String
    /// A folder on another disk, with a file `body`.
    let healthy: String

    private let clock = ContinuousClock()

    /// Prints how many milliseconds each of these took at most: calls and archives on the hung disk, work on the other
    /// disk at that time, a pause of ten milliseconds at that time, and the shutdown.
    func report() async {
        // Whatever waits for the disk nevertheless ends with the process.
        alarm(30)
        let client = client()
        async let longest = longestPause()
        await withTaskGroup(of: (String, Duration).self) { group in
            for number in 0..<Self.calls {
                group.addTask { ("uploads", await upload(from: hung, by: client)) }
                group.addTask { ("downloads", await download("to-\(number)", in: hung, by: client)) }
                group.addTask { ("sessions", await signedCall(in: hung)) }
                group.addTask { ("archives", await archive(in: hung)) }
                group.addTask { ("caches", await cachedCall(in: hung)) }
            }
            group.addTask {
                // The disk hangs by then.
                try? await Task.sleep(for: .milliseconds(100))
                return ("beside", await beside(client))
            }
            var slowest: [String: Duration] = [:]
            for await (name, duration) in group { slowest[name] = max(slowest[name] ?? .zero, duration) }
            for (name, duration) in slowest.sorted(by: { $0.key < $1.key }) { say(name, duration) }
        }
        let last = Task { await upload(from: hung, by: client, within: nil) }
        // The upload hangs in the disk by then, which nothing reports.
        try? await Task.sleep(for: .milliseconds(100))
        say("shutdown", await clock.measure { await client.shutdown() })
        _ = await last.value
        say("pause", await longest)
    }

    private func upload(from folder: String, by client: APIClient, within deadline: Duration? = deadline) async
        -> Duration
    {
        await clock.measure {
            let endpoint = Endpoint<NoContent>.put("x", body: .file("\(folder)/body"))
            _ = try? await client.run(deadline.map { endpoint.deadline($0) } ?? endpoint)
        }
    }

    private func download(_ name: String, in folder: String, by client: APIClient) async -> Duration {
        await clock.measure {
            let endpoint = Endpoint<Data>.get("file").deadline(Self.deadline)
            _ = try? await client.download(endpoint, to: "\(folder)/\(name)")
        }
    }

    private func signedCall(in folder: String) async -> Duration {
        let client = client { $0.tokens = TokenStore(persistence: .file("\(folder)/session")) { $0 } }
        return await clock.measure {
            _ = try? await client.run(Endpoint<Int>.get("number").deadline(Self.deadline))
        }
    }

    private func archive(in folder: String) async -> Duration {
        await clock.measure {
            let work = Task { try await ValueArchive<Int>(path: "\(folder)/archive").save(1) }
            try? await Task.sleep(for: Self.deadline)
            work.cancel()
            _ = await work.result
        }
    }

    /// Makes a call that fails only if the cache makes it fail.
    private func cachedCall(in folder: String) async -> Duration {
        let client = client { $0.cache = .disk("\(folder)/cache", megabytes: 1) }
        return await clock.measure {
            do {
                for _ in 0..<3 { _ = try await client.run(Endpoint<Int>.get("cached")) }
            } catch {
                print("a cached call has failed: \(error)")
            }
        }
    }

    /// Does the same on the other disk, where all of it must succeed.
    private func beside(_ client: APIClient) async -> Duration {
        await clock.measure {
            do {
                try await client.run(.put("x", body: .file("\(healthy)/body")))
                try await client.download(.get("file"), to: "\(healthy)/to")
                try await ValueArchive<Int>(path: "\(healthy)/archive").save(1)
                let tokens = TokenStore(persistence: .file("\(healthy)/session")) { $0 }
                await tokens.signIn(Token(accessToken: "a"))
                guard FileManager.default.fileExists(atPath: "\(healthy)/session") else {
                    return print("the session was not saved")
                }
            } catch {
                print("\(error)")
            }
        }
    }

    private func longestPause() async -> Duration {
        var longest = Duration.zero
        for _ in 0..<100 {
            longest = max(longest, await clock.measure { try? await Task.sleep(for: .milliseconds(10)) })
        }
        return longest
    }

    private func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        APIClient(base) {
            $0.rateLimit = .unlimited
            $0.retry = .never
            configure(&$0)
        }
    }

    private func say(_ name: String, _ duration: Duration) {
        print(name, Int(duration / .milliseconds(1)))
    }
}
#endif
