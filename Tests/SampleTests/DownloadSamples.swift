import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

extension Endpoint where Response == String {
    fileprivate static func address(of report: Int) -> Self { .get("reports/\(report)/address") }
}

@Suite("Downloads", .timeLimit(.minutes(10))) struct DownloadSamples {
    private let server: LoopbackServer
    private let client: APIClient
    private let place = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString).zip")

    init() throws {
        server = try LoopbackServer()
        client = APIClient(server.baseURL)
        let file = LoopbackFile(Data("abc".utf8))
        server.on(.get, "/releases/7/app.zip") { file.reply(to: $0) }
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
        @Sendable func print(_ items: Any...) {
            printed.update { $0.append(items.map { "\($0)" }.joined(separator: " ")) }
        }
        let file = try await client.download(.get("releases/7/app.zip"), to: "app.zip")
        print("\(file.bytes) bytes in \(file.path)")
        try await client.download(.get("releases/7/app.zip"), to: "app.zip") { progress in
            print(progress.bytes, "of", progress.total ?? 0)
        }
        #expect(printed.value.first == "3 bytes in \(place.path)")
        #expect(printed.value.last == "3 of 3")
        let app = try await client.download(
            .get("releases/7/app.zip"), to: "app.zip",
            expecting: .sha256("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
        #expect(app.isVerified)
    }
}

// The samples that write where a test must not, and those of the doc comments.

private func compare(_ published: String) async throws -> Bool {
    let isCurrent = try await FileDigest.sha256(ofFile: "app.zip") == .sha256(published)
    return isCurrent
}

private func signed(_ client: APIClient) async throws {
    let storage = APIClient("https://storage.example.com")
    let file = try await storage.download(
        asking: { .get(url: try await client.run(Endpoint<String>.get("reports/7/address"))) }, to: "report.pdf")
    print(file.bytes)
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

private func comments(_ server: LoopbackServer, _ network: ScriptedTransport, _ content: Data) {
    let file = LoopbackFile(content, headers: ["ETag": "\"v1\""])
    server.on(.get, "/app.zip") { file.reply(to: $0) }
    network.on(.get, "/app.zip") { file.reply(to: $0) }
}
