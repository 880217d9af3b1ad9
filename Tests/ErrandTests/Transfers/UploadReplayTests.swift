import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Uploads of a signed client")
struct UploadReplayTests {
    @Test("D11 after a 401 a form with a file is sent again with the new token, the same byte for byte")
    func replayed() async throws {
        let scratch = try Scratch()
        try scratch.write(String(repeating: "sunset", count: 50_000), to: "sunset.jpg")
        let scene = AuthScene(answering: false)
        scene.network.on(.post, "/photos", .status(401), .status(201))
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            let body = RequestBody.multipart { $0.add("photo", file: scratch.path("sunset.jpg")) }
            try await scene.client.run(.post("photos", body: body))
        }
        #expect(scene.sentTokens == ["ann.0", "ann.1"])
        #expect(Set(scene.network.sent.map(\.body)).count == 1)
    }

    @Test("D11 a body that can be read once is not sent again after a 401, which is the result")
    func oneShot() async throws {
        let scene = AuthScene(answering: false)
        scene.network.on(.post, "/photos", .json(#"{"message": "who?"}"#, status: 401))
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            let once = HTTPBody.Chunks { continuation in
                continuation.yield(Data("a".utf8))
                continuation.finish()
            }
            let error = try #require(
                await failure { () async throws(ServiceError) in
                    try await scene.client.run(.post("photos", body: .stream(contentType: "a/b", once)))
                })
            #expect(error.status == 401)
        }
        #expect(scene.sentTokens == ["ann.0"])
    }

    @Test("C90: a secret in a form that the server repeats is in no error", arguments: [true, false])
    func secret(isJSON: Bool) async throws {
        let network = scripted()
        network.on(.post, "/x", .json(#"{"message": "hunter2 is no password"}"#, status: 400))
        let body = RequestBody.multipart {
            if isJSON {
                $0.add("user", json: ["name": "ann", "password": "hunter2"])
            } else {
                $0.add("password", "hunter2")
            }
            $0.add("log", stream: .bytes(Data("a".utf8)))
        }
        let error = await #expect(throws: ServiceError.self) {
            try await testClient(network).run(.post("x", body: body))
        }
        let text = "\(error.map { "\($0) \(String(reflecting: $0)) \($0.localizedDescription)" } ?? "")"
        #expect(text.contains("is no password") && !text.contains("hunter2"), "\(text)")
    }
}
