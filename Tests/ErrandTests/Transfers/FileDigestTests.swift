import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite("The digest of a file that is there", .timeLimit(.minutes(10)))
struct FileDigestTests {
    private static let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    @Test("bytes have their digest, in hexadecimal and in base64")
    func bytes() {
        let digest = FileDigest.sha256(of: Data("abc".utf8))
        #expect("\(digest)" == Self.abc)
        #expect(digest.base64 == "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=")
        #expect(FileDigest.sha256("none").base64 == "none")
    }

    @Test("digests are equal in whichever form they were given, and others are not")
    func equality() {
        let digest = FileDigest.sha256(of: Data("abc".utf8))
        #expect(digest == .sha256(Self.abc))
        #expect(digest == .sha256(Self.abc.uppercased()))
        #expect(digest == .sha256(digest.base64))
        #expect(digest != .sha256(of: Data("abd".utf8)))
        #expect(digest != .sha256("none"))
    }

    @Test(
        "a file has the digest of its bytes: empty, within a piece, whole pieces, and more than one job",
        arguments: [0, 1, HTTPBody.pieceSize, HTTPBody.pieceSize * 16, HTTPBody.pieceSize * 16 + 1])
    func file(size: Int) async throws {
        let content = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let path = scratch.path("a.tar")
        try content.write(to: URL(fileURLWithPath: path))
        let expected = FileDigest.sha256(of: content)
        #expect(try await FileDigest.sha256(ofFile: path) == expected)
        #expect(try await FileDigest.sha256(ofFile: URL(fileURLWithPath: path)) == expected)
    }

    @Test("what is no file is refused with its name")
    func refused() async throws {
        for (path, reason) in [
            (scratch.path("none"), "No such file"), (scratch.folder, "is a folder"),
            ("/dev/null", "is not a regular file"), ("", "No such file"),
        ] {
            let error = try await #require(throws: ServiceError.self) { try await FileDigest.sha256(ofFile: path) }
            guard case .invalidRequest(let invalid) = error else { throw error }
            #expect(invalid.subject == .file && invalid.reason.contains(reason), "\(invalid)")
        }
        let web = try #require(URL(string: "https://api.test/a"))
        let error = try await #require(throws: ServiceError.self) { try await FileDigest.sha256(ofFile: web) }
        guard case .invalidRequest(let invalid) = error else { throw error }
        #expect(invalid.reason.contains("is not the URL of a file"))
    }

    @Test("a file that changes between two jobs has no digest", arguments: [Change.grows, .shrinks, .isRewritten])
    func changed(change: Change) async throws {
        let path = scratch.path("a.txt")
        try scratch.write(String(repeating: "0123456789", count: HTTPBody.pieceSize * 2), to: "a.txt")
        var state = try FileHash(path).continued()
        #expect(!state.isAtEnd)
        try change.happen(to: path)
        let error = #expect(throws: ServiceError.self) {
            while !state.isAtEnd { state = try state.continued() }
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .file && failure.message.contains("has changed"), "\(failure)")
    }

    @Test("a file that hangs is left behind when the task is canceled")
    func hung() async throws {
        try scratch.write("abc", to: "a.txt")
        let path = scratch.path("a.txt")
        let gate = await HeldPlace(path)
        let hashing = Task { try await FileDigest.sha256(ofFile: path) }
        hashing.cancel()
        await #expect(throws: ServiceError.cancelled) { try await hashing.value }
        gate.release()
    }
}
