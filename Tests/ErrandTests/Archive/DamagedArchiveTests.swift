import Errand
import ErrandTestSupport
import Foundation
import Testing

private let wholeFile = #"{"version":2,"model":{"name":"Ann","age":7}}"#

@Suite("An archive that cannot be read")
struct DamagedArchiveTests {
    private struct Account: Codable, Hashable, Sendable { var name: String, age: Int }
    /// The type that version 1 of the program saved.
    private struct OldAccount: Codable, Sendable { var fullName: String }

    private let scratch: Scratch
    private let archive: ValueArchive<Account>

    init() throws {
        scratch = try Scratch()
        archive = ValueArchive(path: scratch.path("account"), version: 2)
    }

    @Test("the file that the other cases are based on is valid")
    func good() async throws {
        try scratch.write(wholeFile, to: "account")
        #expect(try await archive.load() == Account(name: "Ann", age: 7))
    }

    @Test(
        "C82: a damaged file is a typed error and is kept aside unchanged; saving still works",
        arguments: [
            "", "{", "[]", "null", "\0\0\0", "not JSON", #"{"version":2}"#, #"{"version":"2","model":{}}"#,
            #"{"model":{"name":"Ann","age":7}}"#, #"{"version":2,"model":null}"#, wholeFile + "x",
            #"{"version":2,"model":{"name":"Ann"}}"#, String(repeating: "[", count: 100_000),
        ])
    func damaged(content: String) async throws {
        try scratch.write(content, to: "account")
        #expect(await problem { () async throws(ArchiveError) in _ = try await archive.load() } == .damaged)
        #expect(try scratch.read("account.damaged") == content)
        #expect(try await archive.load() == nil)
        try await archive.save(Account(name: "Bo", age: 8))
        #expect(try await archive.load()?.name == "Bo")
        #expect(try scratch.read("account.damaged") == content)
    }

    @Test("C82: every truncation of a valid file is reported, and none is read as a value")
    func truncated() async throws {
        for count in 0..<wholeFile.utf8.count {
            try scratch.write(String(wholeFile.prefix(count)), to: "account")
            let kind = await problem { () async throws(ArchiveError) in _ = try await archive.load() }
            #expect(kind == .damaged, "the first \(count) bytes")
        }
    }

    @Test("C82: a file of a later version is reported as such and kept aside unchanged, whatever migrations exist")
    func future() async throws {
        let content = #"{"version":3,"model":"of the future"}"#
        try scratch.write(content, to: "account")
        let archive = ValueArchive<Account>(path: scratch.path("account"), version: 2) { _, _ in
            Account(name: "", age: 0)
        }
        #expect(await problem { () async throws(ArchiveError) in _ = try await archive.load() } == .futureVersion)
        #expect(try scratch.read("account.damaged") == content)
    }

    @Test("an older file is migrated, and stays as it was until something is saved")
    func migrated() async throws {
        let old = ValueArchive<OldAccount>(path: scratch.path("account"))
        try await old.save(OldAccount(fullName: "Ann Lee"))
        let content = try scratch.read("account")
        let versions = Noted<[Int]>([])
        let archive = ValueArchive<Account>(path: scratch.path("account"), version: 2) { old, version in
            versions.update { $0.append(version) }
            return Account(name: try OldAccount(from: old).fullName, age: 0)
        }
        #expect(try await archive.load() == Account(name: "Ann Lee", age: 0))
        #expect(try scratch.read("account") == content)
        try await archive.save(Account(name: "Ann", age: 1))
        #expect(try await archive.load() == Account(name: "Ann", age: 1))
        #expect(versions.value == [1])
    }

    @Test("an older file without a migration is reported, and is kept aside as it was", arguments: 0..<3)
    func notMigrated(way: Int) async throws {
        let content = #"{"version":1,"model":{"fullName":7,"secret":"hunter2"}}"#
        try scratch.write(content, to: "account")
        struct Odd: Error { var found = "hunter2" }
        let migrations: [ValueArchive<Account>.Migration?] = [
            nil, { old, _ in Account(name: try OldAccount(from: old).fullName, age: 0) }, { _, _ in throw Odd() },
        ]
        let archive = ValueArchive<Account>(path: scratch.path("account"), version: 2, migrate: migrations[way])
        do throws(ArchiveError) {
            _ = try await archive.load()
            Issue.record("it was loaded")
        } catch {
            #expect(error.kind == .oldVersion)
            #expect(error.message.contains(scratch.path("account.damaged")))
            #expect(!error.message.contains("hunter2"))
        }
        #expect(try scratch.read("account.damaged") == content)
    }

    @Test("C81: the draft that a killed process left half written is discarded by the next save")
    func draft() async throws {
        try scratch.write(wholeFile, to: "account")
        try scratch.write(#"{"version":2,"mod"#, to: "account.new")
        #expect(try await archive.load()?.name == "Ann")
        try await archive.save(Account(name: "Bo", age: 8))
        #expect(try await archive.load()?.name == "Bo")
        #expect(!scratch.exists("account.new"))
    }

    @Test("a nil that was saved differs from no saved value")
    func optional() async throws {
        let archive = ValueArchive<Int?>(path: scratch.path("number"))
        #expect(try await archive.load() == .none)
        try await archive.save(nil)
        #expect(try await archive.load() == .some(nil))
    }
}
