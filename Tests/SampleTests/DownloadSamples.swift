import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Observation
import Testing

@Observable @MainActor
final class ReleaseModel {
    private(set) var fraction: Double?
    private(set) var message: String?
    private let client: APIClient

    init(client: APIClient) { self.client = client }

    func download(to file: URL) async {
        do throws(ServiceError) {
            try await client.download(.get("releases/7/app.zip"), to: file) { progress in
                Task { @MainActor in self.fraction = progress.fraction }
            }
        } catch {
            message = error.localizedDescription
        }
    }
}

extension Endpoint where Response == String {
    fileprivate static func address(of report: Int) -> Self { .get("reports/\(report)/address") }
}

/// Keeps what a sample would write to the terminal.
private final class Written: Sendable {
    let texts = Noted<[String]>([])

    func write(_ data: Data) {
        texts.update { $0.append(String(decoding: data, as: UTF8.self)) }
    }
}

@Suite("Downloads") struct DownloadSamples {
    private let server: LoopbackServer
    private let client: APIClient
    private let place = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString).zip")

    init() throws {
        server = try LoopbackServer()
        client = APIClient(server.baseURL)
        let file = LoopbackFile(Data("abc".utf8))
        server.on(.get, "/releases/7/app.zip") { file.reply(to: $0) }
    }

    @Test("an app's model shows the progress")
    @MainActor func model() async throws {
        let model = ReleaseModel(client: client)
        await model.download(to: place)
        defer { try? FileManager.default.removeItem(at: place) }
        #expect(model.message == nil)
        #expect(try Data(contentsOf: place) == Data("abc".utf8))
    }

    @Test("the samples download what they say")
    func samples() async throws {
        let place = place
        defer { try? FileManager.default.removeItem(at: place) }
        // Not into the folder of the tests.
        struct Client {
            let client: APIClient
            let place: URL

            @discardableResult
            func download(
                _ endpoint: Endpoint<Data>, to path: String, expecting digest: FileDigest? = nil,
                onProgress: (@Sendable (TransferProgress) -> Void)? = nil
            ) async throws(ServiceError) -> DownloadedFile {
                #expect(path == "app.zip")
                return try await client.download(endpoint, to: place, expecting: digest, onProgress: onProgress)
            }
        }
        let client = Client(client: client, place: place)
        let printed = Noted<[String]>([])
        @Sendable func print(_ text: String) { printed.update { $0.append(text) } }
        enum FileHandle {
            static let standardError = Written()
        }
        let file = try await client.download(.get("releases/7/app.zip"), to: "app.zip")
        print("\(file.bytes) bytes in \(file.path)")
        try await client.download(.get("releases/7/app.zip"), to: "app.zip") { progress in
            let done = progress.fraction.map { "\(Int($0 * 100)) %" } ?? "\(progress.bytes) bytes"
            // Unlike `print`, this shows a line that has no end yet.
            FileHandle.standardError.write(Data("\r\(done)".utf8))
        }
        #expect(printed.value == ["3 bytes in \(place.path)"])
        #expect(FileHandle.standardError.texts.value.last == "\r100 %")
        let app = try await client.download(
            .get("releases/7/app.zip"), to: "app.zip",
            expecting: .sha256("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
        #expect(app.isVerified)
    }
}

// The samples that write where a test must not, and those of the doc comments.

private func signed(_ client: APIClient, _ report: Int) async throws {
    let storage = APIClient("https://storage.example.com")
    let report = try await storage.download(
        asking: { .get(url: try await client.run(.address(of: report))) }, to: "report.pdf")
    _ = report
}

private struct Bar {
    func show(_ fraction: Double?) {}
}

private func comments(_ client: APIClient, _ bar: Bar, _ id: Int) async throws {
    let file = try await client.download(.get("releases/\(id)"), to: "app.zip") { progress in
        bar.show(progress.fraction)
    }
    _ = file
}

private func comments(_ api: APIClient, _ storage: APIClient, _ id: Int) async throws {
    let file = try await storage.download(
        asking: { .get(url: try await api.run(.address(of: id))) }, to: "app.zip")
    _ = file
}

private func comments(_ client: APIClient) async throws {
    let file = try await client.download(
        .get("app.zip"), to: "app.zip",
        expecting: .sha256("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
    _ = file
}

private func comments(_ server: LoopbackServer, _ content: Data) {
    let file = LoopbackFile(content, headers: ["ETag": "\"v1\""])
    server.on(.get, "/app.zip") { file.reply(to: $0) }
}
