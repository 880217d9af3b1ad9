import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The sign-in of an app, with a token for every other request.
///
/// | request | parameters | answer |
/// |---|---|---|
/// | `POST authenticate` | `email`, `password`, in the body | `{"token": "eyJ….eyJ….…"}` |
/// | `GET token` | | `{"user": {"id": 1, "email": …, "name": …}}` |
/// | `GET checktoken` | | 410: replaced by `token` |
///
/// Every request also has `version`, which is `1.0`, and `device_type`, `phone` or `tablet`: in the query or in the
/// JSON body. A request with a token sends it in `Authorization: JWT …`. Errors are `{"message": …}`: 400 for
/// missing values, 401 for wrong ones.
struct CentralBackend: Backend {
    static let prefix = ["central"]

    private var scrambler = Scrambler(seed: 2)
    /// The users by the tokens that were issued to them.
    private var sessions: [String: Int] = [:]

    mutating func answer(_ request: ExampleRequest) throws(Refusal) -> Answer {
        let version = try request.text("version", or: 400)
        guard version == "1.0" else { throw Refusal(400, "Version \(version) is not spoken here, 1.0 is") }
        let device = try request.text("device_type", or: 400)
        guard ["phone", "tablet"].contains(device) else { throw Refusal(400, "No device is a \(device)") }
        switch request.route {
        case "POST authenticate": return try signIn(request)
        case "GET token": return try check(request)
        case "GET checktoken": throw Refusal(410, "checktoken has become token")
        default: throw .notFound
        }
    }

    func words(for refusal: Refusal) -> JSON {
        ["message": .string(refusal.message)]
    }

    mutating func endSessions() {
        sessions = [:]
    }

    private mutating func signIn(_ request: ExampleRequest) throws(Refusal) -> Answer {
        // Not from the query: URLs are written into logs along the way.
        guard let email = request.json["email"]?.text, let password = request.json["password"]?.text,
            !email.isEmpty, !password.isEmpty
        else { throw Refusal(400, "Email and Password Required") }
        guard let account = ExampleData.accounts.first(where: { $0.email == email && $0.password == password }) else {
            throw Refusal(401, "The email or the password is wrong")
        }
        let claims: JSON = [
            "sub": .int(account.id), "email": .string(email), "iat": .int(Int(request.date.timeIntervalSince1970)),
        ]
        let parts = [["alg": "HS256", "typ": "JWT"], claims].map { $0.data.base64ForURLs }
        let token = (parts + [scrambler.text()]).joined(separator: ".")
        sessions[token] = account.id
        return .json(["token": .string(token)])
    }

    private func check(_ request: ExampleRequest) throws(Refusal) -> Answer {
        guard let token = request.credentials("JWT"), let id = sessions[token],
            let user = ExampleData.users.first(where: { $0.id == id })
        else { throw Refusal(401, "Invalid Token", headers: ["WWW-Authenticate": "JWT"]) }
        return .json(["user": ["id": .int(id), "name": JSON(user.name), "email": JSON(user.email)]])
    }
}
