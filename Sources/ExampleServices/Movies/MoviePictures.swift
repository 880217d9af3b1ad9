public import Errand

extension Movies {
    /// The posters of films. They are on a server of their own, which needs no key and is sent none.
    public struct Pictures: Sendable {
        /// The width of a picture in pixels; its height follows from it.
        public enum Width: String, Sendable {
            /// For a list.
            case small = "w185"
            /// For the page of a film.
            case medium = "w500"
            /// As large as there is.
            case original
        }

        private let client: APIClient

        /// Creates the service. A list shows many posters at once, so there is no rate limit.
        public init(_ server: ServerEnvironment, _ configure: (inout Configuration) -> Void = { _ in }) {
            var configuration = Configuration(server)
            configuration.rateLimit = .unlimited
            configure(&configuration)
            client = APIClient(configuration)
        }

        /// Downloads the poster of a film to that file, which appears whole or not at all. Returns `nil` if the film
        /// has no poster.
        public func downloadPoster(
            of movie: Movie, width: Width = .medium, to path: String,
            onProgress: (@Sendable (TransferProgress) -> Void)? = nil
        ) async throws(ServiceError) -> DownloadedFile? {
            guard let poster = movie.posterPath else { return nil }
            // The server writes the name with a slash before it.
            let name = poster.hasPrefix("/") ? String(poster.dropFirst()) : poster
            return try await client.download(.get("\(width.rawValue)/\(name)"), to: path, onProgress: onProgress)
        }
    }
}

extension ServerEnvironment {
    /// The pictures of the public catalog.
    public static let moviePictures = ServerEnvironment(name: "pictures", baseURL: "https://image.tmdb.org/t/p")
}
