import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("A saved value")
struct ArchiveTests {
    private struct Account: Codable, Hashable, Sendable { var name: String, since: Date, scores: [Double] }

    private let scratch: Scratch
    private let archive: ValueArchive<Account>
    private let ann = Account(name: "Ann é😀", since: Date(timeIntervalSince1970: 1.25), scores: [0.1, -1e300])

    init() throws {
        scratch = try Scratch()
        archive = ValueArchive(path: scratch.path("app/account"))
    }

    @Test("a saved value can be loaded, also by another archive; removing it leaves nothing")
    func roundTrip() async throws {
        #expect(try await archive.load() == nil)
        #expect(!scratch.exists("app"), "a look makes no folder")
        try await archive.save(ann)
        #expect(try await archive.load() == ann)
        #expect(try await ValueArchive<Account>(path: scratch.path("app/account")).load() == ann)
        try await archive.remove()
        try await archive.remove()
        #expect(try await archive.load() == nil)
        #expect(!scratch.exists("app/account"))
    }

    @Test("the file and the lock have mode 0600, and a folder that is created for them has 0700")
    func modes() async throws {
        try await archive.save(ann)
        #expect(try scratch.mode("app") == 0o700)
        #expect(try scratch.mode("app/account") == 0o600)
        #expect(try scratch.mode("app/account.lock") == 0o600)
    }

    @Test("a value that cannot be encoded leaves the previous one in place")
    func unencodable() async throws {
        try await archive.save(ann)
        var odd = ann
        odd.scores = [.nan]
        #expect(await problem { () async throws(ArchiveError) in try await archive.save(odd) } == .unencodable)
        #expect(try await archive.load() == ann)
    }

    @Test("a value that is too large to be loaded is not saved")
    func tooLarge() async throws {
        let archive = ValueArchive<Data>(path: scratch.path("bytes"))
        try await archive.save(Data(count: 30 << 20))
        let large = Data(count: 60 << 20)
        #expect(await problem { () async throws(ArchiveError) in try await archive.save(large) } == .unencodable)
        #expect(try await archive.load()?.count == 30 << 20)
    }

    @Test("a symbolic link, a folder, or a file instead of the folder is reported and left alone")
    func inTheWay() async throws {
        try scratch.write("treasure", to: "target")
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path("link"), withDestinationPath: scratch.path("target"))
        try FileManager.default.createDirectory(
            atPath: scratch.path("folder/inner"), withIntermediateDirectories: true)
        for (name, kind) in [("link", ArchiveError.Kind.symbolicLink), ("folder", .notAFile)] {
            let archive = ValueArchive<Account>(path: scratch.path(name))
            #expect(await problem { () async throws(ArchiveError) in try await archive.save(ann) } == kind)
            #expect(await problem { () async throws(ArchiveError) in _ = try await archive.load() } == kind)
        }
        let below = ValueArchive<Account>(path: scratch.path("target/account"))
        #expect(await problem { () async throws(ArchiveError) in try await below.save(ann) } == .unwritable)
        #expect(try scratch.read("target") == "treasure")
        #expect(scratch.exists("folder/inner"))
    }

    @Test("concurrent saves always leave one of their files, whole")
    func manyWriters() async throws {
        let path = scratch.path("many")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    // Each save writes to the disk, which may take long on a busy machine.
                    let archive = ValueArchive<[Int]>(path: path, lockTimeout: .seconds(120))
                    for _ in 0..<5 {
                        try await archive.save(Array(repeating: number, count: 5000 + number))
                        let found = try await archive.load() ?? []
                        #expect(Set(found).count == 1 && found.count == 5000 + (found.first ?? -1))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(!scratch.exists("many.damaged"))
        #expect(!scratch.exists("many.new"))
    }

    @Test("a cancelled task still saves, if nothing else is writing")
    func cancelled() async throws {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await problem { () async throws(ArchiveError) in try await archive.save(ann) }
        }
        #expect(await task.value == nil)
        #expect(try await archive.load() == ann)
    }

    @Test("a cancelled task does not wait for the lock, and changes nothing")
    func cancelledInLine() async throws {
        try await archive.save(ann)
        let other = open(scratch.path("app/account.lock"), O_RDWR)
        #expect(flock(other, LOCK_EX) == 0)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await problem { () async throws(ArchiveError) in try await archive.remove() }
        }
        #expect(await task.value == .cancelled)
        #expect(try await archive.load() == ann, "reading waits for no writer")
        #expect(close(other) == 0)
    }

    @Test("C82: a file that is too large is moved aside only by the holder of the lock")
    func tooLargeInUse() async throws {
        try await archive.save(ann)
        #expect(truncate(scratch.path("app/account"), 64 << 20 + 1) == 0)
        let other = open(scratch.path("app/account.lock"), O_RDWR)
        #expect(flock(other, LOCK_EX) == 0)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await problem { () async throws(ArchiveError) in _ = try await archive.load() }
        }
        #expect(await task.value == .cancelled)
        #expect(scratch.exists("app/account") && !scratch.exists("app/account.damaged"))
        #expect(close(other) == 0)
        #expect(await problem { () async throws(ArchiveError) in _ = try await archive.load() } == .damaged)
        #expect(scratch.exists("app/account.damaged"))
    }
}

/// Returns the kind of error that an archive threw; `nil` if it threw none.
func problem(_ body: () async throws(ArchiveError) -> Void) async -> ArchiveError.Kind? {
    do throws(ArchiveError) {
        try await body()
        return nil
    } catch {
        return error.kind
    }
}
