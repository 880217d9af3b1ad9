public import Errand

extension Movies {
    /// The operations of the catalog that an app uses.
    public struct Service: Sendable {
        private let client: APIClient

        /// Creates the service.
        public init(_ client: APIClient) {
            self.client = client
        }

        /// The most popular films, page by page, as far as the caller reads.
        public func popular(from position: PagePosition = .start) -> Pages<MoviePage> {
            client.pages(of: .popular(), by: .number("page", total: \.totalPages), from: position)
        }

        /// The films in cinemas, film by film.
        public func newMovies(from position: PagePosition = .start) -> Items<MoviePage, LossyList<Movie>> {
            client.items(of: .newMovies(), in: \.results, by: .number("page", total: \.totalPages), from: position)
        }

        /// Returns recommendations for viewers of a film.
        public func recommended(for id: Movie.ID) async throws(ServiceError) -> LossyList<Movie> {
            try await client.run(.recommended(for: id)).results
        }

        /// Returns the videos about a film.
        public func videos(of id: Movie.ID) async throws(ServiceError) -> [Video] {
            try await client.run(.videos(of: id))
        }

        /// Rates a film, from 0.5 to 10, for a guest of the catalog. A second rating replaces the first.
        public func rate(_ id: Movie.ID, _ value: Double, guest: String) async throws(ServiceError) {
            try await client.run(MovieRoute.rate(id, value, guest: guest))
        }

        /// Adds a review in that language, for a guest of the catalog, and returns it.
        public func review(
            _ id: Movie.ID, _ text: String, in language: String, guest: String
        ) async throws(ServiceError) -> Review {
            try await client.run(MovieRoute.review(id, text, language: language, guest: guest))
        }
    }
}
