#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The parameters of a sign-in that the server has received before the page is opened (RFC 9126).
struct PushedParameters: Sendable {
    /// What stands for them in the address of the page.
    let reference: String
    /// How long the server keeps them, and until when; `nil` if it does not say so.
    let end: (lifetime: Duration, date: Date)?

    /// Returns whether an error of the server says that it has forgotten them.
    func haveExpired(at now: Date, says code: String) -> Bool {
        switch code {
        // RFC 9101, 6.2.
        case "invalid_request_uri": true
        // Some servers have no other word for it.
        case "invalid_request": end.map { $0.date <= now } ?? false
        default: false
        }
    }

    /// What happened when they have expired, and what to do.
    var expiryText: String {
        let lifetime = end.map { " for \($0.lifetime.displayText)" } ?? " for a short time only"
        return "the server keeps the parameters of a sign-in\(lifetime); begin the sign-in again"
    }
}

extension OAuth {
    /// Sends the parameters of a sign-in to the server, with what proves that this is the app. The browser gets only a
    /// reference to them.
    func push(_ form: QueryItems, parameters: QueryItems) async throws(ServiceError) -> PushedParameters {
        // The app proves itself like for a refresh.
        if let problem = app.problem(of: .refresh("")) { throw .badSetting(problem) }
        let place = try server.place(
            of: metadata?.pushedAuthorizationRequestEndpoint, named: "pushed authorization request endpoint")
        let answer = try await post(form, scopes: [], parameters: parameters, to: place, as: PushedAnswer.self)
            .reply.value
        let date = server.time.date
        return PushedParameters(
            reference: answer.reference,
            end: answer.lifetime.map { (.seconds($0), date.addingTimeInterval($0)) })
    }
}

/// The response of the endpoint that takes the parameters of a sign-in (RFC 9126, 2.2).
private struct PushedAnswer: Decodable, Sendable {
    let reference: String
    /// The seconds that the reference lives; `nil` if the server does not say so.
    let lifetime: Double?

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: MemberName.self)
        let key: MemberName = members.contains("requestUri") ? "requestUri" : "request_uri"
        reference = try members.decode(String.self, forKey: key)
        guard !reference.isEmpty else {
            throw DecodingError.typeMismatch(
                String.self, DecodingError.Context(codingPath: [key], debugDescription: "an empty text"))
        }
        let seconds = try members.number("expires_in", "expiresIn")
        lifetime = seconds.flatMap { $0 > 0 ? min($0, OAuthAnswer.longest) : nil }
    }
}
