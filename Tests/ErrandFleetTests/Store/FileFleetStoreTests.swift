import Errand
import ErrandFleet
import ErrandTestSupport
import Foundation
import Testing

@Suite("The store in a folder") struct FileFleetStoreTests {
    private let scratch: Scratch
    private let store: FileFleetStore

    init() throws {
        scratch = try Scratch()
        store = FileFleetStore(folder: scratch.path("fleet"))
    }

    private var file: String { get throws { try #require(scratch.files(in: "fleet", ".record").first) } }

    private func kind<Value>(_ body: () async throws -> Value) async -> FleetStoreError.Kind? {
        do {
            _ = try await body()
            return nil
        } catch {
            return (error as? FleetStoreError)?.kind
        }
    }

    private func mode(_ path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test("folders and files are for their owner alone")
    func permissions() async throws {
        let store = FileFleetStore(folder: scratch.path("a/b"))
        _ = try await store.write([1], to: "limit", replacing: nil)
        #expect(try mode(scratch.path("a")) == 0o700)
        #expect(try mode(scratch.path("a/b")) == 0o700)
        for ending in ["record", "lock"] {
            for file in try scratch.files(in: "a/b", ending) { #expect(try mode(file) == 0o600) }
        }
    }

    @Test("each changed byte of a file is damage, which nothing overwrites")
    func damage() async throws {
        guard case .written(let revision?) = try await store.write(Array("abc".utf8), to: "limit", replacing: nil)
        else { throw CancellationError() }
        let (file, whole) = (try file, try Data(contentsOf: URL(fileURLWithPath: try file)))
        for index in whole.indices {
            var damaged = whole
            damaged[index] ^= 1
            try put(damaged, at: file)
            #expect(await kind { try await store.read("limit") } == .damaged)
        }
        for count in [0, 10, whole.count - 1] {
            try put(whole.prefix(count), at: file)
            for known in [revision, nil] {
                #expect(await kind { try await store.write([1], to: "limit", replacing: known) } == .damaged)
            }
            #expect(await kind { try await store.changes(of: "limit").first { _ in true } } == .damaged)
            #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == whole.prefix(count))
        }
        try put(whole, at: file)
        #expect(try await store.read("limit")?.bytes == Array("abc".utf8))
    }

    @Test("a file that was copied from another key is damage")
    func copied() async throws {
        _ = try await store.write([1], to: "a", replacing: nil)
        let first = try file
        _ = try await store.write([2], to: "b", replacing: nil)
        let second = try #require(scratch.files(in: "fleet", ".record").first { $0 != first })
        try put(Data(contentsOf: URL(fileURLWithPath: first)), at: second)
        #expect(await kind { try await store.read("b") } == .damaged)
    }

    @Test("F15: records that were removed leave no files, and their revisions never come again")
    func removedRecords() async throws {
        var last = FleetRevision(0)
        for number in 0..<20 {
            for key in ["limit", "node/\(number)"] {
                guard case .written(let next?) = try await store.write([1], to: key, replacing: nil) else {
                    throw CancellationError()
                }
                if key == "limit" {
                    #expect(last < next)
                    last = next
                }
                #expect(try await store.write(nil, to: key, replacing: next) == .written(nil))
                #expect(try await store.read(key) == nil)
            }
        }
        // Neither do writes that change nothing.
        #expect(try await store.write(nil, to: "none", replacing: nil) == .written(nil))
        #expect(try await store.write(nil, to: "none", replacing: last) == .changed(nil))
        #expect(try await store.write([1], to: "none", replacing: last) == .changed(nil))
        let left = try FileManager.default.contentsOfDirectory(atPath: scratch.path("fleet"))
        #expect(Set(left) == ["removed.record", "removed.record.lock"])
    }

    @Test("F15: what remembers the revisions of removed records is not overwritten when it is damaged")
    func damagedRevisions() async throws {
        for _ in 0..<2 {
            guard case .written(let next?) = try await store.write([1], to: "limit", replacing: nil) else {
                throw CancellationError()
            }
            _ = try await store.write(nil, to: "limit", replacing: next)
        }
        try put(Data("?".utf8), at: scratch.path("fleet/removed.record"))
        #expect(await kind { try await store.write([1], to: "limit", replacing: nil) } == .damaged)
        #expect(try await store.read("limit") == nil)
    }

    @Test("revisions grow even if somebody has removed all files")
    func removedFiles() async throws {
        var last = FleetRevision(0)
        for _ in 0..<5 {
            guard case .written(let next?) = try await store.write([1], to: "limit", replacing: nil) else {
                throw CancellationError()
            }
            #expect(last < next)
            last = next
            try FileManager.default.removeItem(atPath: scratch.path("fleet"))
        }
    }

    @Test("a lock that another holds is waited for until the timeout, and the record stays")
    func heldLock() async throws {
        let store = FileFleetStore(folder: scratch.path("fleet"), lockTimeout: .milliseconds(100))
        guard case .written(let revision?) = try await store.write([1], to: "limit", replacing: nil) else {
            throw CancellationError()
        }
        let descriptor = open(try file + ".lock", O_RDWR | O_CLOEXEC)
        #expect(flock(descriptor, LOCK_EX) == 0)
        #expect(await kind { try await store.write([2], to: "limit", replacing: revision) } == .unreachable)
        #expect(try await store.read("limit")?.bytes == [1])
        let waiting = Task {
            await kind {
                try await FileFleetStore(folder: scratch.path("fleet")).write([2], to: "limit", replacing: revision)
            }
        }
        waiting.cancel()
        #expect(await waiting.value == .cancelled)
        // A process that is being started by another test may hold the descriptor too, and with it the lock.
        #expect(flock(descriptor, LOCK_UN) == 0)
        close(descriptor)
        let patient = FileFleetStore(folder: scratch.path("fleet"), lockTimeout: .seconds(60))
        #expect(await kind { try await patient.write([2], to: "limit", replacing: revision) } == nil)
    }

    @Test("links, files of others and folders that cannot be written are refused")
    func refused() async throws {
        _ = try await store.write([1], to: "limit", replacing: nil)
        let file = try file
        chmod(file, 0o644)
        #expect(await kind { try await store.read("limit") } == .refused)
        try FileManager.default.moveItem(atPath: file, toPath: scratch.path("elsewhere"))
        symlink(scratch.path("elsewhere"), file)
        #expect(await kind { try await store.read("limit") } == .refused)
        try put(Data(), at: scratch.path("plain"))
        let misplaced = FileFleetStore(folder: scratch.path("plain"))
        #expect(await kind { try await misplaced.write([1], to: "limit", replacing: nil) } == .other)
    }

    private func put(_ data: Data, at path: String) throws {
        try data.write(to: URL(fileURLWithPath: path))
        chmod(path, 0o600)
    }
}
