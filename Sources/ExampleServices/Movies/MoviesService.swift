public import Errand

extension Movies {
    /// What an app asks of the catalogue.
    public struct Service: Sendable {
        private let client: APIClient

        /// Makes the service.
        public init(_ client: APIClient) {
            self.client = client
        }

        /// What is watched most, read page by page as far as the caller reads.
        public func popular(from position: PagePosition = .start) -> Pages<MoviePage> {
            client.pages(of: .popular(), by: .number("page", total: \.totalPages), from: position)
        }

        /// What is in the cinemas, film by film.
        public func newMovies(from position: PagePosition = .start) -> Items<MoviePage, [Movie]> {
            client.items(of: .newMovies(), \.results, by: .number("page", total: \.totalPages), from: position)
        }

        /// Films for those who liked that one.
        public func recommended(for id: Movie.ID) async throws(ServiceError) -> [Movie] {
            try await client.run(.recommended(for: id)).results
        }

        /// What there is to see of a film.
        public func videos(of id: Movie.ID) async throws(ServiceError) -> [Video] {
            try await client.run(.videos(of: id))
        }
    }
}
