public import Errand

/// What the catalogue can be asked: each case knows its path and its query.
public enum MovieRoute: EndpointConvertible {
    /// Films for those who liked that one.
    case recommended(for: Int)
    /// What is watched most.
    case popular(page: Int = 1)
    /// What is in the cinemas.
    case newMovies(page: Int = 1)
    /// What there is to see of a film.
    case videos(of: Int)

    /// The path below the server's.
    public var path: EndpointPath {
        switch self {
        case .recommended(let id): "\(id)/recommendations"
        case .popular: "popular"
        case .newMovies: "now_playing"
        case .videos(let id): "\(id)/videos"
        }
    }

    /// The page, where there are several.
    public var query: QueryItems {
        switch self {
        case .popular(let page), .newMovies(let page): ["page": page]
        case .recommended, .videos: [:]
        }
    }

    /// Videos lie below a key.
    public var envelope: [String] {
        if case .videos = self { ["results"] } else { [] }
    }
}

/// The same as static members: `client.run(.popular())`.
extension Endpoint where Response == Movies.MoviePage {
    /// What is watched most.
    public static func popular(page: Int = 1) -> Self { Endpoint(MovieRoute.popular(page: page)) }
    /// What is in the cinemas.
    public static func newMovies(page: Int = 1) -> Self { Endpoint(MovieRoute.newMovies(page: page)) }
    /// Films for those who liked that one.
    public static func recommended(for id: Int) -> Self { Endpoint(MovieRoute.recommended(for: id)) }
}

extension Endpoint where Response == [Movies.Video] {
    /// What there is to see of a film.
    public static func videos(of id: Int) -> Self { Endpoint(MovieRoute.videos(of: id)) }
}
