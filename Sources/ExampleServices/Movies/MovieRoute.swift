public import Errand

/// The routes of the catalog: each case has its path, and the method, query, headers and body that it needs.
public enum MovieRoute: EndpointConvertible {
    /// Recommendations for viewers of a film.
    case recommended(for: Int)
    /// The most popular films.
    case popular(page: Int = 1)
    /// The films in cinemas.
    case newMovies(page: Int = 1)
    /// The videos about a film.
    case videos(of: Int)
    /// A rating of a film by a guest: with a query and a body.
    case rate(Int, Double, guest: String)
    /// A review of a film by a guest, in some language: with a query, a body and a header.
    case review(Int, String, language: String, guest: String)

    /// The path below the server's URL.
    public var path: EndpointPath {
        switch self {
        case .recommended(let id): "\(id)/recommendations"
        case .popular: "popular"
        case .newMovies: "now_playing"
        case .videos(let id): "\(id)/videos"
        case .rate(let id, _, _): "\(id)/rating"
        case .review(let id, _, _, _): "\(id)/reviews"
        }
    }

    /// POST for what changes something, GET for the rest.
    public var method: HTTPMethod {
        switch self {
        case .rate, .review: .post
        case .recommended, .popular, .newMovies, .videos: .get
        }
    }

    /// The page number, for lists with several pages; the guest's session, for changes.
    public var query: QueryItems {
        switch self {
        case .popular(let page), .newMovies(let page): ["page": page]
        case .rate(_, _, let guest), .review(_, _, _, let guest): ["guest_session_id": guest]
        case .recommended, .videos: [:]
        }
    }

    /// The language of a review.
    public var headers: HTTPHeaders {
        if case .review(_, _, let language, _) = self { ["Content-Language": language] } else { [:] }
    }

    /// The JSON body of a change; its `Content-Type` is set automatically.
    public var body: RequestBody? {
        switch self {
        case .rate(_, let value, _): .json(["value": value])
        case .review(_, let text, _, _): .json(["content": text])
        case .recommended, .popular, .newMovies, .videos: nil
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
