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

/// A plain call, an upload, a download, a session and an archive, in a process in which one call of the system or of
/// the allocator fails: `.ci/torture` preloads the library that does that.
///
/// Each of them must succeed or throw an error of its type, lose nothing that was saved, and leave nothing behind.
struct Torture {
    private static let old = Token(accessToken: "old", refreshToken: "old")
    private static let new = Token(accessToken: "new", refreshToken: "new")

    let base: String
    let folder: String
    /// Whether everything has worked once before a call fails. Otherwise the libraries are loaded during that call.
    let isWarm: Bool

    /// The functions of the preloaded library.
    private struct Faults {
        private typealias Arm = @convention(c) (CInt) -> Void
        private typealias Count = @convention(c) () -> CInt

        private let armed: Arm
        private let fired: Count
        private let allocated: Count

        init?() {
            guard let program = dlopen(nil, RTLD_NOW), let arm = dlsym(program, "fault_arm"),
                let fired = dlsym(program, "fault_has_fired"), let allocated = dlsym(program, "fault_allocations")
            else { return nil }
            armed = unsafeBitCast(arm, to: Arm.self)
            self.fired = unsafeBitCast(fired, to: Count.self)
            self.allocated = unsafeBitCast(allocated, to: Count.self)
        }

        var hasFired: Bool { fired() != 0 }
        /// The allocations of the shim that are alive.
        var allocations: Int { Int(allocated()) }

        func arm() { armed(1) }
        func disarm() { armed(0) }
    }

    /// Prints what went wrong, in lines that begin with WRONG, and whether the call has failed at all.
    func report() async {
        // What hangs is a fault too.
        alarm(20)
        guard let faults = Faults() else { return print("WRONG: the library with the faults is not preloaded") }
        // It begins to count allocations.
        faults.arm()
        faults.disarm()
        let before: String?
        do {
            try await prepare()
            if isWarm { await round(mayFail: false) }
            before = isWarm ? await settled(faults) : nil
            faults.arm()
            await round(mayFail: true)
            faults.disarm()
            // A sign-in that could not be saved has removed the session of the user before.
            try await prepare()
        } catch {
            return print("WRONG: \(error)")
        }
        // Everything works again, and nothing of the failure is left.
        await round(mayFail: false)
        let after = await settled(faults)
        if let before, before != after { print("WRONG: \(before) before, \(after) after") }
        print(faults.hasFired ? "failed" : "not reached")
    }

    private var persistence: FileTokenPersistence { FileTokenPersistence(path: "\(folder)/session") }
    private var archive: ValueArchive<[Int]> { ValueArchive(path: "\(folder)/archive") }

    private func prepare() async throws {
        try Data("0123456789".utf8).write(to: URL(fileURLWithPath: "\(folder)/body"))
        try await persistence.save(SavedSession(id: UUID(), token: Self.old, received: Date()))
        if try await archive.load() == nil { try await archive.save([1]) }
    }

    private func round(mayFail: Bool) async {
        let client = APIClient(base) {
            $0.rateLimit = .unlimited
            $0.retry = .never
            // What ends only by this ends with an error all the same.
            $0.timeout = .seconds(3)
        }
        await check("call", mayFail) { () async throws(ServiceError) in
            let number = try await client.run(Endpoint<Int>.get("number"))
            return number == 7
        }
        await check("upload", mayFail) { () async throws(ServiceError) in
            let received = try await client.run(Endpoint<String>.put("echo", body: .file("\(folder)/body")))
            return received == "0123456789"
        }
        await check("form", mayFail) { () async throws(ServiceError) in
            let body = RequestBody.multipart { $0.add("f", file: "\(folder)/body") }
            let received = try await client.run(Endpoint<String>.put("echo", body: body))
            return received.contains("\r\n0123456789\r\n")
        }
        let target = "\(folder)/file"
        try? FileManager.default.removeItem(atPath: target)
        await check("download", mayFail) { () async throws(ServiceError) in
            try await client.download(.get("file"), to: target)
            return Data(count: 600_000) == FileManager.default.contents(atPath: target)
        }
        if let found = FileManager.default.contents(atPath: target), found != Data(count: 600_000) {
            print("WRONG: the file is there, with \(found.count) bytes")
        }
        await session(mayFail)
        await archive(mayFail)
        await client.shutdown()
    }

    /// Refreshes a session, and signs another user in. Returns the events of the store, which end with it.
    private func sessionEvents(_ mayFail: Bool) async -> AsyncStream<TokenEvent> {
        let tokens = TokenStore(persistence: persistence) { _ in Self.new }
        let events = tokens.events
        await check("session", mayFail) { () async throws(ServiceError) in
            let token = try await tokens.token()
            return try await tokens.replacement(for: token) == Self.new
        }
        await check("sign-in", mayFail) { () async throws(ServiceError) in
            await tokens.signIn(Self.old)
            return try await tokens.token() == Self.old
        }
        return events
    }

    private func session(_ mayFail: Bool) async {
        var isSaved = true
        for await event in await sessionEvents(mayFail) { if case .notSaved = event { isSaved = false } }
        // Saved or reported; one that was kept is whole.
        do {
            let found = try await persistence.load()?.token
            if isSaved ? found != Self.old : ![nil, Self.old, Self.new].contains(found) {
                print("WRONG: the session is \(found?.accessToken ?? "lost"), and saving succeeded: \(isSaved)")
            }
        } catch {
            if !mayFail { print("WRONG: session: \(error)") }
        }
    }

    private func archive(_ mayFail: Bool) async {
        do {
            let last = try await archive.load() ?? []
            do {
                try await archive.save(last + [last.count])
                guard try await archive.load() != last + [last.count] else { return }
                print("WRONG: the archive does not have what was saved")
            } catch {
                if !mayFail { print("WRONG: archive: \(error)") }
                let found = try await archive.load()
                if found != last, found != last + [last.count] { print("WRONG: the archive has \(found ?? [])") }
            }
        } catch {
            if !mayFail { print("WRONG: archive: \(error)") }
        }
    }

    private func check(
        _ name: String, _ mayFail: Bool, _ body: () async throws(ServiceError) -> Bool
    ) async {
        do throws(ServiceError) {
            if try await !body() { print("WRONG: \(name): another result") }
        } catch {
            if mayFail { print("\(name): \(error)") } else { print("WRONG: \(name): \(error)") }
        }
    }

    /// What the process holds when nothing changes any more: descriptors, and allocations of the shim. Polls, because
    /// threads end when the scheduler lets them, and close what they hold then.
    private func settled(_ faults: Faults) async -> String {
        var (census, times) = (census(faults), 0)
        while times < 10 {
            try? await Task.sleep(for: .milliseconds(5))
            let next = self.census(faults)
            times = next == census ? times + 1 : 0
            census = next
        }
        return census
    }

    private func census(_ faults: Faults) -> String {
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? -1
        return "\(descriptors) descriptors, \(faults.allocations) allocations"
    }
}
#endif
