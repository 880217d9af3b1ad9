import Errand
import Foundation
import Observation

nonisolated struct Photo: Decodable, Identifiable, Sendable, Equatable {
    var id: Int
}

nonisolated struct PhotoPage: Decodable, Sendable {
    var photos: [Photo]
    var pages: Int
}

extension Endpoint where Response == PhotoPage {
    static func photos(named name: String) -> Self { .get("photos", query: ["name": name.isEmpty ? nil : name]) }
}

/// The model of a screen with a search field, a list that grows when it is scrolled, and an upload.
@Observable
final class PhotoScreen {
    private(set) var photos: [Photo] = []
    private(set) var next: PagePosition?  // nil: there is no more
    private(set) var uploaded: Double?
    private(set) var message: String?
    private var name = ""
    private let client: APIClient
    private let searching: LatestOnly
    private let loading = LatestOnly()

    init(client: APIClient) {
        self.client = client
        searching = LatestOnly(after: .milliseconds(300), time: client.configuration.time)
    }

    /// Shows the photos with that name, once the user has paused.
    func search(_ name: String) async {
        await report { () async throws(ServiceError) in
            let page = try await page(named: name, from: .start, by: searching)
            loading.cancel()  // what it loads belongs to the list before
            (self.name, photos, next) = (name, page?.value.photos ?? [], page?.next)
        }
    }

    func loadMore() async {
        guard let next else { return }
        await report { () async throws(ServiceError) in
            let page = try await page(named: name, from: next, by: loading)
            photos += page?.value.photos ?? []
            self.next = page?.next
        }
    }

    private func page(
        named name: String, from position: PagePosition, by latest: LatestOnly
    ) async throws(ServiceError) -> Pages<PhotoPage>.Page? {
        let pages = client.pages(of: .photos(named: name), by: .number("page", total: \.pages), from: position)
        return try await latest.run {
            var pages = pages.makeAsyncIterator()
            return try await pages.next()
        }
    }

    func upload(_ file: String) async {
        let (steps, step) = AsyncStream.makeStream(of: TransferProgress.self, bufferingPolicy: .bufferingNewest(1))
        let showing = Task { for await progress in steps { uploaded = progress.fraction } }
        await report { () async throws(ServiceError) in
            let form = RequestBody.multipart { $0.add("photo", file: file) }
            photos.append(try await client.run(.post("photos", body: form)) { step.yield($0) })
        }
        step.finish()
        await showing.value
    }

    private func report(_ operation: () async throws(ServiceError) -> Void) async {
        do throws(ServiceError) {
            try await operation()
            message = nil
        } catch .cancelled {
            // A later search has begun, or the screen is gone.
        } catch {
            message = error.localizedDescription
        }
    }
}
