public import Errand

/// A catalogue of films: endpoints as an enum, an API key in every query, lists page by page.
public enum Movies {
    /// A film.
    public struct Movie: Codable, Sendable, Hashable, Identifiable {
        /// Its number.
        public let id: Int
        /// Its title.
        public let title: String
        /// Where its poster lies; some have none.
        public let posterPath: String?
        /// Where the picture behind it lies.
        public let backdropPath: String?
        /// The day on which it came out, as `2026-11-21`.
        public let releaseDate: String
        /// What people gave it, from 0 to 10.
        public let voteAverage: Double
        /// What it is about.
        public let overview: String

        private enum CodingKeys: String, CodingKey {
            case id, title, overview
            case posterPath = "poster_path"
            case backdropPath = "backdrop_path"
            case releaseDate = "release_date"
            case voteAverage = "vote_average"
        }
    }

    /// Some films of a list.
    public struct MoviePage: Codable, Sendable, Hashable {
        /// Which page it is, from 1.
        public let page: Int
        /// How many films the whole list has.
        public let totalResults: Int
        /// How many pages it has.
        public let totalPages: Int
        /// The films.
        public let results: [Movie]

        private enum CodingKeys: String, CodingKey {
            case page, results
            case totalResults = "total_results"
            case totalPages = "total_pages"
        }
    }

    /// A film about a film.
    public struct Video: Codable, Sendable, Hashable, Identifiable {
        /// Its number, which is a text here.
        public let id: String
        /// What it is called.
        public let name: String
        /// What the site where it lies knows it by.
        public let key: String
        /// The site.
        public let site: String
    }

    /// A client of the catalogue. The key goes with every call and is shown nowhere; nothing is cached.
    public static func client(
        _ server: ServerEnvironment, apiKey: String, _ configure: (inout Configuration) -> Void = { _ in }
    ) -> APIClient {
        var configuration = Configuration(server)
        configuration.parameters = ["api_key": apiKey]
        configuration.timeout = .seconds(10)
        configure(&configuration)
        return APIClient(configuration)
    }
}

extension ServerEnvironment {
    /// The catalogue that everybody uses.
    public static let movies = ServerEnvironment("production", "https://api.themoviedb.org/3/movie")
    /// The one for rehearsals.
    public static let moviesStaging = ServerEnvironment("staging", "https://staging.themoviedb.org/3/movie")
    /// The one for testers.
    public static let moviesQA = ServerEnvironment("qa", "https://qa.themoviedb.org/3/movie")
}
