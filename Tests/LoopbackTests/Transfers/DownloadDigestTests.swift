import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The digest of a download") struct DownloadDigestTests {
    private static let zeros = "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"

    private func scene(_ digest: (LoopbackFile) -> HTTPHeaders) throws -> DownloadScene {
        let content = DownloadScene.content(30_000)
        var headers: HTTPHeaders = ["ETag": "\"1\""]
        headers.merge(digest(LoopbackFile(content)))
        return try DownloadScene(30_000, headers: headers)
    }

    @Test("D6: a digest of the server is checked, also when the file came in parts", arguments: [0, 1000])
    func right(cut: Int) async throws {
        for name in ["Repr-Digest", "Content-Digest"] {
            let scene = try scene { [name: $0.digest] }
            // A part has a Content-Digest of its own, which says nothing about the whole.
            scene.serve { $1 == 1 && cut > 0 ? $0.cut(.inBody(cut)) : $0 }
            let file = try await scene.client.download(.get("app.zip"), to: scene.target)
            #expect(file.isVerified && file.attempts == (cut > 0 ? 2 : 1))
            #expect(scene.downloaded == scene.file.content)
        }
    }

    @Test("D6: on a mismatch the file is not put in place, and the next download begins again", arguments: [0, 1000])
    func wrong(cut: Int) async throws {
        let scene = try scene { _ in ["Repr-Digest": Self.zeros] }
        try scene.scratch.write("old", to: "app.zip")
        scene.serve { $1 == 1 && cut > 0 ? $0.cut(.inBody(cut)) : $0 }
        let error = await #expect(throws: ServiceError.self) {
            try await scene.client.download(.get("app.zip"), to: scene.target)
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .digestMismatch && failure.message.contains(scene.target))
        #expect(failure.message.hasSuffix("\(String(repeating: "0", count: 64)) was expected"))
        #expect(failure.description.hasPrefix("The downloaded file does not match its digest"))
        #expect(try scene.scratch.read("app.zip") == "old")
        // On a machine that is too busy, the part is removed after the call has ended.
        for _ in 0..<600 where try scene.names != ["app.zip"] { try await Task.sleep(for: .milliseconds(50)) }
        #expect(try scene.names == ["app.zip"])
    }

    @Test(
        "D6: a digest with parameters, and one beside members of other kinds, is checked",
        arguments: [
            ";a=1", ";a", ";a=\"b, c\"", ", other=1;b=?0", ", list=(1 :AA==:);a", ", text=\"sha-256=:AAAA:\"", ", flag",
        ])
    func parameters(rest: String) async throws {
        for isRight in [true, false] {
            let scene = try scene { ["Repr-Digest": (isRight ? $0.digest : Self.zeros) + rest] }
            scene.serve()
            do throws(ServiceError) {
                let file = try await scene.client.download(.get("app.zip"), to: scene.target)
                #expect(file.isVerified && isRight)
            } catch {
                guard case .transport(let failure) = error else { throw error }
                #expect(failure.kind == .digestMismatch && !isRight)
            }
        }
    }

    @Test("D6: the caller's digest is checked, and counts even where the server's own is right")
    func ofCaller() async throws {
        let scene = try scene { ["Repr-Digest": $0.digest] }
        scene.serve()
        let right = scene.file.digest.dropFirst("sha-256=:".count).dropLast()
        let file = try await scene.client.download(
            .get("app.zip"), to: scene.target, expecting: .sha256(String(right)))
        #expect(file.isVerified)
        let error = await #expect(throws: ServiceError.self) {
            try await scene.client.download(
                .get("app.zip"), to: scene.target, expecting: .sha256(String(repeating: "ab", count: 32)))
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .digestMismatch)
    }

    @Test("D6: a download that a later one continues is checked with the digest that came with its beginning")
    func resumed() async throws {
        for isRight in [true, false] {
            let scene = try scene { _ in [:] }
            let digest = isRight ? scene.file.digest : Self.zeros
            scene.server.on(.get, "/app.zip") { [file = scene.file] request in
                var first = file
                first.headers["Repr-Digest"] = digest
                switch request.number + request.connection {
                case 2: return first.reply(to: request).cut(.inBody(1000))
                case 3: return .status(404)
                default: return file.reply(to: request)
                }
            }
            await #expect(throws: ServiceError.self) {
                try await scene.client.download(.get("app.zip"), to: scene.target)
            }
            do throws(ServiceError) {
                let file = try await scene.client.download(.get("app.zip"), to: scene.target)
                #expect(isRight && file.isVerified && file.isResumed)
            } catch {
                #expect(!isRight)
            }
        }
    }

    @Test("D6: a part that is complete and wrong is not kept either")
    func completePart() async throws {
        let scene = try scene { _ in [:] }
        scene.server.on(.get, "/app.zip") { [file = scene.file] request in
            switch request.number + request.connection {
            // The connection breaks after the last byte, because the body has no length.
            case 2:
                let chunks = LoopbackReply.chunks([file.content], headers: ["ETag": "\"1\""])
                return chunks.cut(.inBody("7530\r\n".utf8.count + 30_000))
            case 3: return .status(404)
            default: return file.reply(to: request)
            }
        }
        await #expect(throws: ServiceError.self) {
            try await scene.client.download(.get("app.zip"), to: scene.target)
        }
        #expect(scene.part?.count == 30_000)
        let error = await #expect(throws: ServiceError.self) {
            try await scene.client.download(
                .get("app.zip"), to: scene.target, expecting: .sha256(String(repeating: "ab", count: 32)))
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .digestMismatch && scene.ranges.last == "bytes=30000-")
        #expect(try scene.names == [])
    }

    @Test("a digest of another kind, or a malformed one, is no digest; the file is not checked")
    func others() async throws {
        for text in ["sha-512=:AAAA:", "sha-256=:AAAA:", "sha-256=nonsense", "md5=:AAAA:"] {
            let scene = try scene { _ in ["Repr-Digest": text] }
            scene.serve()
            let file = try await scene.client.download(.get("app.zip"), to: scene.target)
            #expect(!file.isVerified)
        }
    }
}
