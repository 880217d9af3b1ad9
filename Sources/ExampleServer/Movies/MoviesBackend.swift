import Errand

/// The films, in the format of The Movie Database.
///
/// | request | parameters | answer |
/// |---|---|---|
/// | `GET popular`, `GET now_playing` | `page`, from 1 | `{"page", "total_pages", "total_results", "results": […]}` |
/// | `GET #/recommendations` | `page` | the same |
/// | `GET #/videos` | | `{"id", "results": [{"id", "key", "name", "site", "type"}]}` |
/// | `POST #/rating` | `value`, from 0.5 to 10 in steps of 0.5, in the body | 201 and `{"success": true, …}` |
/// | `POST #/reviews` | `content` in the body | 201 and `{"id": "review-1", "content", "iso_639_1": "de"}` |
/// | `GET #/releases` | | 410: outdated |
///
/// Every request also has `api_key` in the query, and a POST has `guest_session_id` there. The header
/// `Content-Language` of a review says what language it is in; the default is `en`. A page has 20 films; a page after
/// the last is empty. A client may keep a page for ten minutes. Errors are `{"success": false, "status_code": 7,
/// "status_message": …}`, with the codes of The Movie Database.
struct MoviesBackend: Backend {
    static let prefix = ["movies", "3", "movie"]

    private static let pageSize = 20
    private let catalog = MovieCatalog()
    /// A new review gets the next number.
    private var lastReview = 0

    mutating func answer(_ request: ExampleRequest) throws(Refusal) -> Answer {
        guard request.query["api_key"] == ExampleData.apiKey else {
            throw Refusal(401, "Invalid API key: You must be granted a valid key.", code: "7")
        }
        switch request.route {
        case "GET popular": return try page(of: catalog.popular, request)
        case "GET now_playing": return try page(of: catalog.new, request)
        case "GET #/recommendations":
            return try page(of: catalog.recommended(with: known(request.ids)), request)
        case "GET #/videos":
            let id = try known(request.ids)
            return .json(["id": .int(id), "results": .array(catalog.videos(of: id))])
        case "POST #/rating": return try rate(request)
        case "POST #/reviews": return try review(request)
        case "GET #/releases": throw Refusal(410, "This address is outdated.", code: "34")
        default: throw Self.notFound
        }
    }

    func words(for refusal: Refusal) -> JSON {
        [
            "success": false, "status_code": .int(refusal.code.flatMap { Int($0) } ?? Self.code(for: refusal.status)),
            "status_message": .string(refusal.message),
        ]
    }

    private static let notFound = Refusal(404, "The resource you requested could not be found.", code: "34")

    /// Returns The Movie Database's code for an error that occurs before a backend is asked.
    private static func code(for status: Int) -> Int {
        switch status {
        case 401: 7
        case 404: 34
        case 429: 25
        case 503: 9
        default: 11
        }
    }

    private func known(_ ids: [Int]) throws(Refusal) -> Int {
        guard let id = ids.first, catalog.titles[id] != nil else { throw Self.notFound }
        return id
    }

    private func rate(_ request: ExampleRequest) throws(Refusal) -> Answer {
        _ = try known(request.ids)
        try checkGuest(request)
        let steps = request.json["value"]?.text.flatMap { Double($0) }.map { $0 * 2 }
        guard let steps, (1...20).contains(steps), steps == steps.rounded() else {
            throw Refusal(400, "Value invalid: Values must be between 0.5 and 10 in steps of 0.5.", code: "18")
        }
        return .json(["success": true, "status_code": 1, "status_message": "Success."], status: 201)
    }

    private mutating func review(_ request: ExampleRequest) throws(Refusal) -> Answer {
        _ = try known(request.ids)
        try checkGuest(request)
        guard let content = request.json["content"]?.text, !content.isEmpty else {
            throw Refusal(400, "Invalid parameters: Your request parameters are incorrect.", code: "5")
        }
        lastReview += 1
        let language = request.headers["Content-Language"] ?? "en"
        return .json(
            ["id": "review-\(lastReview)", "content": .string(content), "iso_639_1": .string(language)], status: 201)
    }

    private func checkGuest(_ request: ExampleRequest) throws(Refusal) {
        guard request.query["guest_session_id"] == ExampleData.guestSession else {
            throw Refusal(401, "Authentication failed: You do not have permissions.", code: "3")
        }
    }

    private func page(of ids: [Int], _ request: ExampleRequest) throws(Refusal) -> Answer {
        let text = request.query["page"] ?? "1"
        guard let page = Int(text), (1...500).contains(page) else {
            throw Refusal(400, "Invalid page: Pages start at 1 and max at 500.", code: "22")
        }
        let shown = ids.dropFirst((page - 1) * Self.pageSize).prefix(Self.pageSize)
        let answer: JSON = [
            "page": .int(page), "total_pages": .int((ids.count + Self.pageSize - 1) / Self.pageSize),
            "total_results": .int(ids.count), "results": .array(shown.map(catalog.json)),
        ]
        return .kept(answer, for: request, seconds: 600)
    }
}
