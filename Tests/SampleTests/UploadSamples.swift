import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Observation
import Testing

@Suite("Files and forms") struct UploadSamples {
    private struct Place: Codable, Sendable {
        var name: String
        var latitude: Double
    }

    private struct Export: Sendable {
        let rows = HTTPBody.Chunks { continuation in
            continuation.yield(Data("{}\n".utf8))
            continuation.finish()
        }
    }

    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    @Test("a stream is sent, once or again, and passed on")
    func streams() async throws {
        let network = scripted()
        network.on(.post, "/once", body: .text("{}\n"), .status(503))
        network.on(.put, "/again", body: .text("{}\n"), .status(503), .status(204))
        network.on(.get, "/videos/7", .status(200, headers: ["Content-Length": "5"], body: "video"))
        network.on(.put, "/copies/7", body: .text("video"), .status(204))
        let clock = TestClock()
        let (client, origin, storage) = (
            testClient(network, clock), testClient(network, clock), testClient(network, clock)
        )
        let export = Export()
        let rows = RequestBody.stream(contentType: "application/x-ndjson", export.rows)
        let again = RequestBody.stream(contentType: "application/x-ndjson") { Export().rows }
        try await clock.run {
            await #expect(throws: ServiceError.self) { try await client.run(.post("once", body: rows)) }
            try await client.run(.put("again", body: again))
            let video = try await origin.stream(.get("videos/7"))
            try await storage.run(
                .put("copies/7", body: .stream(length: video.length, contentType: "video/mp4", video.chunks)))
        }
    }

    @Test("an expected form matches the form that is sent")
    func script() async throws {
        let network = scripted()
        try scratch.write("content", to: "sunset.jpg")
        let path = scratch.path("sunset.jpg")
        let expected = ExpectedBody.multipart { $0.add("photo", file: path) }
        network.on(.post, "/photos", body: expected, .status(201))
        let screen = await UploadScreen(testClient(network))
        try await screen.upload(.multipart { $0.add("photo", file: path) })
        #expect(await screen.fraction == 1)
    }

    // These name files in the current folder, which the tests do not write to.

    private func sendFiles(_ client: APIClient, _ thumbnail: Data) async throws {
        try await client.run(.put("backup", body: .file("backup.tar", contentType: "application/x-tar")))

        let photo = RequestBody.multipart {
            $0.add("title", "Sunset")
            $0.add("place", json: Place(name: "Pier", latitude: 51.5))
            $0.add("photo", file: "sunset.jpg")
            $0.add("thumbnail", data: thumbnail, filename: "small.png")
        }
        try await client.run(.post("photos", body: photo))

        try await client.run(.post("photos", body: photo)) { progress in
            guard let fraction = progress.fraction else { return }
            FileHandle.standardError.write(Data("\r\(Int(fraction * 100)) %".utf8))
        }

        try await client.run(.put("backup", body: .file("backup.tar")))

        let path = "sunset.jpg"
        let form = RequestBody.multipart {
            $0.add("title", "Sunset")
            $0.add("photo", file: path)
        }
        try await client.run(.post("photos", body: form)) { print($0.bytes, "of", $0.total ?? 0) }

        try await client.run(.put("backup", body: .file("backup.tar")).header("Expect", "100-continue"))

        try await client.run(.put("backup", body: .file("backup.tar")).digest(.content))

        let digest = try await FileDigest.sha256(ofFile: "backup.tar")
        try await client.run(
            .put("backup", body: .file("backup.tar")).header("x-amz-checksum-sha256", digest.base64))
        print(digest, digest.base64)
    }

    private func expectForm(_ network: ScriptedTransport) {
        network.on(
            .post, "/photos",
            body: .multipart {
                $0.add("title", "Sunset")
                $0.add("photo", file: "sunset.jpg")
            }, .status(201))
    }
}

@Observable @MainActor
final class UploadScreen {
    private(set) var fraction = 0.0
    private let client: APIClient

    init(_ client: APIClient) { self.client = client }

    func upload(_ photo: RequestBody) async throws {
        let (steps, step) = AsyncStream.makeStream(of: TransferProgress.self, bufferingPolicy: .bufferingNewest(1))
        let showing = Task {
            for await progress in steps { fraction = progress.fraction ?? 0 }
        }
        defer { step.finish() }
        try await client.run(.post("photos", body: photo)) { step.yield($0) }
        step.finish()
        await showing.value
    }
}

// The samples of the doc comments.

private func documented(
    _ client: APIClient, _ network: ScriptedTransport, _ log: StreamedResponse, _ size: Int
) async throws {
    let photo = RequestBody.multipart {
        $0.add("title", "Sunset")
        $0.add("photo", file: "sunset.jpg")
    }
    let body = RequestBody.multipart {
        $0.add("title", "Sunset")
        $0.add("photo", file: "sunset.jpg")
    }
    try await client.run(.put("backup", body: .file("backup.tar")))
    try await client.run(.put("backup", body: .file("backup.tar")).digest(.content))
    let digest = try await FileDigest.sha256(ofFile: "backup.tar")
    print(digest, digest.base64)
    network.on(.post, "/photos", body: .multipart { $0.add("photo", file: "sunset.jpg") }, .status(201))
    let form = RequestBody.multipart {
        $0.add("log", stream: .stream(length: size, log.chunks), filename: "today.log")
    }
    print(photo, body, form)
}
