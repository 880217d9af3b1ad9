public import Errand

/// A catalog of films: endpoints as an enum, an API key in every query, lists page by page.
public enum Movies {
    /// A film.
    public struct Movie: Codable, Sendable, Hashable, Identifiable {
        /// The number of the film.
        public let id: Int
        /// The title.
        public let title: String
        /// The path of the poster; some films have none.
        public let posterPath: String?
        /// The path of the background picture.
        public let backdropPath: String?
        /// The release date, as `2026-11-21`; some films have none yet.
        public let releaseDate: String?
        /// The average rating, from 0 to 10.
        public let voteAverage: Double
        /// A short description.
        public let overview: String

        private enum CodingKeys: String, CodingKey {
            case id, title, overview
            case posterPath = "poster_path"
            case backdropPath = "backdrop_path"
            case releaseDate = "release_date"
            case voteAverage = "vote_average"
        }
    }

    /// One page of a list of films.
    public struct MoviePage: Codable, Sendable, Hashable {
        /// The page number, from 1.
        public let page: Int
        /// The number of films in the whole list.
        public let totalResults: Int
        /// The number of pages in the list.
        public let totalPages: Int
        /// The films of this page. A film that cannot be decoded is left out; the list reports how many.
        public let results: LossyList<Movie>

        private enum CodingKeys: String, CodingKey {
            case page, results
            case totalResults = "total_results"
            case totalPages = "total_pages"
        }
    }

    /// A review of a film.
    public struct Review: Codable, Sendable, Hashable, Identifiable {
        /// The identifier, which is a text here.
        public let id: String
        /// The text.
        public let content: String
        /// The code of the language that it is written in: `de`.
        public let language: String

        private enum CodingKeys: String, CodingKey {
            case id, content
            case language = "iso_639_1"
        }
    }

    /// A video about a film.
    public struct Video: Codable, Sendable, Hashable, Identifiable {
        /// The identifier, which is a text here.
        public let id: String
        /// The name.
        public let name: String
        /// The identifier on the site that hosts the video.
        public let key: String
        /// The site that hosts the video.
        public let site: String
    }

    /// Creates a client of the catalog. Every call sends the key, which no log shows. Films are kept in memory as long
    /// as the catalog allows; for a client that always asks, configure `$0.cache = nil`.
    ///
    /// `log` receives a line for each request, each response and each error. It must not block, because the call waits
    /// for it.
    public static func client(
        _ server: ServerEnvironment, apiKey: String, log: (@Sendable (String) -> Void)? = nil,
        _ configure: (inout Configuration) -> Void = { _ in }
    ) -> APIClient {
        var configuration = Configuration(server)
        configuration.parameters = ["api_key": apiKey]
        configuration.timeout = .seconds(10)
        configuration.cache = .memory(megabytes: 10)
        if let log {
            configuration.observe = { log(LogFormatter().line(for: $0)) }
        }
        configure(&configuration)
        return APIClient(configuration)
    }
}

extension ServerEnvironment {
    /// The public catalog.
    public static let movies = ServerEnvironment(name: "production", baseURL: "https://api.themoviedb.org/3/movie")
    /// The staging catalog.
    public static let moviesStaging = ServerEnvironment(
        name: "staging", baseURL: "https://staging.themoviedb.org/3/movie")
    /// The catalog for testers.
    public static let moviesQA = ServerEnvironment(name: "qa", baseURL: "https://qa.themoviedb.org/3/movie")
}
