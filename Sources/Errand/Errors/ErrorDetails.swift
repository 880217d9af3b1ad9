/// How a client reads your own error type from the responses that are errors, in one place.
///
///     struct StripeError: Decodable, Sendable {
///         let code: String?
///     }
///
/// A client decodes it from what is below `error`:
///
///     let client = APIClient("https://api.stripe.com/v1") {
///         $0.errorDetails = .decoding(StripeError.self, below: "error")
///     }
///
/// ``ServiceError/details(as:)`` and ``Rejection/details(as:)`` return the result:
///
///     switch error.details(as: StripeError.self)?.code {
///     case "card_declined": showOtherCards()
///     default: throw error
///     }
public struct ErrorDetails: Sendable {
    /// `nil` if nothing is read.
    let read: (@Sendable (Rejection) -> (any Sendable)?)?

    /// Nothing.
    public static let none = ErrorDetails(read: nil)

    /// A value of that type from the body, below those keys if there are any; nothing if the body has none.
    public static func decoding<Details: Decodable & Sendable>(
        _ type: Details.Type, below keys: String...
    ) -> ErrorDetails {
        // A body of another kind, such as a proxy's page, has no details; the status says what happened.
        ErrorDetails(read: { try? $0.decodeBody(as: type, below: keys) })
    }

    /// What the closure returns.
    public static func reading(_ read: @escaping @Sendable (Rejection) -> (any Sendable)?) -> ErrorDetails {
        ErrorDetails(read: read)
    }
}
