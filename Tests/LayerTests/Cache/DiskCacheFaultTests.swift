#if os(Linux)
@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("A disk that fails while tasks fill a cache", .timeLimit(.minutes(10))) struct DiskCacheFaultTests {
    /// What happens to the folder of the cache, again and again.
    enum Fault: CaseIterable, Sendable {
        case removed, unwritable, full

        /// Those that a test can cause here: another one needs a file system of its own.
        static let possible = TemporaryFileSystem.isAllowed ? allCases : [.removed]
    }

    private static let (tasks, operations) = (8, 100)

    @Test(
        "K9, K11: a disk that loses its files, cannot be written or is full: no wrong answer, no failed call",
        arguments: Fault.possible)
    func faults(fault: Fault) async throws {
        let place = try FaultyPlace(fault)
        let server = Versions()
        let cache = HTTPCache.disk(place.folder, megabytes: 1)
        let client = client(server, cache)
        let problems = Noted<[String]>([])
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<Self.tasks {
                group.addTask {
                    var random = SeededRandom(UInt64(task + 1))
                    for step in 0..<Self.operations {
                        // One task changes the disk, under the calls of all the others.
                        if task == 0 { place.strike(step) }
                        if let problem = await call(client, server, &random) { problems.update { $0.append(problem) } }
                    }
                }
            }
        }
        #expect(problems.value.isEmpty, "\(problems.value.prefix(5))")
        #expect(cache.statistics.hits > 0)
        // Other tests may have kept the threads for the disk, so that no call has waited for its write.
        await HeldPlace("\(place.folder)/").release()
        if fault != .removed { #expect(cache.statistics.failures > 0) }

        // When the disk works again, so does the cache.
        place.mend()
        await cache.removeAll()
        await HeldPlace("\(place.folder)/").release()
        try await withoutDiskThreads {
            let endpoint = Endpoint<Int>.get("1")
            let next = testClient(server) { $0.cache = .disk(place.folder, megabytes: 1) }
            let missed = try await next.reply(to: endpoint)
            #expect(missed.cache == CacheStatus(.miss))
            let last = testClient(server) { $0.cache = .disk(place.folder, megabytes: 1) }
            let found = try await last.reply(to: endpoint)
            #expect(found.cache?.kind == .hit)
        }
    }

    private func client(_ server: Versions, _ cache: HTTPCache) -> APIClient {
        APIClient("https://api.test") {
            $0.transport = server
            $0.rateLimit = .unlimited
            $0.retry = .never
            $0.cache = cache
        }
    }

    /// Makes a call, and returns what is wrong with its result.
    private func call(_ client: APIClient, _ server: Versions, _ random: inout SeededRandom) async -> String? {
        let number = random.int(0...29)
        do throws(ServiceError) {
            switch random.int(0...19) {
            case 0, 1: server.noteKnown(try await client.run(Endpoint<Int>.put("\(number)")), of: number)
            case 2: await client.configuration.cache?.invalidate(tag: "\(number % 5)")
            default:
                var endpoint = Endpoint<Int>.get("\(number)").tags("\(number % 5)")
                if random.chance(50) { endpoint = endpoint.cache(.reload) }
                let known = server.known(of: number)
                let version = try await client.run(endpoint)
                if version < known { return "version \(version) of \(number) was read after \(known) was written" }
            }
            return nil
        } catch {
            return "\(error)"
        }
    }
}

/// The folder of a cache on a disk with a fault.
private final class FaultyPlace: Sendable {
    let folder: String
    private let fault: DiskCacheFaultTests.Fault
    private let scratch: Scratch?
    private let disk: TemporaryFileSystem?

    init(_ fault: DiskCacheFaultTests.Fault) throws {
        self.fault = fault
        switch fault {
        case .removed: (scratch, disk) = (try Scratch(), nil)
        case .unwritable: (scratch, disk) = (nil, try TemporaryFileSystem(bytes: 8 << 20))
        // Less than the responses take.
        case .full: (scratch, disk) = (nil, try TemporaryFileSystem(bytes: 128 << 10))
        }
        folder = "\(scratch?.folder ?? disk?.folder ?? "")/cache"
    }

    /// Causes the fault at some steps of a task, and ends it at others.
    func strike(_ step: Int) {
        switch fault {
        // While the cache writes to it, it may not be removed as a whole.
        case .removed: if step % 5 == 4 { try? FileManager.default.removeItem(atPath: folder) }
        case .unwritable: disk?.setReadOnly(step % 10 >= 5)
        case .full: break
        }
    }

    /// Ends the fault, when nothing is written.
    func mend() { disk?.setReadOnly(false) }
}

/// A server whose resources have versions: each write makes a new one.
private final class Versions: Transport {
    private struct State {
        var versions: [Int: Int] = [:]
        /// The versions that callers know to be written.
        var known: [Int: Int] = [:]
    }

    private let state = Noted(State())

    var connectivity: Connectivity { .always }
    var identity: String? { "" }

    func known(of number: Int) -> Int { state.value.known[number] ?? 0 }

    func noteKnown(_ version: Int, of number: Int) {
        state.update { $0.known[number] = max($0.known[number] ?? 0, version) }
    }

    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        let number = Int(request.url.path.dropFirst()) ?? 0
        var version = 0
        state.update { state in
            if request.method == .put { state.versions[number, default: 0] += 1 }
            version = state.versions[number] ?? 0
        }
        // Mostly small; some are so large that the cache has them on the disk alone.
        let size = number % 10 == 0 ? 150_000 : 4000
        let text = "\(version)" + String(repeating: " ", count: size)
        return HTTPResponse(
            status: 200, headers: ["Content-Type": "application/json", "Cache-Control": "max-age=3600"],
            body: .bytes(Data(text.utf8)))
    }

    func shutdown() async {}
}
#endif
