import Errand
import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The posters of the films, in the format of The Movie Database: `GET w500/poster-7.jpg` has the bytes of a picture,
/// whole or in part. Widths are `w185`, `w500` and `original`.
///
/// No key is needed. Errors are `{"message": "There is nothing here"}`.
struct PicturesBackend: Backend {
    static let prefix = ["movies", "t", "p"]

    private static let widths = ["w185": 185, "w500": 500, "original": 2000]
    private let catalog = MovieCatalog()

    func answer(_ request: ExampleRequest) throws(Refusal) -> Answer {
        let parts = request.route.split(whereSeparator: { " /".contains($0) }).map(String.init)
        guard parts.count == 3, parts[0] == "GET", let width = Self.widths[parts[1]],
            let id = catalog.movie(withPoster: parts[2])
        else { throw .notFound }
        let headers: HTTPHeaders = ["Content-Type": "image/jpeg", "ETag": "\"\(id)-\(width)\""]
        return .file(LoopbackFile(Self.picture(of: id, width: width), headers: headers), for: request)
    }

    func words(for refusal: Refusal) -> JSON {
        ["message": .string(refusal.message)]
    }

    /// Returns bytes that begin like a picture, more of them for a larger one, and other ones for each film.
    private static func picture(of id: Int, width: Int) -> Data {
        Data([0xFF, 0xD8, 0xFF, 0xE0]) + Data((0..<width * 200).map { UInt8(truncatingIfNeeded: $0 &* id &+ $0 / 251) })
    }
}
