public import Errand

/// The routes of the catalogue: each case has its path and its query.
public enum MovieRoute: EndpointConvertible {
    /// Recommendations for viewers of a film.
    case recommended(for: Int)
    /// The most popular films.
    case popular(page: Int = 1)
    /// The films in cinemas.
    case newMovies(page: Int = 1)
    /// The videos about a film.
    case videos(of: Int)

    /// The path below the server's URL.
    public var path: EndpointPath {
        switch self {
        case .recommended(let id): "\(id)/recommendations"
        case .popular: "popular"
        case .newMovies: "now_playing"
        case .videos(let id): "\(id)/videos"
        }
    }

    /// The page number, for lists with several pages.
    public var query: QueryItems {
        switch self {
        case .popular(let page), .newMovies(let page): ["page": page]
        case .recommended, .videos: [:]
        }
    }

    /// The key that videos are nested under.
    public var envelope: [String] {
        if case .videos = self { ["results"] } else { [] }
    }
}

/// The same calls as static members: `client.run(.popular())`.
extension Endpoint where Response == Movies.MoviePage {
    /// The most popular films.
    public static func popular(page: Int = 1) -> Self { Endpoint(MovieRoute.popular(page: page)) }
    /// The films in cinemas.
    public static func newMovies(page: Int = 1) -> Self { Endpoint(MovieRoute.newMovies(page: page)) }
    /// Recommendations for viewers of a film.
    public static func recommended(for id: Int) -> Self { Endpoint(MovieRoute.recommended(for: id)) }
}

extension Endpoint where Response == [Movies.Video] {
    /// The videos about a film.
    public static func videos(of id: Int) -> Self { Endpoint(MovieRoute.videos(of: id)) }
}
