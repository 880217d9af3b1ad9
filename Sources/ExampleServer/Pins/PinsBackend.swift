import Errand
import ErrandSimulation

/// Pins: an API behind OAuth with short-lived access tokens.
///
/// | request | parameters | answer |
/// |---|---|---|
/// | `POST oauth/access_token` | see `TokenEndpoint` | `{"access_token", "expires_in", "refresh_token", …}` |
/// | `GET oauth/authorize`, `POST oauth/authorize` | see `AuthorizationPage` | a page, or 302 to the app |
/// | `GET users/self`, `GET users/#` | | `{"user_id", "user_name", "full_name", "created_at", "nav_link", …}` |
/// | `PUT users/#/follow`, `DELETE users/#/follow` | | 204; a second request changes nothing |
/// | `GET users/#/followers`, `GET users/#/following` | `count`, `max_id` | `{"users": […], "next_max_id": 126}` |
/// | `GET pins`, `GET users/#/pins` | `count`, `max_id` | `{"pins": […], "next_max_id": null}` |
/// | `GET pins/#` | | `{"pin_id", "user_id", "title", "user": {…}, …}` |
/// | `POST pins` | `title` | 201 and the pin |
/// | `POST pins/#/picture` | a form with the file `picture` | 201 and the pin, with `picture` |
/// | `DELETE pins/#` | | 204 |
/// | `GET pins/#/comments` | `count`, `max_id` | `{"comments": [{"comment_id", "text", "user": {…}, …}], …}` |
/// | `POST pins/#/comments` | `text` | 201 and the comment |
/// | `DELETE pins/#/comments/#` | | 204 |
///
/// Every request but those to `oauth` has `Authorization: Bearer …`; without a valid token the response is 401.
/// Changes need the scope `write` and a token of a user: a token of a client alone can only read. Errors have the
/// format of OAuth: `{"error": "invalid_token", "error_description": …}`.
struct PinsBackend: Backend {
    static let prefix = ["pins"]

    private var tokens: TokenEndpoint
    private var people = FollowGraph()
    private var board = PinBoard()

    init(lifetime: Duration) {
        tokens = TokenEndpoint(mint: TokenMint(lifetime: lifetime))
    }

    mutating func answer(_ request: ExampleRequest) throws(Refusal) -> Answer {
        if request.route == "POST oauth/access_token" { return try tokens.answer(request) }
        if ["GET oauth/authorize", "POST oauth/authorize"].contains(request.route) {
            return try tokens.page.answer(request)
        }
        guard let token = request.credentials("Bearer") else {
            throw Refusal(401, "Sign in first", code: "unauthorized", headers: ["WWW-Authenticate": "Bearer"])
        }
        let holder = try tokens.mint.holder(of: token, at: request.now)
        guard request.route.hasPrefix("GET ") else { return try change(request, by: Self.writer(holder)) }
        return try look(request, holder)
    }

    func words(for refusal: Refusal) -> JSON {
        ["error": .string(refusal.code ?? "invalid_request"), "error_description": .string(refusal.message)]
    }

    mutating func endSessions() {
        tokens.mint.revokeAll()
    }

    private func look(_ request: ExampleRequest, _ holder: TokenMint.Holder) throws(Refusal) -> Answer {
        switch request.route {
        case "GET users/self":
            guard let user = holder.user else { throw .noUser }
            return .json(people.json(of: user))
        case "GET users/#": return .json(people.json(of: try people.known(request.ids.first)))
        case "GET users/#/followers":
            let id = try people.known(request.ids.first)
            return try ListPage(request).answer("users", people.followers(id), people.json)
        case "GET users/#/following":
            let id = try people.known(request.ids.first)
            return try ListPage(request).answer("users", people.following(id), people.json)
        case "GET users/#/pins":
            let id = try people.known(request.ids.first)
            return try ListPage(request).answer("pins", board.pins(of: id)) { board.json(ofPin: $0, people) }
        case "GET pins": return try ListPage(request).answer("pins", board.pins()) { board.json(ofPin: $0, people) }
        case "GET pins/#": return .json(board.json(ofPin: try board.known(request.ids.first), people))
        case "GET pins/#/comments":
            let id = try board.known(request.ids.first)
            return try ListPage(request).answer("comments", board.comments(on: id)) {
                board.json(ofComment: $0, people)
            }
        default: throw .notFound
        }
    }

    private mutating func change(_ request: ExampleRequest, by user: Int) throws(Refusal) -> Answer {
        switch request.route {
        case "PUT users/#/follow": try people.follow(people.known(request.ids.first), by: user)
        case "DELETE users/#/follow": try people.unfollow(people.known(request.ids.first), by: user)
        case "POST pins":
            let id = board.add(try request.text("title"), by: user, at: request.date)
            return .json(board.json(ofPin: id, people), status: 201)
        case "POST pins/#/picture":
            let id = try board.known(request.ids.first)
            try board.setPicture(picture(in: request), of: id, by: user)
            return .json(board.json(ofPin: id, people), status: 201)
        case "DELETE pins/#": try board.remove(board.known(request.ids.first), by: user)
        case "POST pins/#/comments":
            let pin = try board.known(request.ids.first)
            let id = board.comment(try request.text("text"), on: pin, by: user, at: request.date)
            return .json(board.json(ofComment: id, people), status: 201)
        case "DELETE pins/#/comments/#":
            try board.removeComment(request.ids[1], on: board.known(request.ids.first), by: user)
        default: throw .notFound
        }
        return .done
    }

    private func picture(in request: ExampleRequest) throws(Refusal) -> SentPart {
        guard let parts = SentPart.parts(of: request.body), let part = parts.first(where: { $0.name == "picture" }),
            part.type?.hasPrefix("image/") == true
        else { throw Refusal(422, "Send a picture as the part `picture` of a form", field: "picture") }
        return part
    }

    /// Returns the user, if the token may change something.
    private static func writer(_ holder: TokenMint.Holder) throws(Refusal) -> Int {
        guard holder.scopes.contains("write") else { throw .outOfScope("The token is for looking only") }
        guard let user = holder.user else { throw .noUser }
        return user
    }
}

extension Refusal {
    fileprivate static let noUser = outOfScope("The token speaks for no user")

    /// The refusal for a valid token that lacks the scope (RFC 6750, 3.1).
    fileprivate static func outOfScope(_ message: String) -> Refusal {
        Refusal(
            403, message, code: "insufficient_scope",
            headers: ["WWW-Authenticate": "Bearer error=\"insufficient_scope\""])
    }
}
